"""YAML files as layers of content: reading, locating keys, merging. No schema here."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

from rlvr.files import Mistake
from rlvr.suggest import nearest


class ConfigError(Mistake):
    """A mistake in configuration, with file and key."""


@dataclass(frozen=True)
class Layer:
    """Content of a configuration file, with its place: the file and the dotted key above."""

    file: str
    key: str
    content: dict[str, Any]
    files: dict[str, str] = field(default_factory=dict)  # sections that come from another file

    def place(self, location: tuple[Any, ...] = ()) -> str:
        dotted = self._dotted(location)
        file = self.files.get(dotted.partition(".")[0], self.file)
        return f"{file}: {dotted}" if dotted else file

    def below(self, key: str, content: Any) -> "Layer":
        """Content below a dotted key of this layer, which may differ from what the file has there."""
        return replace(self, key=self._dotted((key,)), content=content)

    def with_keys(self, **keys: Any) -> "Layer":
        """The layer with more keys, which replace its own."""
        return replace(self, content={**self.content, **keys})

    def _dotted(self, location: tuple[Any, ...]) -> str:
        return ".".join(map(str, (self.key, *location) if self.key else location))

    def holds(self, location: tuple[Any, ...]) -> bool:
        node: Any = self.content
        for part in location:
            if not isinstance(node, dict) or part not in node:
                return False
            node = node[part]
        return True


def place_of(layers: list[Layer], location: tuple[Any, ...]) -> str:
    """File and key of a setting in the last layer that has it, or where none does, the most of the keys above it."""
    parts = (location[:depth] for depth in range(len(location), 0, -1))
    holders = (layer for part in parts for layer in reversed(layers) if layer.holds(part))
    return next(holders, layers[-1]).place(location)


def look_up(table: Any, name: str, what: str, place: str) -> Any:
    """The entry of a mapping, or the name in a list. Raises ConfigError, which suggests the nearest name."""
    if name not in table:
        raise ConfigError(f"{place}: unknown {what} {name!r}{nearest(name, table)}")
    return table[name] if isinstance(table, dict) else name


def merge(layers: Iterable[Layer]) -> dict[str, Any]:
    """The merged content: later layers win, key by key; a layer with another estimator replaces all its settings.

    The result shares objects with the layers: do not change it.
    """
    return reduce(_merged, [layer.content for layer in layers], {})


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


def file_name(path: Path, root: Path) -> str:
    """A file as messages name it: below the root, where it is there."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def read_yaml(path: Path, root: Path) -> Layer:
    """The content of a file. Raises ConfigError where it is no mapping of names to plain values."""
    file = file_name(path, root)
    if not path.is_file():
        siblings = [p.stem for p in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        raise ConfigError(f"{file}: no such file{nearest(path.stem, siblings)}")
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"), file)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: must be a mapping of keys to values")
    return Layer(file, "", content)


def parse_yaml(text: str, place: str) -> Any:
    """The plain values of a YAML text. Raises ConfigError, which names the place."""
    try:
        _check_depth(text)
        return yaml.load(text, Loader=_Plain)
    except yaml.YAMLError as error:
        raise ConfigError(f"{place}: not valid YAML: {' '.join(str(error).split())}") from error


_Fastest: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is eight times as fast, but not always built


class _Plain(_Fastest):
    """YAML of text, numbers, booleans, null, lists and mappings. Keys are text and unique.

    1e-5 is a number; a date stays text: 2024-08-01.
    """

    def construct_document(self, node):
        _check_keys(node)
        return super().construct_document(node)


DEPTH = 50  # levels of nesting; libyaml's loader recurses, and without a limit a file could end the process


def _check_depth(text: str) -> None:
    """Raises ConstructorError where lists and mappings are nested deeper than DEPTH."""
    depth = 0
    for event in yaml.parse(text, Loader=_Plain):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH:
            raise yaml.constructor.ConstructorError(None, None, f"nested deeper than {DEPTH} levels", event.start_mark)


def _check_keys(root: yaml.Node) -> None:
    """Raises ConstructorError for a bad or repeated key; runs before `<<` adds keys of other mappings."""
    seen: set[int] = set()  # an anchor's node is at several places
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
            continue
        keys = set()
        for key, value in node.value:
            if key.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
                problem = f"the key {key.value!r} is not text; write it in quotes"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            if key.value in keys:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is given twice", key.start_mark)
            keys.add(key.value)
            waiting.append(value)


def _placed(construct: Any, tag: str) -> Any:
    """A constructor of text that is no number or truth value names its place: `!!int x`, 5,000 digits."""

    def constructed(loader: Any, node: yaml.Node) -> Any:
        try:
            return construct(loader, node)
        except (ValueError, LookupError) as error:
            problem = f"{str(node.value)[:20]!r} is no {tag}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from error

    return constructed


_PLAIN_TAGS = ("str", "int", "float", "bool", "null", "seq", "map")
_SCALAR_TAGS = ("int", "float", "bool")
_Plain.yaml_constructors = {
    tag: _placed(function, tag.rpartition(":")[2]) if tag and tag.rpartition(":")[2] in _SCALAR_TAGS else function
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
