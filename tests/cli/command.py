"""What a command said, and sources of small programs to try it on."""

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jsonschema
import pytest

from testbed.cli import main
from testbed.report.json_forms import schema

HEAD = "// summary: a test\n// exit: 0\n\n"
NEVER_ENDS = (
    ".intel_syntax noprefix\n.globl _start\n.type _start, @function\n_start:\n jmp _start\n.size _start, . - _start\n"
)


class Said(NamedTuple):
    """The exit status of a command, and what it wrote to standard output and standard error."""

    status: int
    out: str
    err: str


Testbed = Callable[..., Said]


def in_this_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> Said:
    """What `testbed ARGUMENTS` says."""
    monkeypatch.setattr(sys, "argv", ["testbed", *arguments])
    monkeypatch.setenv("NO_COLOR", "1")
    status: object = 0
    try:
        main()
    except SystemExit as done:
        status = done.code or 0
    printed = capsys.readouterr()
    assert isinstance(status, int)
    return Said(status, printed.out, printed.err)


def tells(
    testbed: Testbed, status: int, words: Sequence[str], out: Iterable[str] = (), err: Iterable[str] = ()
) -> Said:
    """What a command says: with this status, and these words in its streams, wherever its lines are broken."""
    said = testbed(*words)
    assert said.status == status and "Traceback" not in said.err, said
    for told, stream in ((out, said.out), (err, said.err)):
        assert [word for word in told if word not in stream and word not in " ".join(stream.split())] == [], stream
    return said


def data_of(text: str, name: str) -> Any:
    """The data of JSON that a command wrote, as the schema of that name wants it."""
    data, wanted = json.loads(text), schema(name)
    jsonschema.Draft202012Validator.check_schema(wanted)
    jsonschema.validate(data, wanted)
    return data


class Step(NamedTuple):
    """A command of a session: what is typed, how it exits, words of each stream (a text: all), and of neither."""

    typed: str
    status: int = 0
    out: Sequence[str] = ()
    err: Sequence[str] | str = ()
    lacks: Sequence[str] = ()


def session(testbed: Testbed, steps: Iterable[Step], **names: object) -> None:
    """Commands one after the other; each says what its step has. In what is typed ``{name}`` stands for a value."""
    for step in steps:
        whole = isinstance(step.err, str)
        words = shlex.split(step.typed.format(**names))
        said = tells(testbed, step.status, words, step.out, () if whole else step.err)
        assert not whole or said.err == step.err
        assert [word for word in step.lacks if word in said.out + said.err] == []
