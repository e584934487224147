"""JSON schemas of the files in config/, for editors: `python workflow/editor_schemas.py` writes config/schemas/.

They are made of the schemas that check these files (`rlvr.config.schema`), in the form in which a person writes the
file. An editor so completes keys and marks unknown ones; what joins two keys or two files only planning checks.
.vscode/settings.json says which file has which schema. tests/config/test_editor_schemas.py fails where one is old.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rlvr import estimators, items
from rlvr.config import claim_words, paper_folders
from rlvr.config.cluster import Cluster
from rlvr.config.schema.items import Claim, Over, Sides
from rlvr.config.schema.mechanism import Regime
from rlvr.config.schema.models_and_data import Data, Model, Prompt
from rlvr.config.schema.paper import AtScale, Paper, Scale
from rlvr.config.schema.settings import Settings
from rlvr.config.validate import part_of
from rlvr.cost.hardware import Hardware

FOLDER = Path(__file__).resolve().parents[1] / "config" / "schemas"
Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
OPEN = {"type": "object", "additionalProperties": True}  # any keys


def of(kind: Any) -> Schema:
    """The JSON schema of a type, without titles and without the null of keys that a part may leave out."""
    found = TypeAdapter(kind).json_schema()
    for node in nodes(found):
        if isinstance(node.get("title"), str):
            del node["title"]
        if node.get("default", 0) is None:
            del node["default"]
    return found


def nodes(tree: Any) -> Iterator[Schema]:
    """Every mapping in a tree."""
    if isinstance(tree, dict):
        yield tree
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes(child)


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def mapping(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def listed(values: Schema) -> Schema:
    return {"type": "array", "items": values}


def closed(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def whole(schema: Schema, **defs: Schema) -> Schema:
    """A file's schema with the definitions that it uses, each once."""
    known = defs.copy()
    for part in (schema, *defs.values()):
        known |= part.pop("$defs", {})
    used: Schema = {}
    waiting = [schema]
    while waiting:
        for node in nodes(waiting.pop()):
            name = str(node.get("$ref", "")).removeprefix("#/$defs/")
            if name in known and name not in used:
                used[name] = known[name]
                waiting.append(known[name])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": dict(sorted(used.items()))}


# ---- settings ------------------------------------------------------------------------------------------


def settings(kind: type = Settings) -> Schema:
    """Settings, or a part of them, with the names of estimators and of all their settings."""
    found = of(kind)
    keys = {key: {} for name in estimators.names() for key in estimators.kind(name).settings}
    found["properties"]["estimator"] = closed({"name": {"enum": [*estimators.names()]}, **dict(sorted(keys.items()))})
    return found


def with_settings(schema: Schema) -> Schema:
    """A file's schema where each key `settings` has a part of the settings."""
    for node in nodes(schema):
        if OPEN.items() <= node.get("settings", {}).items():
            node["settings"] = ref("PartOfSettings")
    return whole(schema, PartOfSettings=settings(part_of(Settings)))


def at_scales() -> Schema:
    schema = of(AtScale)
    schema["properties"]["models"] = mapping(ref("PartOfSettings"))
    return with_settings(mapping(ref("AtScale")) | {"$defs": {**schema.pop("$defs", {}), "AtScale": schema}})


# ---- papers --------------------------------------------------------------------------------------------


def paper() -> Schema:
    """paper.yaml: without what is in files beside it."""
    schema = of(Paper)
    for key in (*(key for keys in paper_folders.KEYS.values() for key in keys), paper_folders.DEVIATIONS):
        del schema["properties"][key]
    defs = schema["$defs"]
    for folder in (items.TABLES, items.FIGURES):
        one = item(folder, defs)
        schema["properties"][folder] = mapping(one)
        defs["Defaults"]["properties"][folder] = one
    defs["Row"]["required"] = ["arm"]
    return with_settings(schema)


def item(folder: str, defs: Schema) -> Schema:
    """A table or figure: the keys of all kinds. `like` and `defaults` may bring any of them, so none is required."""
    found: dict[str, list[Schema]] = {}
    for _, kind in items.kinds(folder).all():
        own = of(part_of(kind.config))
        defs |= own.pop("$defs", {})
        for key, value in own["properties"].items():
            of_key = found.setdefault(key, [])
            of_key += [] if value in of_key else [value]
    keys = {key: values[0] if len(values) == 1 else {"anyOf": values} for key, values in sorted(found.items())}
    for node in nodes(keys):
        if node.get("items") == ref("Row"):
            node["items"] = {"anyOf": [TEXT, ref("Row")]}  # an arm's name is a row
    return closed(keys | {"kind": {"enum": [*items.kinds(folder).names()]}, "like": TEXT})


def of_paper(*keys: str) -> Schema:
    """A file beside paper.yaml that has some of its keys."""
    schema = of(Paper)
    found = {key: schema["properties"][key] for key in keys}
    return whole(closed(found) | {"$defs": schema["$defs"]})


def claims() -> Schema:
    """claims.yaml, in its words (`rlvr.config.claim_words`)."""
    fields, over, sides = of(Claim)["properties"], of(Over), of(Sides)
    words = dict.fromkeys(claim_words.WORDS, ref("Sides"))
    words |= {"ordering": listed(TEXT), **dict.fromkeys(claim_words.CHANGES, TEXT)}
    keys = {key: fields[key] for key in claim_words.KEYS if key in fields} | words
    keys["over"] = {"anyOf": [TEXT, ref("Over")]}
    one = closed({key: value for key, value in keys.items() if key != "name"})
    schema = closed({"claims": listed(closed(keys | {claim_words.EACH: mapping(ref("OneOfEach"))}))})
    return whole(schema, Over=over, Sides=sides, OneOfEach=one)


# ---- models and data sets ------------------------------------------------------------------------------


def named(kind: Any, **written: Schema) -> Schema:
    """Entries by name. `written`: of a definition, keys of the file that stand for a field, which it may leave out."""
    schema = of(dict[str, kind])
    for name, keys in written.items():
        entry = schema["$defs"][name]
        entry["properties"] |= keys
        entry["required"] = [key for key in entry["required"] if key not in NAMED]
    for entry in schema["$defs"].values():
        if "name" in entry.get("required", ()):
            entry["required"].remove("name")
            del entry["properties"]["name"]
    return whole(schema)


NAMED = ("template", "data")  # fields that a file may give by a name: `prompt`, `set`
PROMPT, SET = {"prompt": TEXT}, {"set": TEXT, "data": False}
MODELS = {"HubModel": PROMPT, "WheelModel": PROMPT, "LocalModel": PROMPT}

FILES: dict[str, Callable[[], Schema]] = {
    "defaults": lambda: whole(settings()),
    "scale": lambda: with_settings(of(part_of(Scale))),
    "paper": paper,
    "claims": claims,
    "mechanism": lambda: of_paper("mechanism", "regime"),
    "regime": lambda: whole(of(Regime)),
    "stated": lambda: of_paper("stated", "hardware"),
    "scales": at_scales,
    "models": lambda: named(Model, **MODELS),
    "prompts": lambda: named(Prompt),
    "datasets": lambda: named(Data, Share=SET, Synthetic={"lookup": TEXT}),
    "cluster": lambda: whole(of(Cluster)),
    "hardware": lambda: whole(of(Hardware)),
}


def text(name: str) -> str:
    return json.dumps(FILES[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in FILES:
        (FOLDER / f"{name}.json").write_text(text(name))
