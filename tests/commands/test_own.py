"""`rlvr train` and `rlvr evaluate`: from a folder and a file to a table, a kill on the way, and faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pandas as pd
import pytest
import yaml
from conftest import ROOT
from pydantic import BaseModel
from support.checkout import Checkout

from rlvr.commands import own as own_command
from rlvr.commands import train as train_command
from rlvr.config import identity
from rlvr.config.layers import parse_yaml, read_yaml
from rlvr.config.schema.names import LocalData
from rlvr.config.schema.settings import Settings
from rlvr.data import local
from rlvr.data.rows import DataError
from rlvr.files import Mistake
from rlvr.planning.expansion import make_plan
from rlvr.records import Problem, read_records

SMALL = ("rl.prompts_per_step=6", "rl.prompts_per_minibatch=3", "rollout.samples_per_prompt=4", "probe.problems=2")
SIZES = (*SMALL, "probe.samples=4", "evaluation.samples=8", "statistics.resamples=200", "execution.save_every=1")


def rlvr(root: Path, *arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "rlvr", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600, **options)


def written(path: Path, rows: list[dict | str]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def problems(workbench) -> list[dict]:
    found = read_records(workbench.folder / workbench.spec.data.name / "problems.jsonl", Problem)
    return [{"prompt": problem.prompt, "answer": problem.gold, "level": problem.level} for problem in found]


@pytest.fixture(scope="module")
def own(workbench, problems, tmp_path_factory):
    """A copy of the workflow, a saved tiny policy, and a file of problems."""
    root = tmp_path_factory.mktemp("own")
    Checkout(root)
    return root, str(workbench.base.parent / "policy"), str(written(root / "my.jsonl", problems))


def train(model: str, data: str, *more: str, steps: int = 2) -> tuple[str, ...]:
    sizes = [word for change in SIZES for word in ("--set", change)]
    rates = ("--steps", str(steps), "--learning-rate", "2e-4", "--backend", "native", "--device", "cpu")
    return ("train", "--model", model, "--data", data, "--verifier", "operators", *rates, *sizes, *more)


# ---- to a table ----


@pytest.mark.slow
def test_train_is_killed_goes_on_and_ends_in_a_table(own):
    root, model, data = own
    command = train(model, data, "--estimator", "ace", "--set", "estimator.alpha=2.0", "--cores", "2", steps=40)
    started = subprocess.Popen(
        [sys.executable, "-m", "rlvr", *command], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 240
    while not list(root.glob("results/runs/*/state/step-*")):
        assert time.monotonic() < deadline and started.poll() is None
        time.sleep(0.02)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    (run,) = root.glob("results/runs/*")
    assert not (run / "manifest.json").exists()
    done = rlvr(root, *command)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert "ours, against Base" in done.stdout and "on my-held-out: 5 problems, n = 8" in done.stdout
    assert "interval over problems alone (one training seed)" in done.stdout
    assert "ace" in run.name and "alpha2.0" in run.name
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["resumed_from"] > 0, "it went on from a checkpoint"
    rows = pd.read_csv(root / "results/papers/own/my/statistics/pass_at_k.csv")
    assert rows["arm"].unique().tolist() == ["base", "ace"] and set(rows["k"]) == {1, 2, 4, 8}
    page = (root / "results/report/own/my.html").read_text()
    assert "Reward and entropy during training" in page and "One training seed: intervals" in page
    curves = pd.read_csv(root / "results/papers/own/my/statistics/training.csv")
    assert set(curves["measure"]) == {"reward", "metrics.entropy"} and set(curves["step"]) == set(range(1, 41))


@pytest.mark.slow
def test_a_run_without_a_correct_rollout_says_so_at_its_end(own, tmp_path):
    root, model, data = own
    rows = [json.loads(line) for line in Path(data).read_text().splitlines()]
    hopeless = written(
        tmp_path / "hopeless.jsonl", [{**row, "answer": f"{row['prompt'].split('=')[0]}= 98765"} for row in rows]
    )
    done = rlvr(root, *train(model, str(hopeless), "--estimator", "grpo"))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    (said,) = [line for line in done.stderr.splitlines() if "none of the first 48 rollouts is correct" in line]
    assert "likely causes: problems too hard" in said and "rlvr show " in said


def test_the_hints_of_each_run_are_read_from_its_rows(plan, tmp_path):
    (name, run), *_ = plan.runs.items()
    (tmp_path / "runs" / name).mkdir(parents=True)
    row = {"statuses": {"wrong": 8}, "kl": 0.0}
    written(tmp_path / "runs" / name / "metrics.jsonl", [row] * 3)
    one = SimpleNamespace(runs={name: run}, executions=plan.executions, stage=plan.stage)
    ((said, hint),) = own_command._hints(one, tmp_path)
    assert said == name and hint.startswith("none of the first 24 rollouts is correct (24 wrong)")
    written(tmp_path / "runs" / name / "metrics.jsonl", [row] * 32)
    assert list(own_command._hints(one, tmp_path)) == [], "Snakemake's end says so of 256 rollouts"
    written(tmp_path / "runs" / name / "metrics.jsonl", [{"statuses": {"wrong": 4, "correct": 4}, "kl": 0.0}] * 32)
    assert [hint.partition(" in ")[0] for _, hint in own_command._hints(one, tmp_path)] == ["the policy hardly changed"]


@pytest.mark.slow
def test_two_methods_end_in_a_table_at_equal_pass_1(own):
    root, model, data = own
    done = rlvr(root, *train(model, data, "--estimator", "ace", "--estimator", "grpo", "--name", "two"))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    tables = [line for line in done.stdout.splitlines() if line.startswith("# ")]
    assert len(tables) == 2 and tables[1].endswith("at equal pass@1"), tables
    assert "ours, against grpo" in done.stdout
    page = (root / "results/report/own/two.html").read_text()
    for item in ("pass_at_k_matched.csv", "pass_at_k_frontier.csv", "training.csv"):
        assert item in page


@pytest.mark.slow
def test_evaluate_ends_in_a_table_with_the_counts_of_its_scores(own):
    root, model, data = own
    done = rlvr(
        *(root, "evaluate", "--model", model, "--data", data, "--verifier", "operators", "--samples", "8"),
        *("--engine", "native", "--device", "cpu"),
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    (scores,) = root.glob("results/evaluations/*/my_evaluated-*/scores.csv")
    mean = 100 * pd.read_csv(scores)["correct"].sum() / (8 * 48)
    assert f"{mean:.1f} [" in done.stdout and "48 problems, n = 8" in done.stdout
    assert "interval over problems alone." in done.stdout


@pytest.mark.slow
def test_results_may_be_a_link_to_another_disk(own, tmp_path):
    """As deep as any other place: a path from there to the model's folder counts the folders of the real place."""
    root, model, data = own
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (root / "linked").symlink_to(tmp_path / "a" / "b" / "c")
    done = rlvr(root, *train(model, data, "--estimator", "grpo", "--results", "linked", "--name", "on_disk"))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert list((tmp_path / "a/b/c/runs").glob("*/manifest.json"))
    assert (tmp_path / "a/b/c/report/own/on_disk.html").is_file()


# ---- what it plans ----


def planned(root: Path, name: str = "my"):
    return make_plan(root, "own", [name], own=f"own/{name}.yaml")


@pytest.mark.parametrize(
    ("methods", "more", "baseline", "rates"),
    [
        (("ace",), {}, "base", {2e-4}),
        (("ace", "grpo"), {}, "grpo", {0.7e-4, 2e-4, 4e-4}),
        (("lens", "ace"), {}, "lens", {0.7e-4, 2e-4, 4e-4}),
        (("ace", "grpo"), {"matched": False}, "grpo", {2e-4}),
    ],
)
def test_several_methods_are_compared_at_equal_pass_1(own, monkeypatch, methods, more, baseline, rates):
    root, model, data = own
    monkeypatch.setattr("rlvr.commands.own.run", lambda *_, **__: None)
    sizes = {"settings": [*SIZES], "learning_rate": 2e-4, "device": "cpu", "config_folder": root / "config"}
    name = "_".join((*methods, *more))
    train_command([model], Path(data), "operators", [*methods], backend="native", name=name, **sizes, **more)
    plan = planned(root, name)
    paper = plan.papers[name]
    matched = len(rates) > 1
    assert set(paper.tables) == {"pass_at_k", *(["pass_at_k_matched"] if matched else [])}
    assert set(paper.figures) == {"training", *(["pass_at_k_frontier"] if matched else [])}
    assert paper.paper.tables["pass_at_k"].compare_with == baseline
    assert {round(spec.rl.learning_rate, 9) for spec in plan.runs.values()} == rates
    assert len(plan.runs) == len(methods) * len(rates)


@pytest.mark.slow
def test_equal_content_is_one_run_wherever_its_files_are(own, tmp_path):
    root, model, data = own
    command = ("--estimator", "grpo", "--estimator", "ace", "--no-matched", "--seeds", "2", "--name", "place", "-n")
    assert rlvr(root, *train(model, data, *command)).returncode == 0
    before = planned(root, "place")
    moved = tmp_path / "elsewhere.jsonl"
    moved.write_bytes(Path(data).read_bytes())
    assert rlvr(root, *train(model, str(moved), *command)).returncode == 0
    after = planned(root, "place")
    assert len(before.runs) == 4 and set(before.runs) == set(after.runs)
    assert {str(moved)} == {spec.path for spec in after.data.values()}
    with open(moved, "a") as file:
        file.write('{"prompt": "1 2 = 3", "answer": "1 2 = 3"}\n')
    assert rlvr(root, *train(model, str(moved), *command)).returncode == 0
    assert not set(planned(root, "place").runs) & set(before.runs)


@pytest.mark.slow
def test_a_logger_is_in_no_runs_identity(own):
    root, model, data = own
    command = ("--estimator", "grpo", "--name", "logged", "-n")
    assert rlvr(root, *train(model, data, *command)).returncode == 0
    before = planned(root, "logged")
    assert rlvr(root, *train(model, data, *command, "--logger", "tensorboard", "--logger", "wandb")).returncode == 0
    after = planned(root, "logged")
    assert set(before.runs) == set(after.runs)
    assert {tuple(execution.loggers) for execution in after.executions.values()} == {("tensorboard", "wandb")}
    wrong = rlvr(root, *train(model, data, *command, "--logger", "tensorbord"))
    assert wrong.returncode == 2 and "--logger: unknown 'tensorbord'; did you mean 'tensorboard'?" in wrong.stderr


def test_a_file_that_a_person_edited_is_kept(own):
    root, model, data = own
    command = train(model, data, "--estimator", "grpo", "--name", "edited", "-n")
    assert rlvr(root, *command).returncode == 0
    file = root / "own/edited.yaml"
    file.write_text(file.read_text().replace("steps: 2", "steps: 3"))
    done = rlvr(root, *command)
    assert (
        done.returncode == 2 and "own/edited.yaml was edited since; run it by `snakemake --config own=" in done.stderr
    )
    assert {spec.rl.steps for spec in planned(root, "edited").runs.values()} == {3}


def test_mistakes_in_such_a_file_name_file_and_key(own):
    root, model, data = own
    assert rlvr(root, *train(model, data, "--estimator", "grpo", "--name", "wrong", "-n")).returncode == 0
    file = root / "own/wrong.yaml"
    content = yaml.safe_load(file.read_text())
    for change, message in (
        ({"papers": {}}, "own/wrong.yaml: papers: unknown section 'papers'; did you mean 'paper'?"),
        ({"data": {"a": {"task": "local"}}}, "own/wrong.yaml: data.a.sha256: this key is missing"),
        ({"scale": {"about": "a", "sft": "no"}}, "own/wrong.yaml: scale.sft: Input should be a valid boolean"),
        ({"paper": {**content["paper"], "tabels": {}}}, "own/wrong.yaml: paper.tabels: unknown key; did you mean"),
    ):
        file.write_text(yaml.safe_dump({**content, **change}))
        with pytest.raises(Exception, match=message.replace("?", r"\?")):
            planned(root, "wrong")


# ---- faults of the command line: one line, exit code 2, and nothing is started ----


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--estimator", "gpro"), "--estimator: unknown 'gpro'; did you mean 'grpo'?"),
        (("--verifier", "maths"), "--verifier: unknown 'maths'; did you mean 'math'?"),
        (("--backend", "vrel"), "--backend: unknown 'vrel'; did you mean 'verl'?"),
        (("--model", "nowhere"), "--model nowhere: no such folder, and not owner/name of the hub"),
        (("--prompt", "qwen-maths"), "--prompt: unknown prompt 'qwen-maths'; did you mean 'qwen-math'?"),
        (("--device", "tpu"), "--device: unknown 'tpu'"),
        (("--set", "rl=3"), "--set: must be SECTION.KEY=VALUE"),
        (("--set", "rl.stpes=3"), "--set: rl.stpes: unknown key; did you mean 'steps'?"),
        (("--set", "rl.precision=fp16"), "--set: rl.precision: Input should be 'float32' or 'bfloat16' (got 'fp16')"),
        (("--set", "loss.ratio=[sequence"), "--set loss.ratio: not valid YAML"),
        (("--set", "estimator.name=grpo"), "--set estimator.name: give the method as --estimator NAME"),
        (("--set", "sft.steps=9"), "--set sft.steps: rlvr train uses no setting of sft"),
        (("--set", "rl.steps=many"), "--set: rl.steps: Input should be a valid integer"),
        (("--set", "estimator.alhpa=2"), "estimator.alhpa: ace has no such setting; did you mean 'alpha'?"),
        (("--estimator", "max_rl"), "own/faulty.yaml: paper.arms.max_rl: max_rl takes a group's mean reward for its"),
        (("--set", "rollout.max_prompt_tokens=100"), "tokens are more than the context of"),
        (("--set", "probe.problems=900"), "900 problems are more than the 5 of faulty-held-out"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[1],
)
def test_a_wrong_option_is_one_line(own, change, message):
    root, model, data = own
    options = list(train(model, data, "--estimator", "ace", "--name", "faulty", "--set", "reward.overlong_penalty=1.0"))
    if change[0] in options and change[0] != "--set":
        options[options.index(change[0]) + 1] = change[1]
    else:
        options += change
    done = rlvr(root, *options)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stdout + done.stderr
    assert message in done.stderr


# ---- --set ----


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
    monkeypatch.setattr("rlvr.commands.own.subprocess.Popen", lambda *_, **__: SimpleNamespace(wait=lambda: 0))
    monkeypatch.setattr("rlvr.offspring.tied", lambda: None)
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
    monkeypatch.setattr("rlvr.commands.own.run", lambda *_, **__: None)
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
        ({"Prompt": "a", "answer": "5"}, 'line 2: prompt: is missing; unknown key "Prompt"; did you mean "prompt"?'),
        (
            {"question": "a", "answer": "5"},
            'line 2: prompt: is missing; unknown key "question"; valid keys: prompt, answer, id, level',
        ),
        ({"prompt": "a"}, "line 2: answer: is missing; valid keys: prompt, answer, id, level"),
        ({"prompt": "a", "answer": " "}, "line 2: answer: is empty"),
        ({"prompt": ["a"], "answer": "5"}, "line 2: prompt: must be a text or a number"),
        ({"prompt": "a", "answer": True}, "line 2: answer: must be a text or a number (got true)"),
        (GOOD, "line 2: prompt: the same as in line 1"),
        ({"prompt": "a", "answer": "not found"}, "line 2: answer: the verifier math cannot read it"),
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
    done = rlvr(root, "evaluate", "--model", model, "--data", str(data), "--verifier", "math")
    assert done.returncode == 2 and f"{data}, line 2: answer: is missing" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_golds_that_are_no_answers_stop_a_run_and_a_few_are_said(own, tmp_path, capsys):
    root, model, _ = own
    solutions = [{"prompt": f"{i}?", "answer": f"{i}+1={i + 1}\nso the total is {i + 1}"} for i in range(30)]
    options = ("--model", model, "--verifier", "math", "--prompt", "{problem}", "-n", "--device", "cpu")
    for command in (("train", "--estimator", "ace"), ("evaluate",)):
        data = written(tmp_path / "worked.jsonl", solutions)
        done = rlvr(root, *command, *options, "--data", str(data))
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
        assert f"{data}: 30 of 30 golds are not judged equal to themselves (first in line 1, 2, 3)" in done.stderr
    few = [{"prompt": f"{i}?", "answer": i} for i in range(30)]
    data = written(tmp_path / "few.jsonl", [*few, solutions[0] | {"prompt": "more"}])
    entry, count = own_command.problems_of(data, "math")
    assert count == 31 and entry["verifier"] == "math"
    assert "1 of 31 golds are not judged equal to themselves (first in line 31)" in capsys.readouterr().err


# ---- the data set itself ----


def spec_of(path: Path, **more) -> LocalData:
    from rlvr.files import sha256

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
    assert local.write(spec, tmp_path) == 1
    assert identity.data_id(spec) == identity.data_id(spec.model_copy(update={"path": "/elsewhere/my.jsonl"}))
    written(path, [GOOD, {"prompt": "b", "answer": "1"}])
    with pytest.raises(DataError, match="changed since this run was planned"):
        local.write(spec, tmp_path)


def test_the_project_has_no_scale_named_own():
    assert not (ROOT / "config/scale/own.yaml").exists()
