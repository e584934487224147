"""YAML files as layers of content: reading, names of places in them, and merging. No schema here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

from rlvr.words import nearest


class ConfigError(Exception):
    """A mistake in a configuration file, in one line."""


@dataclass(frozen=True)
class Layer:
    """Part of some settings and its place: a file and the dotted key above it."""

    file: str
    key: str
    content: dict[str, Any]

    def place(self, location: tuple[Any, ...] = ()) -> str:
        dotted = ".".join(str(part) for part in (*filter(None, [self.key]), *location))
        return f"{self.file}: {dotted}" if dotted else self.file

    def holds(self, location: tuple[Any, ...]) -> bool:
        node: Any = self.content
        for part in location:
            if not isinstance(node, dict) or part not in node:
                return False
            node = node[part]
        return True


def holder(layers: list[Layer], location: tuple[Any, ...]) -> Layer:
    """The last layer that has the key, whose value therefore wins; the last of all where none has it."""
    return next((layer for layer in reversed(layers) if layer.holds(location)), layers[-1])


def look_up(table: Any, name: str, what: str, place: str) -> Any:
    """The entry of a mapping, or the name itself of a list. Raises ConfigError, naming the nearest."""
    if name not in table:
        raise ConfigError(f"{place}: unknown {what} {name!r}{nearest(name, table)}")
    return table[name] if isinstance(table, dict) else name


def merge(layers: Iterable[Layer]) -> dict[str, Any]:
    """Later layers win, key by key. A layer that names another estimator replaces the estimator's settings.

    The result shares what it can with the layers: it is to be read, not to be changed.
    """
    return reduce(_merged, (layer.content for layer in layers), {})


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        current = below.get(key)
        if not isinstance(value, dict) or not isinstance(current, dict):
            result[key] = value
        elif key == "estimator":
            other = "name" in value and value["name"] != current.get("name")
            result[key] = value if other else {**current, **value}
        else:
            result[key] = _merged(current, value)
    return result


# ---- files -----------------------------------------------------------------------------------------


def read_yaml(path: Path, root: Path) -> Layer:
    """A file's content. Raises ConfigError where it is no mapping of names to plain values."""
    file = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
    if not path.is_file():
        siblings = [p.stem for p in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        raise ConfigError(f"{file}: no such file{nearest(path.stem, siblings)}")
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Plain)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: must be a mapping of keys to values")
    return Layer(file, "", content)


_Fastest: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, eight times as fast, where it is built in


class _Plain(_Fastest):
    """YAML of text, numbers, booleans, null, lists and mappings. A key is text, and given once.

    1e-5 is a number, and a date is the text that was written: 2024-08-01.
    """

    def construct_document(self, node):
        _check_keys(node, set())
        return super().construct_document(node)


def _check_keys(node: yaml.Node, seen: set[int]) -> None:
    """Before anything is constructed, since `<<` then adds keys of other mappings."""
    if id(node) in seen or isinstance(node, yaml.ScalarNode):
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for one in node.value:
            _check_keys(one, seen)
    elif isinstance(node, yaml.MappingNode):
        given = set()
        for key, value in node.value:
            if key.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
                problem = f"the key {key.value!r} is not read as text; write it in quotes"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            if key.value in given:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is given twice", key.start_mark)
            given.add(key.value)
            _check_keys(value, seen)


_PLAIN_TAGS = ("str", "int", "float", "bool", "null", "seq", "map")
_Plain.yaml_constructors = {
    tag: function
    for tag, function in _Fastest.yaml_constructors.items()
    if tag is None or tag.rpartition(":")[2] in _PLAIN_TAGS
}
_Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in _Fastest.yaml_implicit_resolvers.items()
}
_Plain.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)
