"""A linker's name as people read it, also where the name was made to harm.

A mangled name may refer to earlier parts of itself (Itanium C++ ABI 5.1.10, Rust v0 back references), so its readable
form can be twice as long for every few bytes: 300 bytes say 30 gigabytes. And parts lie in one another without end, on
the stack of the library that reads them. So names that are long, or that may refer back often, are read in a process
of their own, with limits on memory and time; one over which it dies stays as it is.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable
from functools import lru_cache

import pydemumble

from testbed.words.child import Child, started
from testbed.words.errors import ToolCrashed, ToolHung

SHORT = 1 << 11  # characters of a name that is read in this process: some hundred bytes of stack for each
FEW_REFERENCES = 12  # each may double what is said
MOST_SAID = 1 << 16  # characters of a readable name: nobody reads more
_MEMORY, _SECONDS, _DEATHS = 512 << 20, 5.0, 8
_PART = re.compile(
    r"(?P<name>.+?)(?P<part>(?:\.(?:cold|part|constprop|isra|llvm|lto_priv|localalias|clone)(?:\.\d+)*)+)"
)
_SPLIT = re.compile(r"(?P<name>.+?)(?:\.(?:cold|part)(?:\.\d+)*)+")

FITS = 40  # characters of a name that is not made shorter
FITS_ALONE = 60  # of one that has to be told from others
FITS_BETWEEN = 24  # of what tells it from them
_WORD_END = re.compile(r"\w+$")
_ANONYMOUS = "{anonymous}"
_ARGUMENTS = "\0"  # where the parameters of a function stood
_OPENING = {"<": "<..>", "(": _ARGUMENTS, "decltype(": "decltype", "{lambda": "{lambda}"}
_NAME_PARTS = re.compile(
    r"operator *(?:\(\)|->\*?|<=>|<<=?|>>=?|<=?|>=?|[^\w\s(<>]+)"  # an operator's signs are no brackets
    r"|decltype\(|\{lambda|\w+|->|."
)
_QUALIFIERS = re.compile(r"(?<=\))(?: const| volatile| &&?| noexcept)+$")
_UNNESTED = re.compile(r"_Z(?P<std>St)?(?P<length>\d{1,4})")  # Itanium C++ ABI 5.1.3, <unscoped-name>
_CONVERSION = re.compile(r"operator [\w:]")

_READER = f"""
import json, resource, sys
import pydemumble
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
for line in sys.stdin:
    said = pydemumble.demangle(json.loads(line)) or ""
    print(json.dumps(said if len(said) <= {MOST_SAID} else ""), flush=True)
"""


def whole_function(name: str) -> str:
    """The function that a split-off piece belongs to: ``f`` for ``f.cold`` and ``f.part.0``; others as they are."""
    match = _SPLIT.fullmatch(name)
    return match["name"] if match else name


@lru_cache(maxsize=1 << 14)
def demangled(name: str) -> str:
    """A C++ (Itanium ABI), Rust or Swift linker's name as people read it; any other as it is.

    A compiler's suffix for a piece or a copy of a function is no part of the mangled name: ``_Z1fv.cold`` is a piece
    of ``f()``.
    """
    match = _PART.fullmatch(name)
    mangled = match["name"] if match else name
    return _read(mangled) or (whole_function(name) if match else name)


def brief(name: str) -> str:
    """A readable name for a line of text: one that is long without parameters, result and what stands in templates.

    ``std::vector<..>::push_back``, and ``push_back.cold`` of a piece of it. Only a C++ or Rust name (it has a ``::``)
    is made shorter, and one that stayed mangled is cut, or read as far as it names the function. The name of a function
    in JSON is whole.
    """
    if name.startswith("_Z") and len(name) > FITS:
        return _beginning(name)
    if len(name) <= FITS or "::" not in name:
        return name
    piece = _PART.fullmatch(name)
    return _shortened(piece["name"]) + piece["part"] if piece else _shortened(name)


def told_apart(names: Iterable[str]) -> dict[str, str]:
    """Each name as `brief` has it; where that is of several, with where they differ.

    What stands in its templates is told whole if it is not long, else from where the names are no more alike.
    """
    short = {name: brief(name) for name in names}
    alike: dict[str, list[str]] = {}
    for name, said in short.items():
        alike.setdefault(said, []).append(name)
    told = {}
    for said, group in alike.items():
        whole = {name: without_parameters(name) for name in group}
        ends = next((i for i, letters in enumerate(zip(*whole.values(), strict=False)) if len({*letters}) > 1), 0)
        begins = len(_WORD_END.sub("", whole[group[0]][:ends]))
        for name, each in whole.items() if len(group) > 1 else ():
            differs = each[begins : begins + FITS_BETWEEN].partition(">::")[0].rstrip("> ")
            apart = said.replace("<..>", f"<..{differs}..>", 1) if differs else said
            told[name] = each if len(each) <= FITS_ALONE else apart
    return short | told


def _beginning(mangled: str) -> str:
    """What a name says that no reader understood: its function, where that is of no class, else its first letters."""
    match = _UNNESTED.match(mangled)
    end = match.end() + int(match["length"]) if match else 0
    if match is None or end > match.end() + FITS:
        return f"{mangled[: FITS - 2]}.."
    return "std::" * bool(match["std"]) + mangled[match.end() : end] + "<..>" * mangled.startswith("I", end)


def last_part(name: str) -> str:
    """The function's own name of a readable one, ``push_back``: what stands behind its namespaces and classes."""
    return bare(name).rpartition("::")[2]


def bare(name: str) -> str:
    """A readable name without parameters, result and templates, ``std::vector::push_back``, as debuggers take it."""
    return _shortened(name).replace("<..>", "") if "::" in name or "(" in name else name


def _shortened(name: str) -> str:
    kept: list[str] = []
    depth = 0
    for word in _NAME_PARTS.findall(name.replace("(anonymous namespace)", _ANONYMOUS)):
        opened = _OPENING.get(word) if kept or word != "<" else None  # Rust's <Type as Trait>::method
        if opened:
            kept += [] if depth else [opened]
            depth += 1
        elif depth and word in ">)}":
            depth -= 1
        elif not depth:
            kept.append(word)
    head, arguments, behind = "".join(kept).partition(_ARGUMENTS)
    while behind.startswith("::"):  # a function inside a function
        inner, _, behind = behind.partition(_ARGUMENTS)
        head += inner
    head = head.replace(" <..>", "")  # of an operator
    short = head.rpartition(" ")[2] if arguments and not _CONVERSION.search(head) else head
    return (short or name).replace(_ANONYMOUS, "(anonymous namespace)")


def without_parameters(name: str) -> str:
    """A readable name as a call is written: ``kv::mix`` for ``kv::mix(unsigned int)``, of a template without result."""
    head, depth = _QUALIFIERS.sub("", name), 0
    for at in range(len(head) - 1, 0, -1) if head.endswith(")") else ():
        depth += (head[at] == ")") - (head[at] == "(")
        if not depth:
            head = head[:at]
            return _without_result(head) if head.endswith(">") and "operator" not in head else head
    return name


def _without_result(name: str) -> str:
    """The part of ``void f<int>`` behind the last space that stands in no bracket."""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += (name[at] in ">)}") - (name[at] in "<({")
        if not depth and name[at] == " ":
            return name[at + 1 :]
    return name


def _read(mangled: str) -> str:
    if not mangled.startswith(("_", "?", "$", ".")):
        return ""
    if len(mangled) <= SHORT and _references(mangled) <= FEW_REFERENCES:
        return pydemumble.demangle(mangled) or ""
    return _apart.read(mangled)


def _references(mangled: str) -> int:
    """How often a name may refer to what it said before, at most: by these letters in C++, Rust and D."""
    letters = "0123456789" if mangled.startswith("?") else "STBQ"
    return sum(map(mangled.count, letters))


class _ReaderApart:
    """A process that reads names, begun where it is needed, and again where one was too much for it."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self._deaths = 0

    def read(self, mangled: str) -> str:
        """The readable name; "" where there is none, or it cannot be had within the limits."""
        if self._deaths >= _DEATHS:
            return ""
        if self.child is None or not self.child.ours:  # a fork does not share its parent's
            self.child = started([sys.executable, "-c", _READER])
        until = time.monotonic() + _SECONDS
        try:
            self.child.send(json.dumps(mangled).encode("ascii") + b"\n", until)
            said: str = json.loads(self.child.line(until))
        except (ToolCrashed, ToolHung):
            self._deaths += 1
            self.child.close()
            self.child = None
            return ""
        return said


_apart = _ReaderApart()
