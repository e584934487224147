"""Every key misspelt, every value retyped, every required key left out, in every file of config/: none is accepted.

What is changed is the parsed content, one place at a time. A file is checked by itself first; where it passes, all that
refers to it is planned at the smoke scale, or at its own.
"""

from __future__ import annotations

import re
import types
import typing
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from pydantic import BaseModel

from rlvr import estimators, items
from rlvr.config import cluster, load, paper_folders
from rlvr.config.claim_words import WORDS
from rlvr.config.layers import ConfigError, Layer, read_yaml
from rlvr.config.schema.items import Claim, ItemConfig, Over, Row, Sides
from rlvr.config.schema.models_and_data import Data, Model, Prompt
from rlvr.config.schema.paper import Arm, AtScale, Paper, PaperModel, Scale
from rlvr.config.schema.settings import Settings
from rlvr.cost import hardware
from rlvr.planning import check, expansion, papers
from rlvr.workflow import rules

pytestmark = pytest.mark.slow

CONFIG = ROOT / "config"
FILES = sorted(str(path.relative_to(CONFIG)) for path in CONFIG.rglob("*.yaml"))
SCALES = sorted(path.stem for path in (CONFIG / "scale").glob("*.yaml"))
PAPERS = paper_folders.names(CONFIG)
RULES = rules.of_the_cluster(ROOT)
SCHEMAS: dict[str, Any] = {
    "defaults.yaml": Settings,
    "cluster.yaml": cluster.Cluster,
    "hardware.yaml": hardware.Hardware,
    "models.yaml": dict[str, Model],
    "prompts.yaml": dict[str, Prompt],
    "datasets.yaml": dict[str, Data],
    "claims.yaml": Paper,
    "paper.yaml": Paper,
    "scales.yaml": dict[str, AtScale],
    "stated.yaml": Paper,
    "scale": Scale,
}
WRITTEN = {"prompt": "template", "set": "data"}  # a key of the file -> the field that it becomes
# Mappings whose keys a file gives to its own things, and those whose keys are names of others.
OWN_NAMES = ("arms", "tables", "figures", "sweeps", "devices", "shapes", "originals")
PAPER_NEEDS = ("data", "sft_data", "validation_data", "benchmarks", "seeds", "models")

FREE_TEXT = (
    *("label", "title", "note", "about", "says", "place", "short", "authors", "deviations", "text", "unit", "source"),
    *("why", "repo", "revision", "files", "fields", "sha256", "originals", "since", "until", "embedding"),
    *("archive", "subset", "package", "version", "file", "lines"),
    *("environments", "account", "qos", "constraint", "partition", "gpu_type", "overrides"),
)

# Keys that hold settings, which the schemas leave open.
SETTINGS_OF: dict[Any, dict[str, Any]] = {model: {"settings": Settings} for model in (Arm, PaperModel, Paper, Scale)}
SETTINGS_OF[AtScale] = {"settings": Settings, "models": dict[str, Settings]}
SECTIONS: list[Any] = [Settings, *(field.annotation for field in Settings.model_fields.values())]


# ---- a file, with what is known of each place in it --------------------------------------------------


@dataclass(frozen=True)
class Spot:
    """A place in a file: its path, its content, whether null is allowed there, and whether it must be there."""

    path: tuple[Any, ...]
    value: Any
    nullable: bool = False
    required: bool = False
    own_name: bool = False
    whole: bool = False  # an integer, and not any number


def spots(schema: Any, value: Any, path: tuple[Any, ...] = (), *, nullable=False, **about: bool) -> Iterator[Spot]:
    """Every place below one, the schema beside it."""
    if path:
        yield Spot(path, value, nullable=nullable or _nullable(schema), whole=int in _parts(schema), **about)
    if isinstance(value, dict):
        yield from _of_mapping(schema, value, path)
    elif isinstance(value, list):
        inner = next((typing.get_args(part)[0] for part in _parts(schema) if typing.get_origin(part) is list), Any)
        for i, one in enumerate(value):
            yield from spots(inner, one, (*path, i))


def _of_mapping(schema: Any, value: dict[str, Any], path: tuple[Any, ...]) -> Iterator[Spot]:
    models = [part for part in _parts(schema) if isinstance(part, type) and issubclass(part, BaseModel)]
    if Claim in models:
        yield from _of_claim(value, path)
        return
    model = next((m for m in models if len(models) == 1 or _is_of(m, value)), None)
    model = _of_kind(path[0], path[1]) if model is ItemConfig else model
    inner = next((typing.get_args(part)[1] for part in _parts(schema) if typing.get_origin(part) is dict), Any)
    for key, content in value.items():
        place = (*path, key)
        if model is None:
            own = not path or (len(path) == 1 and path[0] in OWN_NAMES) or path[-1] == "originals"
            nullable = path[:1] == ("defaults",) or _nullable_setting(path, value, key)
            yield from spots(inner, content, place, own_name=own, nullable=nullable)
            continue
        if key == "like" and issubclass(model, ItemConfig):
            yield from spots(str, content, place)
            continue
        field = model.model_fields[WRITTEN.get(key, key) if key not in model.model_fields else key]
        of = SETTINGS_OF.get(model, {}).get(key, field.annotation)
        partial = (model in SECTIONS and _is_partial(path)) or (model is Scale and "like" in value)
        needed = (field.is_required() and not partial) or _needed(model, value, key)
        has_default = (key, path[:1]) == ("kind", ("tables",)) or (model, key) == (Row, "label")  # the arm's
        needed = needed and not has_default and not _is_taken(model, path, value, key)
        yield from spots(of, content, place, required=needed, nullable=_nullable(field.annotation))


def _of_claim(value: dict[str, Any], path: tuple[Any, ...]) -> Iterator[Spot]:
    """The places of an entry of claims, or of a claim of its `each`."""
    for key, content in value.items():
        if key == "each":
            yield Spot((*path, key), content)
            for name, own in content.items():
                yield Spot((*path, key, name), own, own_name=True)
                yield from _of_claim(own, (*path, key, name))
        else:
            schema = {"over": Over}.get(key, Sides) if isinstance(content, dict) else list[str] if key in WORDS else str
            yield from spots(schema, content, (*path, key), required=key != "of")  # which has a default


WHOLE: dict[str, Any] = {}  # the content of the file


def _of_kind(folder: str, name: str) -> type[BaseModel]:
    """The configuration of a table's or figure's kind, which may be that of the item that it is `like`."""
    item = WHOLE[folder][name]
    while "kind" not in item and "like" in item:
        item = WHOLE[folder][item["like"]]
    return items.kinds(folder).load(item.get("kind", items.DEFAULT.get(folder))).config


def _is_taken(model: type[BaseModel], path: tuple[Any, ...], value: dict[str, Any], key: str) -> bool:
    """Whether an item without the key takes that of its `like` or of the paper's defaults."""
    if not issubclass(model, ItemConfig):
        return False
    return ("like" in value and key != "title") or key in WHOLE.get("defaults", {}).get(path[0], {})


def _parts(schema: Any) -> list[Any]:
    """What a type is made of, without Annotated and unions."""
    if typing.get_origin(schema) is typing.Annotated:
        return _parts(typing.get_args(schema)[0])
    if typing.get_origin(schema) in (typing.Union, types.UnionType):
        return [part for argument in typing.get_args(schema) for part in _parts(argument)]
    return [schema]


def _nullable(schema: Any) -> bool:
    return type(None) in _parts(schema)


def _nullable_setting(path: tuple[Any, ...], value: dict[str, Any], key: str) -> bool:
    """An estimator's setting that may be null."""
    if not path or path[-1] != "estimator" or value.get("name") not in estimators.names():
        return False
    setting = estimators.kind(value["name"]).settings.get(key)
    return setting is not None and setting.optional


def _is_of(model: type[BaseModel], value: dict[str, Any]) -> bool:
    tag = next(key for key in ("task", "source") if key in model.model_fields)
    return value.get(tag) in typing.get_args(model.model_fields[tag].annotation)


def _is_partial(path: tuple[Any, ...]) -> bool:
    """Settings that are merged with others, of which none is required."""
    return "settings" in path or path[1:2] == ("models",)


def _needed(model: type[BaseModel], value: dict[str, Any], key: str) -> bool:
    """Keys that the schema leaves open, and another key asks for."""
    if model is Paper:
        return key in PAPER_NEEDS and bool(value.get("arms"))
    if issubclass(model, ItemConfig):
        figure = ".figures." in model.__module__
        either = key in ("rows", "every_arm", "arms") and "sweep" not in value
        return either or key in ("benchmark", "benchmarks", "tables") or (figure and key in ("models", "k"))
    return (model is Sides and key in ("left", "right", "weights")) or (
        (model is Over and key in ("table", "figure")) or (model.__name__ == "Sweep" and key in ("set", "times"))
    )


def is_a_name(spot: Spot) -> bool:
    """Whether a text is a name of something else in the configuration or the code, and not free text."""
    keys = [part for part in spot.path if isinstance(part, str)]
    return not set(keys) & set(FREE_TEXT) and not (spot.path[0] == "sweeps" and keys[-1] == "published")


# ---- mistakes ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mistake:
    """A changed file: which place, how, and which words a message must have one of."""

    kind: str
    path: tuple[Any, ...]
    content: dict[str, Any]
    words: tuple[str, ...]


def mistakes(file: str) -> Iterator[Mistake]:
    content = read_yaml(CONFIG / file, ROOT).content
    WHOLE.clear()
    WHOLE.update(content)
    schema = SCHEMAS.get(Path(file).parts[0]) or SCHEMAS[Path(file).name]
    for spot in spots(schema, content):
        key = next(str(part) for part in reversed(spot.path) if isinstance(part, str))
        if isinstance(spot.value, str) and is_a_name(spot):
            wrong = misspelt(spot.value, ())
            kind = "new name" if spot.path[0] == "claims" and key == "name" else "misspelt name"
            words = (spot.value, key, wrong)
            yield Mistake(kind, spot.path, replaced(content, spot.path, wrong), words)
        if isinstance(spot.path[-1], str):
            wrong = misspelt(spot.path[-1], _at(content, spot.path[:-1]))
            kind = "new name" if spot.own_name else "misspelt key"
            yield Mistake(kind, spot.path, renamed(content, spot.path, wrong), (key, wrong))
            if spot.required:
                yield Mistake("deleted key", spot.path, renamed(content, spot.path, None), (key,))
        for other in retyped(spot):
            yield Mistake("retyped value", (*spot.path, repr(other)), replaced(content, spot.path, other), (key,))


def misspelt(word: str, beside: Collection[str]) -> str:
    """A word without one of its letters, from the middle on, or with the last one twice where that is another word."""
    letters = sorted((i for i in range(1, len(word)) if word[i].isalpha()), key=lambda i: abs(i - len(word) // 2))
    shorter = [word[:i] + word[i + 1 :] for i in letters if len(word) > 3]
    return next((one for one in shorter if one not in beside), word + word[-1])


def retyped(spot: Spot) -> list[Any]:
    """Values of other types than a place has."""
    value, null = spot.value, [] if spot.nullable or spot.value is None else [None]
    if spot.path[-1] in ("left", "right"):  # an arm or several
        return [7, {"a": "one"}, *null]
    if isinstance(value, dict) and (spot.path[-2:-1] == ("rows",) or spot.path[-1] == "over"):  # a text is a name
        return [[1], *null]
    if isinstance(value, bool):
        return [str(value).lower(), int(value), *null]
    if isinstance(value, (int, float)):
        return ["much", str(value), [value], {"a": value}, True, *null, *([float(value)] if spot.whole else [])]
    others = {str: [7, ["one"], {"a": "one"}], list: ["text", {"a": 1}], dict: ["text", [1]]}
    return [*others[type(value)], *null] if type(value) in others else [["one"]]


def _at(content: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        content = content[part]
    return content


def replaced(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a place; what is beside it is shared."""
    if not path:
        return value
    copy = dict(content) if isinstance(content, dict) else list(content)
    copy[path[0]] = replaced(content[path[0]], path[1:], value)
    return copy


def renamed(content: dict[str, Any], path: tuple[Any, ...], key: str | None) -> dict[str, Any]:
    """A copy with another key at a place, in its order, or without it."""
    parent = _at(content, path[:-1])
    changed = {(key if old == path[-1] else old): value for old, value in parent.items() if key or old != path[-1]}
    return replaced(content, path[:-1], changed)


# ---- what reads a file -------------------------------------------------------------------------------


class Reader:
    """`read_yaml` with each file parsed once, and one of them changed."""

    def __init__(self):
        self.parsed: dict[Path, Layer] = {}
        self.changed: dict[Path, Layer] = {}

    def __call__(self, path: Path, root: Path) -> Layer:
        if path not in self.parsed:
            self.parsed[path] = read_yaml(path, root)
        return self.changed.get(path, self.parsed[path])

    def check(self, file: str, content: dict[str, Any]) -> None:
        """Raises ConfigError where the file, or what refers to it, does."""
        path = CONFIG / file
        self.changed = {path: Layer(f"config/{file}", "", content)}
        folder = Path(file).parts[0]
        if folder == "papers":
            papers.read_paper(CONFIG, path.parent.name, ROOT)
            expansion.make_plan(ROOT, "smoke", [path.parent.name])
        elif folder == "scale":
            papers.read_scale(CONFIG, path.stem, ROOT)
            for paper in PAPERS:
                expansion.make_plan(ROOT, path.stem, [paper])
        elif file == "cluster.yaml":
            site = cluster.read_cluster(path, ROOT, RULES)
            for kind in ("cpu", "short", "gpu"):
                site.resources("rl", kind)
        elif file == "hardware.yaml":
            known = hardware.read(CONFIG)
            for scale in SCALES:
                papers.read_scale(CONFIG, scale, ROOT)
            for model in load.read_models(CONFIG, ROOT, load.read_prompts(CONFIG, ROOT)).values():
                known.shape(model)
        else:
            prompts = load.read_prompts(CONFIG, ROOT)
            load.read_models(CONFIG, ROOT, prompts)
            load.read_data(CONFIG, ROOT)
            for scale in SCALES:
                papers.read_sources(ROOT, scale, [])
            for paper in PAPERS:
                expansion.make_plan(ROOT, "smoke", [paper])


@pytest.fixture
def reader(monkeypatch) -> Reader:
    made = Reader()
    for module in (load, papers, paper_folders, hardware, cluster):
        monkeypatch.setattr(module, "read_yaml", made)
    return made


def tried(reader: Reader, file: str, only: str = "") -> tuple[Counter[str], list[str]]:
    """How many mistakes of each kind were tried, and those that were accepted or are not said well."""
    count: Counter[str] = Counter()
    wrong = []
    for mistake in mistakes(file):
        if only and mistake.kind != only:
            continue
        count[mistake.kind] += 1
        place = ".".join(map(str, mistake.path))
        try:
            reader.check(file, mistake.content)
            if mistake.kind == "new name" and not referred_to(mistake, file):
                count["plain new name"] += 1
            else:
                wrong.append(f"{mistake.kind} {place}: accepted")
        except ConfigError as error:
            first = str(error).splitlines()[0]
            if not re.match(r"config/[\w/.-]+\.(yaml|md): ", first) or not any(word in first for word in mistake.words):
                wrong.append(f"{mistake.kind} {place}: {first}")
        except Exception as error:  # a traceback is what a user would see
            wrong.append(f"{mistake.kind} {place}: {type(error).__name__}: {error}")
    return count, wrong


def referred_to(mistake: Mistake, file: str) -> bool:
    """Whether a name that is gone is still written somewhere: in its file, or for what all files share in any."""
    name, content = mistake.words[0], mistake.content
    if mistake.path[0] == "claims":
        return False
    of_paper = file.startswith("papers/")
    others = [other for other in FILES if other != file and (not of_paper or Path(other).parent == Path(file).parent)]
    contents = [content, *(read_yaml(CONFIG / other, ROOT).content for other in others)]
    return any(name in _names_in(one, keys=not of_paper) for one in contents)


def _names_in(node: Any, *, keys: bool) -> Iterator[str]:
    if isinstance(node, dict):
        yield from node if keys else ()
        for key, value in node.items():
            if key not in FREE_TEXT and key not in ("settings", "kind", "estimator", "name"):
                yield from _names_in(value, keys=keys or key == "weights")
    elif isinstance(node, list):
        for one in node:
            yield from _names_in(one, keys=keys)
    elif isinstance(node, str):
        yield node


@pytest.mark.parametrize("file", FILES)
def test_no_mistake_is_accepted(reader, file):
    count, wrong = tried(reader, file)
    print(f"config/{file}: {dict(count)}, {len(wrong)} of them accepted")
    assert not wrong, f"{len(wrong)} of {sum(count.values())}:\n" + "\n".join(wrong[:40])
    assert count["misspelt key"] > 3 and count["retyped value"] > 3


def test_a_check_that_is_missing_is_noticed(reader, monkeypatch):
    monkeypatch.setattr(check, "published", lambda *_, **__: None)
    wrong = tried(reader, "papers/lens/paper.yaml", only="misspelt name")[1]
    assert wrong and all("published" in line or ".reference" in line for line in wrong), wrong
