"""Checks content against a schema. Messages are pydantic's own, with file, key and a remedy."""

import re
import typing
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model

from rlvr.config.layers import ConfigError, Layer, merge, place_of
from rlvr.config.schema.fields import Strict, UnknownKey, check_name
from rlvr.suggest import close, nearest

Schema = TypeVar("Schema", bound=BaseModel)
IS_MISSING = "this key is missing"
NO_MAPPING = "must be a mapping of keys to values"
MESSAGES = {
    "missing": IS_MISSING,
    "union_tag_not_found": IS_MISSING,
    "model_type": NO_MAPPING,
    "model_attributes_type": NO_MAPPING,
    "dict_type": NO_MAPPING,
}
PLAIN = re.compile(r"\s*([-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|true|false)\s*", re.IGNORECASE)  # number, boolean


def validate(schema: type[Schema], layers: list[Layer]) -> Schema:
    """The merged layers as `schema`. Raises ConfigError, which names the last layer that has the key."""
    try:
        return schema.model_validate(merge(layers))
    except ValidationError as error:
        raise ConfigError(explain(layers, error)) from error


def check_part(schema: type[BaseModel], layer: Layer) -> None:
    """Raises ConfigError for a mistake in one layer, even if another layer overrides it."""
    _check_mapping(layer)
    try:
        part_of(schema).__pydantic_validator__.validate_python(layer.content)
    except ValidationError as error:
        raise ConfigError(explain([layer], error)) from error


@cache
def part_of(schema: type[BaseModel]) -> type[BaseModel]:
    """The schema with every key optional and no checks across keys."""
    fields: dict[str, Any] = {}
    for name, field in schema.model_fields.items():
        annotation: Any = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            annotation = part_of(annotation)
        for constraint in field.metadata:
            annotation = typing.Annotated[annotation, constraint]
        fields[name] = (annotation, None)
    return create_model(schema.__name__, __base__=Strict, **fields)


def _check_mapping(layer: Layer) -> None:
    if not isinstance(layer.content, dict):
        raise ConfigError(f"{layer.place()}: {NO_MAPPING} (got {layer.content!r})")


def named_entries(kind: Any, layer: Layer, aliases: dict[str, str] | None = None) -> dict[str, Any]:
    """The entries of a file of models or data sets, by name; each entry's name is its key.

    `aliases`: a field's name -> its key in the file, where they differ.
    """
    adapter = _adapter(kind)
    entries = {}
    for name, content in layer.content.items():
        try:
            check_name(name)
        except ValueError as error:
            raise ConfigError(f"{layer.place((name,))}: {error}") from error
        _check_mapping(layer.below(name, content))
        if "name" in content:
            raise ConfigError(f"{layer.place((name, 'name'))}: unknown key; the key above is the name")
        try:
            entries[name] = adapter.validate_python({"name": name, **content})
        except ValidationError as error:
            raise ConfigError(explain([layer.below(name, content)], error, aliases or {})) from error
    return entries


_ADAPTERS: dict[int, TypeAdapter[Any]] = {}  # by id(kind): a union has no hash


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """The cached adapter of a kind: building one takes longer than a check."""
    if id(kind) not in _ADAPTERS:
        _ADAPTERS[id(kind)] = TypeAdapter(kind)
    return _ADAPTERS[id(kind)]


def explain(layers: list[Layer], error: ValidationError, aliases: dict[str, str] | None = None) -> str:
    """One line per mistake; missing keys come last."""
    content, lines = merge(layers), []
    for detail in error.errors(include_url=False):
        location, message = _described(detail, _written(detail, content), aliases or {})
        lines.append(f"{place_of(layers, location)}: {message}")
    return "\n".join(sorted(lines, key=lambda line: line.endswith(IS_MISSING)))


def _written(detail: Any, content: Any) -> tuple[Any, ...]:
    """The location in the file: pydantic's has the tags of unions too."""
    location, last = [], detail["loc"][-1:] if detail["type"] == "missing" else ()
    for part in detail["loc"][: len(detail["loc"]) - len(last)]:
        if (isinstance(content, dict) and part in content) or (isinstance(content, list) and isinstance(part, int)):
            location.append(part)
            content = content[part]
    return (*location, *last)


def _described(detail: Any, location: tuple[Any, ...], aliases: dict[str, str]) -> tuple[tuple[Any, ...], str]:
    """The location of a mistake, down to the key that is wrong or missing, and the message."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if isinstance(error := context.get("error"), UnknownKey):
        fields = [aliases.get(name, name) for name in error.fields if location or name != "name"]
        return (*location, error.key), f"unknown key{nearest(error.key, fields)}"
    if "discriminator" in context:
        tag = context["discriminator"].strip("'")
        if kind == "union_tag_not_found" and (other := close(tag, value)):
            return (*location, other), f"unknown key; did you mean {tag!r}?"
        location, value = (*location, tag), value.get(tag) if isinstance(value, dict) else value
    message = MESSAGES.get(kind) or detail["msg"].removeprefix("Value error, ")
    if kind == "missing" and location[-1] in aliases:
        location = (*location[:-1], aliases[location[-1]])
    if message != IS_MISSING and not isinstance(value, (dict, BaseModel)):
        message += f" (got {value!r}){_hint(kind, context, value)}"
    elif kind.startswith("value_error") and (named := re.match(r"([a-z_]+): ", message)):
        location, message = (*location, named[1]), message[named.end() :]  # a check across keys names the wrong one
    elif message != IS_MISSING and not kind.startswith("value_error"):
        message += " (got a mapping)"
    return location, message


def _hint(kind: str, context: dict[str, Any], value: Any) -> str:
    """The remedy for a wrong value; empty where this is unknown."""
    if expected := context.get("expected_tags") or (kind == "literal_error" and context["expected"]):
        correction = close(str(value), re.findall(r"'([^']*)'", expected))
        return f"; did you mean {correction!r}?" if correction else ""
    if kind in ("int_type", "float_type", "bool_type") and isinstance(value, str) and PLAIN.fullmatch(value):
        return "; write it without quotes"
    return "; write it in quotes" if kind == "string_type" and isinstance(value, (int, float, bool)) else ""
