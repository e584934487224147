"""Generation: what is recorded, parts, kill and resume, agreement with the trainer. vLLM's tests run where it is."""

import gzip
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT, run_module, spec_file

from rlvr.config.identity import canonical, evaluation_id
from rlvr.config.schema.settings import Evaluation
from rlvr.config.schema.specs import EvaluationSpec
from rlvr.files import RecordError
from rlvr.records import Completion, Problem, Tokens, read_records
from rlvr.sampling.agreement import agreement, trainer_logprobs
from rlvr.sampling.engines import EngineError, in_process, limits_of, vllm
from rlvr.sampling.engines.in_process import InProcess
from rlvr.sampling.generate import draw
from rlvr.sampling.parts import Part, Parts, parts_of

SAMPLING = Evaluation(temperature=0.8, top_p=0.95, samples=24, max_response_tokens=16, seed=3)


@pytest.mark.parametrize(("users", "then"), [(None, "0"), ("1", "1")])
def test_vllm_is_imported_without_flashinfers_sampler(users, then, monkeypatch):
    """Where vLLM is not installed, its import fails after that; `test_vllm.py` asks vLLM itself."""
    variable = "VLLM_USE_FLASHINFER_SAMPLER"
    monkeypatch.setenv("VLLM_RPC_BASE_PATH", "/tmp")
    monkeypatch.setenv(variable, users or "")
    if users is None:
        monkeypatch.delenv(variable)
    with pytest.raises(EngineError, match="vllm is not installed"):
        vllm.load(Path("manifest.json"), SAMPLING)
    assert os.environ[variable] == then


@pytest.fixture(scope="module")
def bench(workbench):
    """A policy, a benchmark, and the command that samples it."""
    spec = EvaluationSpec(data=workbench.spec.validation, sampling=SAMPLING)
    problems = workbench.folder / workbench.spec.validation.name / "problems.jsonl"

    def command(out: Path, *more: str, **sampling: str) -> list[str]:
        asked = spec.model_copy(update={"sampling": SAMPLING.model_copy(update=sampling)})
        return [
            *("--spec", str(spec_file(asked)), "--policy", str(workbench.base), "--problems", str(problems)),
            *("--out", str(out / "completions.jsonl.gz"), "--tokens", str(out / "tokens.jsonl.gz")),
            *("--state", str(out / "state"), *more),
        ]

    return command


@pytest.fixture(scope="module")
def whole(bench, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    run_module("rlvr.sampling.generate", *bench(out))
    return out


def test_parts_cover_every_sample_once():
    for problems, samples, rows in ((8, 24, 1024), (8, 24, 48), (8, 24, 24), (5, 24, 10), (1, 1, 1), (7, 3, 10)):
        parts = parts_of(problems, samples, rows)
        drawn = [(p, s) for x in parts for p in range(x.start, x.stop) for s in range(x.first, x.last)]
        assert drawn == [(p, s) for p in range(problems) for s in range(samples)]
        assert all((x.stop - x.start) * (x.last - x.first) <= rows for x in parts)
        assert len({x.name for x in parts}) == len(parts)
    assert parts_of(2, 5, 3) == [Part(0, 1, 0, 3), Part(0, 1, 3, 5), Part(1, 2, 0, 3), Part(1, 2, 3, 5)]


def test_what_is_recorded(whole):
    done = read_records(whole / "completions.jsonl.gz", Completion)
    tokens = read_records(whole / "tokens.jsonl.gz", Tokens)
    assert len(done) == 8 * 24 and len(tokens) == 8
    assert {c.finish for c in done} <= {"stop", "length"} and all(c.finish == "stop" for c in done if c.tokens < 16)
    assert all(c.engine == "in_process" and "torch 2" in c.version for c in done)
    first = {(c.problem, c.sample): c for c in done}
    for row in tokens:
        completion = first[row.problem, row.sample]
        assert len(row.response) == len(row.logprobs) == completion.tokens
        assert sum(row.logprobs) == pytest.approx(completion.logprob, abs=1e-3)


def test_every_policy_is_sampled_in_the_precision_of_the_evaluation(workbench, bench, whole, tmp_path):
    """The identity has it, where it is not float32; the samples of a policy stored in float32 nearly agree."""
    half = EvaluationSpec(
        data=workbench.spec.validation, sampling=SAMPLING.model_copy(update={"precision": "bfloat16"})
    )
    full = half.model_copy(update={"sampling": SAMPLING})
    assert evaluation_id(half) != evaluation_id(full) and "precision" not in canonical(full)
    assert in_process.load(workbench.base, half.sampling).policy.model.dtype == torch.bfloat16
    assert vllm.options("folder", half.sampling.precision, 64, 1, 0.5)["dtype"] == "bfloat16"
    run_module("rlvr.sampling.generate", *bench(tmp_path, precision="bfloat16"))
    texts = [[c.text for c in read_records(out / "completions.jsonl.gz", Completion)] for out in (tmp_path, whole)]
    same = [ours == theirs for ours, theirs in zip(*texts, strict=True)]
    assert 0.5 < sum(same) / len(same) < 1


@pytest.mark.parametrize("rows", [7, *(pytest.param(rows, marks=pytest.mark.slow) for rows in (24, 50))])
def test_batching_changes_no_sample(bench, whole, tmp_path, rows):
    run_module("rlvr.sampling.generate", *bench(tmp_path, "--rows", str(rows)))
    theirs = read_records(whole / "completions.jsonl.gz", Completion)
    ours = read_records(tmp_path / "completions.jsonl.gz", Completion)
    assert [replace(c, logprob=0.0) for c in ours] == [replace(c, logprob=0.0) for c in theirs]
    assert [c.logprob for c in ours] == pytest.approx([c.logprob for c in theirs], abs=2e-4)


def parts_in(folder: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.glob("part-*.jsonl.gz")}


@pytest.fixture(scope="module")
def in_small_parts(bench, tmp_path_factory):
    out = tmp_path_factory.mktemp("small")
    run_module("rlvr.sampling.generate", *bench(out, "--rows", "2"))
    return out


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 75)])
def test_killed_midway_no_finished_sample_is_drawn_twice(bench, in_small_parts, tmp_path, how, code):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "rlvr.sampling.generate", *bench(tmp_path, "--rows", "2")]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while len(parts_in(tmp_path / "state")) < 5 and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(how)
    kept = parts_in(tmp_path / "state")
    assert process.returncode == code and 5 <= len(kept) < 8 * 12
    assert not (tmp_path / "completions.jsonl.gz").exists()

    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        output, _ = process.communicate(timeout=120)
    steps = [json.loads(line)["step"] for line in output.splitlines() if line.startswith("{")]
    assert steps == list(range(len(kept) + 1, 8 * 12 + 1))  # what was finished is not drawn again
    for name in ("completions.jsonl.gz", "tokens.jsonl.gz"):
        assert (tmp_path / name).read_bytes() == (in_small_parts / name).read_bytes()


def test_outputs_that_snakemake_removed_are_published_again_and_nothing_is_drawn(bench, whole):
    names = ("completions.jsonl.gz", "tokens.jsonl.gz")
    before = [(whole / name).read_bytes() for name in names]
    for name in names:
        (whole / name).unlink()
    again = run_module("rlvr.sampling.generate", *bench(whole))
    assert not [line for line in again.stdout.splitlines() if line.startswith("{")]
    assert [(whole / name).read_bytes() for name in names] == before


def test_parts_of_something_else_are_not_used(bench, whole, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    (state / "fingerprint.json").write_text('{"engine": "another"}')
    (state / "part-000000-000000.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))
    done = run_module("rlvr.sampling.generate", *bench(tmp_path))
    assert "of another policy, benchmark or engine" in done.stdout
    assert (tmp_path / "completions.jsonl.gz").read_bytes() == (whole / "completions.jsonl.gz").read_bytes()


def test_a_damaged_part_is_named(workbench, tmp_path):
    from rlvr.policies.store import load

    problems = read_records(workbench.folder / workbench.spec.validation.name / "problems.jsonl", Problem)[:4]
    engine, parts = InProcess(load(workbench.base), SAMPLING), Parts(tmp_path / "state", {}, parts_of(4, 24, 48))
    draw(lambda: engine, problems, [parts])
    assert len(list(parts.rows())) == 4 * 24
    path = sorted((tmp_path / "state").glob("part-*"))[1]
    path.write_bytes(gzip.compress(b"".join(gzip.decompress(path.read_bytes()).splitlines(keepends=True)[:-1])))
    with pytest.raises(RecordError, match=f"{path.name} is damaged; delete it"):
        list(parts.rows())


def test_problems_with_pictures_are_refused(bench, tmp_path):
    pictured = tmp_path / "pictured.jsonl"
    pictured.write_text('{"id": "g-1", "prompt": "1 2 = 3", "gold": "3", "level": "", "images": ["images/g-1.png"]}\n')
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "g-1.png").write_bytes(b"a picture")
    command = bench(tmp_path)
    command[command.index("--problems") + 1] = str(pictured)
    done = run_module("rlvr.sampling.generate", *command, check=False)
    assert done.returncode == 1 and "g-1.png is the first), and this policy reads texts" in done.stderr
    assert "Traceback" not in done.stderr


# ---- agreement -----------------------------------------------------------------------------------


def test_agreement_by_hand():
    found = agreement(
        [np.log([0.5, 0.5]), np.log([0.25])], [np.log([0.5, 0.25]), np.log([0.25])]
    )  # one token of three differs by log 2
    assert found["tokens"] == 3 and found["sequences"] == 2
    assert found["max_abs"] == found["max_abs_sequence"] == pytest.approx(np.log(2))
    assert found["mean_abs"] == pytest.approx(np.log(2) / 3)
    assert found["mean_exp_abs"] == pytest.approx(4 / 3)
    assert found["effective_sample_size"] == pytest.approx((0.5 + 1) ** 2 / (2 * (0.25 + 1)))


def test_the_sampler_and_the_trainer_agree(workbench, whole, tmp_path):
    arguments = ("--policy", str(workbench.base), "--tokens", str(whole / "tokens.jsonl.gz"))
    done = run_module("rlvr.sampling.agreement", *arguments, "--out", str(tmp_path / "agreement.json"))
    found = json.loads((tmp_path / "agreement.json").read_text())
    assert found["max_abs"] < 1e-4 and found["mean_exp_abs"] < 1.0001 and "warning" not in done.stderr


def test_disagreement_is_seen_and_warned_of(workbench, whole, tmp_path):
    """Log-probabilities after temperature, as an engine reports them that is not told otherwise."""
    rows = [json.loads(line) for line in gzip.decompress((whole / "tokens.jsonl.gz").read_bytes()).splitlines()]
    for row in rows:
        row["logprobs"] = [value / 2 - 0.2 for value in row["logprobs"]]
    (tmp_path / "tokens.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("--policy", str(workbench.base), "--tokens", str(tmp_path / "tokens.jsonl"))
    done = run_module("rlvr.sampling.agreement", *arguments, "--out", str(tmp_path / "agreement.json"))
    assert "warning: mean exp|d log p|" in done.stderr


def test_trainer_logprobs_are_those_of_transformers(workbench):
    import torch

    from rlvr.policies.store import load

    policy = load(workbench.base)
    rows = [Tokens("a", 0, (1, 12, 70, 9), (30, 71, 2), (0.0,) * 3), Tokens("b", 0, (1, 5), (7, 2), (0.0,) * 2)]
    for row, ours in zip(rows, trainer_logprobs(policy, rows), strict=True):
        with torch.no_grad():
            logits = policy.model(torch.tensor([row.prompt + row.response])).logits[0].log_softmax(-1)
        theirs = [float(logits[len(row.prompt) - 1 + t, token]) for t, token in enumerate(row.response)]
        assert ours == pytest.approx(theirs, abs=1e-5)


# ---- vLLM ----------------------------------------------------------------------------------------


def test_every_parameter_of_vllm_is_given_by_the_evaluation_or_neutral():
    given = vllm.parameters(SAMPLING, eos=2)
    assert (given["temperature"], given["top_p"], given["max_tokens"]) == (0.8, 0.95, 16)
    neutral = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
    assert {name: given[name] for name in neutral} == neutral
    started = vllm.options("folder", "float32", 128, 2, 0.5)
    assert started["generation_config"] == "vllm" and started["logprobs_mode"] == "raw_logprobs"
    assert started["tensor_parallel_size"] == 2 and started["enable_prefix_caching"]


def test_a_seed_a_sample():
    seeds = {
        vllm.sample_seed(seed, Problem(name, "", "", ""), i)
        for seed in (0, 1)
        for name in ("a", "b")
        for i in range(50)
    }
    assert len(seeds) == 200 and all(0 <= seed < 2**63 for seed in seeds)
    assert vllm.sample_seed(0, Problem("a", "", "", ""), 0) == vllm.sample_seed(0, Problem("a", "x", "y", "z"), 0)


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vllm is here")
def test_where_vllm_is_missing_the_error_says_what_to_do(bench, tmp_path):
    done = run_module("rlvr.sampling.generate", *bench(tmp_path, engine="vllm"), check=False)
    assert done.returncode == 1 and "vllm is not installed" in done.stderr
    assert "in_process" in done.stderr and "Traceback" not in done.stderr


def test_a_limit_of_prompt_and_response_cuts_responses_and_changes_no_other(workbench, bench, whole, tmp_path):
    prompts = {row.problem: len(row.prompt) for row in read_records(whole / "tokens.jsonl.gz", Tokens)}
    total = max(prompts.values()) + 6
    run_module("rlvr.sampling.generate", *bench(tmp_path, max_total_tokens=total))
    free, cut = (read_records(out / "completions.jsonl.gz", Completion) for out in (whole, tmp_path))
    assert any(c.tokens > total - prompts[c.problem] for c in free)
    for before, after in zip(free, cut, strict=True):
        limit = total - prompts[before.problem]
        if before.tokens <= limit:
            assert replace(after, logprob=0.0) == replace(before, logprob=0.0)
        else:
            assert (after.tokens, after.finish) == (limit, "length") and before.text.startswith(after.text)
    logprobs = {row.problem: sum(row.logprobs) for row in read_records(tmp_path / "tokens.jsonl.gz", Tokens)}
    sums = {c.problem: c.logprob for c in cut if c.sample == 0}
    assert logprobs == pytest.approx(sums, abs=1e-3)
    done = run_module("rlvr.sampling.generate", *bench(tmp_path / "2", max_total_tokens=1), check=False)
    assert done.returncode == 1 and "leaves no room for a response within evaluation.max_total_tokens" in done.stderr


def test_each_prompt_leaves_room_for_its_responses():
    sampling = SAMPLING.model_copy(update={"max_response_tokens": 100, "max_total_tokens": 120})
    assert [sampling.room(prompt) for prompt in (10, 20, 21, 119, 120)] == [100, 100, 99, 1, 0]
    assert SAMPLING.room(10_000) == SAMPLING.max_response_tokens
    problems = [Problem("a", "?", "1", ""), Problem("b", "?", "1", "")]
    assert limits_of(sampling, problems, [[1] * 30, [1]]) == [90, 100]
    with pytest.raises(EngineError, match=r"^b: a prompt of 120 tokens leaves no room"):
        limits_of(sampling, problems, [[1], [1] * 120])
