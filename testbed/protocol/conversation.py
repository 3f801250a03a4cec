"""One program and what is said to it, line by line: hello, sessions, snapshots, the memory it asks for, its answers."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from testbed.arch import ARCHES, Arch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind
from testbed.export.dumped_memory import stack_around
from testbed.image import LoadedImage
from testbed.trace import Snapshot
from testbed.words.catalogue import nearest
from testbed.words.child import started
from testbed.words.errors import BrokenAnswer, ForeignStop, UnreadableMemory, UnwindError
from testbed.words.printable import printable

# The lines that a foreign unwinder writes, read and checked: a mistake is a `BrokenAnswer` in words for its author.


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


# The lines that we write, each one JSON object in ASCII, without spaces and with its keys in one order.
#
# No key occurs twice in a line, and apart from paths no text in it needs an escape: who reads them in C may look for
# ``"rsp":"`` and go on behind it. Numbers that are addresses or registers are text, ``0x`` and hexadecimal, because
# JSON's own lose bits above 2**53; bytes are hexadecimal digits, two each, lowest address first. The format is
# `docs/protocol.md`, and ``protocol.schema.json`` beside this file.

PROTOCOL = 1  # the version: another number is another language
LARGEST_READ = 1 << 20  # bytes of memory, or of a file, in one message
STACK_BELOW, STACK_ABOVE = 128, 1024  # bytes of the stack, from SP, that come with a snapshot unless others are asked


def hello_line() -> bytes:
    """The first line."""
    return f'{{"type":"hello","protocol":{PROTOCOL}}}\n'.encode("ascii")


def session_lines(arch: Arch, images: tuple[LoadedImage, ...], pac_mask: int | None) -> bytes:
    """What all snapshots that follow have in common: a ``session`` line, then an ``image`` line for each image."""
    mask = "null" if pac_mask is None else f'"{pac_mask:#x}"'
    lines = [
        f'{{"type":"session","arch":"{arch.name}","word":{arch.word},"pc":"{arch.pc}","sp":"{arch.sp}",'
        f'"pac_mask":{mask},"images":{len(images)}}}\n'
    ]
    for index, loaded in enumerate(images):
        image = loaded.image
        records = ",".join(f'"{isa.name}":"{image.frame_record_of(isa).name}"' for isa in arch.isas)
        starts = [segment.address for segment in image.segments]
        ends = [segment.address + segment.size for segment in image.segments]
        start, end = min(starts, default=0) + loaded.bias, max(ends, default=0) + loaded.bias
        lines.append(
            f'{{"type":"image","index":{index},"path":{json.dumps(str(image.path.absolute()))},"bias":"{_bias(loaded)}",'
            f'"start":"{start:#x}","end":"{end:#x}","size":{len(file_content(loaded))},"frame_records":{{{records}}}}}\n'
        )
    return "".join(lines).encode("ascii")


def snapshot_line(number: int, snapshot: Snapshot, below: int, above: int) -> bytes:
    """One request. The stack is that from SP - below to SP + above, as far as it is mapped; none, where SP is wild."""
    registers = ",".join([f'"{name}":"{value:#x}"' for name, value in snapshot.registers.items()])
    start, stack = stack_around(snapshot, below, above)
    return (
        f'{{"type":"snapshot","id":{number},"registers":{{{registers}}},'
        f'"stack_address":"{start:#x}","stack":"{stack.hex()}"}}\n'
    ).encode("ascii")


def bytes_line(data: bytes) -> bytes:
    """The answer to a request for memory, or for a part of an image's file; no bytes: there are none."""
    return f'{{"type":"bytes","bytes":"{data.hex()}"}}\n'.encode("ascii")


def readable(snapshot: Snapshot, address: int, size: int) -> bytes:
    """The memory from an address on: ``size`` bytes, or fewer where what is mapped ends before; none outside of it."""
    memory, found = snapshot.memory, b""
    try:
        while len(found) < size:  # mappings that touch are read as one
            end = memory.mapped_until(address + len(found))
            found += memory.read(address + len(found), min(size - len(found), end - address - len(found)))
    except UnreadableMemory:
        pass
    return found


def file_content(loaded: LoadedImage) -> bytes:
    """The image's whole file; of an image without one, nothing."""
    image = loaded.image
    if image.content:
        return image.content
    try:
        return image.path.read_bytes()
    except OSError:
        return b""


def _bias(loaded: LoadedImage) -> str:
    """Run-time minus link-time address, modulo the address space: never below zero."""
    return f"{loaded.bias & loaded.image.arch.word_mask:#x}"


HELLO_SECONDS = 20.0  # from its start to its first line
SESSION_SECONDS = 60.0  # to read the tables of a session's images


class Conversation:
    """A running program that has said hello.

    ``in_step``: it owes nothing, and nothing that it wrote is left over, as far as is known. After an exception out of
    step it is of no use any more. ``greeting`` is its hello as it wrote it, ``answer`` its last answer to a snapshot.
    """

    def __init__(self, arguments: Sequence[str], seconds: float) -> None:
        """Start it and greet it. Raises OSError where it does not start, ToolCrashed or ToolHung where it fails."""
        self.process = started(arguments)
        self._seconds = seconds
        self._number = 0
        self._about: tuple[Any, ...] = ()
        self._refused: str | None = None
        self.in_step = False
        self.answer: Mapping[str, Any] = {}
        try:
            until = time.monotonic() + HELLO_SECONDS
            self.process.send(hello_line(), until)
            self.greeting: Mapping[str, Any] = read_line(self._line(until, "hello", HELLO_SECONDS))
            self.hello = _greeting(self.greeting)
        except BaseException:
            self.process.close()
            raise
        below, above = self.hello.stack_below, self.hello.stack_above
        self._stack = STACK_BELOW if below is None else below, STACK_ABOVE if above is None else above

    def unwind(self, snapshot: Snapshot) -> Backtrace:
        """Its backtrace. Raises ForeignStop where it refused the session, ToolCrashed (BrokenAnswer) and ToolHung."""
        about = (snapshot.arch, snapshot.images, snapshot.pac_mask)
        if about != self._about:
            self.in_step = False
            self._open(snapshot)
            self._about, self.in_step = about, True
        if self._refused is not None:
            raise ForeignStop(self._refused)
        self.in_step = False
        self._number += 1
        until = time.monotonic() + self._seconds
        self.process.send(snapshot_line(self._number, snapshot, *self._stack), until)
        what = f"frames of snapshot {self._number}"
        said = self._answer(snapshot, until, what, self._seconds)
        if said["type"] != "frames":
            raise BrokenAnswer(f'answered a "snapshot" with "{_clean(said["type"])}": "frames" is expected')
        if said.get("id") != self._number or isinstance(said["id"], bool):
            kind = "; an id is a number, as it was asked" if isinstance(said.get("id"), str) else ""
            raise BrokenAnswer(f"answered id {_id(said.get('id'))} when snapshot {self._number} was asked{kind}")
        self.in_step = True
        self.answer = said
        try:
            return read_frames(said, snapshot)
        except BrokenAnswer as error:
            raise BrokenAnswer(f"answered snapshot {self._number} wrongly: {error}") from error

    def _open(self, snapshot: Snapshot) -> None:
        """Begin a session. That a program wants nothing of it is an answer, too."""
        until = time.monotonic() + SESSION_SECONDS
        self.process.send(session_lines(snapshot.arch, snapshot.images, snapshot.pac_mask), until)
        said = self._answer(snapshot, until, "ready", SESSION_SECONDS)
        self._refused = None
        if said["type"] == "refused":
            reason = said.get("reason")
            self._refused = printable(reason[:500]) if isinstance(reason, str) and reason else "no reason given"
        elif said["type"] != "ready":
            raise BrokenAnswer(f'answered a "session" with "{_clean(said["type"])}": "ready" or "refused" is expected')

    def _answer(self, snapshot: Snapshot, until: float, what: str, seconds: float) -> Mapping[str, Any]:
        """The answer to what was sent, after all that it asks for has been given to it."""
        while True:
            said = read_line(self._line(until, what, seconds))
            if said["type"] == "read":
                address, size = _requested(said, "address", "size")
                self.process.send(bytes_line(readable(snapshot, address, size)), until)
            elif said["type"] == "read_file":
                index, offset, size = _requested(said, "image", "offset", "size")
                if index >= len(snapshot.images):
                    raise BrokenAnswer(f"asked for the file of image {index}: there are {len(snapshot.images)}, from 0")
                content = file_content(snapshot.images[index])
                self.process.send(bytes_line(content[offset : offset + size]), until)
            else:
                return said

    def _line(self, until: float, what: str, seconds: float) -> bytes:
        return self.process.line(until, f"{what}, within {seconds:g} s")


def _greeting(said: Mapping[str, Any]) -> Hello:
    if said["type"] != "hello":
        raise BrokenAnswer(f'answered "hello" with "{_clean(said["type"])}": "hello" is expected')
    if said.get("protocol") != PROTOCOL or isinstance(said["protocol"], bool):
        raise BrokenAnswer(f"speaks protocol {_clean(said.get('protocol'))}: this testbed speaks {PROTOCOL}")
    return read_hello(said)


def _requested(said: Mapping[str, Any], *keys: str) -> tuple[int, ...]:
    """The numbers of a request, the size last."""
    try:
        numbers = read_request(said, keys)
    except BrokenAnswer as error:
        raise BrokenAnswer(f'asked wrongly, in a "{said["type"]}": {error}') from error
    if not 0 < numbers[-1] <= LARGEST_READ:
        raise BrokenAnswer(f"asked for {numbers[-1]} bytes at once: from 1 to {LARGEST_READ} can be read")
    return numbers


def _clean(value: object) -> str:
    return printable(str(value)[:40])


def _id(value: object) -> str:
    """An id as JSON has it: text in quotation marks."""
    return printable(json.dumps(value, ensure_ascii=False)[:40])
