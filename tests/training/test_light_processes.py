"""With the native engine no stage of a tiny policy imports transformers, but the making of its model."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import ROOT, spec_file
from support.runs_by_hand import changed

from rlvr.config.schema.specs import EvaluationSpec
from rlvr.files import read_json
from rlvr.records import Completion, Tokens, read_records


@pytest.fixture
def without(tmp_path):
    """A run of a module where importing some packages fails."""

    def run(packages: tuple[str, ...], module: str, *arguments: str) -> None:
        folder = tmp_path / "-".join(packages)
        for package in packages:
            (folder / package).mkdir(parents=True, exist_ok=True)
            (folder / package / "__init__.py").write_text(f"raise ImportError('{package} must not be imported')\n")
        path = os.pathsep.join([str(folder), str(ROOT / "src")])
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]

    return run


@pytest.fixture(scope="module")
def evaluation(workbench, plan):
    sampling = next(iter(plan.evaluations.values())).sampling
    return EvaluationSpec(data=workbench.spec.validation, sampling=sampling)


def test_sft_and_rl_need_no_transformers(workbench, without, tmp_path):
    spec = changed(workbench.spec, rl={"steps": 2}, probe={"every": 1, "greedy": True})
    assert spec.rl.backend == "native"
    heavy = ("transformers", "sympy")  # the second with the compiler of torch
    without(heavy, "rlvr.training.rl", *workbench.command(spec, tmp_path))
    manifest = read_json(tmp_path / "manifest.json")
    assert manifest["provenance"]["engine"].startswith("native ")
    base = spec.base.model_copy(update={"sft": spec.base.sft.model_copy(update={"steps": 3})})
    demonstrations = workbench.folder / base.sft_data.name / "demonstrations.jsonl"
    without(
        *(heavy, "rlvr.training.sft", "--spec", str(spec_file(base))),
        *("--model", str(workbench.folder / "model" / "manifest.json"), "--demonstrations", str(demonstrations)),
        *("--out", str(tmp_path / "sft" / "manifest.json"), "--state", str(tmp_path / "sft" / "state")),
    )


def test_generate_grade_and_score_need_neither_torch_nor_transformers(workbench, evaluation, without, tmp_path):
    """And draw the samples that the sampler in process draws."""
    problems = workbench.folder / workbench.spec.validation.name / "problems.jsonl"

    def generate(run, out, engine):
        spec = evaluation.model_copy(update={"sampling": evaluation.sampling.model_copy(update={"engine": engine})})
        run(
            *("rlvr.sampling.generate", "--spec", str(spec_file(spec)), "--policy", str(workbench.base)),
            *("--problems", str(problems), "--state", str(out / "state")),
            *("--out", str(out / "completions.jsonl.gz"), "--tokens", str(out / "tokens.jsonl.gz")),
        )
        return read_records(out / "completions.jsonl.gz", Completion), read_records(out / "tokens.jsonl.gz", Tokens)

    heavy = ("torch", "transformers")
    ours, our_tokens = generate(lambda *call: without(heavy, *call), tmp_path / "native", "native")
    theirs, their_tokens = generate(lambda *call: without(("verl",), *call), tmp_path / "torch", "in_process")
    same = [(c.problem, c.sample, c.text, c.tokens, c.finish) for c in theirs]
    assert [(c.problem, c.sample, c.text, c.tokens, c.finish) for c in ours] == same
    assert [c.logprob for c in ours] == pytest.approx([c.logprob for c in theirs], abs=1e-3)
    assert [(t.prompt, t.response) for t in our_tokens] == [(t.prompt, t.response) for t in their_tokens]
    assert {c.engine for c in ours} == {"native"} and all(c.version.startswith("native ") for c in ours)
    out = tmp_path / "native"
    grades = ("--out", str(out / "grades.jsonl.gz"), "--verifier", workbench.spec.validation.verifier)
    completions = ("--completions", str(out / "completions.jsonl.gz"), "--problems", str(problems))
    without(heavy, "rlvr.scoring.grade", *completions, *grades)
    scores = ("--grades", str(out / "grades.jsonl.gz"), "--out", str(out / "scores.csv"), "--policy", "p")
    without(heavy, "rlvr.scoring.score", *scores, "--evaluation", "e", *completions)
