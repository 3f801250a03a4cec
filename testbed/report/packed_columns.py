"""Columns in a page: one compressed block that the page's script reads without copying.

Layout, little-endian, then compressed (RFC 1950) and in base64::

    4 bytes    length of the JSON text, in bytes
    JSON       {"facts": ..., "columns": {name: [type, offset from the first column, entries]}}
    padding    to a multiple of 8
    columns    each padded to a multiple of 8
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {
    "u1": "Uint8",
    "u2": "Uint16",
    "u4": "Uint32",
    "i2": "Int16",
    "i4": "Int32",
    "f8": "Float64",
    "u8": "BigUint64",
}


def packed(facts: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> str:
    """Facts and columns as the text of a page's data element. An address must be below 2**53 to be a Float64."""
    places: dict[str, list[Any]] = {}
    blocks: list[bytes] = []
    offset = 0
    for name, column in columns.items():
        kind = column.dtype.str.lstrip("<|")
        block = np.ascontiguousarray(column).tobytes()
        places[name] = [TYPES[kind], offset, len(column)]
        blocks.append(block + bytes(-len(block) % 8))
        offset += len(blocks[-1])
    text = json.dumps({"facts": facts, "columns": places}, separators=(",", ":")).encode("utf-8")
    head = len(text).to_bytes(4, "little") + text
    whole = head + bytes(-len(head) % 8) + b"".join(blocks)
    return base64.b64encode(zlib.compress(whole, 9)).decode("ascii")


def unpacked(text: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The inverse of ``packed``: what the page's script does."""
    whole = zlib.decompress(base64.b64decode(text))
    size = int.from_bytes(whole[:4], "little")
    head = json.loads(whole[4 : 4 + size])
    start = 4 + size + (-(4 + size) % 8)
    kinds = {value: key for key, value in TYPES.items()}
    columns = {
        name: np.frombuffer(whole, "<" + kinds[kind], count, start + offset)
        for name, (kind, offset, count) in head["columns"].items()
    }
    return head["facts"], columns
