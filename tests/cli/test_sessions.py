"""Sessions: some commands one after the other, in a folder with some files, and what each of them says."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from programs import PROGRAMS
from tests import corpus
from tests.cli.command import HEAD, NEVER_ENDS, Step, Testbed, session
from unwinders import UNWINDERS

LEAF = PROGRAMS["leaf_call"].sources
OWN = (
    ".globl _start\n.type _start, %function\n_start:\n  mov x0, #7\n  mov x8, #93\n  svc #0\n.size _start, . - _start\n"
)
# A copy of `leaf_call` that declares a wrong stack, and the line that does.
DECLARED = re.sub("^(// frames: leaf = ).*", r"\1leaf, _start", LEAF["arm64"].text, count=1, flags=re.M)
LINE = DECLARED.partition("// frames: leaf = ")[0].count("\n") + 1
PROGRAM = "a built program"  # its place stands for its file
BOTH = ("", " --chunk 20")

SESSIONS: Mapping[str, tuple[Mapping[str, str], Sequence[Step]]] = {
    "a source and an ELF file by path": (
        {"mine.x86_64.S": LEAF["x86_64"].text, "leaf.elf": PROGRAM},
        [
            Step("run mine.x86_64.S"),
            Step("run leaf.elf", out=["prebuilt"]),
            Step("run leaf.elf --arch x86_64", 2, err=["is for arm64, not x86_64"]),
            Step("run leaf.elf --recipe keystone", 2, err=["already built"]),
        ],
    ),
    "what ran before a crash can still be looked at": (
        {"loop.x86_64.S": HEAD + NEVER_ENDS},
        [Step("run loop.x86_64.S --budget 500 --at @42", out=["step 42"])],
    ),
    **{
        f"a source of one's own needs no header: {begin!r}": (
            {"mine.arm64.S": begin + OWN},
            [
                Step("run mine.arm64.S -u fp_chain", out=["exit 7"]),
                Step("run mine.arm64.S -o mine.trace"),
                Step("run --trace mine.trace -u fp_chain", out=["exit 7"]),
            ],
        )
        for begin in ("", "// a comment of mine\n", "// cpu: signing\n\n", "\n")
    },
    "what its header says is checked": (
        {"mine.arm64.S": "// exit: 6\n" + OWN},
        [Step("run mine.arm64.S -u fp_chain", 2, err=["exit status 7; the header of mine.arm64.S says 6"])],
    ),
    "declared frames that were not watched fail": (
        {"leaf_call.arm64.S": LEAF["arm64"].text, "wrong/leaf_call.arm64.S": DECLARED},
        [
            Step("check leaf_call.arm64.S --executed", err=""),
            Step(
                "check wrong/leaf_call.arm64.S --executed",
                1,
                out=["every row is right"],
                err=[f"wrong/leaf_call.arm64.S:{LINE}: leaf (step "],
            ),
            *(Step(f"run leaf_call.arm64.S -u eh_frame{pieces}", lacks=["declared"]) for pieces in BOTH),
            *(
                Step(
                    f"run wrong/leaf_call.arm64.S -u eh_frame{pieces}",
                    1,
                    out=["eh_frame"],
                    err=[f"leaf_call.arm64.S:{LINE}: leaf (step ", "declared leaf, _start; watched leaf, "],
                )
                for pieces in BOTH
            ),
        ],
    ),
    "a run in which signals arrive is not cut": (
        {},
        [
            Step("run signal --arch x86_64 --chunk 50 -u eh_frame", 2, err=["signals arrive in it"]),
            Step("run signal --arch x86_64 --chunk 50 -o file.trace", 2, err=["signals arrive in it"]),
            Step("run --trace file.trace", 2, err=["No such file"]),
        ],
    ),
    "a run that ended early is recorded and says so": (
        {},
        [
            Step("run leaf_call --arch arm64 --budget 5 -o early.trace", err=["did not exit within 5 steps"]),
            Step("run --trace early.trace", 2, err=["did not exit within 5 steps"]),
        ],
    ),
    "what is told of a module of theirs names no file of ours": (
        {"broken_of_mine.py": "x = 1\nraise KeyError(x)\n"},
        [
            Step(
                "run leaf_call -u no_such_module_here:NAME",
                2,
                err="error: -u no_such_module_here:NAME: no_such_module_here cannot be imported: "
                "ModuleNotFoundError: No module named 'no_such_module_here'\n",
            ),
            Step("run leaf_call -u broken_of_mine:NAME", 2, err=["/broken_of_mine.py:2"]),
        ],
    ),
    "unwinders are chosen by glob": (
        {},
        [
            Step(
                "run leaf_call --arch arm64 -u 'fp_*'", out=["fp_chain", "fp_chain_entry"], lacks=["eh_frame", "sframe"]
            )
        ],
    ),
    "an exported file stays unless forced": (
        {},
        [
            Step("export leaf_call -a arm64 --at @3 -o mine.core"),
            Step("export leaf_call -a arm64 --at @3 -o mine.core", 2, err=["--force"]),
            Step("export leaf_call -a arm64 --at @3 -o mine.core --force"),
        ],
    ),
    "an unwinder without its table says so, and one for other architectures": (
        {},
        [
            Step("export leaf_call -a arm64 --at leaf_body -o a.core"),
            Step(
                f"backtrace a.core --sysroot / {' '.join(f'-u {name}' for name in UNWINDERS)}", out=[*UNWINDERS], err=""
            ),
            Step(
                "backtrace a.core --sysroot / -u ehabi -u orc",
                1,
                out=[
                    "NoUnwindInfo: ehabi is for arm32, not for arm64",
                    "NoUnwindInfo: orc is for x86_64, not for arm64",
                ],
                err="no unwinder found a caller\n",
            ),
        ],
    ),
    "a file without tables says so": (
        {"bare.arm64.S": HEAD + ".type _start, %function\n_start:\n  ret\n.size _start, . - _start\n"},
        [Step("rows bare.arm64.S -f '*frame*'", 2, err=["no table that an unwinder reads"])],
    ),
    "the protocol's page and its schema": (
        {},
        [
            Step("protocol", out=["# The protocol for unwinders in any language, version 1\n"]),
            Step("protocol --schema", out=['"title": "testbed protocol, version 1"']),
        ],
    ),
    "each catalogue is printed": (
        {},
        [
            Step(f"list {what}", out=[name])
            for what, name in (
                ("programs", "leaf_call"),
                ("unwinders", "eh_frame"),
                ("recipes", "clang-O2"),
                ("arches", "thumb"),
            )
        ],
    ),
    "what is no snapshot": (
        {"x.json": "{}"},
        [
            Step(f"backtrace {typed}", 2, err=[told])
            for typed, told in (
                ("none.core", "none.core: at offset 0x0: No such file"),
                ("x.json -u eh_fram", "did you mean eh_frame"),
                ("x.json --file lost@0x10", "there is no file lost"),
                ("x.json --file x.json@here", "'here' is no address"),
                ("x.json", 'it needs "format"'),
            )
        ],
    ),
    "a program that does not start is one message": (
        {},
        [
            Step(
                f"{command} --unwinder-cmd './no such unwinder'",
                2,
                err="error: --unwinder-cmd './no such unwinder' does not start: No such file or directory\n",
            )
            for command in ("run leaf_call", "matrix -p leaf_call", "backtrace /dev/null")
        ],
    ),
    "a location that is none is told before gdb starts": (
        {},
        [Step("gdb leaf_call -a arm64 --at leef --serve", 2, err=["did you mean leaf"])],
    ),
    "a run that was cut disagrees with no header": (
        {},
        [
            Step(
                "check leaf_call --executed --arch x86_64 --budget 5",
                2,
                err=["only the 5 steps"],
                lacks=["declares", "never executed"],
            )
        ],
    ),
    "what cannot be swept": (
        {"text.db": "text"},
        [
            Step(f"sweep {typed}", 2, err=[told])
            for typed, told in (
                ("", "say what to sweep"),
                ("/usr/lib", "where to keep it"),
                ("/no/such/folder --out x.db", "/no/such/folder is not there"),
                ("deb:-o --out x.db", "deb:-o is no package"),
                ("deb:../x --out x.db", "is no package"),
                ("deb:/no/such.deb --out x.db", "is not there"),
                ("report", "say testbed sweep report DB"),
                ("report /no/such.db", "is no database of a sweep"),
                ("report text.db", "is no database of a sweep"),
            )
        ],
    ),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session(testbed: Testbed, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files, steps = SESSIONS[name]
    for path, text in files.items():
        Path(path).parent.mkdir(exist_ok=True)
        if text == PROGRAM:
            text = corpus.built("leaf_call", "arm64", "clang-asm").path.read_text("latin-1")
        Path(path).write_bytes(text.encode("latin-1" if path.endswith(".elf") else "utf-8"))
    session(testbed, steps)
