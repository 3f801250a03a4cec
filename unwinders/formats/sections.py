"""The sections that the tables lie in. An unwinder names those that it needs; its reader is loaded where they are."""

EXIDX, EXTAB = ".ARM.exidx", ".ARM.extab"
ORC_ENTRIES, ORC_PLACES, ORC_HEADER = ".orc_unwind", ".orc_unwind_ip", ".orc_header"
SFRAME = ".sframe"
UNWIND_INFO, MACH_O_EH_FRAME = "__TEXT,__unwind_info", "__TEXT,__eh_frame"
GOPCLNTAB, GO_MODULE, RELOCATIONS = ".gopclntab", ".go.module", ".rela.dyn"
