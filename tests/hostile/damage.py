"""Damage: real bytes, texts and JSON changed at random, where it hurts.

Numbers become those at which readers break: 0, 1, all ones, the sign bit, one more, one less, the length of the whole.
"""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from testbed.words.errors import UsageError
from tests.hostile.target import Damage

LONGEST = 1 << 20  # bytes of an input; damage makes none longer
_WIDTHS = (1, 2, 4, 4, 8, 8)
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def damaged_bytes(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """Bytes, numbers of 1 to 8 bytes, and whole pieces: replaced, cut out, doubled, moved, brought from another."""
    if not content:
        return dice.randbytes(dice.randint(1, 40))
    out = bytearray(content)
    at = _place(len(out), dice)
    match dice.randrange(12):
        case 0 | 1:
            for _ in range(dice.randint(1, 4)):
                out[_place(len(out), dice)] = dice.choice((dice.randrange(256), *ODD_BYTES))
        case 2:
            out[at] ^= 1 << dice.randrange(8)
        case 3 | 4 | 5 | 6:
            width = dice.choice(_WIDTHS)
            at -= at % width if dice.randrange(3) else 0
            old = int.from_bytes(out[at : at + width], "little")
            out[at : at + width] = _odd_number(old, width, len(out), dice).to_bytes(width, "little")
        case 7:
            del out[at : at + dice.randint(1, 64)]
        case 8:
            out[at:at] = out[at : at + dice.randint(1, 64)] * dice.choice((1, 1, 2, 30))
        case 9:
            del out[at:]
        case 10:
            other = seeds[dice.randrange(len(seeds))]
            start, size = _place(len(other), dice), dice.choice((4, 8, 16, 64, 256))
            out[at : at + size] = other[start : start + size]
        case _:
            out[at : at + dice.randint(1, 32)] = dice.randbytes(dice.randint(0, 32))
    return bytes(out[:LONGEST])


def damaged_text(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """Words and signs replaced, doubled, exchanged, left out; lines too; now and then bytes."""
    if not dice.randrange(10):
        return damaged_bytes(content, dice, seeds)
    text = content.decode("utf-8", "surrogateescape")
    parts = text.splitlines(keepends=True) if dice.randrange(4) == 0 else _TOKEN.findall(text)
    if not parts:
        parts = [""]
    at = dice.randrange(len(parts))
    match dice.randrange(7):
        case 0 | 1:
            parts[at] = dice.choice(ODD_TEXTS)
        case 2:
            parts.insert(at, dice.choice(ODD_TEXTS))
        case 3:
            del parts[at]
        case 4:
            more = parts[at : at + dice.randint(1, 5)]
            parts[at:at] = more * _often(sum(map(len, more)), dice)
        case 5:
            other = dice.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        case _:
            more = _TOKEN.findall(seeds[dice.randrange(len(seeds))].decode("utf-8", "surrogateescape")) or [""]
            start = dice.randrange(len(more))
            parts[at : at + 1] = more[start : start + dice.randint(1, 6)]
    return "".join(parts).encode("utf-8", "surrogatepass" if dice.randrange(20) == 0 else "replace")[:LONGEST]


def damaged_json(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """Values, keys and lists of a JSON text changed, which stays JSON; now and then it does not."""
    if not dice.randrange(8):
        return damaged_text(content, dice, seeds)
    try:
        root: list[Any] = [json.loads(content)]
    except (ValueError, RecursionError):
        return damaged_bytes(content, dice, seeds)
    holder, key = _some_place(root, dice)
    _change(holder, key, dice)
    try:
        return json.dumps(root[0]).encode("utf-8", "replace")[:LONGEST]
    except (ValueError, RecursionError):
        return content


def damaged_lines_of_json(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """One of several lines of JSON damaged, or the lines themselves."""
    lines = content.split(b"\n")
    if not dice.randrange(6):
        return damaged_text(content, dice, seeds)
    at = dice.randrange(len(lines))
    lines[at] = damaged_json(lines[at], dice, seeds).replace(b"\n", b" ")
    return b"\n".join(lines)


def among_parts(of_part: Sequence[Damage]) -> Damage:
    """Damage to one part of an input that `packed` put together; each part has its own kind."""

    def damaged(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
        parts = unpacked(content)
        if not parts:
            return content
        at = dice.randrange(len(parts))
        if not dice.randrange(25):
            parts[at] = dice.choice((b"", parts[dice.randrange(len(parts))]))
        else:
            others = [found[at] for seed in seeds if (found := unpacked(seed)) and at < len(found)] or [b"\0"]
            parts[at] = of_part[min(at, len(of_part) - 1)](parts[at], dice, others)
        return packed(parts)

    return damaged


def packed(parts: Sequence[bytes]) -> bytes:
    """Several parts as one input: how many, the length of each, and then all of them."""
    return b"".join((bytes([len(parts)]), *(len(part).to_bytes(4, "little") for part in parts), *parts))


def unpacked(content: bytes) -> list[bytes] | None:
    """The parts of an input; None where it is none, as one that was made small."""
    count = content[0] if content else 0
    at, parts = 1 + 4 * count, []
    for i in range(count):
        size = int.from_bytes(content[1 + 4 * i : 5 + 4 * i], "little")
        if at + size > len(content):
            return None
        parts.append(content[at : at + size])
        at += size
    return parts or None


def parts_of(content: bytes, count: int) -> list[bytes]:
    """So many parts of an input. Raises UsageError where it has not that many, as one that was made small."""
    parts = unpacked(content)
    if parts is None or len(parts) != count:
        raise UsageError(f"no input of {count} parts")
    return parts


def _place(size: int, dice: Random) -> int:
    """An offset: often near the start, where headers are."""
    return dice.randrange(min(size, dice.choice((64, 512, LONGEST)))) if size else 0


def _odd_number(old: int, width: int, size: int, dice: Random) -> int:
    ones = (1 << 8 * width) - 1
    odd = (
        0,
        1,
        ones,
        ones >> 1,
        (ones >> 1) + 1,
        old + 1,
        old - 1,
        old * 2,
        size,
        size - 1,
        size + 1,
        1 << dice.randrange(8 * width),
    )
    return dice.choice((*odd, dice.getrandbits(8 * width))) & ones


def _often(size: int, dice: Random) -> int:
    """How often something of that size is repeated: damage itself stays quick."""
    return min(dice.choice((1, 1, 2, 200, 3000)), LONGEST // 4 // max(size, 1) + 1)


def _some_place(root: list[Any], dice: Random) -> tuple[Any, Any]:
    """A holder (list or object) and an index or key of it, at any depth."""
    holder: Any = root
    key: Any = 0
    while True:
        value = holder[key]
        if not isinstance(value, dict | list) or not value or dice.randrange(6) == 0:
            return holder, key
        holder = value
        key = dice.choice(list(value)) if isinstance(value, dict) else dice.randrange(len(value))


def _change(holder: Any, key: Any, dice: Random) -> None:
    value = holder[key]
    how: Callable[[], Any] = dice.choice(
        (
            lambda: dice.choice(ODD_VALUES),
            lambda: _nudged(value, dice),
            lambda: [value] * _often(len(str(value)), dice),
            lambda: {str(value)[:20]: value},
            lambda: str(value),
        )
    )
    if dice.randrange(8) == 0 and not (isinstance(holder, list) and len(holder) == 1):
        del holder[key]
    elif dice.randrange(8) == 0 and isinstance(holder, dict):
        holder[dice.choice(("", "x", str(key) + "s", "\x1b", "a" * 300))] = holder.pop(key)
    elif dice.randrange(8) == 0 and isinstance(value, list):
        holder[key] = value + value[: 1 << 12]
    else:
        holder[key] = how()


def _nudged(value: Any, dice: Random) -> Any:
    if isinstance(value, bool) or value is None:
        return dice.choice((0, 1, "true"))
    if isinstance(value, int):
        return _odd_number(abs(value), 8, 64, dice) * dice.choice((1, 1, -1))
    if isinstance(value, str):
        if value.startswith("0x"):
            return hex(_odd_number(int(value, 16), 8, 64, dice)) if re.fullmatch("0x[0-9a-f]{1,16}", value) else "0x"
        return damaged_text(value.encode("utf-8", "replace"), dice, [b"x"]).decode("utf-8", "replace")
    return dice.choice(ODD_VALUES)


# Bytes, texts and values of JSON at which readers break.


ODD_BYTES = (0, 1, 0x7F, 0x80, 0xFF)
ODD_TEXTS = (
    *(
        "",
        "0",
        "-1",
        "1",
        "65536",
        "4294967296",
        "18446744073709551616",
        "9" * 30,
        "9" * 5000,
        "0x",
        "0x" + "f" * 20,
        "1e999",
    ),
    *(
        "nan",
        "\x00",
        "\x1b[2J",
        "\u202e",
        "\ud800",
        "\U0001f600",
        "²",
        "٣",
        "%s",
        "..",
        "../" * 20,
        "/",
        "//",
        "~",
        "*",
        "[",
        "]",
    ),
    *(
        "(" * 2000,
        "[" * 2000,
        "{" * 50,
        ",",
        ",,",
        ":",
        "::",
        "@",
        "@@",
        "+",
        "-",
        "--",
        "=",
        "#",
        "#0",
        "$",
        "\\",
        "\\\n",
        "\n",
    ),
    *(
        "\r\n",
        "\r",
        "\t",
        " ",
        " " * 300,
        "//",
        "// ",
        "//   ",
        "a" * 300,
        "a" * 70000,
        "é",
        "\x85",
        "\u2028",
        "'",
        '"',
        "`",
        "<",
        ">",
    ),
)
ODD_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        255,
        1 << 16,
        1 << 31,
        1 << 32,
        (1 << 63) - 1,
        1 << 63,
        (1 << 64) - 1,
        1 << 64,
        1 << 200,
    ),
    *(
        0.5,
        -0.0,
        1e308,
        float("nan"),
        float("inf"),
        "",
        "0",
        "0x",
        "0x10",
        "0x" + "f" * 16,
        "-0x1",
        "\x00",
        "\x1b[2J",
        "\ud800",
    ),
    *("../../etc/passwd", "/etc/passwd", "a" * 70000, [], {}, [[]], [0] * 50, {"": ""}, [None], "AA==", "zz"),
)
ODD_ARGUMENTS: tuple[str, ...] = (
    *ODD_TEXTS,
    *("-1", "1e9", "-0", "inf", "-inf", "1.5", "1_000", "+3", "0o7", "9" * 19, "-" + "9" * 19, "0x10", "1" * 4400),
    *(
        "-h",
        "--help",
        "--",
        "---",
        "-",
        "--json",
        "--json=",
        "--seed=",
        "-u",
        "-a",
        "*",
        "**",
        "[!",
        "?",
        "@",
        "@file",
        "@/",
    ),
    *(
        "a\nb",
        "-\n-",
        "a\0b",
        "\0",
        "b" * 100_000,
        "/" * 5000,
        "x/" * 3000,
        "\udcff\udcfe",
        "\udc80.elf",
        "\ud800",
        "\x1b]0;x\x07",
    ),
    *(
        "/dev/null",
        "/dev/full",
        "/proc/self/mem",
        "/proc/self/fd/0",
        "/dev/stdin",
        ".",
        "..",
        "/",
        "",
        "none/none",
        "prog/x",
        "cache",
    ),
    *(
        "prog",
        "file",
        "leaf_call",
        "gen:12",
        "gen:f64c1+f",
        "gen:" + "f8c1+" * 3000 + "f",
        "main",
        "@0",
        "@1",
        "main+0x4#2",
        "x86_64",
    ),
    *(
        "arm64",
        "arm32",
        "keystone",
        "clang-O2",
        "seconds=0",
        "steps=1",
        "entries=0",
        "mapped=1",
        "seconds=nan",
        "seconds=1e400",
        "steps=-1",
    ),
)
