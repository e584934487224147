"""SFT and RL on problems with pictures, by the trainers of texts."""

import numpy as np
import pytest
import torch
from conftest import ROOT, Workbench
from conftest import without_timing as published
from support.runs_by_hand import changed, same_results
from test_training import kill_at

from rlvr.config.schema.settings import Reward
from rlvr.data import prepare
from rlvr.estimators import Estimator
from rlvr.files import publish_json, read_json
from rlvr.planning.expansion import make_plan
from rlvr.policies import store
from rlvr.policies.sources.scratch import scratch_policy
from rlvr.records import Demonstration, KeptGroup, read_records, with_paths
from rlvr.sampling.engines.in_process import InProcess
from rlvr.training import sft
from rlvr.training.checkpoint import Checkpoints
from rlvr.training.inputs import problems_of
from rlvr.training.progress import Saves
from rlvr.training.rollout_log import NAME, RolloutLog
from rlvr.training.rollouts import rewards_of
from rlvr.training.trainer import Trainer
from rlvr.verifiers._form import well_formed


@pytest.fixture(scope="module")
def runs():
    """Run specifications of Table 3's core at the smoke scale, and an evaluation."""
    plan = make_plan(ROOT, "smoke", ["agrae"])
    item = plan.papers["agrae"].tables["table3_core"]
    specs = [plan.runs[policy] for policy in item.policies() if policy in plan.runs]
    return specs, plan.evaluations[next(iter(item.evaluations.values()))[0]]


@pytest.fixture(scope="module")
def folder(runs, tmp_path_factory):
    """The sets of a run, and a base policy after a short SFT."""
    (spec, *_), _ = runs
    folder = tmp_path_factory.mktemp("pictured")
    for data in (spec.data, spec.validation, spec.base.sft_data):
        prepare.make(data, folder / data.name)
    policy, path = scratch_policy(spec.base.model), folder / spec.base.sft_data.name / "demonstrations.jsonl"
    before = [p.detach().clone() for p in policy.model.model.visual.parameters()]
    demonstrations = with_paths(path, read_records(path, Demonstration))
    rows = sft.train(policy, spec.base.sft, demonstrations, Checkpoints(folder / "state", {}), Saves(100, 20))
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert all(
        not torch.equal(old, new) for old, new in zip(before, policy.model.model.visual.parameters(), strict=True)
    )
    publish_json(folder / "manifest.json", store.saved_beside(folder / "manifest.json", policy))
    return folder


def trainer_of(spec, folder, **given):
    policy, reference = (store.load(folder / "manifest.json", dtype=torch.float32) for _ in range(2))
    store.share_pictures(policy, reference)
    paths = (folder / data.name / "problems.jsonl" for data in (spec.data, spec.validation))
    return Trainer(spec, policy, reference, *problems_of(*paths), **given)


def without_timing(rows):
    return [{key: value for key, value in row.items() if key != "timing"} for row in rows]


def test_a_resumed_run_is_an_uninterrupted_one(runs, folder, tmp_path):
    spec = runs[0][-1]
    assert spec.estimator["name"] == "a_grae" and spec.estimator["alpha"] == 0.5
    whole, first = trainer_of(spec, folder), trainer_of(spec, folder)
    for trainer in (whole, first):
        trainer.probe_if_due()
        trainer.advance()
    checkpoints = Checkpoints(tmp_path / "state", {"run": "r"})
    checkpoints.save(first.snapshot())
    resumed = trainer_of(spec, folder)
    saved = checkpoints.latest()
    assert saved is not None
    resumed.restore(saved)
    for trainer in (whole, resumed):
        trainer.probe_if_due()
        trainer.advance()
    assert without_timing(whole.metrics) == without_timing(resumed.metrics) and len(whole.metrics) == 2
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, resumed.model.state_dict()[name]), name
    row = whole.metrics[0]
    assert row["logprob_gap"] < 1e-5  # sampler and trainer see the same
    assert 0 <= row["reward"] <= 1 and row["reward"] != row["pass_rate"] and row["well_formed"] > 0
    assert row["reward"] == pytest.approx(0.9 * row["pass_rate"] + 0.1 * row["well_formed"])


def test_kept_rollouts_have_the_words_and_rewards_of_problems_with_pictures(runs, folder, tmp_path):
    spec = runs[0][-1]
    kept = RolloutLog(tmp_path, steps=1, prompts=2, limit=10**6)
    trainer = trainer_of(spec, folder, kept_rollouts=kept)
    trainer.advance()
    kept.flush()
    asked = {problem.id: problem for problem in trainer.problems.problems}
    groups = read_records(tmp_path / NAME, KeptGroup)
    assert len(groups) == 2
    for group in groups:
        assert group.prompt == asked[group.problem].prompt.removeprefix("<image> ")
        for status, response, reward in zip(group.statuses, group.responses, group.rewards, strict=True):
            assert reward == pytest.approx(0.9 * (status == "correct") + 0.1 * well_formed(response))


def test_an_evaluation_sees_the_pictures(runs, folder):
    spec, evaluation = runs[0][0], runs[1]
    problems = problems_of(folder / spec.data.name / "problems.jsonl")[0][:4]
    engine = InProcess(store.load(folder / "manifest.json"), evaluation.sampling)
    together = engine.draw(problems, 0, 3)
    again = InProcess(store.load(folder / "manifest.json"), evaluation.sampling).draw(problems[2:], 0, 3)
    assert [s.completion.text for s in together[6:]] == [s.completion.text for s in again]
    np.testing.assert_allclose(together[6].logprobs, again[0].logprobs, atol=1e-5)
    words = engine.policy.tokenizer.get_vocab()
    assert together[0].prompt.count(words["<|image_pad|>"]) == 4 and max(together[0].prompt) < len(words)
    other = problems_of(folder / spec.data.name / "problems.jsonl")[0][4].images
    swapped = engine.draw([problems[0].__class__(**{**vars(problems[0]), "images": other})], 0, 1)
    assert swapped[0].logprobs[0] != together[0].logprobs[0]


def test_rewards_of_answer_and_form():
    correct, formed = torch.tensor([[1.0, 1.0, 0.0, 0.0]]), torch.tensor([[1.0, 0.0, 1.0, 0.0]])
    lengths = torch.ones(1, 4)

    def rewards(share):
        reward = Reward(overlong_penalty=0.0, overlong_buffer=0.2, format_share=share)
        return rewards_of(correct, formed, lengths, reward, 8).tolist()[0]

    assert rewards(0.1) == pytest.approx([1.0, 0.9, 0.1, 0.0])
    assert rewards(0.9) == pytest.approx([1.0, 0.1, 0.9, 0.0])
    reward = Reward(overlong_penalty=0.0, overlong_buffer=0.2)
    assert torch.equal(rewards_of(correct, None, lengths, reward, 8), correct)


def test_a_grae_of_rewards_that_are_not_binary():
    """p is the mean reward: 0.55 in a group of 1, 1, 0.1, 0.1, where all rewards are above 0; omega is the batch's."""
    rewards_PG = torch.tensor([[1.0, 1.0, 0.1, 0.1], [0.1, 0.1, 0.1, 1.0]], dtype=torch.float64)
    settings = {"alpha": 0.5, "std": "biased", "epsilon": 0.0}
    weights, state = Estimator("a_grae", {**settings, "rate": "reward"}).step(rewards_PG, {}, {})
    omega, p = 0.4375, 0.55
    assert state["omega"] == pytest.approx(omega)
    factor = 0.5 * (omega / p**0.5 + (1 - omega) / (1 - p) ** 0.5)
    assert weights[0].tolist() == pytest.approx([factor * omega / 0.5] * 2 + [-factor] * 2)
    by_count, _ = Estimator("a_grae", settings).step(rewards_PG, {}, {})
    assert by_count[0, 3] == pytest.approx(-1.0)  # all of the group counts as correct, so the sample level is off
    binary = (rewards_PG > 0.5).to(rewards_PG.dtype)
    same = [Estimator("a_grae", {**settings, "rate": rate}).step(binary, {}, {})[0] for rate in ("reward", "correct")]
    assert torch.equal(*same)


@pytest.mark.slow
def test_a_killed_run_as_the_rules_start_it_is_an_uninterrupted_one(runs, folder, tmp_path):
    spec = changed(runs[0][-1], rl={"steps": 5}, probe={"every": 2, "dense_steps": 0})
    assert spec.estimator["name"] == "a_grae"
    bench = Workbench(folder, spec, folder / "manifest.json", make_plan(ROOT, "smoke", ["agrae"]).execution)
    bench.train(spec, tmp_path / "whole")
    kill_at(bench, spec, tmp_path / "killed", 3, save_every=2)
    bench.train(spec, tmp_path / "killed", save_every=2)
    same_results(tmp_path / "whole", tmp_path / "killed", steps=5)
    assert read_json(tmp_path / "killed" / "manifest.json")["resumed_from"] >= 2
    saved = {path.name for path in (tmp_path / "killed" / "policy-step5").iterdir()}
    assert "preprocessor_config.json" in saved
    rows = published(tmp_path / "whole" / "metrics.jsonl")
    assert any(row["grad_norm"] > 0 for row in rows), "it learns"
