"""The numbers of DWARF that are used here: tags, attributes, forms. Source: DWARF 5, section 7.5; GNU extensions."""

from enum import IntEnum


class Tag(IntEnum):
    """What a debugging information entry describes: the tags that are read here (DWARF 5, table 7.3)."""

    COMPILE_UNIT = 0x11
    INLINED_SUBROUTINE = 0x1D
    SUBPROGRAM = 0x2E
    PARTIAL_UNIT = 0x3C
    CALL_SITE = 0x48
    SKELETON_UNIT = 0x4A
    GNU_CALL_SITE = 0x4109


class Attribute(IntEnum):
    """What an attribute of an entry says: those that are read here (DWARF 5, table 7.5)."""

    NAME = 0x03
    STMT_LIST = 0x10
    LOW_PC = 0x11
    HIGH_PC = 0x12
    COMP_DIR = 0x1B
    PRODUCER = 0x25
    ABSTRACT_ORIGIN = 0x31
    CALLING_CONVENTION = 0x36
    DECLARATION = 0x3C
    SPECIFICATION = 0x47
    ENTRY_PC = 0x52
    RANGES = 0x55
    CALL_COLUMN = 0x57
    CALL_FILE = 0x58
    CALL_LINE = 0x59
    LINKAGE_NAME = 0x6E
    STR_OFFSETS_BASE = 0x72
    ADDR_BASE = 0x73
    RNGLISTS_BASE = 0x74
    CALL_ALL_CALLS = 0x7A
    CALL_ALL_SOURCE_CALLS = 0x7B
    CALL_ALL_TAIL_CALLS = 0x7C
    CALL_RETURN_PC = 0x7D
    CALL_ORIGIN = 0x7F
    CALL_PC = 0x81
    CALL_TAIL_CALL = 0x82
    CALL_TARGET = 0x83
    CALL_TARGET_CLOBBERED = 0x84
    MIPS_LINKAGE_NAME = 0x2007
    GNU_CALL_SITE_TARGET = 0x2113
    GNU_CALL_SITE_TARGET_CLOBBERED = 0x2114
    GNU_TAIL_CALL = 0x2115
    GNU_ALL_TAIL_CALL_SITES = 0x2116
    GNU_ALL_CALL_SITES = 0x2117


class Form(IntEnum):
    """How the value of an attribute is encoded (DWARF 5, table 7.6)."""

    ADDR = 0x01
    BLOCK2 = 0x03
    BLOCK4 = 0x04
    DATA2 = 0x05
    DATA4 = 0x06
    DATA8 = 0x07
    STRING = 0x08
    BLOCK = 0x09
    BLOCK1 = 0x0A
    DATA1 = 0x0B
    FLAG = 0x0C
    SDATA = 0x0D
    STRP = 0x0E
    UDATA = 0x0F
    REF_ADDR = 0x10
    REF1 = 0x11
    REF2 = 0x12
    REF4 = 0x13
    REF8 = 0x14
    REF_UDATA = 0x15
    INDIRECT = 0x16
    SEC_OFFSET = 0x17
    EXPRLOC = 0x18
    FLAG_PRESENT = 0x19
    STRX = 0x1A
    ADDRX = 0x1B
    REF_SUP4 = 0x1C
    STRP_SUP = 0x1D
    DATA16 = 0x1E
    LINE_STRP = 0x1F
    REF_SIG8 = 0x20
    IMPLICIT_CONST = 0x21
    LOCLISTX = 0x22
    RNGLISTX = 0x23
    REF_SUP8 = 0x24
    STRX1 = 0x25
    STRX2 = 0x26
    STRX3 = 0x27
    STRX4 = 0x28
    ADDRX1 = 0x29
    ADDRX2 = 0x2A
    ADDRX3 = 0x2B
    ADDRX4 = 0x2C
    GNU_ADDR_INDEX = 0x1F01
    GNU_STR_INDEX = 0x1F02
    GNU_REF_ALT = 0x1F20
    GNU_STRP_ALT = 0x1F21


class UnitType(IntEnum):
    """What a unit of ``.debug_info`` is (DWARF 5, table 7.2): those that are read here."""

    COMPILE = 1
    PARTIAL = 3
    SKELETON = 4
    SPLIT_COMPILE = 5
