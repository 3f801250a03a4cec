"""Mistakes planted in copies of our unwinders, each found by the vectors, which are checked without our package.

A copy of `unwinders` is changed in one place, and `check_vectors.py` runs in a process of its own that finds the copy
before the package. Each is a mistake that real unwinders made.

    python -m tests.vectors.planted                     plant all, and print what the checker says of each, as a table
    python -m tests.vectors.planted docs/vectors.md     put that table in the page
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.vectors.conftest import PROGRAMS, RECIPES, chosen, write_set

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(?<=<!-- planted -->\n).*?(?=<!-- end -->)", re.S)


@dataclass(frozen=True)
class Planted:
    """A mistake: what stands in a file of `unwinders`, and what is put there; the unwinder that has it then."""

    what: str
    file: str
    right: str
    wrong: str
    unwinder: str
    arch: str
    told: str  # a part of what the checker says


PLANTED = (
    Planted(
        "the CFA does not follow the pops of an epilogue",
        "formats/cfi_rows.py",
        "self.set_cfa(self.cfa.register, offset)",
        "self.set_cfa(self.cfa.register, max(offset, self.cfa.offset))",
        "eh_frame",
        "x86_64",
        "epilogue): frame 0",
    ),
    Planted(
        "a return address is looked up as it is, not one byte less",
        "rows/walk.py",
        ".at(frame.lookup_pc - loaded.bias)",
        ".at(frame.pc - loaded.bias)",
        "eh_frame",
        "x86_64",
        "x86_64/noreturn_last_call",
    ),
    Planted(
        "the frame record is believed before the function has linked its own",
        "chains/fp_chain_entry.py",
        "if function is not None and function.address == frame.pc - loaded.bias:",
        "if function is not None and function.address > frame.pc - loaded.bias:",
        "fp_chain_entry",
        "x86_64",
        "entry): frame",
    ),
    Planted(
        "one register is restored from the slot beside its own",
        "formats/cfi_rows.py",
        "rule = Offset(reader.uleb() * factor)",
        "rule = Offset((reader.uleb() - (name == 'rbx')) * factor)",
        "eh_frame",
        "x86_64",
        "rbx",
    ),
    Planted(
        "a signal's frame is taken for a call's",
        "formats/cfi_rows.py",
        "signal_frame = self.fde.cie.is_signal",
        "signal_frame = False",
        "eh_frame",
        "x86_64",
        "x86_64/signal",
    ),
    Planted(
        "restore_state forgets that the CFA is part of the state",
        "formats/cfi_rows.py",
        "self.cfa, self.registers, self.offset = self.remembered.pop()",
        "self.registers = self.remembered.pop().registers",
        "eh_frame",
        "x86_64",
        "x86_64/early_return",
    ),
    Planted(
        "the last byte of a function is not covered",
        "formats/cfi.py",
        "return FdeRange(offset, start, start + size)",
        "return FdeRange(offset, start, start + size - 1)",
        "eh_frame",
        "x86_64",
        "SHORT",
    ),
    Planted(
        "a callee-saved register without a rule is thought lost",
        "rows/apply.py",
        "rules = default | register_rules(row, arch)",
        "rules = {name: rule for name, rule in (default | register_rules(row, arch)).items() if name in row.registers}",
        "eh_frame",
        "x86_64",
        "SHORT x86_64/overaligned",
    ),
    Planted(
        "the link register is believed after the function's own call has overwritten it",
        "chains/lr_leaf.py",
        "if function is None or function is _function(snapshot, snapshot.pc):",
        "if function is None:",
        "lr_leaf",
        "arm64",
        "LIE arm64/",
    ),
    Planted(
        "the signature of a return address is not taken off",
        "rows/apply.py",
        "if row.is_signed else",
        "if row.is_signed and not return_address else",
        "eh_frame",
        "arm64",
        "LIE arm64/pac_ret",
    ),
    Planted(
        "registers are popped in the wrong order",
        "formats/ehabi_rows.py",
        "return Pop((*through, LR) if first & 8 else through)",
        "return Pop((LR, *through) if first & 8 else through)",
        "ehabi",
        "arm32",
        "LIE arm32/",
    ),
    Planted(
        "the frame pointer's slot is a word off in SFrame",
        "formats/sframe.py",
        "                rule = Offset(words.signed(size))\n            if rule is not None:",
        "                rule = Offset(words.signed(size) - 8)\n            if rule is not None:",
        "sframe",
        "x86_64",
        "rbp",
    ),
)


def checked(folder: Path, unwinder: str, arch: str, before: Path | None = None) -> subprocess.CompletedProcess[str]:
    """``check_vectors.py`` on our unwinder, or on the copy of it that stands before the package."""
    paths = [str(path) for path in (before, ROOT) if path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TESTBED_VECTORS": str(folder)}
    return subprocess.run(
        [
            *(sys.executable, folder / "check_vectors.py", "--arch", arch, "--technique", unwinder, folder),
            *("--function", f"tests.vectors.answers:{unwinder}"),
        ],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        cwd=folder,
    )


def with_mistake(planted: Planted, folder: Path) -> Path:
    """A folder whose `unwinders` has the mistake."""
    shutil.copytree(ROOT / "unwinders", folder / "unwinders", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "unwinders" / planted.file
    source = path.read_text(encoding="utf-8")
    assert source.count(planted.right) == 1, "this place of the source has changed: plant the mistake anew"
    path.write_text(source.replace(planted.right, planted.wrong), encoding="utf-8")
    return folder


def failures(said: str) -> list[str]:
    """The lines of the checker that begin with a failure."""
    return [line for line in said.splitlines() if line.startswith(("LIE ", "SHORT ", "NONE "))]


def table() -> str:
    """A line of Markdown for each mistake: what it is, where, and how many vectors it fails, with the first of them."""
    rows = ["| planted | unwinder | the checker's first sentence |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as name:
        vectors = Path(name) / "set"
        write_set(vectors, *chosen(PROGRAMS, RECIPES))
        for index, planted in enumerate(PLANTED):
            changed = with_mistake(planted, Path(name) / str(index))
            done = checked(vectors, planted.unwinder, planted.arch, changed)
            assert done.returncode == 1, f"not found: {planted.what}"
            first = next(line for line in failures(done.stdout) if planted.told in line)
            rows.append(f"| {planted.what} (`{planted.file}`) | {planted.unwinder}, {planted.arch} | `{first}` |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    made = table()
    for page in map(Path, sys.argv[1:]):
        page.write_text(BLOCK.sub(lambda _: made, page.read_text(encoding="utf-8")), encoding="utf-8")
    print(made, end="")
