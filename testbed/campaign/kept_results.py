"""Judged units, kept beside the built files: what a matrix need not judge again, because nothing changed.

A unit's result follows from its built file and source header, the code of the testbed and of the unwinders, the
seed and the budget, and the versions of the libraries that run, read and describe programs. The hash of all that is
its *key*. There is one file per unit and choice of unwinders, so a newer result replaces the older one.

Only complete results are kept: one that failed or was skipped may come out differently after an installation, without
any file of ours having changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from testbed.campaign.cells import BUDGET, SEED, build_unit
from testbed.campaign.matrix import judge_unit
from testbed.campaign.results import Unit, UnitResult
from testbed.contract.unwinder import Unwinder
from testbed.program.model import Program
from testbed.store import KeptFiles, key_of
from testbed.words.own_files import code_of, versions_of

_LIBRARIES = ("unicorn", "numpy", "capstone", "pyelftools", "numba")
RESULTS = KeptFiles(room="judged", patterns=("*.judged",))


def kept_result(unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder]) -> UnitResult | None:
    """The kept result of a unit, or None where it must be judged.

    Builds the unit if its file is not in the cache: whether the result still holds depends on that file.
    """
    # The code is hashed before anything is judged: workers inherit the hash, so that a file edited in the meantime does
    # not get the results of the code that was loaded.
    codes = _codes(unwinders)
    name = _name(unit, unwinders)
    if not all(codes) or not RESULTS.path(name).is_file():
        return None
    try:
        key = _key(unit, programs, unwinders)
    except Exception:  # judging tells it
        return None
    found = RESULTS.get_value(name, UnitResult, key)
    return found and replace(found, kept=True)


def judge_and_keep(
    unit: Unit,
    programs: Mapping[str, Program],
    unwinders: Sequence[Unwinder],
    *,
    fresh: bool = False,
    natively: bool | None = None,
) -> UnitResult:
    """Judge a unit and keep its result if it is complete. Runs in worker processes; never raises for a bad unit."""
    result, key = judge_with_key(unit, programs, unwinders, fresh=fresh, natively=natively)
    keep_result(result, key, unwinders)
    return result


def judge_with_key(
    unit: Unit,
    programs: Mapping[str, Program],
    unwinders: Sequence[Unwinder],
    *,
    fresh: bool = False,
    natively: bool | None = None,
) -> tuple[UnitResult, str]:
    """Judge a unit without keeping anything: its result, and the key to keep it under; "" for one that is not kept.

    For a process on another machine, which has another folder: its versions are in the key.
    """
    result = judge_unit(unit, programs, unwinders, fresh=fresh, natively=natively)
    complete = all(_codes(unwinders)) and not result.skipped and not result.failed
    return result, _key(unit, programs, unwinders) if complete else ""


def keep_result(result: UnitResult, key: str, unwinders: Sequence[Unwinder]) -> None:
    """Keep a result under the key that it was judged with, unless that is ""."""
    if key:
        RESULTS.keep_value(_name(result.unit, unwinders), UnitResult, result, key)


def _name(unit: Unit, unwinders: Sequence[Unwinder]) -> str:
    return f"{unit}.{key_of(*(unwinder.name for unwinder in unwinders))[:12]}.judged"


def _key(unit: Unit, programs: Mapping[str, Program], unwinders: Sequence[Unwinder]) -> str:
    """The hash of everything that decides a result."""
    built = build_unit(unit, programs)
    return key_of(
        str(unit),
        built.path.name,  # a site without a symbol is told by it
        hashlib.sha256(built.path.read_bytes()).hexdigest(),
        *built.source.texts,
        *_codes(unwinders),
        str(SEED),
        str(BUDGET),
        *versions_of(_LIBRARIES),
        *(unwinder.tool() for unwinder in unwinders if unwinder.tool is not None),
    )


def _codes(unwinders: Sequence[Unwinder]) -> list[str]:
    """The hashes of the code of the testbed and of each package that an unwinder is from; "" where there is none."""
    if not all(unwinder.repeatable for unwinder in unwinders):
        return [""]
    packages = {str(getattr(unwinder.unwind, "__module__", "")).partition(".")[0] for unwinder in unwinders}
    return [code_of(package) for package in sorted({"testbed", *packages})]
