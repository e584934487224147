"""The JSON schemas for editors are those of the code, accept every file of config/, and mark mistakes."""

import copy
import importlib.util
import json

import jsonschema
import pytest
from conftest import ROOT

from rlvr.config.layers import read_yaml

SPEC = importlib.util.spec_from_file_location("editor_schemas", ROOT / "workflow" / "editor_schemas.py")
schemas = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(schemas)

FILES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "config").rglob("*.yaml"))
OF = json.loads((ROOT / ".vscode" / "settings.json").read_text())["yaml.schemas"]


def faults(file: str, content) -> list[str]:
    """What the schema that an editor takes for a file marks in a content."""
    (schema,) = (name for name, pattern in OF.items() if ROOT / file in ROOT.glob(pattern))
    checker = jsonschema.Draft202012Validator(json.loads((ROOT / schema).read_text()))
    return [error.message for error in checker.iter_errors(content)]


@pytest.mark.parametrize("name", schemas.FILES)
def test_the_committed_schema_is_current(name):
    text = (schemas.FOLDER / f"{name}.json").read_text()
    assert text == schemas.text(name), "run python workflow/editor_schemas.py"
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_an_editor_finds_each_schema():
    assert {path.name for path in schemas.FOLDER.iterdir()} == {f"{name}.json" for name in schemas.FILES}
    assert set(OF) == {f"./config/schemas/{name}.json" for name in schemas.FILES}


@pytest.mark.parametrize("file", FILES)
def test_every_file_is_accepted(file):
    assert faults(file, read_yaml(ROOT / file, ROOT).content) == []


@pytest.mark.parametrize(
    ("file", "path", "key", "value"),
    [
        ("defaults.yaml", ("rl",), "learning_rat", 1e-5),
        ("defaults.yaml", ("rl",), "learning_rate", "fast"),
        ("defaults.yaml", ("estimator",), "name", "gpro"),
        ("scale/laptop.yaml", (), "seed", 8),
        ("scale/laptop.yaml", ("settings", "rl"), "steps", 0),
        ("models.yaml", ("qwen2-tiny",), "layer", 3),
        ("datasets.yaml", ("operators-train",), "levels", 3),
        ("prompts.yaml", (0,), "source", None),
        ("cluster.yaml", ("kinds", "gpu"), "gpus", -1),
        ("hardware.yaml", ("devices", "h100"), "memroy", 80),
        ("papers/ace/paper.yaml", ("tables", "table1"), "row", []),
        ("papers/ace/paper.yaml", ("tables", "table1"), "kind", "pass_at_key"),
        ("papers/ace/paper.yaml", ("arms", "grpo", "settings"), "estimatr", {}),
        ("papers/ace/paper.yaml", (), "claims", []),
        ("papers/ace/claims.yaml", ("claims", 0), "grater", {}),
        ("papers/ace/claims.yaml", ("claims", 0, "greater"), "size", "large"),
        ("papers/ace/mechanism.yaml", ("mechanism", 0), "at_leats", 2.0),
        ("papers/ace/stated.yaml", ("stated",), "rl.steps", {"say": "1000"}),
        ("papers/ace/scales.yaml", ("laptop", "settings", "rl"), "learning_rate", "fast"),
    ],
)
def test_a_mistake_is_marked(file, path, key, value):
    content = copy.deepcopy(read_yaml(ROOT / "config" / file, ROOT).content)
    node = content
    for part in path:
        node = node[part] if part != 0 or isinstance(node, list) else next(iter(node.values()))
    node[key] = value
    assert faults(f"config/{file}", content)
