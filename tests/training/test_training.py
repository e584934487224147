"""Training as the rules start it: its own process, killed, stopped, broken, repeated."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import torch
from conftest import ROOT, Workbench, without_timing
from support.runs_by_hand import changed, same_results
from transformers import AutoModelForCausalLM

from rlvr import estimators
from rlvr.config.schema.settings import Selection
from rlvr.files import RecordError, read_json
from rlvr.policies.store import load, locate, publish_manifest, save
from rlvr.records import Problem, read_records
from rlvr.training.checkpoint import Checkpoints
from rlvr.training.deterministic import one_thread
from rlvr.training.trainer import Trainer


@pytest.fixture(scope="module", params=["native", "in_process"])
def long_spec(request, workbench):
    return changed(workbench.spec, rl={"steps": 12, "backend": request.param}, probe={"every": 4, "dense_steps": 1})


@pytest.fixture(scope="module")
def uninterrupted(workbench, long_spec, tmp_path_factory):
    out = tmp_path_factory.mktemp("uninterrupted")
    workbench.train(long_spec, out)
    return out


def start(workbench, spec, out, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "rlvr.training.rl", *workbench.command(spec, out, **options)]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def wait_for_step(process, step):
    for line in process.stdout:
        if line.startswith("{") and json.loads(line)["step"] >= step:
            return
    raise AssertionError(f"the run ended before step {step}")


def kill_at(workbench, spec, out, step, *, after=0.0, **options):
    """Start a run, and kill it some seconds after it has taken a step."""
    process = start(workbench, spec, out, **options)
    wait_for_step(process, step)
    time.sleep(after)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (out / "manifest.json").exists()


def test_a_run_repeats_itself_to_the_bit(workbench, long_spec, uninterrupted, tmp_path):
    workbench.train(long_spec, tmp_path, save_every=5)
    same_results(uninterrupted, tmp_path)


def test_the_warm_up_counts_optimizer_steps(workbench):
    """Two minibatches per step: factor k/3 at the run's k-th optimizer step, also after a resume."""
    spec = changed(workbench.spec, rl={"prompts_per_step": 4, "prompts_per_minibatch": 2, "warmup_steps": 3})
    problems = read_records(workbench.folder / spec.data.name / "problems.jsonl", Problem)
    rates: list[float] = []

    def start_over() -> Trainer:
        made = Trainer(spec, load(workbench.base), load(workbench.base), problems, problems[:2])
        made.optimizer.register_step_post_hook(lambda optimizer, *_: rates.append(optimizer.param_groups[0]["lr"]))
        return made

    first = start_over()
    with first.verifier:
        first.advance()
        second = start_over()
        second.restore(first.snapshot())
    with second.verifier:
        second.advance()
    assert rates == pytest.approx([spec.rl.learning_rate * factor for factor in (1 / 3, 2 / 3, 1, 1)])


def killed_and_resumed(workbench, spec, out, steps):
    """A run with SIGKILL soon after each of some steps, some of them between checkpoints; then on to the end."""
    for step in steps:
        kill_at(workbench, spec, out, step, after=random.Random(step).uniform(0, 0.05), save_every=2)
    workbench.train(spec, out, save_every=2)
    assert read_json(out / "manifest.json")["resumed_from"] >= steps[-1] - 2


@pytest.mark.slow
def test_three_kills_change_nothing(workbench, long_spec, uninterrupted, tmp_path):
    killed_and_resumed(workbench, long_spec, tmp_path, sorted(random.Random(20).sample(range(2, 11), 3)))
    same_results(uninterrupted, tmp_path)


@pytest.mark.slow
def test_kills_across_a_reset_of_the_reference_change_nothing(workbench, long_spec, tmp_path):
    """PACS, reference and moments reset after each third step: kills before, at and behind resets."""
    rl = {"reference_reset": 3, "reference_reset_moments": True}
    pacs = {"name": "pacs", **estimators.resolve("pacs", {})}
    spec = changed(long_spec, rl=rl).model_copy(update={"estimator": pacs})
    workbench.train(spec, tmp_path / "whole")
    killed_and_resumed(workbench, spec, tmp_path / "killed", [2, 3, 7, 10])
    same_results(tmp_path / "whole", tmp_path / "killed")


def test_sigterm_saves_and_says_to_be_continued(workbench, long_spec, uninterrupted, tmp_path):
    process = start(workbench, long_spec, tmp_path, save_every=100)
    wait_for_step(process, 3)
    process.terminate()
    rest = process.stdout.read()
    assert process.wait() == 75
    assert "to be continued" in rest
    assert list((tmp_path / "state").glob("step-*"))
    workbench.train(long_spec, tmp_path, save_every=100)
    same_results(uninterrupted, tmp_path)


@pytest.mark.slow
def test_stops_at_any_moment_change_nothing(workbench, long_spec, uninterrupted, tmp_path):
    """SIGTERM in rollouts, updates and probes: each time it saves where it is, and the next process goes on."""
    moments, reached = random.Random(7), [0]
    for _ in range(4):
        process = start(workbench, long_spec, tmp_path, save_every=100)
        wait_for_step(process, reached[-1] + 1)
        time.sleep(moments.uniform(0, 0.1))
        process.terminate()
        rest = process.stdout.read()
        if process.wait() == 0 and (tmp_path / "manifest.json").exists():  # it was done before the signal came
            break
        assert process.returncode == 75, rest
        reached.append(int(rest.split("saved at step ")[1].split(",")[0]))
    assert reached == sorted(set(reached)) and len(reached) > 2
    workbench.train(long_spec, tmp_path, save_every=100)
    same_results(uninterrupted, tmp_path)


def test_a_checkpoint_is_saved_when_its_minutes_have_passed(workbench, long_spec, tmp_path):
    kill_at(workbench, long_spec, tmp_path, 3, save_every=100, save_minutes=1e-6)
    assert sorted((tmp_path / "state").glob("step-*"))[-1].name >= "step-000003"


@pytest.mark.slow
def test_a_damaged_checkpoint_costs_steps_not_results(workbench, long_spec, uninterrupted, tmp_path):
    kill_at(workbench, long_spec, tmp_path, 7, save_every=2)
    newest = sorted((tmp_path / "state").glob("step-*"))[-1]
    os.truncate(newest / "tensors.pt", 1000)
    done = workbench.train(long_spec, tmp_path, save_every=2)
    assert f"{newest.name} is damaged" in done.stderr
    same_results(uninterrupted, tmp_path)


def test_divergence_stops_with_its_step_and_keeps_the_last_good_checkpoint(workbench, tmp_path):
    wild = changed(workbench.spec, rl={"steps": 12, "learning_rate": 1e30, "warmup_steps": 0})
    done = workbench.train(wild, tmp_path, check=False)
    assert done.returncode != 0
    assert "training diverged at step 1" in done.stderr or "training diverged at step 2" in done.stderr
    assert not (tmp_path / "manifest.json").exists()
    for saved in (tmp_path / "state").glob("step-*"):
        tensors = torch.load(saved / "tensors.pt", weights_only=True)
        assert all(torch.isfinite(t).all() for t in tensors["model"].values())


def test_checkpoints_load_with_transformers(workbench, uninterrupted):
    for folder in (uninterrupted / "policy-step12", workbench.base.parent / "policy"):
        model = AutoModelForCausalLM.from_pretrained(folder)
        assert type(model).__name__ == "Qwen2ForCausalLM"
    policy = load(uninterrupted / "manifest.json")
    assert policy.decode(policy.encode(["8 8 6 = 58"])) == ["8 8 6 = 58"]


def test_a_damaged_policy_is_refused(workbench, uninterrupted, tmp_path):
    import shutil

    shutil.copytree(uninterrupted, tmp_path / "copy")
    weights = tmp_path / "copy" / "policy-step12" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    with pytest.raises(RecordError, match="missing or damaged"):
        load(tmp_path / "copy" / "manifest.json")


def test_metrics_hold_what_a_reader_needs(uninterrupted):
    rows = [json.loads(line) for line in (uninterrupted / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(1, 13))
    wanted = {"reward", "pass_rate", "all_wrong", "all_right", "entropy", "entropy_decision",
              "entropy_forking", "kl", "clip_fraction", "clip_fraction_low", "clip_fraction_high",
              "mass_all_wrong", "mass_mixed", "mass_all_right",
              "correct", "unsolved", "solve_rates", "positive_mass_by_correct", "negative_mass_by_correct",
              "grad_norm", "oef", "false_working", "overconfidence_mean", "overconfidence_sum", "logprob_gap",
              "timing"}  # fmt: skip
    assert wanted <= set(rows[0])
    assert {"rollout", "verify", "reference", "update", "step", "tokens_per_second"} <= set(rows[0]["timing"])
    assert all(0 < row["timing"]["verify"] <= row["timing"]["rollout"] for row in rows)
    for row in rows:
        groups, drawn = len(row["solve_rates"]) - 1, row["prompts_drawn"]
        assert sum(row["solve_rates"]) == drawn and row["unsolved"] == row["solve_rates"][0] == drawn * row["all_wrong"]
        assert row["correct"] == pytest.approx(row["pass_rate"] * drawn * groups)
        assert len(row["positive_mass_by_correct"]) == groups + 1
        for side in ("positive_mass", "negative_mass"):  # without dynamic sampling the batch is what was drawn
            parts = zip(row["solve_rates"], row[f"{side}_by_correct"], strict=True)
            assert sum(count * mass for count, mass in parts if count) / drawn == pytest.approx(row[side], abs=1e-6)
    assert rows[0]["oef"] == 0.0, "at step 1 the policy is the reference"
    assert rows[0]["logprob_gap"] < 1e-5, "sampler and trainer agree on log-probabilities"
    probes = [json.loads(line) for line in (uninterrupted / "probe.jsonl").read_text().splitlines()]
    assert [row["step"] for row in probes] == [0, 1, 4, 8, 12]
    for row in probes:
        counts = row["problems_by_level"]
        parts = [rate * counts[level] for level, rate in row["pass_rate_by_level"].items()]
        assert sum(parts) / sum(counts.values()) == pytest.approx(row["pass_rate"])
        by_correct = row["solve_rates"]
        samples, correct = len(by_correct) - 1, sum(c * problems for c, problems in enumerate(by_correct))
        assert correct == pytest.approx(row["pass_rate"] * sum(counts.values()) * samples) and samples > 1
    assert "greedy" not in probes[0]


def test_at_step_1_the_policy_is_the_reference_in_bfloat16_too(workbench, tmp_path):
    """From a policy stored in bfloat16, as published models are: c is exactly 0, and no error is overconfident."""
    from_hub = load(workbench.base)
    from_hub.model.to(torch.bfloat16)
    sums = save(from_hub, tmp_path / "base" / "policy")
    base = tmp_path / "base" / "manifest.json"
    publish_manifest(base, tmp_path / "base" / "policy", sums, from_hub.template)
    assert locate(base).dtype == "bfloat16" and locate(workbench.base).dtype == "float32"
    rl = {"steps": 2, "precision": "bfloat16", "backend": "in_process"}
    spec = changed(workbench.spec, rl=rl, loss={"kl_coefficient": 0.1})
    based = Workbench(workbench.folder, spec, base, workbench.execution)
    based.train(spec, tmp_path / "run")
    first, second = (json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines())
    assert first["oef"] == 0.0 and first["overconfidence_sum"] is None
    assert second["oef"] > 0, "the policy has moved"
    assert 0 < first["logprob_gap"] < 0.1, "sampler (float32 on a CPU) against trainer"
    assert read_json(tmp_path / "run" / "manifest.json")["dtype"] == "float32"


def test_a_greedy_response_a_problem_on_request_and_without_touching_the_rest(workbench):
    one_thread()
    quiet, asked = trainer(workbench, "grpo"), trainer(workbench, "grpo")
    asked.spec = changed(asked.spec, probe={"greedy": True})
    for made in (quiet, asked):
        made.probe()
    first = asked.probes[0].pop("greedy")
    assert first in (0.0, 0.5, 1.0) and asked.probes == quiet.probes  # of two problems
    asked.probe()
    assert asked.probes[1]["greedy"] == first


def trainer(workbench, estimator: str, **given) -> Trainer:
    settings = {"name": estimator, **estimators.resolve(estimator, {})}
    spec = workbench.spec.model_copy(update={"estimator": settings})
    problems = read_records(workbench.folder / spec.data.name / "problems.jsonl", Problem)
    return Trainer(spec, load(workbench.base), load(workbench.base), problems, problems[:2], **given)


@pytest.mark.parametrize("name", estimators.names())
def test_every_method_trains_by_its_name(workbench, name):
    one_thread()
    made = trainer(workbench, name)
    before = [p.detach().clone() for p in made.model.parameters()]
    rows = [made.advance() for _ in range(2)]
    assert all(math.isfinite(row["loss"]) and math.isfinite(row["grad_norm"]) for row in rows)
    weighed = any(row["positive_mass"] + row["negative_mass"] > 0 for row in rows)
    assert weighed and any(not torch.equal(p, b) for p, b in zip(made.model.parameters(), before, strict=True))
    assert set(rows[-1].get("estimator", {})) >= set(estimators.kind(name).state)


@pytest.mark.parametrize("name", [n for n in estimators.names() if estimators.kind(n).controller])
def test_a_controllers_state_is_in_the_checkpoint(workbench, tmp_path, name):
    """Three steps are two steps, a checkpoint on disk, and one step: to the bit, controller included."""
    one_thread()
    whole, first, second = (trainer(workbench, name) for _ in range(3))
    expected = [without_time(whole.advance()) for _ in range(3)]
    checkpoints = Checkpoints(tmp_path, {"run": name})
    with checkpoints.lease():
        for _ in range(2):
            first.advance()
        checkpoints.save(first.snapshot())
        second.restore(checkpoints.latest())
    assert second.estimator_state == first.estimator_state != {}
    assert without_time(second.advance()) == expected[2]
    for ours, theirs in zip(second.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_the_reference_can_be_reset(workbench, tmp_path):
    """With a reset each step the policy starts a step at its reference.

    A checkpoint carries one that was reset before it, and the run that goes on resets it when the whole run does.
    """
    one_thread()

    def made(every):
        started = trainer(workbench, "pacs")
        started.spec = changed(started.spec, rl={"reference_reset": every})
        return started

    never, each, some, again = made(0), made(1), made(2), made(2)
    shifted, still, _ = ([t.advance() for _ in range(3)][-1] for t in (never, each, some))
    assert shifted["oef"] > 0 and still["oef"] == 0  # no error is above its reference where that is the policy itself
    checkpoints = Checkpoints(tmp_path, {"run": "reset"})
    with checkpoints.lease():
        checkpoints.save(some.snapshot())
        again.restore(checkpoints.latest())
    for name, tensor in again.reference_model.state_dict().items():
        assert torch.equal(tensor, some.reference_model.state_dict()[name]), name
    kept = {name: tensor.clone() for name, tensor in again.reference_model.state_dict().items()}
    for _ in range(3):  # steps 4 to 6: the next reset comes behind the fourth
        assert without_time(again.advance()) == without_time(some.advance())
    for name, tensor in again.reference_model.state_dict().items():
        assert torch.equal(tensor, some.reference_model.state_dict()[name]), name
    assert any(not torch.equal(tensor, kept[name]) for name, tensor in again.reference_model.state_dict().items())


def without_time(row: dict) -> dict:
    return {key: value for key, value in row.items() if key != "timing"}


def test_dapo_fills_its_batch_with_groups_that_inform(workbench, tmp_path):
    """Dynamic sampling draws more prompts than a step learns from, and overlong answers lose reward."""
    spec = changed(
        workbench.spec,
        rollout={"dynamic_sampling": True, "max_sampling_rounds": 4},
        reward={"overlong_penalty": 1.0, "overlong_buffer": 0.5},
        loss={"clip_high": 0.28, "aggregation": "token_mean", "kl_coefficient": 0.0},
    )
    workbench.train(spec, tmp_path / "shaped")
    rows = without_timing(tmp_path / "shaped" / "metrics.jsonl")
    assert all(row["prompts_drawn"] > spec.rl.prompts_per_step and row["sampling_rounds"] > 1 for row in rows)
    workbench.train(changed(spec, reward={"overlong_penalty": 0.0}), tmp_path / "plain")
    plain = without_timing(tmp_path / "plain" / "metrics.jsonl")
    # The first step's rollouts are the same, and most of them reach into the buffer.
    assert rows[0]["pass_rate"] == plain[0]["pass_rate"]
    assert rows[0]["reward"] < plain[0]["reward"] - 0.1


@pytest.mark.slow
def test_the_best_probed_step_is_selected_on_validation_problems(workbench, long_spec, uninterrupted, tmp_path):
    """At a learning rate that ruins the policy in time; the selected policy is that of a run which ends there."""
    rising = changed(long_spec, rl={"learning_rate": 2e-2}, probe={"every": 3, "problems": 8, "samples": 16})
    spec = rising.model_copy(update={"selection": Selection(rule="best_validation")})
    kill_at(workbench, spec, tmp_path / "killed", 7, save_every=2)
    workbench.train(spec, tmp_path / "killed", save_every=2)
    workbench.train(spec, tmp_path / "whole")

    probes = {row["step"]: row["pass_rate"] for row in without_timing(tmp_path / "whole" / "probe.jsonl")}
    assert set(probes) == {0, 1, 3, 6, 9, 12}
    best = max(probes[step] for step in probes if step)
    chosen = min(step for step in probes if step and probes[step] == best)
    assert chosen < 12
    manifest = read_json(tmp_path / "whole" / "manifest.json")
    assert (manifest["step"], manifest["selection"]) == (chosen, "best_validation")
    assert read_json(uninterrupted / "manifest.json")["selection"] == "last"
    same_results(tmp_path / "killed", tmp_path / "whole", steps=chosen)

    workbench.train(changed(rising, rl={"steps": chosen}), tmp_path / "short")
    weights = f"policy-step{chosen}/model.safetensors"
    assert (tmp_path / "short" / weights).read_bytes() == (tmp_path / "whole" / weights).read_bytes()


def test_a_run_saves_before_its_job_ends_and_the_next_job_goes_on(workbench, long_spec, uninterrupted, tmp_path):
    """A job that ends in less than a minute from now: one step, saved, "to be continued"."""
    options = {"env": {**os.environ, "OMP_NUM_THREADS": "1", "SLURM_JOB_END_TIME": str(time.time() + 30)}}
    command = [sys.executable, "-m", "rlvr.training.rl", *workbench.command(long_spec, tmp_path, save_every=100)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **options)
    assert done.returncode == 75 and "the job ends in" in done.stdout
    assert "asked to stop: saved at step 1, to be continued" in done.stdout
    workbench.train(long_spec, tmp_path)
    same_results(tmp_path, uninterrupted)


def test_a_published_run_frees_its_optimizer_and_can_be_published_again(workbench, long_spec, uninterrupted):
    state = uninterrupted / "state"
    (newest,) = state.glob("step-*")
    assert set(torch.load(newest / "tensors.pt", weights_only=True)) == {"model"}
    size = (newest / "tensors.pt").stat().st_size
    assert read_json(state / "freed.json")["bytes"] > 4 * size  # two moments, and a checkpoint of three such tensors
    before = {name: (uninterrupted / name).read_bytes() for name in ("manifest.json", "metrics.jsonl", "probe.jsonl")}
    for name in before:
        (uninterrupted / name).unlink()
    freed = read_json(state / "freed.json")
    workbench.train(long_spec, uninterrupted)
    assert {name: (uninterrupted / name).read_bytes() for name in before} == before
    assert read_json(state / "freed.json") == freed
