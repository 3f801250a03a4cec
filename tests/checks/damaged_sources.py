"""Directives of right assembly sources damaged on purpose, found by `check`, and corrected by `--fix`.

    python -m tests.checks.damaged_sources FILE... [--damages 100] [--seed 1] [-- COMPILER ARGUMENTS]

One directive of a function that was tried and is right is deleted, moved by an instruction or two, given another
number, or another register. What is written then is held against the source as it was: are the rows of the function
the same at each instruction?

With ``--stripped`` all directives are taken out instead, and `annotate` writes new ones: of how many functions are the
rows those of the author?
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from pathlib import Path

from testbed.arch import Arch
from testbed.checks.check_file import check_file
from testbed.checks.fixing import annotated, failing, fixed
from testbed.checks.frame_states import state_of
from testbed.checks.inputs import program_file, read_program
from testbed.checks.model import FileCheck
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.contract.rows import RowTable
from testbed.conventions import platform
from testbed.words.errors import BuildError

_SAID = re.compile(r"^\s*\.cfi_(adjust_cfa_offset|def_cfa\w*|offset|rel_offset|restore\b|restore_state|remember_state)")
_CODE = re.compile(r"^\s*(?!\.|#|//|/\*|\*)[A-Za-z]\w*(\s|$)")
_LABEL = re.compile(r"^\s*([\w.$]+):")
_NUMBER = re.compile(r"(?<![\d+*-])-?\b(?:0x[0-9a-f]+|\d+)(?=\s*$)")
_REGISTER = re.compile(r"(?<=[\s%])(?:r[a-z0-9]+|x\d+|d\d+)\b")


class Outcome(Enum):
    """What became of one damage."""

    REFUSED = "the assembler refuses it"
    UNSEEN = "its rows are right, too"
    EQUAL = "rows equal to the original's"
    RIGHT = "right rows, others than the original's"
    NOTHING = "nothing written"
    WORSE = "worse"


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged directive of a function: its line, from 0, and the text with it."""

    function: str
    line: int
    kind: str
    text: str


def damages(text: str, functions: Sequence[str], arch: Arch, chance: random.Random) -> Iterator[Damage]:
    """Damages of directives in some functions, each another line's, without end."""
    lines = text.splitlines(keepends=True)
    owner, owners = "", list[str]()
    for line in lines:
        label = _LABEL.match(line)
        owner = label[1] if label and label[1] in functions else "" if ".cfi_endproc" in line else owner
        owners.append(owner)
    places = [k for k, line in enumerate(lines) if owners[k] and _SAID.match(line)]
    chance.shuffle(places)
    for k in places:
        kind = chance.choice(("deleted", "moved", "shifted", "other register"))
        if (new := _damaged(lines, k, kind, arch, chance)) is not None:
            yield Damage(owners[k], k, kind, "".join(new))


def _damaged(lines: Sequence[str], k: int, kind: str, arch: Arch, chance: random.Random) -> list[str] | None:
    new, line = list(lines), lines[k]
    match kind:
        case "deleted":
            del new[k]
        case "moved":
            by, at, passed = chance.choice((-2, -1, 1, 2)), k, 0
            while passed < abs(by):
                at += 1 if by > 0 else -1
                if not 0 <= at < len(lines) or ".cfi_" in lines[at] or _LABEL.match(lines[at]):
                    return None
                passed += bool(_CODE.match(lines[at]))
            del new[k]
            new.insert(at, line)
        case "shifted":
            if (number := _NUMBER.search(line)) is None:
                return None
            value = int(number[0], 0) + chance.choice((-2, -1, 1, 2)) * arch.word
            new[k] = line[: number.start()] + str(value) + line[number.end() :]
        case _:
            if (register := _REGISTER.search(line)) is None:
                return None
            others = [name for name in platform(arch).preserved if name not in (register[0], arch.sp)]
            new[k] = line[: register.start()] + chance.choice(others) + line[register.end() :]
    return new


@lru_cache(maxsize=8)
def rows(path: Path, text: str, options: CheckOptions) -> Mapping[str, Sequence[object]]:
    """Of each function, its table's state at each byte."""
    with program_file(path, options.arch, options.flags, text) as built:
        image = read_program(built, path, options.arch)
    tables = [table for table in READERS.tables(image, options.tables).values() if isinstance(table, RowTable)]
    found: dict[str, Sequence[object]] = {}
    for symbol in (each for each in image.symbols if each.is_function):
        pcs = range(symbol.address, symbol.address + symbol.size)
        at = [[table.at(pc) for pc in pcs] for table in tables]
        its = [[state_of(row, platform(image.arch)) if row else None for row in each] for each in at]
        found[symbol.name] = its
    return found


def outcome_of(path: Path, original: str, damage: Damage, options: CheckOptions) -> tuple[Outcome, str]:
    """What becomes of one damage, and the patch."""

    def checked(text: str, functions: Sequence[str]) -> FileCheck:
        return check_file(path, replace(options, functions=(damage.function,)), READERS, text=text)

    try:
        check = checked(damage.text, ())
    except BuildError as error:
        return Outcome.REFUSED, str(error)
    if not any(failing(check)):
        return Outcome.UNSEEN, ""
    result = fixed(path, damage.text, check, checked)
    patch = result.diff(path.name) + "".join(f"{each.where}: {why}\n" for each, why in result.left)
    if result.new == damage.text:
        return Outcome.NOTHING, patch
    if rows(path, result.new, options)[damage.function] == rows(path, original, options)[damage.function]:
        return Outcome.EQUAL, patch
    return (Outcome.WORSE if any(failing(checked(result.new, ()))) else Outcome.RIGHT), patch


def right_functions(check: FileCheck) -> list[str]:
    """The functions that were tried as a whole, and of which nothing is said."""
    told = {each.function for finding in check.findings for each in finding.each}
    tried = [each for each in check.functions if not each.never and not each.without_row and each.name not in told]
    return [each.name for each in tried]


def stripped(path: Path, options: CheckOptions) -> Counter[str]:
    """Of a source's right functions: how many get rows when all directives were taken out, and how many the same."""
    original = path.read_text(encoding="utf-8")
    text = re.sub(r"^\s*;?\s*\.cfi_.*\n", "", original, flags=re.M)

    def checked(new: str, functions: Sequence[str]) -> FileCheck:
        return check_file(path, replace(options, functions=tuple(functions)), READERS, text=new)

    right = right_functions(check_file(path, options, READERS))
    result = annotated(path, text, checked(text, ()), checked)
    done = [each.function for each in result.corrected if each.function in right]
    for each, why in result.left:
        print(f"{path.name}: {each.function} is left: {why}")
    new, old = rows(path, result.new, options), rows(path, original, options)
    different = [name for name in done if new[name] != old[name]]
    print(f"{path.name}: {', '.join(different) or 'none'} differs")
    return Counter(right=len(right), annotated=len(done), equal=len(done) - len(different))


def main(words: Sequence[str]) -> None:
    flags = tuple(words[words.index("--") + 1 :]) if "--" in words else ()
    own = list(words[: words.index("--")] if flags else words)
    given = {name: own[own.index(name) + 1] for name in ("--damages", "--seed") if name in own}
    paths = [Path(word) for k, word in enumerate(own) if not word.startswith("--") and own[k - 1] not in given]
    chance, counts = random.Random(int(given.get("--seed", 1))), Counter[Outcome]()
    figures = Counter[str]()
    for path in paths:
        options, original = CheckOptions(flags=flags), path.read_text(encoding="utf-8")
        if "--stripped" in own:
            figures.update(stripped(path, options))
            print(dict(figures), flush=True)
            continue
        check = check_file(path, options, READERS)
        options = replace(options, arch=check.arch.name)
        several = damages(original, right_functions(check), check.arch, chance)
        for damage, _ in zip(several, range(int(given.get("--damages", 10))), strict=False):
            outcome, patch = outcome_of(path, original, damage, options)
            counts[outcome] += 1
            print(f"{path.name}:{damage.line + 1} {damage.function} {damage.kind}: {outcome.value}", flush=True)
            print(f"  - {original.splitlines()[damage.line].strip()}")
            if outcome in (Outcome.RIGHT, Outcome.NOTHING, Outcome.WORSE):
                print("".join(f"    {line}\n" for line in patch.splitlines()))
    for each in Outcome:
        print(f"{counts[each]:6} {each.value}")


if __name__ == "__main__":
    main(sys.argv[1:])
