"""Programs with a wrong table, and their twins: exactly the wrong instructions are found, and the fix is named."""

import pytest

from programs import PROGRAMS
from testbed.build.recipes import recipes_for
from testbed.contract.unwinder import Unwinder
from testbed.report.check_words import sentence
from testbed.runs.run import Run, judge_all
from tests.checks.watched_tables import linted
from tests.corpus import ran
from unwinders import UNWINDERS

pytestmark = pytest.mark.whole

# Here no row can be right: a return address is written over, or the flags decide where it is; nobody writes the right
# ones (compilers' defects); the source is right, and what an assembler makes of it is not; and the wrong one does no
# harm to who takes signatures off without authenticating.
NO_TWIN = {
    *(
        "retpoline",
        "outlined_prologues",
        "pac_early",
        "simd_saved",
        "simd_saved_again",
        "profiled",
        "return_thunk",
        "realigned_calls",
    ),
    *(
        "masked_return",
        "conditional_return",
        "return_thunk_inline",
        "renamed_drap",
        "adjusted_again",
        "apcs_tail_call",
        "apcs_vectors",
    ),
}
TABLES = ("eh_frame", "eh_frame_hdr", "debug_frame")
BAD = [program for program in PROGRAMS.values() if any(s.header.twin for s in program.sources.values())]
CELLS = [
    pytest.param(program.name, arch.name, recipe.name, id=f"{program.name}-{arch}-{recipe.name}")
    for program in BAD
    for arch in program.arches()
    for recipe in recipes_for(program, arch)
]


def tables(run: Run) -> list[Unwinder]:
    return [UNWINDERS[name] for name in TABLES if UNWINDERS[name].applies_to(run.built.image)]


def declared_wrong(run: Run) -> frozenset[int]:
    """The addresses at which the header says that rows are wrong."""
    spans = [run.span_addresses(span) for span in run.built.source.header.wrong]
    return frozenset(pc for start, end in spans for pc in range(start, end))


def lookup_pcs(run: Run, step: int) -> list[int]:
    """Where the rows of a step's frames are looked up."""
    return [frame.lookup_pc for frame in run.truth(step).frames]


def test_every_wrong_table_has_a_twin_and_every_twin_is_right() -> None:
    assert len(BAD) >= 4
    for program in PROGRAMS.values():
        for source in program.sources.values():
            if program.name not in NO_TWIN:
                assert bool(source.header.twin) == bool(source.header.wrong), source.path.name
    for program in BAD:
        for isa, source in program.sources.items():
            twin = PROGRAMS[source.header.twin or ""]
            assert isa in twin.sources, source.path.name
            assert not twin.sources[isa].header.wrong


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_a_twin_has_the_same_code(program: str, arch: str, recipe: str) -> None:
    bad = ran(program, arch, recipe)
    good = ran(bad.built.source.header.twin or "", arch, recipe)
    assert bad.trace.pc.tolist() == good.trace.pc.tolist()
    assert bad.built.image.sections[".text"].data == good.built.image.sections[".text"].data


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_a_wrong_table_is_wrong_at_exactly_the_declared_instructions(program: str, arch: str, recipe: str) -> None:
    run = ran(program, arch, recipe)
    declared = {step for step in range(len(run)) if not declared_wrong(run).isdisjoint(lookup_pcs(run, step))}
    assert declared
    assert tables(run)
    for unwinder in tables(run):
        verdicts = judge_all(run, unwinder)
        found = {step for step, verdict in enumerate(verdicts) if not verdict.exact and not verdict.transition}
        assert {run.where(int(run.trace.pc[s])) for s in found ^ declared} == set(), unwinder.name


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_the_good_twin_is_exact_everywhere_and_no_row_of_it_is_blamed(program: str, arch: str, recipe: str) -> None:
    good = ran(ran(program, arch, recipe).built.source.header.twin or "", arch, recipe)
    for unwinder in tables(good):
        assert all(verdict.exact or verdict.transition for verdict in judge_all(good, unwinder)), unwinder.name
        assert linted(good, unwinder.name).findings == ()


@pytest.mark.parametrize(("program", "arch", "recipe"), CELLS)
def test_lint_blames_the_declared_rows_and_names_a_directive(program: str, arch: str, recipe: str) -> None:
    run = ran(program, arch, recipe)
    where = {int(run.trace.pc[s]) for s in range(len(run)) if not declared_wrong(run).isdisjoint(lookup_pcs(run, s))}
    for unwinder in tables(run):
        said = linted(run, unwinder.name)
        for finding in said.findings:
            assert finding.pc + run.loaded.bias in where, sentence(finding)
            assert finding.repair is not None, sentence(finding)
        assert said.wrong <= sum(finding.instructions for finding in said.findings), "each has a cause, or several"


@pytest.mark.parametrize(
    ("program", "arch", "directives"),
    [
        ("epilogue_cfa_wrong", "x86_64", [".cfi_def_cfa_offset 0x8"]),
        ("epilogue_cfa_wrong", "arm64", [".cfi_def_cfa_offset 0x0"]),
        ("late_push_wrong", "x86_64", [".cfi_def_cfa_offset 0x18"]),
        ("late_push_wrong", "arm32", [".cfi_def_cfa_offset 0x10"]),
        ("hoisted_add_wrong", "x86_64", [".cfi_def_cfa_offset 0x8"] * 2),
        ("early_return_wrong", "arm64", [".cfi_restore_state"]),
        ("pac_ret_wrong", "arm64", [".cfi_negate_ra_state"] * 3),
    ],
)
def test_the_proposed_directive_is_the_one_that_the_good_twin_has(
    program: str, arch: str, directives: list[str]
) -> None:
    run = ran(program, arch, "keystone")
    repairs = [finding.repair for finding in linted(run, tables(run)[0].name).findings]
    assert [directive for repair in repairs if repair for directive in repair.directives] == directives
    twin = PROGRAMS[run.built.source.header.twin or ""].source_for(run.built.isa)
    wanted = {int(d.split()[1], 0) for d in directives if d.startswith(".cfi_def_cfa_offset")}
    written = [line.split() for line in twin.text.splitlines() if line.strip().startswith(".cfi_def_cfa_offset")]
    assert wanted <= {int(words[1], 0) for words in written}
