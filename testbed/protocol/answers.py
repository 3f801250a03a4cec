"""The lines that a foreign unwinder writes, read and checked: a mistake is a `BrokenAnswer` in words for its author."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from testbed.arch import ARCHES, Arch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind
from testbed.trace import Snapshot
from testbed.words.catalogue import nearest
from testbed.words.errors import BrokenAnswer, ForeignStop, UnwindError
from testbed.words.printable import printable

MOST_FRAMES = 4096  # of one backtrace
_SHOWN = 60  # characters of what it wrote that a message shows
_REASON = 500  # characters of a reason to stop that are kept
_LARGEST_STACK = 1 << 20
_HEXADECIMAL = re.compile("0[xX][0-9a-fA-F]{1,64}")

_OUR_NAMES = {name: arch.name for arch in ARCHES.values() for name in (arch.name, *arch.aliases)}


@dataclass(frozen=True, slots=True)
class Hello:
    """What a program says of itself; None: it does not say.

    ``name`` and ``version`` are printable. ``arches`` are those that we have, by our names; ``stack_below`` and
    ``stack_above`` are bytes from SP.
    """

    name: str
    version: str
    arches: frozenset[str] | None
    stack_below: int | None
    stack_above: int | None


def read_line(line: bytes) -> dict[str, Any]:
    """The object on a line, with a ``type``. Raises BrokenAnswer."""
    try:
        said = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BrokenAnswer(f"wrote a line that is not UTF-8: {_shown(line)}") from error
    except (ValueError, RecursionError) as error:
        hint = "; is that UTF-16?" if b"\0" in line else ""
        raise BrokenAnswer(f"wrote a line that is no JSON: {_shown(line)} ({error}){hint}") from error
    if not isinstance(said, dict):
        raise BrokenAnswer(f"wrote a line that is no JSON object: {_shown(line)}")
    if not isinstance(said.get("type"), str):
        raise BrokenAnswer(f'wrote an object without a "type": {_shown(line)}')
    return said


def read_hello(said: Mapping[str, Any]) -> Hello:
    """What a program says first. Raises BrokenAnswer."""
    name, version = printable(_text(said, "name", "")), printable(_text(said, "version", ""))
    arches = said.get("arches")
    if arches is not None and not (isinstance(arches, list) and all(isinstance(each, str) for each in arches)):
        raise BrokenAnswer(f'"arches" is no list of names: {_shown(arches)}')
    return Hello(
        name,
        version,
        None if arches is None else frozenset(_OUR_NAMES[each] for each in arches if each in _OUR_NAMES),
        _count(said, "stack_below", _LARGEST_STACK),
        _count(said, "stack_above", _LARGEST_STACK),
    )


def read_frames(said: Mapping[str, Any], snapshot: Snapshot) -> Backtrace:
    """The backtrace that a ``frames`` line says. Raises BrokenAnswer."""
    listed = said.get("frames")
    if not isinstance(listed, list):
        raise BrokenAnswer(f'"frames" is no list: {_shown(listed)}')
    if not listed:
        raise BrokenAnswer('"frames" is empty: the first frame is the interrupted one, at the snapshot\'s pc')
    if len(listed) > MOST_FRAMES:
        raise BrokenAnswer(f"{len(listed)} frames: at most {MOST_FRAMES} are read")
    frames = tuple(_frame(index, frame, snapshot) for index, frame in enumerate(listed))
    if frames[0].pc != snapshot.pc:
        raise BrokenAnswer(f"frame 0 is at {frames[0].pc:#x}: it is the interrupted one, at {snapshot.pc:#x}")
    return Backtrace(frames, _stop(said), snapshot.images)


def read_request(said: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[int, ...]:
    """The numbers of a request for memory or for a part of a file. Raises BrokenAnswer."""
    return tuple(_number(said.get(key), f'"{key}"', 64) for key in keys)


def _frame(index: int, said: Any, snapshot: Snapshot) -> Frame:
    where = f"frame {index}"
    if not isinstance(said, dict):
        raise BrokenAnswer(f"{where} is no object: {_shown(said)}")
    arch = snapshot.arch
    bits = 8 * arch.word
    pc = arch.code_address(_number(said.get("pc"), f'"pc" of {where}', bits))
    cfa = said.get("cfa")
    if cfa is not None:
        cfa = _number(cfa, f'"cfa" of {where}', bits)
    interrupted = said.get("interrupted", index == 0)
    if not isinstance(interrupted, bool):
        raise BrokenAnswer(f'"interrupted" of {where} is neither true nor false: {_shown(interrupted)}')
    if index == 0:  # its registers were given
        return Frame(FrameKind.INTERRUPTED, pc, snapshot.registers, cfa, "registers")
    kind = FrameKind.INTERRUPTED if interrupted else FrameKind.CALLER
    return Frame(kind, pc, {**_registers(said, where, arch), arch.pc: pc}, cfa)


def _registers(said: Mapping[str, Any], where: str, arch: Arch) -> dict[str, int]:
    listed = said.get("registers")
    if listed is None:
        return {}
    if not isinstance(listed, dict):
        raise BrokenAnswer(f'"registers" of {where} is no object: {_shown(listed)}')
    found = {}
    for name, value in listed.items():
        if name not in arch.by_name:
            near = nearest(name.lower(), arch.by_name)
            raise BrokenAnswer(f"{where} has a register {_shown(name)}, which {arch} has not; {near}")
        if value is not None:
            found[name] = _number(value, f'"{name}" of {where}', arch.by_name[name].bits)
    return found


def _stop(said: Mapping[str, Any]) -> UnwindError | None:
    """Why it stopped; None where it claims the root."""
    root, stopped = said.get("root", False), said.get("stopped")
    if not isinstance(root, bool):
        raise BrokenAnswer(f'"root" is neither true nor false: {_shown(root)}')
    if stopped is not None and not isinstance(stopped, str):
        raise BrokenAnswer(f'"stopped" is no text: {_shown(stopped)}')
    if root == (stopped is not None):
        both = "both" if root else "neither"
        raise BrokenAnswer(
            f'{both} "root":true and "stopped": a backtrace claims that its last frame is the outermost one, or says '
            "why it does not go on"
        )
    return None if stopped is None else ForeignStop(printable(stopped[:_REASON]) or "no reason given")


def _number(value: Any, what: str, bits: int) -> int:
    """A register, an address or a size: ``"0x..."``, or a whole number of JSON."""
    if isinstance(value, str) and _HEXADECIMAL.fullmatch(value):
        value = int(value, 16)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << bits:
        raise BrokenAnswer(f'{what} is no number of {bits} bits: {_shown(value)}; write "0x7fff0010"')
    return value


def _count(said: Mapping[str, Any], key: str, most: int) -> int | None:
    value = said.get(key)
    if value is None:
        return None
    number = _number(value, f'wrote "{key}", which', 64)
    if number > most:
        raise BrokenAnswer(f'wrote "{key}", which is {number}: at most {most}')
    return number


def _text(said: Mapping[str, Any], key: str, default: str) -> str:
    value = said.get(key, default)
    if not isinstance(value, str):
        raise BrokenAnswer(f'"{key}" is no text: {_shown(value)}')
    return value


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        text = value[: _SHOWN + 1].decode("utf-8", "backslashreplace")
    elif isinstance(value, int) and not isinstance(value, bool):
        text = hex(value)
    else:
        text = json.dumps(value)
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."
    return printable(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)  # made once: `json.loads` would make one for each line
