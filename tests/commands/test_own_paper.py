"""`rlvr train` and `rlvr evaluate`: from a folder and a file to a table, a kill on the way, and faults."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml
from conftest import ROOT, until
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.commands import own_paper as own_command
from rlvr.commands import train as train_command
from rlvr.planning.expansion import make_plan

SMALL = ("rl.prompts_per_step=6", "rl.prompts_per_minibatch=3", "rollout.samples_per_prompt=4", "probe.problems=2")
SIZES = (*SMALL, "probe.samples=4", "evaluation.samples=8", "statistics.resamples=200", "execution.save_every=1")


def rlvr(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "rlvr", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600)


def said(root: Path, *arguments: str) -> str:
    """What a command prints that ends well."""
    done = rlvr(root, *arguments)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def refused(root: Path, *arguments: str) -> str:
    """The one line of a command that starts nothing."""
    with chdir(root):
        done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1, done.output
    return done.stderr


def written(path: Path, rows: list[dict | str]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


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
    until(lambda: list(root.glob("results/runs/*/state/step-*")) or started.poll() is not None)
    started.kill()
    started.wait()
    (run,) = root.glob("results/runs/*")
    assert not (run / "manifest.json").exists()
    printed = said(root, *command)
    assert "ours, against Base" in printed and "on my-held-out: 5 problems, n = 8" in printed
    assert "interval over problems alone (one training seed)" in printed
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
    wrong = [{**row, "answer": f"{row['prompt'].split('=')[0]}= 98765"} for row in rows]
    printed = said(root, *train(model, str(written(tmp_path / "hopeless.jsonl", wrong)), "--estimator", "grpo"))
    (line,) = [line for line in printed.splitlines() if "none of the first 48 rollouts is correct" in line]
    assert "likely causes: problems too hard" in line and "rlvr show " in line


def test_the_hints_of_each_run_are_read_from_its_rows(plan, tmp_path):
    (name, run), *_ = plan.runs.items()
    (tmp_path / "runs" / name).mkdir(parents=True)
    row = {"statuses": {"wrong": 8}, "kl": 0.0}
    written(tmp_path / "runs" / name / "metrics.jsonl", [row] * 3)
    one = SimpleNamespace(runs={name: run}, executions=plan.executions, stage=plan.stage)
    ((named, hint),) = own_command._hints(one, tmp_path)
    assert named == name and hint.startswith("none of the first 24 rollouts is correct (24 wrong)")
    written(tmp_path / "runs" / name / "metrics.jsonl", [row] * 32)
    assert list(own_command._hints(one, tmp_path)) == [], "Snakemake's end says so of 256 rollouts"
    written(tmp_path / "runs" / name / "metrics.jsonl", [{"statuses": {"wrong": 4, "correct": 4}, "kl": 0.0}] * 32)
    assert [hint.partition(" in ")[0] for _, hint in own_command._hints(one, tmp_path)] == ["the policy hardly changed"]


@pytest.mark.slow
def test_two_methods_end_in_a_table_at_equal_pass_1(own):
    root, model, data = own
    printed = said(root, *train(model, data, "--estimator", "ace", "--estimator", "grpo", "--name", "two"))
    tables = [line for line in printed.splitlines() if line.startswith("# ")]
    assert len(tables) == 2 and tables[1].endswith("at equal pass@1"), tables
    assert "ours, against grpo" in printed
    page = (root / "results/report/own/two.html").read_text()
    for item in ("pass_at_k_matched.csv", "pass_at_k_frontier.csv", "training.csv"):
        assert item in page


@pytest.mark.slow
def test_evaluate_ends_in_a_table_with_the_counts_of_its_scores(own):
    root, model, data = own
    asked = ("--model", model, "--data", data, "--verifier", "operators", "--samples", "8")
    printed = said(root, "evaluate", *asked, "--engine", "native", "--device", "cpu")
    (scores,) = root.glob("results/evaluations/*/my_evaluated-*/scores.csv")
    mean = 100 * pd.read_csv(scores)["correct"].sum() / (8 * 48)
    assert f"{mean:.1f} [" in printed and "48 problems, n = 8" in printed
    assert "interval over problems alone." in printed


@pytest.mark.slow
def test_results_may_be_a_link_to_another_disk(own, tmp_path):
    """As deep as any other place: a path from there to the model's folder counts the folders of the real place."""
    root, model, data = own
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (root / "linked").symlink_to(tmp_path / "a" / "b" / "c")
    said(root, *train(model, data, "--estimator", "grpo", "--results", "linked", "--name", "on_disk"))
    assert list((tmp_path / "a/b/c/runs").glob("*/manifest.json"))
    assert (tmp_path / "a/b/c/report/own/on_disk.html").is_file()


# ---- what it plans ----


def planned(root: Path, name: str = "my"):
    return make_plan(root, "own", [name], own=f"own/{name}.yaml")


@pytest.mark.parametrize(
    ("methods", "more", "baseline", "rates"),
    [
        (("ace",), {}, "base", {2e-4}),
        (("ace", "grpo"), {}, "grpo", {1e-4, 1.4e-4, 2e-4, 2.8e-4}),
        (("lens", "ace"), {}, "lens", {1e-4, 1.4e-4, 2e-4, 2.8e-4}),
        (("ace", "grpo"), {"matched": False}, "grpo", {2e-4}),
    ],
)
def test_several_methods_are_compared_at_equal_pass_1(own, monkeypatch, methods, more, baseline, rates):
    root, model, data = own
    monkeypatch.setattr("rlvr.commands.own_paper.run", lambda *_, **__: None)
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
    assert len(plan.runs) == len(methods) - 1 + len(rates), "the baseline has several rates"


@pytest.mark.slow
def test_equal_content_is_one_run_wherever_its_files_are(own, tmp_path):
    root, model, data = own
    command = ("--estimator", "grpo", "--estimator", "ace", "--no-matched", "--seeds", "2", "--name", "place", "-n")
    said(root, *train(model, data, *command))
    before = planned(root, "place")
    moved = tmp_path / "elsewhere.jsonl"
    moved.write_bytes(Path(data).read_bytes())
    said(root, *train(model, str(moved), *command))
    after = planned(root, "place")
    assert len(before.runs) == 4 and set(before.runs) == set(after.runs)
    assert {str(moved)} == {spec.path for spec in after.data.values()}
    with open(moved, "a") as file:
        file.write('{"prompt": "1 2 = 3", "answer": "1 2 = 3"}\n')
    said(root, *train(model, str(moved), *command))
    assert not set(planned(root, "place").runs) & set(before.runs)


@pytest.mark.slow
def test_a_logger_is_in_no_runs_identity(own):
    root, model, data = own
    command = ("--estimator", "grpo", "--name", "logged", "-n")
    said(root, *train(model, data, *command))
    before = planned(root, "logged")
    said(root, *train(model, data, *command, "--logger", "tensorboard", "--logger", "wandb"))
    after = planned(root, "logged")
    assert set(before.runs) == set(after.runs)
    assert {tuple(execution.loggers) for execution in after.executions.values()} == {("tensorboard", "wandb")}


def test_a_file_that_a_person_edited_is_kept(own):
    root, model, data = own
    command = train(model, data, "--estimator", "grpo", "--name", "edited", "-n")
    said(root, *command)
    file = root / "own/edited.yaml"
    file.write_text(file.read_text().replace("steps: 2", "steps: 3"))
    assert "own/edited.yaml was edited since; run it by `snakemake --config own=" in rlvr(root, *command).stderr
    assert {spec.rl.steps for spec in planned(root, "edited").runs.values()} == {3}


def test_mistakes_in_such_a_file_name_file_and_key(own):
    root, model, data = own
    said(root, *train(model, data, "--estimator", "grpo", "--name", "wrong", "-n"))
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
        (("--logger", "tensorbord"), "--logger: unknown 'tensorbord'; did you mean 'tensorboard'?"),
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
    assert message in refused(root, *options)


def test_the_project_has_no_scale_named_own():
    assert not (ROOT / "config/scale/own.yaml").exists()
