"""What directives in a source say already, and which of them are to be written anew."""

from __future__ import annotations

from testbed.checks.source_directives import is_said, written_anew


def test_what_is_replaced_is_of_the_same_thing() -> None:
    assert written_anew([".cfi_adjust_cfa_offset -0x8"], [".cfi_adjust_cfa_offset 16"]) == (
        (".cfi_adjust_cfa_offset 0x8",),
        (".cfi_adjust_cfa_offset 16",),
    )
    assert written_anew([".cfi_adjust_cfa_offset 8"], [".cfi_def_cfa %rsp, 16"])[0] == (".cfi_def_cfa %rsp, 0x18",)
    assert written_anew([".cfi_offset rbx, -0x10"], [".cfi_offset %rbp, -16"])[1] == ()
    assert written_anew([".cfi_def_cfa_offset 0x8"], [".cfi_def_cfa_register %rbp"])[1] == ()
    assert written_anew([".cfi_def_cfa_register rbp"], [".cfi_def_cfa %rsp, 16"])[0] == (".cfi_def_cfa rbp, 16",)
    assert written_anew([".cfi_restore_state"], [".cfi_def_cfa_offset 8"])[1] == ()
    assert written_anew([".cfi_adjust_cfa_offset 8"], [".cfi_adjust_cfa_offset FRAME"])[1] == ()


def test_what_a_source_says_already() -> None:
    standing = (".cfi_def_cfa %rsp, 8", ".cfi_restore %rbx")
    for said in (".cfi_def_cfa_register rsp", ".cfi_def_cfa_offset 0x8", ".cfi_def_cfa rsp, 0x8", ".cfi_restore rbx"):
        assert is_said(said, standing), said
    for said in (".cfi_def_cfa_register rbp", ".cfi_def_cfa_offset 0x10", ".cfi_restore rbp", ".cfi_offset rbx, -0x10"):
        assert not is_said(said, standing), said


def test_of_two_directives_that_say_the_same_thing_the_last_one_counts() -> None:
    """The first is replaced by nothing: what stands behind it would still hold."""
    standing = [".cfi_def_cfa rbp, 16", ".cfi_def_cfa rsp, 16"]
    assert written_anew([".cfi_def_cfa rbp, 0x10"], standing) == ((".cfi_def_cfa rbp, 0x10",), (standing[1],))
    assert not is_said(".cfi_def_cfa rbp, 0x10", standing) and is_said(".cfi_def_cfa rsp, 0x10", standing)
