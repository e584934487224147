"""`--set` of `rlvr train` and `rlvr evaluate`, and files of problems of one's own: what is taken, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
import yaml
from conftest import ROOT
from pydantic import BaseModel
from test_own_paper import SIZES, refused, written

from rlvr.commands import own_paper as own_command
from rlvr.commands import train as train_command
from rlvr.config import identity
from rlvr.config.layers import parse_yaml, read_yaml
from rlvr.config.schema.models_and_data import LocalData
from rlvr.config.schema.settings import Settings
from rlvr.data import local
from rlvr.data.rows import DataError
from rlvr.files import Mistake, sha256


def leaves(schema: type[BaseModel], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The keys of a schema's settings, each with those above it."""
    found = []
    for name, field in schema.model_fields.items():
        inner = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
        models = [kind for kind in inner if issubclass(kind, BaseModel)]
        found += leaves(models[0], (*above, name)) if models else [(*above, name)]
    return found


KEYS = [*(key for key in leaves(Settings) if len(key) > 1), ("estimator", "alpha"), ("estimator", "base")]
DEFAULTS = read_yaml(ROOT / "config/defaults.yaml", ROOT).content
WORDS = {
    **{"token_mean": "token_mean", "a word": "a word", "5": 5, "-0.5": -0.5, "1e-6": 1e-6, "true": True, "null": None},
    **{"[0.9, 0.99]": [0.9, 0.99], "[wandb]": ["wandb"], "'5'": "5", "": None, "{a: 1}": {"a": 1}},
}


@pytest.mark.parametrize("key", KEYS, ids=".".join)
def test_any_value_of_any_setting_is_taken_or_refused_in_one_line(key):
    default, taken = DEFAULTS[key[0]].get(key[1]), 0
    for text, value in {**WORDS, json.dumps(default): default, "[1": None, "a: b: c": None}.items():
        try:
            settings = own_command.changes("train", [f"{'.'.join(key)}={text}"])
        except Mistake as error:
            said = str(error).splitlines()[0]
            assert said.startswith("--set") and ".".join(key[:2]) in said
        else:
            assert settings == {key[0]: {key[1]: value}}
            taken += 1
    unused = key[0] in own_command.UNUSED["train"]
    assert bool(taken) != unused or len(key) > 2, "some value fits; a part of a mapping is none"


@pytest.mark.parametrize("section", list(dict.fromkeys(key[0] for key in KEYS)))
def test_each_setting_that_the_command_takes_reaches_the_plan_or_is_refused_in_one_line(
    own, monkeypatch, capsys, section
):
    root, model, data = own
    monkeypatch.setattr("rlvr.commands.own_paper.subprocess.Popen", lambda *_, **__: SimpleNamespace(wait=lambda: 0))
    monkeypatch.setattr("rlvr.child_processes.tied", lambda: None)
    for key in (key for key in KEYS if key[0] == section):
        default = DEFAULTS[key[0]].get(key[1], "grpo")
        for value in dict.fromkeys([json.dumps(default), "7", "0.25", "token_mean", "sequence", "cpu", "[wandb]"]):
            changed = [*SIZES, f"{'.'.join(key)}={value}"]
            options = {"settings": changed, "device": "cpu", "dry_run": True, "config_folder": root / "config"}
            try:
                train_command([model], Path(data), "operators", ["ace"], backend="native", name="one", **options)
            except Mistake as error:
                assert str(error)
            else:
                content = yaml.safe_load((root / "own/one.yaml").read_text())
                own_arm = content["paper"]["arms"]["ace"]["settings"]
                where = [content["paper"]["settings"], content["scale"]["settings"], own_arm]
                read = parse_yaml(value, ".".join(key))
                assert read in [at(settings, key) for settings in where], (key, value)
            capsys.readouterr()


def at(settings: dict, key: tuple[str, ...]) -> object:
    """The value at a key of several names, None where there is none."""
    for name in key:
        settings = settings.get(name, {}) if isinstance(settings, dict) else {}
    return settings


@pytest.mark.parametrize("section", ["sft", "rl", "loss"])
def test_evaluate_refuses_settings_of_training(section):
    key = next(iter(DEFAULTS[section]))
    with pytest.raises(Mistake, match=f"^--set {section}.{key}: rlvr evaluate uses no setting of {section}$"):
        own_command.changes("evaluate", [f"{section}.{key}={json.dumps(DEFAULTS[section][key])}"])
    assert own_command.changes("evaluate", ["evaluation.samples=4"]) == {"evaluation": {"samples": 4}}


def test_a_device_and_a_backend_by_set_are_those_of_the_run(own, monkeypatch):
    root, model, data = own
    monkeypatch.setattr("rlvr.commands.own_paper.run", lambda *_, **__: None)
    changed = ["execution.device=gpu", "rl.backend=verl", "loss.aggregation=token_mean", "rl.betas=[0.8, 0.9]"]
    train_command(
        [model], Path(data), "operators", ["ace"], settings=changed, name="by_set", config_folder=root / "config"
    )
    content = yaml.safe_load((root / "own/by_set.yaml").read_text())
    settings = content["paper"]["settings"]
    assert content["scale"]["settings"]["execution"]["device"] == "gpu"
    assert (settings["rl"]["backend"], settings["evaluation"]["engine"]) == ("verl", "vllm")
    assert settings["loss"] == {"aggregation": "token_mean"} and settings["rl"]["betas"] == [0.8, 0.9]


GOOD = {"prompt": "What is 2 + 3?", "answer": 5}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not valid JSON"),
        ("[1]", "line 2: must be a JSON object"),
        ({"promt": "a", "answer": "5"}, 'line 2: prompt: is missing; unknown key "promt"; did you mean "prompt"?'),
        ({"prompt": "a"}, "line 2: answer: is missing; valid keys: prompt, answer, id, level"),
        ({"prompt": "a", "answer": " "}, "line 2: answer: is empty"),
        ({"prompt": ["a"], "answer": "5"}, "line 2: prompt: must be a text or a number"),
        ({"prompt": "a", "answer": True}, "line 2: answer: must be a text, a number, or a list of them (got true)"),
        (GOOD, "line 2: prompt: the same as in line 1"),
        ({"prompt": "a", "answer": "not found"}, 'line 2: answer: "not found" is no answer'),
    ],
    ids=str,
)
def test_a_bad_line_is_named(tmp_path, line, message):
    path = written(tmp_path / "my.jsonl", [GOOD, line])
    with pytest.raises(DataError) as error:
        local.read(path, "math")
    assert str(error.value).startswith(f"{path}, {message}")


def test_the_command_names_the_line(own, tmp_path):
    root, model, _ = own
    data = written(tmp_path / "my.jsonl", [GOOD, {"prompt": "a"}])
    asked = ("evaluate", "--model", model, "--data", str(data), "--verifier", "math")
    assert f"{data}, line 2: answer: is missing" in refused(root, *asked)


def test_golds_that_are_no_answers_stop_a_run_and_a_few_are_said(own, tmp_path, capsys):
    root, model, _ = own
    solutions = [{"prompt": f"{i}?", "answer": f"{i}+1={i + 1}\nso the total is {i + 1}"} for i in range(30)]
    options = ("--model", model, "--verifier", "math", "--prompt", "{problem}", "-n", "--device", "cpu")
    for command in (("train", "--estimator", "ace"), ("evaluate",)):
        data = written(tmp_path / "worked.jsonl", solutions)
        line = refused(root, *command, *options, "--data", str(data))
        assert f"{data}: 30 of 30 golds are not judged equal to themselves (first in line 1, 2, 3)" in line
    few = [{"prompt": f"{i}?", "answer": i} for i in range(30)]
    data = written(tmp_path / "few.jsonl", [*few, solutions[0] | {"prompt": "more"}])
    entry, count = own_command.problems_of(data, "math")
    assert count == 31 and entry["verifier"] == "math"
    assert "1 of 31 golds are not judged equal to themselves (first in line 31)" in capsys.readouterr().err


# ---- the data set itself ----


def spec_of(path: Path, **more) -> LocalData:
    return LocalData(name="my", task="local", path=str(path), sha256=sha256(path), verifier="math", **more)


def test_two_entries_divide_a_file(tmp_path):
    rows = [{"prompt": f"What is {i} + 1?", "answer": i + 1, "id": f"a{i}"} for i in range(20)]
    path = written(tmp_path / "my.jsonl", ["", *rows])
    read = local.read(path, "math")
    assert [problem.id for problem in read] == [f"a{i}" for i in range(20)] and read[3].gold == "4"
    tested = local.taken(read, spec_of(path, problems=4, seed=0))
    trained = local.taken(read, spec_of(path, problems=16, skip=4, seed=0))
    assert {p.id for p in tested} | {p.id for p in trained} == {p.id for p in read}
    assert not {p.id for p in tested} & {p.id for p in trained}
    assert tested != read[:4] and local.taken(read, spec_of(path, problems=4)) == read[:4]


def test_a_file_that_changed_after_planning_is_refused(tmp_path):
    path = written(tmp_path / "my.jsonl", [GOOD])
    spec = spec_of(path, problems=1)
    assert local.write(spec, tmp_path) == {"the answer only": 1}
    assert identity.data_id(spec) == identity.data_id(spec.model_copy(update={"path": "/elsewhere/my.jsonl"}))
    written(path, [GOOD, {"prompt": "b", "answer": "1"}])
    with pytest.raises(DataError, match="changed since this run was planned"):
        local.write(spec, tmp_path)
