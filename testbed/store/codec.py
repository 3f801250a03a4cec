"""Values to JSON and back, as their types say: what is kept, what is printed, and the schemas of what is printed.

=====================================  =================================================================
type                                   JSON
=====================================  =================================================================
str, int, float, bool, None            itself
Path                                   its text
an enum, a Literal                     the value
a tuple, list, sequence, frozen set    an array (a frozen set: sorted)
a named tuple                          an array of its fields
a mapping                              an object where keys are text, else an array of pairs
a dataclass                            an object of its fields
a TypedDict                            an object of the attributes (or keys) that have its keys as names
a type or None                         that of the type, or null
a type with `coded_by_name`            the name of the value: an architecture
=====================================  =================================================================

A TypedDict describes a printed form. ``Annotated`` says more of a key: a text is its description in the schema, a
`Keyword` is one of the schema, `taken` how it is found if it is no attribute; ``OR_NULL`` makes what is empty null. A
key that is ``NotRequired`` is absent where it would be empty; one whose type is a Literal of one value is that value.

Data to be decoded may be anybody's: whatever is not just what a type's value is encoded as raises `NotDecoded`.
"""

from __future__ import annotations

import collections.abc
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache, reduce
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypeVar, Union, get_args, get_origin, get_type_hints

Value = TypeVar("Value")


class NotDecoded(ValueError):
    """Data that are not what a value of the type is encoded as."""


class Keyword(NamedTuple):
    """A keyword of JSON Schema for what is annotated: ``Keyword("minimum", 0)``."""

    keyword: str
    value: Any


class Taken(NamedTuple):
    """How the value of a TypedDict's key is found in the whole."""

    of: Callable[[Any], Any]


def taken(of: str | Callable[[Any], Any]) -> Taken:
    """A key's value is what a function says of the whole, or what a path leads to: ``taken("unit.program")``."""
    return Taken(of if callable(of) else lambda whole: reduce(_part, of.split("."), whole))


def _part(whole: Any, name: str) -> Any:
    return whole[name] if isinstance(whole, Mapping) else getattr(whole, name)


OR_NULL = "\0or null"

Natural = typing.Annotated[int, Keyword("minimum", 0)]
Fraction = typing.Annotated[float, Keyword("minimum", 0), Keyword("maximum", 1)]


def coded_by_name(kind: type[Value], catalogue: Mapping[str, Value]) -> None:
    """From now on values of a type are names: each is in a catalogue, under its ``name``."""

    def make(_: Any) -> _Coder:
        schema = {"enum": list(catalogue)}
        return _Coder(attrgetter("name"), lambda data: catalogue[_one_of(catalogue, data)], lambda shapes: schema, True)

    _MAKERS[kind] = make


def to_json(kind: Any, value: Any) -> str:
    """A value of some type as JSON text, in ASCII and without spaces."""
    return json.dumps(encoded(kind, value), separators=(",", ":"))


def from_json(kind: type[Value], content: bytes) -> Value:
    """The value of some type that `to_json` wrote. Raises NotDecoded for anything else."""
    try:
        data = json.loads(content)
    except (RecursionError, ValueError) as error:
        raise NotDecoded(f"no JSON: {error}") from error
    return decoded(kind, data)


def encoded(kind: Any, value: Any) -> Any:
    """A value of some type as values of JSON."""
    return _coder(kind).encode(value)


def decoded(kind: type[Value], data: Any) -> Value:
    """The value of some type that `encoded` gave. Raises NotDecoded for anything else."""
    try:
        value: Value = _coder(typing.cast(Any, kind)).decode(data)
    except RecursionError as error:
        raise NotDecoded("too deep") from error
    return value


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of what values of a type are encoded as; named shapes are its definitions."""
    shapes: dict[str, Any] = {}
    whole = _coder(kind).schema(shapes)
    name = whole.get("$ref", "").rpartition("/")[2]
    if name and whole["$ref"] not in json.dumps(shapes):  # no shape has others of its own kind below it
        whole = shapes.pop(name)
    return {**whole, **({"$defs": shapes} if shapes else {})}


@dataclass(frozen=True, slots=True)
class _Coder:
    """What is done with one type. ``schema`` adds the named shapes that it refers to to those it is given."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    schema: Callable[[dict[str, Any]], dict[str, Any]]
    object_keys: bool = False  # its values may be the keys of an object


@cache
def _coder(kind: Any) -> _Coder:
    origin = get_origin(kind) or kind
    if origin in _MAKERS:
        return _MAKERS[origin](kind)
    if isinstance(kind, type):
        for fits, make in _CLASSES:
            if fits(kind):
                return make(kind)
    raise TypeError(f"{kind!r} has no form in JSON")


def _scalar(kind: Any) -> _Coder:
    def decode(data: Any) -> Any:
        if type(data) is not kind:
            raise NotDecoded(f"{data!r:.60} is no {kind.__name__}")
        return data

    return _Coder(lambda value: value, decode, lambda shapes: {"type": _JSON_NAMES[kind]}, kind is str)


def _anything(kind: Any) -> _Coder:
    return _Coder(lambda value: value, lambda data: data, lambda shapes: {})


def _path(kind: Any) -> _Coder:
    text = _scalar(str)
    return _Coder(str, lambda data: Path(text.decode(data)), text.schema)


def _enum(kind: type[Enum]) -> _Coder:
    values = {member.value: member for member in kind}

    def decode(data: Any) -> Any:
        return values[_one_of(values, data)]

    return _Coder(lambda value: value.value, decode, lambda shapes: {"enum": list(values)}, True)


def _literal(kind: Any) -> _Coder:
    values = get_args(kind)
    schema = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return _Coder(lambda value: value, lambda data: _one_of(values, data), lambda shapes: schema)


def _one_of(values: Any, data: Any) -> Any:
    if not isinstance(data, str | int | float) or data not in values:
        raise NotDecoded(f"{data!r:.60} is none of {list(values)}")
    return data


def _annotated(kind: Any) -> _Coder:
    inner, *notes = get_args(kind)
    coder = _coder(inner)

    def schema(shapes: dict[str, Any]) -> dict[str, Any]:
        said = {note.keyword: note.value for note in notes if isinstance(note, Keyword)}
        texts = [("description", note) for note in notes if isinstance(note, str) and note != OR_NULL]
        return {**coder.schema(shapes), **said, **dict(texts)}

    return _Coder(coder.encode, coder.decode, schema, coder.object_keys)


def _union(kind: Any) -> _Coder:
    others = [each for each in get_args(kind) if each is not types.NoneType]
    if len(others) != 1 or len(others) == len(get_args(kind)):
        raise TypeError(f"{kind!r} is no type or None")
    coder = _coder(others[0])

    def schema(shapes: dict[str, Any]) -> dict[str, Any]:
        said = coder.schema(shapes)
        if isinstance(said.get("type"), str):
            return {**said, "type": [said["type"], "null"]}
        return {"anyOf": [{"type": "null"}, said]}

    return _Coder(
        lambda value: None if value is None else coder.encode(value),
        lambda data: None if data is None else coder.decode(data),
        schema,
    )


def _sequence(kind: Any) -> _Coder:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple and arguments[1:] != (...,):
        return _fixed(arguments, tuple)
    item = _coder(arguments[0])
    make = frozenset if origin is frozenset else list if origin is list else tuple

    def encode(value: Any) -> Any:
        made = [item.encode(each) for each in value]
        return sorted(made) if make is frozenset else made

    def decode(data: Any) -> Any:
        return make(map(item.decode, _checked(list, data)))

    return _Coder(encode, decode, lambda shapes: {"type": "array", "items": item.schema(shapes)})


def _fixed(kinds: Sequence[Any], make: Callable[[Any], Any]) -> _Coder:
    items = [_coder(each) for each in kinds]

    def decode(data: Any) -> Any:
        if len(_checked(list, data)) != len(items):
            raise NotDecoded(f"{len(data)} values, not {len(items)}")
        return make([item.decode(each) for item, each in zip(items, data, strict=True)])

    def schema(shapes: dict[str, Any]) -> dict[str, Any]:
        said = [item.schema(shapes) for item in items]
        return {"type": "array", "prefixItems": said, "minItems": len(said), "maxItems": len(said)}

    def encode(value: Any) -> Any:
        return [item.encode(each) for item, each in zip(items, value, strict=True)]

    return _Coder(encode, decode, schema)


def _named_tuple(kind: Any) -> _Coder:
    hints = get_type_hints(kind, include_extras=True)
    return _fixed([hints[name] for name in kind._fields], kind._make)


def _mapping(kind: Any) -> _Coder:
    key, item = map(_coder, get_args(kind))
    if not key.object_keys:
        pairs = _sequence(tuple[tuple[get_args(kind)], ...])  # type: ignore[misc]
        return _Coder(lambda value: pairs.encode(value.items()), lambda data: dict(pairs.decode(data)), pairs.schema)

    def encode(value: Any) -> Any:
        return {key.encode(name): item.encode(each) for name, each in value.items()}

    def decode(data: Any) -> Any:
        return {key.decode(name): item.decode(each) for name, each in _checked(dict, data).items()}

    def schema(shapes: dict[str, Any]) -> dict[str, Any]:
        names = key.schema(shapes)
        only = {} if names == {"type": "string"} else {"propertyNames": names}
        return {"type": "object", **only, "additionalProperties": item.schema(shapes)}

    return _Coder(encode, decode, schema)


def _checked(kind: type, data: Any) -> Any:
    if type(data) is not kind:
        raise NotDecoded(f"{data!r:.60} is no {kind.__name__}")
    return data


def _dataclass(kind: Any) -> _Coder:
    @lru_cache(maxsize=1)
    def coders() -> dict[str, _Coder]:  # late: a dataclass may hold others of its own kind
        hints = get_type_hints(kind, include_extras=True)
        return {each.name: _coder(hints[each.name]) for each in fields(kind)}

    def encode(value: Any) -> Any:
        return {name: coder.encode(getattr(value, name)) for name, coder in coders().items()}

    def decode(data: Any) -> Any:
        if _checked(dict, data).keys() != coders().keys():
            raise NotDecoded(f"the keys of no {kind.__name__}: {sorted(data)!r:.100}")
        return kind(**{name: coder.decode(data[name]) for name, coder in coders().items()})

    def schema(shapes: dict[str, Any]) -> dict[str, Any]:
        return _object(kind, shapes, {name: (coder, True) for name, coder in coders().items()})

    return _Coder(encode, decode, schema)


def _shape(kind: Any) -> _Coder:
    hints = get_type_hints(kind, include_extras=True)
    keys = {name: _key(name, hint) for name, hint in hints.items()}

    def encode(value: Any) -> Any:
        said = {}
        for name, (coder, find, required) in keys.items():
            found = find(value)
            if required or found:
                said[name] = coder.encode(found)
        return said

    def decode(data: Any) -> Any:
        raise TypeError(f"{kind.__name__} is a printed form: nothing reads it")

    def schema(shapes: dict[str, Any]) -> dict[str, Any]:
        return _object(kind, shapes, {name: (coder, required) for name, (coder, _, required) in keys.items()})

    return _Coder(encode, decode, schema)


def _key(name: str, hint: Any) -> tuple[_Coder, Callable[[Any], Any], bool]:
    """A key of a printed form: its coder, how its value is found in the whole, and whether it is always there."""
    required = get_origin(hint) is not NotRequired
    hint = hint if required else get_args(hint)[0]
    notes = get_args(hint)[1:] if get_origin(hint) is typing.Annotated else ()
    bare = get_args(hint)[0] if notes else hint
    constant = get_args(bare) if get_origin(bare) is Literal else ()

    takes = next((note.of for note in notes if isinstance(note, Taken)), lambda whole: _part(whole, name))

    def find(whole: Any) -> Any:
        if len(constant) == 1:
            return constant[0]
        return takes(whole) or None if OR_NULL in notes else takes(whole)

    return _coder(hint), find, required


def _object(kind: Any, shapes: dict[str, Any], keys: Mapping[str, tuple[_Coder, bool]]) -> dict[str, Any]:
    """A reference to an object's schema, which is put among the named shapes."""
    if kind.__name__ not in shapes:
        shapes[kind.__name__] = {}
        shapes[kind.__name__] = {
            "type": "object",
            "required": [name for name, (_, required) in keys.items() if required],
            "additionalProperties": False,
            "properties": {name: coder.schema(shapes) for name, (coder, _) in keys.items()},
        }
    return {"$ref": f"#/$defs/{kind.__name__}"}


_JSON_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
_MAKERS: dict[Any, Callable[[Any], _Coder]] = {
    **dict.fromkeys(_JSON_NAMES, _scalar),
    Any: _anything,
    Path: _path,
    Literal: _literal,
    typing.Annotated: _annotated,
    **dict.fromkeys((Union, types.UnionType), _union),
    **dict.fromkeys((tuple, list, frozenset, collections.abc.Sequence), _sequence),
    **dict.fromkeys((dict, collections.abc.Mapping), _mapping),
}
_CLASSES: tuple[tuple[Callable[[type], bool], Callable[[Any], _Coder]], ...] = (
    (typing.is_typeddict, _shape),
    (is_dataclass, _dataclass),
    (lambda kind: issubclass(kind, Enum), _enum),
    (lambda kind: issubclass(kind, tuple), _named_tuple),
)


def json_of(form: Any, value: object) -> str:
    """A value as JSON text by the form that is printed."""
    return json_text(encoded(form, value))


def json_text(data: Any) -> str:
    """Data as JSON that every reader takes: of a name that is no UTF-8, the wrong bytes are written ``\\udcff``."""
    return json.dumps(_unicode(data), indent=1) + "\n"


def _unicode(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(data, dict):
        return {_unicode(key): _unicode(value) for key, value in data.items()}
    return [_unicode(each) for each in data] if isinstance(data, list) else data
