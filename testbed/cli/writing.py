"""Files that a command writes: tried before the work, and where writing fails after all, the rest is still shown."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from testbed.words.errors import UsageError
from testbed.words.files import said

_OUTPUTS = frozenset(("--output", "--save", "--write-known"))


def try_writing(path: Path) -> None:
    """Raise UsageError where a file cannot be written. What is there stays, and nothing new is there."""
    try:
        there = path.exists()
        # A pipe that nobody reads would be waited for without end.
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY, 0o666))
        if not there:
            path.unlink()
    except (OSError, ValueError) as error:
        nobody = isinstance(error, OSError) and error.errno == errno.ENXIO
        why = "a pipe that nobody reads" if nobody else said(error)
        raise UsageError(f"{path} cannot be written: {why}") from error


def write_text(path: Path, text: str) -> None:
    """Write a file. Raises UsageError where it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error


# What a file that is written holds, by the end of its name: the longer end counts.
_ENDS = MappingProxyType(
    {
        "plot": (".plot.svg", ".png"),
        "timeline": (".timeline.json",),
        "json": (".json",),
        "html": (".html",),
        "svg": (".svg",),
        "trace": (".trace",),
        "junit": (".xml",),
        "markdown": (".md",),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The files that a command is to write, by what each holds."""

    plot: Path | None = None
    timeline: Path | None = None
    json: Path | None = None
    html: Path | None = None
    svg: Path | None = None
    trace: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None

    def __bool__(self) -> bool:
        return self != Outputs()


def outputs_option(**kinds: str) -> Callable[[Any], Any]:
    """``-o FILE`` of a command that writes these kinds of files, each with the words for it in the help."""
    told = "; ".join(f"{' or '.join(_ENDS[kind])}: {words}" for kind, words in kinds.items())

    def read(context: click.Context, param: click.Parameter, given: tuple[Path, ...]) -> Outputs:
        del param
        found: dict[str, Path] = {}
        for path in given:
            kind = next((each for each in _ENDS if each in kinds and path.name.endswith(_ENDS[each])), None)
            if kind is None:
                raise UsageError(f"-o {path}: the end of its name says what to write ({told})")
            if not context.resilient_parsing:
                try_writing(path)
            found[kind] = path
        return Outputs(**found)

    return click.option(
        "--output",
        "-o",
        "outputs",
        multiple=True,
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        callback=read,
        help=f"Also write FILE, as its name ends: {told}. Repeatable.",
    )


@contextmanager
def written(path: Path) -> Iterator[None]:
    """A file is written while this lasts. Where that fails, it is told, the command goes on, and its status is 2."""
    try:
        yield
    except (OSError, UsageError) as error:
        why = str(error) if isinstance(error, UsageError) else f"{path} cannot be written: {said(error)}"
        click.echo(f"error: {why}", err=True)
        click.get_current_context().call_on_close(_something_is_missing)


def _something_is_missing() -> None:
    sys.exit(2)


def with_tried_outputs(command: click.Command) -> click.Command:
    """The command, which tries the files that it is to write before it begins."""
    for param in command.params:
        is_file = isinstance(param, click.Option) and isinstance(param.type, click.Path) and not param.type.exists
        if is_file and _OUTPUTS & {*param.opts} and not getattr(param.callback, "tries", False):
            param.callback = _trying(param.callback)
    return command


def _trying(own: Callable[..., Any] | None) -> Callable[..., Any]:
    def callback(context: click.Context, param: click.Parameter, value: Any) -> Any:
        if isinstance(value, Path) and not context.resilient_parsing:
            if str(value) == "-":
                raise click.BadParameter("- is not written to: name a file", context, param)
            try_writing(value)
        return own(context, param, value) if own is not None else value

    callback.tries = True  # type: ignore[attr-defined]
    return callback
