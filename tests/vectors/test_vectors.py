"""Test vectors say what the runs were, by themselves: every machine put together again, every answer judged again."""

import hashlib
import json
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build.recipes import RECIPES
from testbed.campaign.cells import Unit, run_unit, units
from testbed.contract.unwinder import Backtrace, FrameKind
from testbed.image import LoadedImage
from testbed.image.read import read_image
from testbed.runs.run import Run
from testbed.trace import Snapshot
from testbed.trace.memory import Memory
from testbed.vectors.collect import BELOW_SP, BLOCK, chosen_units, with_generated
from testbed.words.traits import TRAPS
from tests.cli.command import Testbed, tells
from tests.vectors.conftest import chosen, write_set
from unwinders import UNWINDERS

KNOWN = with_generated(PROGRAMS)
File = dict[str, Any]


def run_of(file: File) -> Run:
    named = file["show"].split()[2]
    return run_unit(Unit(named, file["arch"], file["recipe"]), KNOWN)


def test_the_files_follow_their_schema(small_set: Path, files: list[File]) -> None:
    schema = json.loads((small_set / "vectors.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    index = json.loads((small_set / "index.json").read_text())
    for data in (index, *files):
        assert next(validator.iter_errors(data), None) is None
    assert index["vectors"] == sum(len(file["vectors"]) for file in files)
    for change in ({"version": 1}, {"more": 1}, {"arch": "vax"}):
        assert not validator.is_valid(files[0] | change)


def test_every_machine_is_that_of_the_run(small_set: Path, files: list[File], checker: SimpleNamespace) -> None:
    for file in files:
        run = run_of(file)
        whole = checker.VectorMemory(small_set / file["arch"], file)
        for vector in file["vectors"]:
            snapshot, memory = run[vector["id"]], whole.of(vector)
            assert checker.registers_of(file, vector) == dict(snapshot.registers)
            assert [(start, len(data)) for start, data in memory.regions] == list(snapshot.memory.regions)
            for start, data in memory.regions:
                dead = snapshot.sp - BELOW_SP & -BLOCK if start <= snapshot.sp <= start + len(data) else start
                assert data[dead - start :] == snapshot.memory.read(dead, start + len(data) - dead), vector["where"]


def test_the_callers_are_the_true_ones_and_no_site_is_in_transition(files: list[File]) -> None:
    for file in files:
        run = run_of(file)
        for vector in file["vectors"]:
            innermost, *true = run.truth(vector["id"]).frames
            callers = [file["callers"][index] for index in vector["callers"]]
            assert [int(caller["pc"], 16) for caller in callers] == [frame.pc for frame in true]
            assert vector.get("cfa") == (None if innermost.cfa is None else hex(innermost.cfa))
            assert not run.watched.transition[vector["id"]]


# An unwinder asked about vectors: the only place where they meet the package; what checks them does not know it.


def snapshot_of(folder: Path, file: Any, registers: dict[str, int], memory: Any) -> Snapshot:
    """The machine of a vector as unwinders see it."""
    arch, said = ARCHES[file["arch"]], file["image"]
    records = tuple((isa, *layout.values()) for isa, layout in said["frame_records"].items())
    image = loaded(arch, folder / file["arch"] / said["file"], said["sha256"], said["bias"], records)
    regions = [(start, bytes(region)) for start, region in memory.regions]
    mask = int(file["pac_mask"], 16) if "pac_mask" in file else None
    return Snapshot(arch, registers, Memory.of(regions), (image,), pac_mask=mask)


def as_answer(said: Backtrace) -> dict[str, Any]:
    frames = []
    for i, frame in enumerate(said.frames):
        told: dict[str, Any] = {"pc": frame.pc, "cfa": frame.cfa}
        if i:
            told |= {"registers": dict(frame.registers), "interrupted": frame.kind is FrameKind.INTERRUPTED}
        frames.append(told)
    return (
        {"frames": frames, "root": True} if said.stopped is None else {"frames": frames, "stopped": str(said.stopped)}
    )


@lru_cache(maxsize=4)
def loaded(
    arch: Arch, path: Path, sha256: str, bias: str, records: tuple[tuple[str, str, int, int], ...]
) -> LoadedImage:
    """The program file, with the layouts of frame records that the vectors give."""
    assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    known = {
        (isa.name, r.pointer, r.saved_pointer, r.return_address): (isa.name, r)
        for isa in arch.isas
        for r in isa.records
    }
    return LoadedImage(
        replace(read_image(path, arch=arch), frame_records=dict(known[each] for each in records)), int(bias, 16)
    )


def test_each_unwinder_gets_the_word_that_is_expected_of_its_technique(
    small_set: Path, files: list[File], checker: SimpleNamespace
) -> None:
    """By the checker's own judge, on the machine as it is in the file, at a third of the sites: exact, stop or lie."""
    seen = set()
    for file in files:
        whole = checker.VectorMemory(small_set / file["arch"], file)
        for vector in file["vectors"][::3]:
            registers, memory = checker.registers_of(file, vector), whole.of(vector)
            site = file["classes"][vector["class"]]
            for name in file["techniques"]:
                said = as_answer(UNWINDERS[name].unwind(snapshot_of(small_set, file, registers, memory)))
                word, detail = checker.judge(file, vector, said)
                expected = "stop" if name in site["stop"] else "LIE" if name in site["lie"] else "exact"
                assert word == expected, f"{file['show']} {vector['id']} {name}: {detail}"
                seen.add((name, word))
    assert {(name, "exact") for name in ("eh_frame", "ehabi", "sframe", "fp_chain", "compact_unwind")} <= seen
    assert {word for _, word in seen} == {"exact", "stop", "LIE"}


def test_a_pc_that_a_callee_makes_right_is_right(files: list[File], checker: SimpleNamespace) -> None:
    """`behind_call` takes data from behind the call: where it goes on is right too, and what lies between."""
    file = next(file for file in files if file["program"] == "behind_call")
    changed = [caller for caller in file["callers"] if "also" in caller]
    assert changed
    assert all(int(caller["also"][-1], 16) > int(caller["pc"], 16) for caller in changed)


def test_sites_of_one_shape_are_there_once(files: list[File]) -> None:
    for file in files:
        run = run_of(file)
        visits = sum(vector["visits"] for vector in file["vectors"])
        assert visits == len(run) - int(run.watched.transition.sum())
    recursive = next(f for f in files if f["program"] == "overaligned" and f["arch"] == "arm64")
    assert len(recursive["vectors"]) < len(run_of(recursive))
    assert len({(v["id"]) for v in recursive["vectors"]}) == len(recursive["vectors"])


def test_the_same_set_is_written_twice(small_set: Path, tmp_path: Path) -> None:
    write_set(
        tmp_path / "again", "-a", "arm64", *chosen(("leaf_call", "signal", "genc:1004"), ("keystone", "clang-O2"))
    )
    again = sorted(path for path in (tmp_path / "again" / "arm64").iterdir())
    assert len(again) == 6
    for path in again:
        assert path.read_bytes() == (small_set / "arm64" / path.name).read_bytes()


def test_every_program_architecture_and_trap_is_in_the_whole_set() -> None:
    planned = chosen_units(KNOWN, ARCHES.values())
    there = {(unit.program, unit.arch) for unit in planned}
    built = {(name, u.arch) for name, p in KNOWN.items() for u in units([p], ARCHES.values(), RECIPES.values())}
    assert there == built
    traps = {trap.number for unit in planned for s in KNOWN[unit.program].sources.values() for trap in s.header.traps}
    assert traps == set(TRAPS)
    assert len(set(planned)) == len(planned)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, testbed: Testbed) -> None:
    (tmp_path / "mine").write_text("precious")
    one = chosen(("leaf_call",), ("keystone",))
    tells(testbed, 2, ["export", "--vectors", str(tmp_path), *one], err=["is not empty"])
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_site_that_nothing_explains_is_told_and_its_program_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, testbed: Testbed
) -> None:
    """Nobody can say what to expect there: the rest of the set is written, and the exit status is 1."""
    scan = replace(UNWINDERS["stack_scan_strict"], assumption=UNWINDERS["eh_frame"].assumption)  # that is false
    monkeypatch.setattr("testbed.cli.export.UNWINDERS", {"stack_scan_strict": scan})
    options = ["-a", "x86_64", "-j", "1", *chosen(("leaf_call", "cold_split"), ("keystone",))]
    done = tells(testbed, 1, ["export", "--vectors", str(tmp_path / "set"), *options])
    assert re.search(r"cold_split-x86_64-keystone failed, and is left out: .*is not foretold", done.out + done.err)
    index = json.loads((tmp_path / "set" / "index.json").read_text())
    assert [entry["program"] for entry in index["files"]] == ["leaf_call"]
