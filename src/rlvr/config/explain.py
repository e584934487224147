"""Checks content against a schema and explains mistakes by file and key."""

import re
import types
import typing
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError, create_model

from rlvr.config.layers import ConfigError, Layer, merge, place_of
from rlvr.config.schema.fields import NAME, Strict
from rlvr.words import close, nearest

Schema = TypeVar("Schema", bound=BaseModel)
KEY = "[key]"  # how pydantic marks a mapping's key in a location
A_NAME = "a name has letters, digits, '.', '_' and '-' alone, and begins with a letter or a digit"


def validate(schema: type[Schema], layers: list[Layer]) -> Schema:
    """The merged layers as `schema`. Raises ConfigError, which names the last layer that has the key."""
    try:
        return schema.model_validate(merge(layers))
    except ValidationError as error:
        raise ConfigError(explain(schema, layers, error)) from error


def check_part(schema: type[BaseModel], layer: Layer) -> None:
    """Raises ConfigError for a mistake in one layer, even if another layer overrides it."""
    try:
        _part_of(schema).__pydantic_validator__.validate_python(layer.content)
    except ValidationError as error:
        raise ConfigError(explain(schema, [layer], error)) from error


@cache
def _part_of(schema: type[BaseModel]) -> type[BaseModel]:
    """The schema with every key optional and no checks across keys."""
    fields: dict[str, Any] = {}
    for name, field in schema.model_fields.items():
        annotation: Any = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            annotation = _part_of(annotation)
        for constraint in field.metadata:
            annotation = typing.Annotated[annotation, constraint]
        fields[name] = (annotation, None)
    return create_model(schema.__name__, __base__=Strict, **fields)


def named_entries(kind: Any, layer: Layer, aliases: dict[str, str] | None = None) -> dict[str, Any]:
    """The entries of a file of models or data sets, by name; each entry's name is its key.

    `aliases`: a field's name -> its key in the file, where they differ.
    """
    adapter = _adapter(kind)
    entries = {}
    for name, content in layer.content.items():
        check_name(name, layer.place((name,)))
        if not isinstance(content, dict):
            raise ConfigError(f"{layer.place((name,))}: must be a mapping of keys to values (got {content!r})")
        if "name" in content:
            raise ConfigError(f"{layer.place((name, 'name'))}: unknown key; the key above is the name")
        place = layer.below(name, content)
        try:
            entries[name] = adapter.validate_python({"name": name, **content})
        except ValidationError as error:
            raise ConfigError(explain(kind, [place], error, aliases or {})) from error
    return entries


_ADAPTERS: dict[int, TypeAdapter[Any]] = {}  # by id(kind): a union has no hash


def _adapter(kind: Any) -> TypeAdapter[Any]:
    """The cached adapter of a kind: building one takes longer than a check."""
    if id(kind) not in _ADAPTERS:
        _ADAPTERS[id(kind)] = TypeAdapter(kind)
    return _ADAPTERS[id(kind)]


def check_name(name: str, place: str) -> None:
    """Raises ConfigError where an entry's name cannot be part of a file name."""
    if not re.fullmatch(NAME, name):
        raise ConfigError(f"{place}: {name!r} cannot be a name: {A_NAME}")


def explain(schema: Any, layers: list[Layer], error: ValidationError, aliases: dict[str, str] | None = None) -> str:
    """One line per mistake, the most useful first: misspelt keys, wrong values, missing keys.

    A key that another line reports as misspelt is not reported as missing.
    """
    mistakes, suggested = [], set()
    for detail in error.errors(include_url=False):
        location = tuple(detail["loc"])
        if not isinstance(schema, type) and detail["type"] not in TAG_ERRORS:
            location = location[1:]  # without the tag of a union
        rank, key, message, correction = _describe(schema, layers, {**detail, "loc": location}, aliases or {})
        mistakes.append((rank, key, message))
        suggested |= {(*key[:-1], correction)} if correction else set()
    lines = sorted((m for m in mistakes if m[0] < 2 or m[1] not in suggested), key=lambda m: m[0])
    return "\n".join(f"{place_of(layers, key)}: {message}" for _, key, message in lines)


PLAIN = re.compile(r"\s*([-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|true|false)\s*", re.IGNORECASE)  # number, boolean
TAG_ERRORS = ("union_tag_invalid", "union_tag_not_found", "model_attributes_type")


def _describe(
    schema: Any, layers: list[Layer], detail: dict[str, Any], aliases: dict[str, str]
) -> tuple[int, tuple[Any, ...], str, str | None]:
    """The rank of a mistake (0: most useful to read), its location, the message, and the intended key."""
    kind, location, value = detail["type"], detail["loc"], detail["input"]
    if kind == "extra_forbidden":
        fields = [aliases.get(name, name) for name in _fields_at(schema, location[:-1], layers[-1].content)]
        correction = close(location[-1], fields)
        return 0, location, f"unknown key{nearest(location[-1], fields)}", correction
    if kind == "missing" and isinstance(value, list):
        return 1, location[:-1], f"has {len(value)} values; it needs more (got {value!r})", None
    if kind == "missing":
        return 2, (*location[:-1], aliases.get(location[-1], location[-1])), "this key is missing", None
    if location and location[-1] == KEY:
        return 0, location[:-1], f"{location[-2]!r} cannot be a name: {A_NAME}", None
    if kind in TAG_ERRORS:
        return _describe_tag(schema, location, detail, value)
    message = detail["msg"].removeprefix("Value error, ")
    if not isinstance(value, (dict, BaseModel)):
        message += f" (got {value!r}){_hint(kind, detail, value)}"
    elif not kind.startswith("value_error"):
        message += " (got a mapping)"
    elif named := re.match(r"([a-z_]+): ", message):  # a check across keys names the wrong one first
        location, message = (*location, named[1]), message[named.end() :]
    return 1, location, message, None


def _describe_tag(
    schema: Any, location: tuple[Any, ...], detail: dict[str, Any], value: Any
) -> tuple[int, tuple[Any, ...], str, str | None]:
    """The same for a mistake in the key that selects an entry's kind."""
    if detail["type"] == "model_attributes_type":
        return 1, location, f"must be a mapping of keys to values (got {value!r})", None
    key, fields = detail["ctx"]["discriminator"].strip("'"), [n for m in _models(schema) for n in m.model_fields]
    if detail["type"] == "union_tag_invalid":
        tags = re.findall(r"'([^']*)'", detail["ctx"]["expected_tags"])
        return 1, (*location, key), f"unknown {key} {value[key]!r}{nearest(value[key], tags)}", None
    for other in value:
        if other not in fields and close(other, [key]):
            return 0, (*location, other), f"unknown key; did you mean {key!r}?", key
    return 2, (*location, key), "this key is missing", None


def _hint(kind: str, detail: dict[str, Any], value: Any) -> str:
    """What to write instead of a wrong value; empty where this is unknown."""
    if kind == "literal_error":
        correction = close(str(value), re.findall(r"'([^']*)'", detail["ctx"]["expected"]))
        return f"; did you mean {correction!r}?" if correction else ""
    if kind in ("int_type", "float_type", "bool_type") and isinstance(value, str) and PLAIN.fullmatch(value):
        return "; write it without quotes"
    return "; write it in quotes" if kind == "string_type" and isinstance(value, (int, float, bool)) else ""


def _fields_at(schema: Any, location: tuple[Any, ...], content: dict[str, Any]) -> list[str]:
    """The keys of the mapping at a location in `schema`."""
    models = _models(schema)
    if not isinstance(schema, type) and len(models) > 1:  # a union: the models that the entry's tag selects
        tag = next((key for key in ("task", "source") if all(key in m.model_fields for m in models)), "")
        models = [m for m in models if f"'{content.get(tag)}'" in str(m.model_fields[tag].annotation)] or models
    for part in location:
        inner_models = [inner for model in models if part in model.model_fields
                for inner in _models(model.model_fields[part].annotation)]  # fmt: skip
        models = inner_models or models
    return list(dict.fromkeys(name for model in models for name in model.model_fields if name != "name" or location))


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for argument in typing.get_args(annotation) for model in _models(argument)]
