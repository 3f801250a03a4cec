"""The corpus: every program does and declares the right thing wherever it is built, and shows what it is about."""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from docs.traps_page import ShownCell, fates, traps_markdown
from programs import PROGRAMS
from programs.generated import GENERATED
from testbed import conventions
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES, Tool, recipes_for
from testbed.campaign.cells import units
from testbed.campaign.matrix import judge_unit
from testbed.image import describe
from testbed.program.fragments import numbered_lines
from testbed.program.model import Expectation, Language, parse_header, program_from_text, program_name, read_source
from testbed.report.catalogue_text import shown_traps
from testbed.runs.run import judge_all, run_program
from testbed.truth import disagreements
from testbed.words.errors import BuildError, ProgramError
from testbed.words.outcome import Outcome
from testbed.words.traits import TRAPS, Trait
from tests.cli.command import Testbed, tells
from tests.corpus import ran
from unwinders import UNWINDERS

pytestmark = pytest.mark.whole

MOST_STEPS = 1500

# One unoptimised and one optimised way to compile, with and without frame pointers; both ways to assemble.
CHEAP = (
    *("keystone", "keystone-thumb", "clang-asm", "clang-asm-thumb"),
    *("clang-O0-fp", "clang-O2", "clang-thumb-O0-fp", "clang-thumb-O2"),
    *("macho-O0", "macho-O2"),
    *("gcc-asm", "gcc-asm-thumb", "gcc-O0-fp", "gcc-O2", "gcc-thumb-O2"),
)
CELLS = [
    pytest.param(program.name, arch.name, recipe.name, id=f"{program.name}-{arch}-{recipe.name}")
    for program in PROGRAMS.values()
    for arch in program.arches()
    for recipe in recipes_for(program, arch)
    if recipe.name in CHEAP
]
NATIVE = [  # what Linux loads
    cell
    for cell in CELLS
    if cell.values[1] == "x86_64"
    and RECIPES[str(cell.values[2])].tool is not Tool.CLANG_MACH_O
    and not any(
        source.header.signals for source in PROGRAMS[str(cell.values[0])].sources.values()
    )  # they come from the emulator
]


def test_both_a32_frame_records_occur() -> None:
    layouts = {source.header.frame_record for p in PROGRAMS.values() for n, source in p.sources.items() if n == "a32"}
    assert layouts == {None, "r11-gcc"}
    built = {ran(name, "arm32", "clang-asm").built.image for name in ("leaf_call", "tail_call")}
    assert {image.frame_record_at(image.entry).name for image in built} == {"r11-clang", "r11-gcc"}


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_program_exits_as_its_header_says_in_few_steps(program: str, arch: str, recipe: str) -> None:
    run = ran(program, arch, recipe)
    assert run.failure == ""
    assert 10 < len(run) <= MOST_STEPS


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_declared_frames_are_the_watched_ones(program: str, arch: str, recipe: str) -> None:
    run = ran(program, arch, recipe)
    assert disagreements(run.watched, run.built.source.header.frames) == ()


@pytest.mark.skipif(platform.system() != "Linux" or platform.machine() != "x86_64", reason="needs Linux on x86_64")
@pytest.mark.parametrize(("program", "arch", "recipe"), NATIVE)
def test_program_exits_the_same_on_a_real_processor(program: str, arch: str, recipe: str, tmp_path: Path) -> None:
    built = build(PROGRAMS[program], ARCHES[arch], RECIPES[recipe])
    file = tmp_path / program
    shutil.copyfile(built.path, file)
    file.chmod(0o755)
    assert subprocess.run([file], timeout=10).returncode == built.source.header.exit


# That each program shows what its summary says

EVERYWHERE = [("x86_64", ""), ("arm64", ""), ("arm32", ""), ("arm32", "-thumb")]


@pytest.mark.parametrize(("arch", "isa"), EVERYWHERE)
def test_callee_saved_clobbers_every_preserved_register_and_gives_all_back(arch: str, isa: str) -> None:
    run = ran("callee_saved", arch, f"clang-asm{isa}")
    keeper, clobber, clobbered = (run.at(label) for label in ("keeper", "clobber", "clobbered"))
    back = run[next(i for i, pc in enumerate(run.trace.pc.tolist()) if pc == run.truth(keeper).frames[1].pc)]
    for name in conventions.platform(run.arch).preserved:
        seen = [s.registers[name] for s in (keeper, clobber, clobbered)]
        assert len(set(seen)) == 3, f"{name} must be clobbered twice: {seen}"
        assert back.registers[name] == keeper.registers[name], f"{name} must come back"


@pytest.mark.parametrize(("arch", "isa"), EVERYWHERE)
@pytest.mark.parametrize("level", ["O0-fp", "O2"])
def test_noreturn_last_call_has_its_return_address_behind_its_function(arch: str, isa: str, level: str) -> None:
    run = ran("noreturn_last_call", arch, f"clang{isa}-{level}")
    work, image = run.built.image.symbol_named("work"), run.built.image
    link = run.truth(run.at("finish")).frames[1].pc
    assert link == work.address + work.size
    assert image.function_at(link - 1) is work
    assert image.function_at(link) is not work


@pytest.mark.parametrize(("arch", "isa"), EVERYWHERE)
@pytest.mark.parametrize("level", ["O0-fp", "O2"])
def test_switch_table_really_jumps_through_a_table(arch: str, isa: str, level: str) -> None:
    run = ran("switch_table", arch, f"clang{isa}-{level}")
    jumps = re.compile(r"^(jmp\s+(r|qword)|br\s|tb[bh]\s|(add|ldr|mov)(\.w)?\s+pc\b)")
    taken = [step for step in run.steps_in("dispatch") if jumps.match(run.instruction(step))]
    targets = {int(run.trace.pc[step + 1]) for step in taken}
    assert len(targets) >= 6
    assert {describe(run.trace.images, target).partition("+")[0] for target in targets} == {"dispatch"}


@pytest.mark.parametrize(("arch", "isa"), EVERYWHERE)
@pytest.mark.parametrize("level", ["O0-fp", "O2"])
def test_big_frame_moves_sp_by_more_than_twenty_kibibytes(arch: str, isa: str, level: str) -> None:
    run = ran("big_frame", arch, f"clang{isa}-{level}")
    assert run.at("big").sp - run.at("fill").sp > 20 * 1024


@pytest.mark.parametrize(("arch", "isa"), EVERYWHERE)
@pytest.mark.parametrize("level", ["O0-fp", "O2"])
def test_alloca_vla_frames_have_a_size_of_their_own_each_time(arch: str, isa: str, level: str) -> None:
    run = ran("alloca_vla", arch, f"clang{isa}-{level}")
    first, second = (run.at(f"fill#{visit}").sp for visit in (1, 2))
    assert first - second >= 4 * 5 * 2, "the second alloca comes on top of the first"


def test_interworking_changes_the_instruction_set_at_each_call() -> None:
    run = ran("interworking", "arm32", "clang-asm")
    labels = ("main_body", "thumb_middle_body", "arm_middle_body", "thumb_leaf_body")
    assert [run.trace.isa(run.step_at(label)).name for label in labels] == ["a32", "thumb", "a32", "thumb"]


def test_early_return_runs_both_ways_out() -> None:
    for arch, isa in EVERYWHERE:
        run = ran("early_return", arch, f"clang-asm{isa}")
        assert run.step_at("early_return") < run.step_at("classify#2") < run.step_at("late_return")
        assert run.at("early_return").sp == run.at("late_return").sp == run.at("classify").sp


# The traps are in the corpus, with references, and in what is printed about them.


def test_every_trap_has_a_program_and_a_reference() -> None:
    shown = {trap.number: trap for trap in shown_traps(PROGRAMS)}
    assert list(shown) == list(TRAPS) == list(range(1, 40))
    assert all(trap.programs and trap.references for trap in shown.values())


def test_the_list_of_traps_names_programs_and_references(testbed: Testbed) -> None:
    printed = tells(testbed, 0, ["list", "programs", "--traps"])
    assert "epilogue_cfa_wrong" in "".join(printed.out.split())
    tells(testbed, 2, ["list", "recipes", "--traps"])


def sections(page: str) -> dict[int, dict[str, str]]:
    """Of each trap the lines of its section by their first words, and its command."""
    found = {}
    for part in page.split("\n## ")[1:]:
        lines = (line.removeprefix("- ").partition(": ") for line in part.splitlines() if line.startswith("- "))
        command = re.search(r"^testbed .*$", part, re.M)
        assert command is not None, part
        found[int(part.partition(".")[0])] = {key: text for key, _, text in lines} | {"command": command[0]}
    return found


def test_the_page_blames_a_trap_for_what_its_controls_do_not_show() -> None:
    names = ("epilogue_cfa_wrong", "epilogue_cfa", "no_table", "leaf_call", "leaf_no_frame")
    chosen = [PROGRAMS[name] for name in names]
    unwinders = [UNWINDERS[name] for name in ("fp_chain", "eh_frame", "prologue_analysis")]
    planned = units(chosen, [ARCHES["x86_64"]], [RECIPES["keystone"]])
    cells = [ShownCell.of(cell) for unit in planned for cell in judge_unit(unit, PROGRAMS, unwinders).cells]
    found = sections(traps_markdown({program.name: program for program in chosen}, cells))
    assert list(found) == list(TRAPS)
    epilogue = found[6]
    assert epilogue["programs"].startswith("`epilogue_cfa_wrong`, `epilogue_cfa`; controls: `leaf_call`,")
    assert epilogue["programs"].endswith("`epilogue_cfa`")  # the twin with the right table
    assert re.fullmatch(r"`eh_frame` \d %", epilogue["caught"]), "fp_chain lies there as it lies on leaf_call"
    assert epilogue["as ever"] == "`fp_chain`"
    assert epilogue["survive"] == "`prologue_analysis`"
    assert epilogue["command"] == "testbed run epilogue_cfa_wrong --arch x86_64 --recipe keystone -u eh_frame"
    assert "https://github.com/llvm/llvm-project/issues/110810" in epilogue["happened in"]
    assert found[1]["caught"].startswith("`fp_chain`"), "to a chain all code is like that"
    assert found[32]["stops"].startswith("`eh_frame`"), "without a table it stops, and does not lie"
    assert found[15]["caught"] == found[15]["survive"] == "nobody"


def test_without_its_controls_everybody_is_blamed() -> None:
    """The control makes the difference: what `fates` says of an unwinder follows from it."""
    chosen = [PROGRAMS[name] for name in ("epilogue_cfa_wrong", "leaf_call", "leaf_no_frame")]
    planned = units(chosen, [ARCHES["x86_64"]], [RECIPES["keystone"]])
    cells = [
        ShownCell.of(cell)
        for unit in planned
        for cell in judge_unit(unit, PROGRAMS, [UNWINDERS["fp_chain"], UNWINDERS["eh_frame"]]).cells
    ]
    trap = ["epilogue_cfa_wrong"]
    alone, beside = fates(6, trap, [], cells), fates(6, trap, ["leaf_call", "leaf_no_frame"], cells)
    assert [alone[name].word for name in ("fp_chain", "eh_frame")] == ["caught", "caught"]
    assert [beside[name].word for name in ("fp_chain", "eh_frame")] == ["as ever", "caught"]
    assert alone["eh_frame"].lies == beside["eh_frame"].lies > 0
    assert alone["fp_chain"].sites == beside["fp_chain"].sites


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_an_exchanged_index_misleads_the_search_and_not_the_table(arch: str) -> None:
    run = run_program(PROGRAMS["index_exchanged"], ARCHES[arch])
    assert all(verdict.exact for verdict in judge_all(run, UNWINDERS["eh_frame"]))
    verdicts = judge_all(run, UNWINDERS["eh_frame_hdr"])
    inside = {*run.steps_in("work"), *run.steps_in("helper")}
    assert inside == {step for step, verdict in enumerate(verdicts) if verdict.outcome is Outcome.REFUSED}
    assert all(verdicts[step].exact for step in range(len(run)) if step not in inside)


def test_exchanged_functions_have_to_exist() -> None:
    header = "// summary: no such function here\n// exit: 1\n// exchanged: work, helper\n"
    text = f"{header}_start:\n.cfi_startproc\nnop\n.cfi_endproc\n"
    program = program_from_text("x", ARCHES["arm64"], text)
    with pytest.raises(BuildError, match="there is no label 'work'"):
        build(program, ARCHES["arm64"], RECIPES["keystone"])


def test_the_page_in_the_documents_has_today_s_traps_and_programs() -> None:
    """Its numbers are those of the day it was made; `python docs/regenerate.py --traps` makes it anew."""
    page = (Path(__file__).parents[2] / "docs" / "traps.md").read_text(encoding="utf-8")
    found = sections(page)
    for trap in shown_traps(PROGRAMS):
        assert f"## {trap.number}. {TRAPS[trap.number]}\n" in page
        names = ", ".join(f"`{program.name}`" for program in trap.programs)
        assert found[trap.number]["programs"].startswith(f"{names}; controls: ")
        arguments = found[trap.number]["command"].split()[1:]
        assert arguments[0] == "run" and arguments[1] in PROGRAMS
        assert arguments[-1] in UNWINDERS or len(arguments) == 2


# The files of the corpus: their headers, their list, and the assembly that both assemblers understand.


FOLDER = Path(__file__).parents[2] / "programs"
ISAS = [isa.name for arch in ARCHES.values() for isa in arch.isas]
SINGLE_ISA = {
    "att_syntax": "AT&T's syntax is x86's",
    "go_convention": "Go keeps no register on the other instruction sets either: two of them show it",
    "ocaml_convention": "OCaml keeps no register on the other instruction sets either: two of them show it",
    "svml_call": "SVML is a library of x86's vector instructions",
    "index_exchanged": "32-bit Arm has no .eh_frame_hdr",
    "interworking": "A32 and Thumb in one image: only arm32 has two instruction sets",
    "callee_pops": "only x86 has a return that pops arguments",
    "conditional_return": "only A32 executes any instruction under a condition: a Thumb block ends behind a jump",
    "veneer": "a call on x86 reaches 2 GB: linkers make no veneers",
    "cant_unwind": "a mark of the exception-handling tables of 32-bit Arm",
    "pointer_back": "x86_64 has few registers, so its compilers use rbp as one more; it was met in no other code",
    "nameless_caller": "its leaves keep their return address in a link register",
    "frame_in_part": "EHABI's tables have one row for a function",
    "kept_in_register": "only a link register is kept in another register",
    "passed_changed": "what glibc's swapcontext does on 32-bit ARM",
    "record_replaced": "EHABI's unwinders have the registers in memory of their own",
    "same_return": "a live link register is taken for a record that is linked",
    "signal_interworking": "a handler and a trampoline of two instruction sets",
    "signal_number": "Thumb's frame pointer is the register of a system call's number",
    "record_below": "what Go's compiler does around its `duffzero` on x86_64",
    "signal_zero_record": "as `pointer_back`: rbp is one more register; it was met in no other code",
    "adjusted_again": "one instruction set is enough for a defect of an assembler's directives",
    "drap": "GCC makes this for x86",
    "drap_wrong": "GCC makes this for x86",
    "outlined": "what LLVM's outliner does on arm64",
    "no_plt": "calls through memory are what x86_64 and arm64 do; `bti` and `endbr64` are theirs",
    "overlap": "32-bit Arm has no .eh_frame",
    "overlap_wrong": "32-bit Arm has no .eh_frame",
    "pac_early": "only arm64 signs return addresses",
    "pac_ret": "only arm64 signs return addresses",
    "pac_ret_wrong": "only arm64 signs return addresses",
    "plt": "Thumb code calls the stubs of A32",
    "push_ret": "where calls push, a return can jump",
    "record_place": "the psABI of x86_64 fixes the place",
    "retpoline": "a mitigation for x86 processors",
}

FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".c", ".cc", ".S"))
ASSEMBLY = [path for path in FILES if path.suffix == ".S"]


def test_the_corpus_is_there_and_every_file_belongs_to_a_program() -> None:
    assert {program_name(path) for path in FILES} | GENERATED.keys() == set(PROGRAMS)
    written = [program for name, program in PROGRAMS.items() if name not in GENERATED]
    assert len(FILES) == sum(len(program.sources) for program in written)
    assert {"leaf_call", "tail_call", "interworking", "big_frame", "struct_return"} <= set(PROGRAMS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_header_has_a_sentence_a_status_and_declared_frames(path: Path) -> None:
    header = read_source(path).header
    assert 20 < len(header.summary) < 120
    assert header.exit, "0 is what a program that did nothing returns"
    assert header.entry == "_start"
    assert header.frames
    roots = {header.entry, *(["coroutine"] if "coroutine" in path.name else [])}
    assert all(expectation.frames[-1] in roots for expectation in header.frames), "a stack ends at its root"


@pytest.mark.parametrize("name", [n for n, p in PROGRAMS.items() if "c" not in p.sources])
def test_an_assembly_program_exists_for_every_instruction_set_or_says_why_not(name: str) -> None:
    assert "c" not in PROGRAMS[name].sources
    if name in SINGLE_ISA:
        assert len(PROGRAMS[name].sources) < len(ISAS), SINGLE_ISA[name]
    else:
        assert sorted(PROGRAMS[name].sources) == sorted(ISAS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_sources_of_a_program_declare_the_same(name: str) -> None:
    def said(frames: tuple[Expectation, ...]) -> list[tuple[object, ...]]:
        return [(e.location, e.visit, e.frames) for e in frames]

    first, *others = (source.header for source in PROGRAMS[name].sources.values())
    for other in others:
        assert (other.summary, other.exit) == (first.summary, first.exit)
        assert said(other.frames) == said(first.frames)


def test_c_and_assembly_are_never_mixed_in_one_program() -> None:
    for program in PROGRAMS.values():
        assert len({source.language for source in program.sources.values()}) == 1, program.name
        assert all(s.language is not Language.ELF for s in program.sources.values())


def test_the_readme_lists_exactly_the_catalogue() -> None:
    listed = re.findall(
        r"^\| `([a-z_0-9]+)` \| (?:C|C\+\+|assembly[^|]*) \| (.*) \|$", (FOLDER / "README.md").read_text(), re.M
    )
    assert listed == [(program.name, program.summary) for name, program in PROGRAMS.items() if name not in GENERATED]


def test_the_readme_explains_every_header_key() -> None:
    """The parser's own complaint about an unknown key lists those that there are."""
    with pytest.raises(ProgramError) as caught:
        parse_header("x.c", "// qqqqqqqq: 1\n")
    keys = caught.value.detail.partition("there are: ")[2].split(", ")
    table = re.findall(r"^\| `([a-z-]+)` \| `// \1: [^`]+` \|", (FOLDER / "README.md").read_text(), re.M)
    assert len(keys) >= 8
    assert table == keys


# The subset that both assemblers understand

_DIRECTIVES = re.compile(
    r"\.(cfi_\w+|globl|type|size|thumb_func|word|quad|p2align|bss|space|arm|thumb|syntax unified|intel_syntax noprefix"
    r"|arch armv8.3-a|fnstart|fnend|save|vsave|setfp|pad|movsp|cantunwind|personality|handlerdata)\b"
)


@pytest.mark.parametrize("path", ASSEMBLY, ids=lambda path: path.name)
def test_assembly_stays_inside_the_common_subset(path: Path) -> None:
    source = read_source(path)
    if source.header.clang_only or source.header.syntax:
        return
    for file, number, line in numbered_lines(path, source.text, source.fragments):
        code = re.sub(r"//.*", "", line).strip()
        where = f"{file.name}:{number}: {line}"
        assert not re.search(r"/\*|;|@(?!function)", code), (
            f"{where}: only // begins a comment, one line is one statement"
        )
        assert not re.match(r"\d+:", code), f"{where}: a numeric label"
        assert not re.search(r"(?<![\w.])[1-9]\d+\b", code), f"{where}: a decimal number of two digits"
        if code.startswith(".") and not code.endswith(":"):
            assert _DIRECTIVES.match(code), f"{where}: not in the subset"


@pytest.mark.parametrize("path", ASSEMBLY, ids=lambda path: path.name)
def test_every_assembly_function_has_a_type_a_size_and_a_table(path: Path) -> None:
    source = read_source(path)
    text = "".join(f"{line}\n" for _, _, line in numbered_lines(path, source.text, source.fragments))
    functions = re.findall(r"^\.type ([\w.]+), [@%]function$", text, re.M)
    assert functions[0] == "_start"
    assert "main" in functions or source.header.frames[0].frames[-2] in functions, "what the root calls"
    for function in functions:
        assert re.search(rf"^{re.escape(function)}:$", text, re.M), function
        assert f".size {function}, . - {function}\n" in text, function
    header = source.header
    tabled = text.count(".cfi_startproc")
    assert tabled == text.count(".cfi_endproc")
    assert tabled == len(functions) or (header.untabled and tabled < len(functions))
    if ".syntax unified" in text:
        assert text.count(".fnstart") == text.count(".fnend") == tabled
        marked_otherwise = header.traits & {Trait.OPEN_END, Trait.CANNOT_UNWIND} or "coroutine" in path.name
        assert text.count(".cantunwind") == 1 or marked_otherwise
        assert ".cfi_sections .debug_frame" in text
