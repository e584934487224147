"""Reading and checking configuration files; every error names file, key and the nearest valid name."""

from __future__ import annotations

import copy
import re
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from rlvr import estimators
from rlvr.config.schema import Data, HubModel, Model, Paper, Prompt, Revision, Scale, Settings
from rlvr.estimators import nearest


class ConfigError(Exception):
    """A mistake in a configuration file, in one line."""


@dataclass(frozen=True)
class Layer:
    """A part of some settings and where it stands: a file and the dotted key above it."""

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


Schema = TypeVar("Schema", bound=BaseModel)
TAGS = (
    "operator_fill",
    "published",
    "mixture",
    "scratch",
    "hub",
)  # of unions; pydantic puts them into an error's location


def look_up(table: dict[str, Any], name: str, what: str, place: str) -> Any:
    if name not in table:
        raise ConfigError(f"{place}: unknown {what} {name!r}{nearest(name, table)}")
    return table[name]


def read_yaml(path: Path, root: Path) -> Layer:
    file = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
    if not path.is_file():
        siblings = [p.stem for p in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        raise ConfigError(f"{file}: no such file{nearest(path.stem, siblings)}")
    try:
        content = yaml.load(path.read_text(), Loader=_UniqueKeys)
    except yaml.YAMLError as error:
        raise ConfigError(f"{file}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: must be a mapping of keys to values")
    return Layer(file, "", content)


class _UniqueKeys(yaml.SafeLoader):
    """YAML that refuses a key given twice, and reads 1e-5 as a number."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is given twice", node.start_mark)
        return super().construct_mapping(node, deep=deep)


_UniqueKeys.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def validate(schema: type[Schema], layers: list[Layer]) -> Schema:
    """The merged layers as `schema`; an error is placed in the last layer that holds the key."""
    try:
        return schema.model_validate(merge(layers))
    except ValidationError as error:
        raise ConfigError(_explain(schema, layers, error)) from error


def merge(layers: list[Layer]) -> dict[str, Any]:
    """Later layers win, key by key. A layer that names another estimator replaces the estimator's settings."""
    merged: dict[str, Any] = {}
    for layer in layers:
        _merge_into(merged, copy.deepcopy(layer.content))
    return merged


def _merge_into(target: dict[str, Any], update: dict[str, Any]) -> None:
    for key, value in update.items():
        current = target.get(key)
        if key == "estimator" and isinstance(value, dict) and isinstance(current, dict):
            other = "name" in value and value["name"] != current.get("name")
            target[key] = value if other else {**current, **value}
        elif isinstance(value, dict) and isinstance(current, dict):
            _merge_into(current, value)
        else:
            target[key] = value


def _explain(schema: type[BaseModel], layers: list[Layer], error: ValidationError) -> str:
    lines = []
    for detail in error.errors(include_url=False):
        location = detail["loc"]
        plain = tuple(part for part in location if part not in TAGS)
        holder = next((layer for layer in reversed(layers) if plain and layer.holds(plain)), None)
        if holder is None:  # a missing key, or a list entry: name the nearest layer that holds its parent
            parents = [plain[:i] for i in range(len(plain) - 1, 0, -1)]
            found = [layer for parent in parents for layer in reversed(layers) if layer.holds(parent)]
            holder = found[0] if found else layers[-1]
        message = detail["msg"].removeprefix("Value error, ")
        if detail["type"] == "extra_forbidden":
            message = f"unknown key{nearest(location[-1], _fields_at(schema, location[:-1]))}"
        elif detail["type"] == "missing":
            message = "this key is missing"
        elif not isinstance(detail["input"], (dict, BaseModel)):
            message += f" (got {detail['input']!r})"
        lines.append(f"{holder.place(plain)}: {message}")
    return "\n".join(lines)


def _fields_at(schema: Any, location: tuple[Any, ...]) -> list[str]:
    """The field names of the model that a location in `schema` leads to."""
    models = _models(schema)
    for part in location:
        step: list[type[BaseModel]] = []
        for model in models:
            if part in model.model_fields:
                step += _models(model.model_fields[part].annotation)
            elif any(field.annotation == typing.Literal[part] for field in model.model_fields.values()):
                step.append(model)  # the tag of a discriminated union
        models = step or models
    return [name for model in models for name in model.model_fields]


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for argument in typing.get_args(annotation) for model in _models(argument)]


def named_entries(kind: Any, layer: Layer) -> dict[str, Any]:
    """A file of named models or data sets: each entry gets its key as its name."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    entries = {}
    for name, content in layer.content.items():
        place = Layer(layer.file, name, content if isinstance(content, dict) else {})
        try:
            entries[name] = adapter.validate_python({"name": name, **place.content})
        except ValidationError as error:
            raise ConfigError(_explain(kind, [place], error)) from error
    return entries


def find_folder() -> Path | None:
    """./config, that of a folder above, or that of the repository which this package was installed from."""
    here = Path.cwd()
    places = [here, *here.parents, Path(__file__).resolve().parents[3]]
    return next((place / "config" for place in places if (place / "config" / "datasets.yaml").is_file()), None)


def read_data(folder: Path, root: Path) -> dict[str, Any]:
    """Every data set of config/datasets.yaml, by name; in a mixture each share's `set` is replaced by that set."""
    layer = read_yaml(folder / "datasets.yaml", root)
    mixtures = {
        name: content
        for name, content in layer.content.items()
        if isinstance(content, dict) and content.get("task") == "mixture"
    }
    plain = {name: content for name, content in layer.content.items() if name not in mixtures}
    entries = named_entries(Data, Layer(layer.file, layer.key, plain))
    resolved = {}
    for name, content in mixtures.items():
        shares = []
        for i, share in enumerate(content.get("shares", [])):
            given = dict(share) if isinstance(share, dict) else {}
            place = layer.place((name, "shares", i, "set"))
            shares.append({**given, "data": look_up(entries, str(given.pop("set", "")), "data set", place)})
            shares[-1].pop("set", None)
        resolved[name] = {**content, "shares": shares}
    return {**entries, **named_entries(Data, Layer(layer.file, layer.key, resolved))}


def read_models(folder: Path, root: Path, prompts: dict[str, Prompt]) -> dict[str, Any]:
    """Every model, by name. A branch of the hub is replaced by the commit that config/revisions.yaml has for it."""
    models, revisions = models_as_written(folder, root, prompts), read_revisions(folder, root)
    for name in revisions:
        look_up(models, name, "model", "config/revisions.yaml")
    return {name: _at_commit(model, revisions.get(name)) for name, model in models.items()}


def read_revisions(folder: Path, root: Path) -> dict[str, Revision]:
    """What `rlvr models resolve` wrote, by model; nothing where it never ran."""
    path = folder / "revisions.yaml"
    return named_entries(Revision, read_yaml(path, root)) if path.is_file() else {}


def _at_commit(model: Any, found: Revision | None) -> Any:
    """The model at the commit that was found. A commit of another repository or branch is not used."""
    if found is None or not isinstance(model, HubModel) or (model.repo, model.revision) != (found.repo, found.revision):
        return model
    return model.model_copy(update={"revision": found.commit})


def models_as_written(folder: Path, root: Path, prompts: dict[str, Prompt]) -> dict[str, Any]:
    """Every model of config/models.yaml, by name, its `prompt` replaced by the template of that name.

    An entry may give its `template` itself, but not both.
    """
    layer = read_yaml(folder / "models.yaml", root)
    resolved = {}
    for name, content in layer.content.items():
        if isinstance(content, dict) and "prompt" in content and "template" not in content:
            template = look_up(prompts, str(content["prompt"]), "prompt", layer.place((name, "prompt"))).text
            content = {key: value for key, value in content.items() if key != "prompt"} | {"template": template}
        resolved[name] = content
    return named_entries(Model, Layer(layer.file, layer.key, resolved))


def resolve_estimator(settings: dict[str, Any], layers: list[Layer]) -> dict[str, Any]:
    """An estimator's settings with all defaults filled in, each checked against its signature.

    ACE with alpha = 0 is its base estimator (ACE, App. D), and is resolved to it, so that both are one run.
    """
    holder = next((la for la in reversed(layers) if la.holds(("estimator", "name"))), layers[-1])
    name = settings.get("name")
    if name not in estimators.names():
        place = holder.place(("estimator", "name"))
        raise ConfigError(f"{place}: unknown estimator {name!r}{nearest(name, estimators.names())}")
    try:
        resolved = estimators.resolve(name, {key: value for key, value in settings.items() if key != "name"})
    except estimators.SettingError as error:
        holder = next((la for la in reversed(layers) if la.holds(("estimator", error.key))), layers[-1])
        raise ConfigError(f"{holder.place(('estimator', error.key))}: {error.message}") from error
    if name == "ace" and resolved["alpha"] == 0:
        base = resolved["base"]
        own = estimators.signature(base).settings
        return {"name": base, **{key: resolved[key] for key in own}}
    return {"name": name, **resolved}


@dataclass(frozen=True)
class Sources:
    """The parsed files of one configuration folder."""

    root: Path
    defaults: Layer
    prompts: dict[str, Prompt]
    models: dict[str, Any]
    data: dict[str, Any]
    scale: Scale
    scale_layer: Layer
    papers: dict[str, tuple[Paper, Layer]]


def _scale(folder: Path, name: str, root: Path, seen: tuple[str, ...] = ()) -> Layer:
    """A scale's file, on top of the one it is `like`."""
    layer = read_yaml(folder / f"{name}.yaml", root)
    like = layer.content.get("like")
    if like is None:
        return layer
    if like in (name, *seen):
        raise ConfigError(f"{layer.place(('like',))}: runs in a circle: {' -> '.join((*seen, name, like))}")
    own = {key: value for key, value in layer.content.items() if key != "like"}
    below = _scale(folder, str(like), root, (*seen, name))
    return Layer(layer.file, "", merge([below, Layer(layer.file, "", own)]))


def read_sources(root: Path, scale: str, papers: list[str]) -> Sources:
    """Read config/ below `root` for one scale and some papers."""
    folder = root / "config"
    defaults = read_yaml(folder / "defaults.yaml", root)
    validate(Settings, [defaults])
    scale_layer = _scale(folder / "scale", scale, root)
    read = {name: read_yaml(folder / "papers" / f"{name}.yaml", root) for name in papers}
    prompts = named_entries(Prompt, read_yaml(folder / "prompts.yaml", root))
    return Sources(
        root,
        defaults,
        prompts,
        read_models(folder, root, prompts),
        read_data(folder, root),
        validate(Scale, [scale_layer]),
        scale_layer,
        {name: (validate(Paper, [layer]), layer) for name, layer in read.items()},
    )
