"""A paper's tables and figures as its files have them, with what they take from other keys of the paper.

An item is layers of keys: the `defaults` of all tables or figures, the item that it is `like`, its own. Each layer has
its place, so that a mistake is named where it was written.
"""

from dataclasses import replace
from typing import Any

from rlvr import items
from rlvr.config import paper_folders
from rlvr.config.layers import ConfigError, Layer, look_up, merge
from rlvr.config.schema.paper import Paper
from rlvr.config.validate import validate
from rlvr.planning.arms import BASE, LABEL_OF_BASE
from rlvr.suggest import close, nearest

FOLDERS = {items.TABLES: "table", items.FIGURES: "figure"}
OWN = ("title", "note", "by_name", "like")  # keys that an item takes from no other
# A key of another layer, and the key in whose presence an item does not take it.
INSTEAD = {
    "benchmark": "benchmarks",
    "benchmarks": "benchmark",
    "rows": "every_arm",
    "every_arm": "rows",
    "models": "tables",
}


def checked(layer: Layer, paper: str) -> Layer:
    """The layer with each table and figure replaced by its kind's checked configuration, and without their notes."""
    content = {key: value for key, value in layer.content.items() if key != paper_folders.NOTES}
    for key in content:
        if key not in Paper.model_fields:
            raise ConfigError(f"{layer.place((key,))}: unknown key{nearest(key, Paper.model_fields)}")
    for folder in FOLDERS:
        _check_defaults(layer, folder)
        if isinstance(content.get(folder), dict):
            content[folder] = {name: _checked(layer, folder, name, paper) for name in content[folder]}
    return replace(layer, content=content)


def _checked(layer: Layer, folder: str, name: str, paper: str) -> Any:
    if not isinstance(layer.content[folder][name], dict):
        return layer.content[folder][name]  # the schema reports it
    layers = _layers(layer, folder, name, paper)
    kind = _kind(layers, folder)
    config = items.kinds(folder).load(kind).config
    for key in layers[-1].content:
        if key not in config.model_fields and close(key, [*config.model_fields, "like"]) == "like":
            raise ConfigError(f"{layers[-1].place((key,))}: unknown key; did you mean 'like'?")
    return validate(config, [*_taken(layers, config.model_fields), layers[-1].with_keys(kind=kind)])


def _layers(layer: Layer, folder: str, name: str, paper: str, seen: tuple[str, ...] = ()) -> list[Layer]:
    """The layers of an item, its own last."""
    content = layer.content[folder][name]
    own = layer.below(f"{folder}.{name}", content)
    if not isinstance(content, dict):
        raise ConfigError(f"{own.place()}: must be a mapping of keys to values (got {content!r})")
    below = _below(layer, own, folder, paper, (*seen, name))
    reference = content.get("reference", merge(below).get("reference"))
    keys = {key: value for key, value in content.items() if key != "like"} | _note(layer, own)
    keys = _with_rows(keys, layer.content.get("arms"), published=reference is not None)
    return [*below, replace(own, content=_with_references(keys, paper))]


def _below(layer: Layer, own: Layer, folder: str, paper: str, seen: tuple[str, ...]) -> list[Layer]:
    """The layers that an item takes keys from."""
    if "like" not in own.content:
        return [layer.below(f"defaults.{folder}", _defaults(layer, folder))]
    like, place = own.content["like"], own.place(("like",))
    if not isinstance(like, str):
        raise ConfigError(f"{place}: must be the name of a {FOLDERS[folder]} (got {like!r})")
    look_up(layer.content[folder], like, FOLDERS[folder], place)
    if like in seen:
        raise ConfigError(f"{place}: is circular: {' -> '.join((*seen, like))}")
    return _layers(layer, folder, like, paper, seen)


def _kind(layers: list[Layer], folder: str) -> str:
    place = next((layer for layer in reversed(layers) if "kind" in layer.content), layers[-1])
    kind = place.content.get("kind", items.DEFAULT.get(folder))
    if kind is None:
        kinds = ", ".join(items.kinds(folder).names())
        raise ConfigError(f"{place.place(('kind',))}: this key is missing; a kind is one of {kinds}")
    return look_up(items.kinds(folder).names(), kind, f"kind of {folder}", place.place(("kind",)))


def _taken(layers: list[Layer], fields: Any) -> list[Layer]:
    """The layers below an item's own with the keys that it takes: those of its kind that nothing above replaces."""
    taken, above = [], set(layers[-1].content)
    for layer in reversed(layers[:-1]):
        keys = {k: v for k, v in layer.content.items() if k in fields and k not in OWN and INSTEAD.get(k) not in above}
        taken.append(replace(layer, content=keys))
        above |= set(keys)
    return taken[::-1]


# ---- defaults and notes ----------------------------------------------------------------------------


def _defaults(layer: Layer, folder: str) -> dict[str, Any]:
    """The defaults of tables or figures."""
    node: Any = layer.content
    for depth, key in enumerate(("defaults", folder), 1):
        node = node.get(key, {})
        if not isinstance(node, dict):
            place = layer.place(("defaults", folder)[:depth])
            raise ConfigError(f"{place}: must be a mapping of keys to values (got {node!r})")
    return node


def _check_defaults(layer: Layer, folder: str) -> None:
    """Raises ConfigError for a default that no kind has."""
    keys = _defaults(layer, folder)
    kinds = items.kinds(folder).names() if keys else ()
    fields = dict.fromkeys(field for kind in kinds for field in items.kinds(folder).load(kind).config.model_fields)
    for key in keys:
        look_up([x for x in fields if x not in OWN], key, f"key of {folder}", layer.place(("defaults", folder, key)))


def check_notes(layer: Layer) -> None:
    """Raises ConfigError for a note of no table or figure."""
    known = [name for folder in FOLDERS for name in layer.content.get(folder) or {}]
    for name in layer.content.get(paper_folders.NOTES, {}):
        look_up(known, name, "table or figure", layer.place((paper_folders.NOTES, name)))


def _note(layer: Layer, own: Layer) -> dict[str, str]:
    name = own.key.partition(".")[2]
    note = layer.content.get(paper_folders.NOTES, {}).get(name)
    if note is not None and "note" in own.content:
        raise ConfigError(f"{own.place(('note',))}: {paper_folders.NOTES_FILE} has a note too; remove one of them")
    return {} if note is None else {"note": note}


# ---- rows and references ---------------------------------------------------------------------------


def _with_rows(content: dict[str, Any], arms: Any, *, published: bool) -> dict[str, Any]:
    """A table's keys with every row as a mapping."""
    rows = content.get("rows")
    if not isinstance(rows, list):
        return content
    return {**content, "rows": [_row(row, arms if isinstance(arms, dict) else {}, published) for row in rows]}


def _row(row: Any, arms: dict[str, Any], published: bool) -> Any:
    """A row with its label, by default the arm's. Beside published numbers its method has this name there."""
    row = {"arm": row} if isinstance(row, str) else row
    if not isinstance(row, dict):
        return row  # the schema reports it
    row = {"label": _label(row.get("arm"), arms), **row}
    return {"published": row["label"], **row} if published or "reference" in row else row


def _label(arm: Any, arms: dict[str, Any]) -> str:
    """The label of an arm; a swept arm has the label of the arm that it varies."""
    if arm == BASE:
        return LABEL_OF_BASE
    name = str(arm).partition("-")[0]
    label = arms[name].get("label") if isinstance(arms.get(name), dict) else None
    return label if isinstance(label, str) else name


def _with_references(content: Any, paper: str) -> Any:
    """A table's content with the paths of published tables below config/papers/, its own and those of rows."""
    if not isinstance(content, dict):
        return content
    named, rows = content.get("reference"), content.get("rows")
    return {
        **content,
        **({"reference": paper_folders.reference(paper, named)} if isinstance(named, str) else {}),
        **({"rows": [_with_references(row, paper) for row in rows]} if isinstance(rows, list) else {}),
    }
