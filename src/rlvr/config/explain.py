"""Checking content against a schema, and mistakes in the words of the person who wrote the file."""

from __future__ import annotations

import re
import types
import typing
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model

from rlvr.config.layers import ConfigError, Layer, merge
from rlvr.config.schema.fields import NAME, Strict
from rlvr.words import nearest

Schema = TypeVar("Schema", bound=BaseModel)
KEY = "[key]"  # pydantic's mark of a mapping's key in a location
A_NAME = "a name has letters, digits, '.', '_' and '-' alone, and begins with a letter or a digit"


def validate(schema: type[Schema], layers: list[Layer]) -> Schema:
    """The merged layers as `schema`; an error is placed in the last layer that has the key."""
    try:
        return schema.model_validate(merge(layers))
    except ValidationError as error:
        raise ConfigError(explain(schema, layers, error)) from error


def check_part(schema: type[BaseModel], layer: Layer) -> None:
    """Raises ConfigError for what is wrong in a layer by itself, also where another layer wins over it."""
    try:
        _part_of(schema).__pydantic_validator__.validate_python(layer.content)
    except ValidationError as error:
        raise ConfigError(explain(schema, [layer], error)) from error


@cache
def _part_of(schema: type[BaseModel]) -> type[BaseModel]:
    """The schema with every key optional, and without its checks of keys against each other."""
    fields: dict[str, Any] = {}
    for name, field in schema.model_fields.items():
        annotation: Any = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            annotation = _part_of(annotation)
        for constraint in field.metadata:
            annotation = typing.Annotated[annotation, constraint]
        fields[name] = (annotation, None)
    return create_model(schema.__name__, __base__=Strict, **fields)


def named_entries(kind: Any, layer: Layer, written: dict[str, str] | None = None) -> dict[str, Any]:
    """A file of named models or data sets: each entry gets its key as its name.

    `written`: a field's name -> the key that stands for it in the file.
    """
    adapter = _adapter(kind)
    entries = {}
    for name, content in layer.content.items():
        check_name(name, layer.place((name,)))
        if not isinstance(content, dict):
            raise ConfigError(f"{layer.place((name,))}: must be a mapping of keys to values (got {content!r})")
        if "name" in content:
            raise ConfigError(f"{layer.place((name, 'name'))}: unknown key; its name is the key above it")
        place = Layer(layer.file, name, content)
        try:
            entries[name] = adapter.validate_python({"name": name, **content})
        except ValidationError as error:
            raise ConfigError(explain(kind, [place], error, written or {})) from error
    return entries


_ADAPTERS: dict[int, TypeAdapter[Any]] = {}  # by the kind's own identity: a union has no hash


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Made once for each kind: building one takes longer than what it checks."""
    if id(kind) not in _ADAPTERS:
        _ADAPTERS[id(kind)] = TypeAdapter(kind)
    return _ADAPTERS[id(kind)]


def check_name(name: str, place: str) -> None:
    """Raises ConfigError where what a file calls its own thing is no name for a file."""
    if not re.fullmatch(NAME, name):
        raise ConfigError(f"{place}: {name!r} cannot be a name: {A_NAME}")


def explain(schema: Any, layers: list[Layer], error: ValidationError, written: dict[str, str] | None = None) -> str:
    """A line a mistake, the most useful first: misspelt keys, then wrong values, then keys that are missing.

    A key is not said to be missing where the line above says how it is misspelt.
    """
    said, suggested = [], set()
    for detail in error.errors(include_url=False):
        location = tuple(detail["loc"])
        if not isinstance(schema, type) and detail["type"] not in _OF_TAGS:
            location = location[1:]  # without the tag of a union
        rank, plain, message, meant = _in_words(schema, layers, {**detail, "loc": location}, written or {})
        said.append((rank, plain, message))
        suggested |= {(*plain[:-1], meant)} if meant else set()
    told = sorted((one for one in said if one[0] < 2 or one[1] not in suggested), key=lambda one: one[0])
    return "\n".join(f"{_holder(layers, plain).place(plain)}: {message}" for _, plain, message in told)


_OF_TAGS = ("union_tag_invalid", "union_tag_not_found", "model_attributes_type")


def _holder(layers: list[Layer], plain: tuple[Any, ...]) -> Layer:
    """The last layer that has the key; of a missing key or a list's entry the one that has most of what is above it."""
    for depth in range(len(plain), 0, -1):
        for layer in reversed(layers):
            if layer.holds(plain[:depth]):
                return layer
    return layers[-1]


def _in_words(
    schema: Any, layers: list[Layer], detail: dict[str, Any], written: dict[str, str]
) -> tuple[int, tuple[Any, ...], str, str | None]:
    """How useful a mistake is to read (0 most), its location, what is wrong, and the key that was meant."""
    kind, location, value = detail["type"], detail["loc"], detail["input"]
    if kind == "extra_forbidden":
        fields = [written.get(name, name) for name in _fields_at(schema, location[:-1], layers[-1].content)]
        meant = _close(location[-1], fields)
        return 0, location, f"unknown key{nearest(location[-1], fields)}", meant
    if kind == "missing" and isinstance(value, list):
        return 1, location[:-1], f"has {len(value)} values; it needs more (got {value!r})", None
    if kind == "missing":
        return 2, (*location[:-1], written.get(location[-1], location[-1])), "this key is missing", None
    if location and location[-1] == KEY:
        return 0, location[:-1], f"{location[-2]!r} cannot be a name: {A_NAME}", None
    if kind in _OF_TAGS:
        return _of_a_tag(schema, location, detail, value)
    message = detail["msg"].removeprefix("Value error, ")
    if not isinstance(value, (dict, BaseModel)):
        message += f" (got {value!r}){_hint(kind, detail, value)}"
    elif not kind.startswith("value_error"):
        message += " (got a mapping)"
    return 1, location, message, None


def _of_a_tag(
    schema: Any, location: tuple[Any, ...], detail: dict[str, Any], value: Any
) -> tuple[int, tuple[Any, ...], str, str | None]:
    """A mistake in the key that says which of several kinds an entry is."""
    if detail["type"] == "model_attributes_type":
        return 1, location, f"must be a mapping of keys to values (got {value!r})", None
    key, known = detail["ctx"]["discriminator"].strip("'"), [n for m in _models(schema) for n in m.model_fields]
    if detail["type"] == "union_tag_invalid":
        tags = re.findall(r"'([^']*)'", detail["ctx"]["expected_tags"])
        return 1, (*location, key), f"unknown {key} {value[key]!r}{nearest(value[key], tags)}", None
    for other in value:
        if other not in known and _close(other, [key]):
            return 0, (*location, other), f"unknown key; did you mean {key!r}?", key
    return 2, (*location, key), "this key is missing", None


def _hint(kind: str, detail: dict[str, Any], value: Any) -> str:
    """What to write in place of a wrong value, where that can be said."""
    if kind == "literal_error":
        meant = _close(str(value), re.findall(r"'([^']*)'", detail["ctx"]["expected"]))
        return f"; did you mean {meant!r}?" if meant else ""
    if kind in ("int_type", "float_type", "bool_type") and isinstance(value, str) and _is_plain(value):
        return "; write it without quotes"
    return "; write it in quotes" if kind == "string_type" and isinstance(value, (int, float, bool)) else ""


def _is_plain(text: str) -> bool:
    return re.fullmatch(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|true|false", text.strip(), re.IGNORECASE) is not None


def _close(wrong: Any, valid: list[str]) -> str | None:
    return next(iter(get_close_matches(str(wrong), valid, n=1, cutoff=0.5)), None)


def _fields_at(schema: Any, location: tuple[Any, ...], content: dict[str, Any]) -> list[str]:
    """The keys of the mapping that a location in `schema` leads to."""
    models = _models(schema)
    if not isinstance(schema, type) and len(models) > 1:  # of a union, those that the entry's tag chooses
        tagged = [m for m in models if any(f"'{content.get(key)}'" in str(f.annotation) for key, f in _tags(m))]
        models = tagged or models
    for part in location:
        step = [inner for model in models if part in model.model_fields
                for inner in _models(model.model_fields[part].annotation)]  # fmt: skip
        models = step or models
    return list(dict.fromkeys(name for model in models for name in model.model_fields if name != "name" or location))


def _tags(model: type[BaseModel]) -> list[tuple[str, Any]]:
    return [(name, field) for name, field in model.model_fields.items() if name in ("task", "source")]


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for argument in typing.get_args(annotation) for model in _models(argument)]
