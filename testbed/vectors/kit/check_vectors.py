#!/usr/bin/env python3
"""Check an unwinder on the test vectors in a folder. Plain Python 3.8 or newer; nothing else is needed.

    check_vectors.py [--arch NAME] [--technique NAME]... DIR -- COMMAND...
    check_vectors.py [--arch NAME] [--technique NAME]... DIR --function MODULE:NAME

COMMAND is run once for each file of vectors, with the file's path as its last argument, and prints a line of JSON for
each vector. A function is called for each vector with (file, vector, registers, memory) and returns the same as a
dictionary. README.md says what an answer is, and what the words of the table mean. Exit status: 0 if nothing failed, 1
if something did, 2 if a file cannot be read or the command does not start.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

PHASES = ("entry", "prologue", "body", "epilogue", "call")
PC = {"x86_64": "rip", "arm64": "pc", "arm32": "pc"}
FAILURES = ("SHORT", "LIE", "NONE")  # what makes the exit status 1
SECONDS = 60  # for a command on one file
MOST = 1 << 24  # bytes that it may print about one file


class VectorMemory:
    """The memory of one vector: zeros, the program file's segments over them, the vector's blocks over those."""

    def __init__(self, folder: Path, file: Any) -> None:
        self.regions = [(int(a, 16), bytearray(int(b, 16) - int(a, 16))) for a, b in file["mapped"]]
        content = (folder / file["image"]["file"]).read_bytes()
        for segment in file["image"]["segments"]:
            start = segment["offset"]
            self.write(int(segment["address"], 16), content[start : start + segment["file_size"]])
        self.blocks = [(int(address, 16), bytes.fromhex(data)) for address, data in file["blocks"]]

    def write(self, address: int, data: bytes) -> None:
        for start, region in self.regions:
            if start <= address < start + len(region):
                region[address - start : address - start + len(data)] = data

    def of(self, vector: Any) -> VectorMemory:
        """A copy with a vector's blocks."""
        made = object.__new__(VectorMemory)
        made.regions = [(start, bytearray(region)) for start, region in self.regions]
        for index in vector["memory"]:
            made.write(*self.blocks[index])
        return made

    def read(self, address: int, size: int = 8) -> int | None:
        """A little-endian number, or None where not all of it is mapped."""
        for start, region in self.regions:
            if start <= address and address + size <= start + len(region):
                return int.from_bytes(region[address - start : address - start + size], "little")
        return None


WITHOUT_ANSWERS = """of {silent} files there was no answer at all. The command is started as `{command} FILE`, once for
each file, and prints a line {{"id": ..., "frames": [...], "root": ...}} for each of its vectors: README.md beside
index.json says it in full. It gets nothing on its standard input: a program that speaks the protocol of testbed's
--unwinder-cmd is another kind, which `testbed score --unwinder-cmd COMMAND` judges."""


def registers_of(file: Any, vector: Any) -> dict[str, int]:
    """The registers at a vector, by name: what all of the file have, and its own."""
    return {name: int(value, 16) for name, value in {**file["registers"], **vector["registers"]}.items()}


def number(value: Any) -> int:
    """A number of JSON: as such, or in hexadecimal in a string."""
    return int(value, 16) if isinstance(value, str) else int(value)


def judge(file: Any, vector: Any, answer: Any) -> tuple[str, str]:
    """("exact", ""), ("stop", why) or ("LIE", what is false first)."""
    interrupted = {"pc": registers_of(file, vector)[PC[file["arch"]]], "registers": {}, "kind": "interrupted"}
    if "cfa" in vector:
        interrupted["cfa"] = vector["cfa"]
    true = [interrupted] + [file["callers"][index] for index in vector["callers"]]
    for i, said in enumerate(answer["frames"]):
        pc = number(said["pc"])
        if i == len(true):
            return "LIE", f"frame {i}, {pc:#x}, never was"
        if pc not in [number(right) for right in [true[i]["pc"], *true[i].get("also", [])]]:
            return "LIE", f"frame {i}: pc {pc:#x}, not {number(true[i]['pc']):#x}"
        if said.get("cfa") is not None and "cfa" in true[i] and number(said["cfa"]) != number(true[i]["cfa"]):
            return "LIE", f"frame {i}: CFA {number(said['cfa']):#x}, not {true[i]['cfa']}"
        for name, value in (said.get("registers") or {}).items():
            right = true[i]["registers"].get(name)
            if value is not None and right is not None and number(value) != number(right):
                return "LIE", f"frame {i}: {name} {number(value):#x}, not {right}"
        kind = true[i]["kind"]  # of a trampoline either will do
        if kind != "trampoline" and said.get("interrupted") not in (None, kind == "interrupted"):
            return "LIE", f"frame {i}: what its pc is: {kind}"
    if not answer["frames"]:
        return "LIE", "no frames: the first one is the interrupted one"
    if not answer.get("root"):
        return "stop", str(answer.get("stopped"))
    whole = len(answer["frames"]) == len(true)
    return ("exact", "") if whole else ("LIE", f"frame {len(answer['frames']) - 1} is not the root")


def result(file: Any, vector: Any, answer: Any, techniques: list[str]) -> tuple[str, str]:
    """The word of the table for an answer, and what is wrong."""
    if answer is None:
        return "NONE", "no answer"
    try:
        word, detail = judge(file, vector, answer)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return "NONE", f"what it says is no answer: {type(error).__name__}: {str(error)[:80]}"
    site = file["classes"][vector["class"]]
    known = [name for name in techniques if name in file["techniques"]]
    if word == "stop" and any(name not in site["stop"] and name not in site["lie"] for name in known):
        return "SHORT", f"it stops ({detail}), and its technique can be exact here"
    if word == "LIE" and known and all(name in site["lie"] for name in known):
        return "foretold", detail
    return word, detail


def refuse(what: str) -> NoReturn:
    """End with one sentence and status 2."""
    print(f"error: {what}", file=sys.stderr)
    sys.exit(2)


def answers_of(command: list[str], path: Path) -> dict[int, Any]:
    """What a command says of a file's vectors, by their ids. It is stopped when it takes or prints too much."""
    try:
        process = subprocess.Popen([*command, str(path)], stdout=subprocess.PIPE, start_new_session=True)
    except (OSError, ValueError) as error:
        refuse(f"{command[0]} does not start: {getattr(error, 'strerror', None) or error}")
    late = threading.Timer(SECONDS, end, [process])
    late.start()
    try:
        found = answers_in(lines_of(process, path))
        process.wait()
        return found
    finally:
        late.cancel()
        if process.poll() is None:
            end(process)
            process.wait()
        if process.stdout:
            process.stdout.close()


def end(process: Any) -> None:
    """Kill a command with all that it started."""
    with contextlib.suppress(PermissionError, ProcessLookupError):  # it is gone
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()


def lines_of(process: Any, path: Path) -> Iterator[bytes]:
    """What a command prints, until that is too much."""
    left = MOST
    while left:
        line = process.stdout.readline(left)
        if not line:
            return
        left -= len(line)
        yield line
    print(f"{path}: the command printed more than {MOST} bytes, and was stopped", file=sys.stderr)
    end(process)


def answers_in(lines: Iterable[bytes]) -> dict[int, Any]:
    """The answers that lines hold, by their ids. A line that holds none is left out: its vector has no answer then."""
    found = {}
    for line in lines:
        if not line.lstrip().startswith(b"{"):
            continue
        try:
            answer = json.loads(line)
            found[int(answer["id"])] = answer
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
            continue
    return found


def main() -> None:
    """The command: ask about every vector, print the counts, and exit with 1 where a lie was told."""
    own = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own.add_argument("folder", type=Path, metavar="DIR")
    own.add_argument("--arch", action="append", help="only this architecture; repeatable")
    own.add_argument("--technique", action="append", default=[], help="a name of index.json: what it can know is asked")
    own.add_argument("--function", help="MODULE:NAME, in place of a command")
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, command = own.parse_args(sys.argv[1:cut]), sys.argv[cut + 1 :]
    if bool(options.function) == bool(command):
        own.error("give a command behind --, or --function MODULE:NAME")
    try:
        index = json.loads((options.folder / "index.json").read_text())
        entries = [(entry["arch"], entry["file"]) for entry in index["files"]]
    except (LookupError, OSError, TypeError, ValueError) as error:
        refuse(f"{options.folder / 'index.json'} is no index of test vectors: {type(error).__name__}: {error}")
    if unknown := [name for name in options.technique if name not in index["techniques"]]:
        own.error(f"no technique {unknown[0]}; there are {', '.join(index['techniques'])}")
    if options.function:
        module, _, called = options.function.partition(":")
        try:
            function = getattr(importlib.import_module(module), called)
        except (AttributeError, ImportError, ValueError) as error:
            refuse(f"--function {options.function}: {error}")
    counts: Counter[tuple[str, str, str]] = Counter()
    failures: dict[str, str] = {}  # the first of each file
    silent = 0  # files of which the command said nothing
    for arch, name in entries:
        if options.arch and arch not in options.arch:
            continue
        path = options.folder / name
        try:
            file = json.loads(path.read_text())
            memory = VectorMemory(path.parent, file)
        except (LookupError, OSError, TypeError, ValueError) as error:
            refuse(f"{path} is no file of test vectors: {type(error).__name__}: {error}")
        told = answers_of(command, path) if command else {}
        silent += bool(command and not told)
        for vector in file["vectors"]:
            if command:
                answer = told.get(vector["id"])
            else:
                answer = function(file, vector, registers_of(file, vector), memory.of(vector))
            word, detail = result(file, vector, answer, options.technique)
            counts[file["arch"], vector["phase"], word] += 1
            if word in FAILURES and name not in failures:
                place = f"vector {vector['id']} ({vector['where']}, {vector['phase']})"
                shown = file["show"].replace("@ID", f"@{vector['id']}")
                failures[name] = f"{word} {name}: {place}: {detail}\n    {shown}"
    words = ("exact", "stop", "foretold", *FAILURES)
    print(f"{'arch':8} {'phase':9}" + "".join(f"{word:>9}" for word in ("vectors", *words)))
    for arch in sorted({arch for arch, _, _ in counts}):
        for phase in PHASES:
            row = [counts[arch, phase, word] for word in words]
            print(f"{arch:8} {phase:9}" + "".join(f"{count:9}" for count in (sum(row), *row)))
    print("\n".join(failures.values()), end="\n" if failures else "")
    if silent:
        print(WITHOUT_ANSWERS.format(silent=silent, command=" ".join(command)), file=sys.stderr)
    if not counts:
        sys.exit("no vectors: is the architecture one of index.json?")
    sys.exit(any(word in FAILURES and count for (_, _, word), count in counts.items()))


if __name__ == "__main__":
    main()
