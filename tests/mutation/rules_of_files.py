"""What reads files, snapshots and assembly that others made: the rules without which it was once read wrongly.

Each closes a class of mistakes that real libraries, dumps and sources have shown. `tests.mutation.taken_out` takes them
out one by one.
"""

from __future__ import annotations

from tests.mutation.removed_rule import RemovedRule

_ELF = "testbed/image/elf.py"
_TEST_ELF = "tests/image/test_elf.py"
_COMPANIONS = "testbed/image/elf_companions.py"
_DEBUG = "testbed/image/separate_debug.py"
_TEST_DEBUG = "tests/image/test_separate_debug.py"
_SNAPSHOT = "testbed/trace/snapshot.py"
_FEWER = "tests/unwinders/test_missing_registers.py::test_a_snapshot_with_fewer_registers_never_says_more"
_HEADERS = "tests/program/test_header_files.py"

FILES_OF_OTHERS: dict[str, RemovedRule] = {
    "Thumb bit": RemovedRule(
        "bit 0 of a function symbol says Thumb, where no mapping symbol is left",
        "testbed/image/elf.py",
        "    for value in functions:\n",
        "    for value in ():\n",
        "tests/image/test_instruction_sets.py::test_a_stripped_library_is_read_by_its_function_symbols",
    ),
    "bias": RemovedRule(
        "a load bias counts in the architecture's word: 0xb0000000 is no negative number",
        "testbed/image/model.py",
        "(lowest + self.bias & self.image.arch.word_mask) - lowest",
        "self.bias",
        f"{_TEST_ELF}::test_addresses_wrap_at_the_architectures_word",
    ),
    "signature bits": RemovedRule(
        "which bits of a return address are its signature is the snapshot's to say",
        _SNAPSHOT,
        "        mask = self.pac_mask if self.arch.signature else 0",
        "        mask = self.arch.signature",
        "tests/foreign/test_signature_masks.py::test_signatures_are_taken_off_by_the_snapshots_mask",
    ),
    "A64 store": RemovedRule(
        "a store of a byte writes a byte (A64)",
        "unwinders/analysis/decode_arm64.py",
        "        return _WIDTH[single[1]] if single[1] else width_of(stored[0])",
        "        return 64",
        "tests/unwinders/analysis/test_executed_effects.py::test_each_kind_of_store_has_its_size",
    ),
    "A32 store": RemovedRule(
        "a store of a byte writes a byte (A32, Thumb)",
        "unwinders/analysis/arm32_accesses.py",
        '    return _PARTS[sized["part"] or sized["byte"] or ""] if sized else 0',
        "    return 32 if sized else 0",
        "tests/unwinders/analysis/test_executed_effects.py::test_each_kind_of_store_has_its_size",
    ),
    "legacy numbers": RemovedRule(
        "registers 64 to 95 of arm32 are halves of d0 to d15: GCC says so where a double is saved",
        "testbed/arch/arm32.py",
        '    parts={64 + i: RegisterPart(f"s{i}", f"d{i // 2}", 32 * (i % 2), 32) for i in range(16, 32)},',
        "    parts={},",
        "tests/unwinders/tables/test_saved_doubles.py::test_saved_doubles_are_found",
    ),
    "one entry": RemovedRule(
        "an entry that cannot be read is its own function's matter",
        "unwinders/formats/indexed.py",
        "            except UnwindError as why:",
        "            except MemoryError as why:",
        "tests/unwinders/tables/test_one_broken_entry.py::test_a_broken_entry_is_its_own_functions_matter",
    ),
    "empty segment": RemovedRule(
        "a segment without bytes in the file lies nowhere in it",
        _ELF,
        "        if header.p_filesz and header.p_offset",
        "        if header.p_offset",
        f"{_TEST_ELF}::test_a_segment_without_bytes_in_the_file_may_lie_past_its_end",
    ),
    "object file": RemovedRule(
        "an object file is told from a linked one",
        _ELF,
        'relocatable=elf["e_type"] == "ET_REL",',
        "relocatable=False,",
        f"{_TEST_ELF}::test_an_object_file_is_told_from_a_linked_one",
    ),
    "executable stack": RemovedRule(
        "PT_GNU_STACK says whether the stack is executable",
        _ELF,
        "executable_stack=stack is not None and bool(stack.header.p_flags & 1),",
        "executable_stack=False,",
        f"{_TEST_ELF}::test_a_file_says_whether_its_stack_is_executable",
    ),
    "mapped in part": RemovedRule(
        "a file that is mapped in part lies where the mapping's offset says",
        "testbed/foreign/program_files.py",
        "    if module.offset is not None:",
        "    if False:",
        "tests/foreign/test_round_trip.py::test_a_file_that_is_mapped_in_part_is_placed_by_the_mappings_offset",
    ),
    "unknown register": RemovedRule(
        "a register that a snapshot lacks is no KeyError: the strategy stops",
        "unwinders/chains/shadow_call_stack.py",
        "        at = snapshot.register(arch.shadow_pointer)",
        "        at = snapshot.registers[arch.shadow_pointer]",
        _FEWER,
    ),
    "invented zero": RemovedRule(
        "a register that a snapshot lacks is not zero",
        _SNAPSHOT,
        "            raise UnknownRegister(name)\n        return",
        "            return 0\n        return",
        _FEWER,
    ),
    "pc and SP": RemovedRule(
        "a snapshot needs pc and SP, neither a frame pointer nor a link register",
        _SNAPSHOT,
        "        needed = (arch.pc, arch.sp)",
        "        needed = (arch.pc, arch.sp, *arch.frame_pointers, *filter(None, [arch.link]))",
        "tests/unwinders/test_missing_registers.py::test_only_pc_and_sp_must_be_given",
    ),
    "build id": RemovedRule(
        "a separate debug file is found by the build id",
        _DEBUG,
        "    if len(identifier) > 1:\n        place",
        "    if False:\n        place",
        f"{_TEST_DEBUG}::test_a_debug_file_is_found",
    ),
    "debug link": RemovedRule(
        "a separate debug file is found by the name in `.gnu_debuglink`, beside the program and in the folders",
        _DEBUG,
        "    link = _link(sections)\n",
        "    link = None\n",
        f"{_TEST_DEBUG}::test_a_debug_file_is_found",
    ),
    "CRC": RemovedRule(
        "a file of that name with another CRC is another file",
        _DEBUG,
        "            if (found := zlib.crc32(content)) == wanted:",
        "            if (found := zlib.crc32(content)) or wanted:",
        f"{_TEST_DEBUG}::test_a_file_with_another_crc_is_another_file",
    ),
    "no folders": RemovedRule(
        "without folders that the user names no debug file is looked for",
        _DEBUG,
        "    if not dirs.folders:",
        "    if False:",
        f"{_TEST_DEBUG}::test_without_folders_nothing_is_looked_for",
    ),
    "mini debug info": RemovedRule(
        "`.gnu_debugdata` has symbols",
        _COMPANIONS,
        "    if _MINI in own.sections:",
        "    if False:",
        f"{_TEST_DEBUG}::test_mini_debug_info_has_symbols_and_a_table",
    ),
    "mini table": RemovedRule(
        "`.gnu_debugdata` and separate debug files have `.debug_frame` too",
        _COMPANIONS,
        '        if name == ".debug_frame" or ".debug_info" not in own:',
        '        if name != ".debug_frame" and ".debug_info" not in own:',
        f"{_TEST_DEBUG}::test_mini_debug_info_has_symbols_and_a_table",
    ),
    "end of a dump": RemovedRule(
        "where a dump's memory ends the stack need not: no scan claims the root there",
        "unwinders/scans/scan_walk.py",
        "            if location + words * arch.word >= end and whole:",
        "            if location + words * arch.word >= end:",
        "tests/foreign/test_partial_memory.py::test_no_strategy_says_more_of_a_dump_that_was_cut_off",
    ),
    "enclosing function": RemovedRule(
        "a function goes on behind the symbols inside it, however many",
        "unwinders/analysis/function_bounds.py",
        "            begun.pop()",
        "            begun.clear()",
        "tests/unwinders/analysis/test_function_bounds.py::test_a_function_goes_on_behind_the_symbols_inside_it",
    ),
    "megabytes": RemovedRule(
        "a function of megabytes is refused before it is decoded",
        "unwinders/analysis/control_flow.py",
        "    if code.function.size > MOST_PLACES * LONGEST:",
        "    if False:",
        "tests/unwinders/analysis/test_control_flow_limits.py::test_a_function_of_megabytes_is_refused_at_once",
    ),
    "index": RemovedRule(
        "for one frame one entry of a table is read",
        "unwinders/formats/indexed.py",
        "        if i >= 0 and pc < self.parts[i].end:\n            found",
        "        self.all_rows()\n        if i >= 0 and pc < self.parts[i].end:\n            found",
        "tests/unwinders/tables/test_libraries.py::test_only_what_was_asked_for_is_known",
    ),
    "seen saved": RemovedRule(
        "a register that was seen saved is where it was saved, also while it is thought unchanged",
        "unwinders/analysis/state_rules.py",
        "        elif isinstance(slot := saved.get(value), AtCfa):",
        "        elif isinstance(slot := None, AtCfa):",
        "tests/unwinders/analysis/test_prologue_instructions.py::test_a_register_that_was_seen_saved_is_taken_from_there",
    ),
    "landings": RemovedRule(
        "an exception lands in a frame from which the code there loses no register of the caller",
        "unwinders/analysis/control_flow.py",
        "        if len(seeds) > 1 and any(",
        "        if len(seeds) < 1 and any(",
        "tests/unwinders/analysis/test_landings.py",
    ),
    "odd address": RemovedRule(
        "data lies at odd addresses too",
        "testbed/build/keystone.py",
        "    positions = [*addresses, base + size]",
        "    positions = [*map(arch.code_address, addresses), base + size]",
        "tests/build/test_data.py::test_a_table_of_bytes_behind_an_odd_byte_stays_where_it_is",
    ),
    "second assembler": RemovedRule(
        "what keystone makes of a line is what clang makes of it",
        "testbed/build/link.py",
        "    compare_with_clang(assembly, code, content, arch, isa)\n",
        "",
        "tests/build/test_keystone.py::test_wrong_code_is_caught",
    ),
    "no room": RemovedRule(
        "an offset that SFrame has no room for leaves its function out",
        "testbed/build/tables/sframe.py",
        "    if not all(-(1 << 31) <= offset < 1 << 31 for offset in offsets):",
        "    if False:",
        "tests/build/test_extreme_directives.py::test_an_offset_that_sframe_has_no_room_for_leaves_the_function_out",
    ),
    "size of a file": RemovedRule(
        "a tool writes no file without end",
        "testbed/build/confinement.py",
        "        (resource.RLIMIT_FSIZE, what.file_size),\n",
        "",
        "tests/build/test_confinement.py::test_limits_end_what_runs_wild",
    ),
    "host files": RemovedRule(
        "a tool opens no file of this machine but its own",
        "testbed/build/confined.py",
        "    reads = None if readable is None else (*SYSTEM, *own, *readable)",
        "    reads = None",
        "tests/build/test_confined.py::test_a_macro_that_spells_incbin_opens_nothing",
    ),
    "further sources": RemovedRule(
        "a source may name further ones in its header",
        "testbed/program/header.py",
        '        sources=_beside(path, "sources", *given("sources")) if "sources" in values else (),',
        "        sources=(),",
        f"{_HEADERS}::test_sources_and_headers_that_are_named_are_built_together",
    ),
    "header flags": RemovedRule(
        "a source may name folders to include from, and flags",
        "testbed/build/targets.py",
        '    return (*target, *flags, *(f"-I{folder}" for folder in header.include), *header.flags)',
        "    return (*target, *flags)",
        f"{_HEADERS}::test_sources_and_headers_that_are_named_are_built_together",
    ),
    "AT&T syntax": RemovedRule(
        "a source may be in AT&T syntax",
        "testbed/build/targets.py",
        "    target = tuple(flag for flag in CLANG[isa] if flag != _INTEL or not header.syntax)",
        "    target = CLANG[isa]",
        f"{_HEADERS}::test_inline_assembly_in_att_syntax",
    ),
}
