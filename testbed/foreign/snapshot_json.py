"""Snapshots as JSON: the format is described in `testbed.export.write` and by ``snapshot.schema.json``.

What people write by hand is met with the place of each mistake: ``memory[2].hex``.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from testbed.arch import ARCHES, Arch, arch_named
from testbed.foreign.model import Dump, Module
from testbed.words.budget import Account
from testbed.words.catalogue import nearest
from testbed.words.errors import SnapshotFileError, UsageError

_FORMAT, _VERSION = "testbed snapshot", 1
_TOP = ("format", "version", "arch", "registers", "memory", "images", "pac_mask", "mappings")
_IMAGE = ("path", "bias", "build_id", "frame_records")


def read_json(path: Path, content: bytes, account: Account) -> Dump:
    """The JSON snapshot ``path``, whose bytes are ``content``.

    Raises SnapshotFileError (file, offset of a syntax error or 0, which value is wrong, what it should be), and
    BudgetExceeded: what is unpacked draws on ``account``.
    """
    return _JsonReader(path, account).dump(content)


class _JsonReader:
    def __init__(self, path: Path, account: Account) -> None:
        self.path, self.account = path, account

    def wrong(self, detail: str, offset: int = 0) -> NoReturn:
        raise SnapshotFileError(self.path, offset, detail)

    def dump(self, content: bytes) -> Dump:
        try:
            told = json.loads(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            self.wrong(f"not UTF-8: {error.reason}; JSON is text", error.start)
        except json.JSONDecodeError as error:
            self.wrong(f"not JSON: {error.msg}; the file is cut off or damaged: write it again", error.pos)
        except ValueError:  # an integer of more digits than Python makes a number of
            self.wrong("not a snapshot: it has a number of thousands of digits")
        except RecursionError:
            self.wrong("not a snapshot: JSON nested too deeply")
        if not isinstance(told, dict) or told.get("format") != _FORMAT:
            self.wrong(f'no snapshot: it needs "format": "{_FORMAT}"')
        if told.get("version") != _VERSION:
            self.wrong(f"version {told.get('version')!r} of the format; this reads version {_VERSION}")
        self.known(told, _TOP, "")
        arch = self.arch(told.get("arch"))
        memory = tuple(sorted(self.piece(arch, i, said) for i, said in enumerate(self.items(told, "memory"))))
        for (start, data), (following, _) in pairwise(memory):
            if start + len(data) > following:
                self.wrong(f"memory: two pieces have the byte at {following:#x}; give disjoint pieces")
        return Dump(
            self.path,
            "JSON snapshot",
            arch,
            self.registers(arch, told.get("registers")),
            memory,
            tuple(self.module(arch, i, said) for i, said in enumerate(self.items(told, "images"))),
            pac_mask=self.number(told["pac_mask"], "pac_mask", 64) if "pac_mask" in told else None,
            mappings=self.mappings(told),
            account=self.account,
        )

    def known(self, said: Mapping[str, Any], names: Sequence[str], place: str) -> None:
        """A name that nothing reads is a mistake: what it was to say would be missing without a word."""
        for name in said:
            if name not in names:
                self.wrong(f"{place}{name}: there is no such entry; {nearest(name, names)}")

    def arch(self, said: object) -> Arch:
        try:
            return arch_named(said if isinstance(said, str) else "")
        except UsageError:
            self.wrong(f"unknown architecture: arch is {said!r}; known are {', '.join(ARCHES)}")

    def items(self, told: Mapping[str, Any], key: str) -> list[Any]:
        said = told.get(key)
        if not isinstance(said, list):
            self.wrong(f"{key} is no list")
        return said

    def registers(self, arch: Arch, said: object) -> dict[str, int]:
        if not isinstance(said, dict):
            self.wrong("registers is no object {name: value}")
        for name in said:
            if name not in arch.by_name:
                self.wrong(f"registers.{name}: {arch} has no such register; it has {', '.join(arch.by_name)}")
        return {name: self.number(value, f"registers.{name}", arch.by_name[name].bits) for name, value in said.items()}

    def number(self, said: object, place: str, bits: int) -> int:
        try:
            value = int(said, 16) if isinstance(said, str) and said[:2].lower() == "0x" else -1
        except ValueError:
            value = -1
        if not 0 <= value < 1 << bits:
            self.wrong(f'{place}: {said!r} is no number of {bits} bits written as "0x..."')
        return value

    def mappings(self, told: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
        found = []
        for i, said in enumerate(self.items(told, "mappings") if "mappings" in told else ()):
            if not isinstance(said, dict):
                self.wrong(f"mappings[{i}]: it needs a start and an end")
            self.known(said, ("start", "end"), f"mappings[{i}].")
            start, end = (self.number(said.get(key), f"mappings[{i}].{key}", 64) for key in ("start", "end"))
            found.append((start, end))
        return tuple(found)

    def piece(self, arch: Arch, i: int, said: object) -> tuple[int, bytes]:
        place = f"memory[{i}]"
        if not isinstance(said, dict) or ("hex" in said) == ("zlib" in said):
            self.wrong(f"{place}: it needs an address, and either hex or zlib")
        self.known(said, ("address", "hex", "zlib"), f"{place}.")
        address = self.number(said.get("address"), f"{place}.address", 8 * arch.word)
        key = "hex" if "hex" in said else "zlib"
        data = self.unpacked(key, said[key], f"{place}.{key}")
        if address + len(data) > 1 << 8 * arch.word:
            self.wrong(f"{place}: it leaves the address space of {arch}")
        return address, data

    def unpacked(self, key: str, said: object, place: str) -> bytes:
        try:
            if not isinstance(said, str):
                raise ValueError("no text")
            if key == "hex":
                data = bytes.fromhex(said)
            else:
                stream = zlib.decompressobj()
                data = stream.decompress(base64.b64decode(said, validate=True), self.account.left("unpacked") + 1)
                self.account.spend("unpacked", len(data))
                if not stream.eof:
                    raise ValueError("the compressed data is cut off or too big")
        except (ValueError, binascii.Error, zlib.error) as error:
            self.wrong(f"{place}: {error}; write the piece again")
        return data

    def module(self, arch: Arch, i: int, said: object) -> Module:
        place = f"images[{i}]"
        if not isinstance(said, dict) or not isinstance(said.get("path"), str) or not _is_path(said["path"]):
            self.wrong(f"{place}: it needs a path and a bias")
        self.known(said, _IMAGE, f"{place}.")
        records = said.get("frame_records", {})
        by_name = {isa.name: {record.name for record in isa.records} for isa in arch.isas}
        if not isinstance(records, dict):
            self.wrong(f"{place}.frame_records is no object {{instruction set: layout}}")
        for isa, record in records.items():
            if not isinstance(record, str) or record not in by_name.get(isa, ()):
                known = ", ".join(f"{name}: {', '.join(sorted(layouts))}" for name, layouts in by_name.items())
                self.wrong(f"{place}.frame_records.{isa}: {record!r} is no layout; there are {known}")
        try:
            identifier = bytes.fromhex(said.get("build_id", ""))
        except (TypeError, ValueError):
            self.wrong(f"{place}.build_id: {said['build_id']!r} is not hexadecimal")
        bias = self.number(said.get("bias"), f"{place}.bias", 8 * arch.word)
        return Module(said["path"], None, 0, bias=bias, identifier=identifier, frame_records=records)


def _is_path(text: str) -> bool:
    """False for what no file can be called: a zero, half of a pair of surrogates."""
    try:
        return "\0" not in text and bool(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False
