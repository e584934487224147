"""The sample of training rollouts that a run keeps: what it says, its bound, and what a kill leaves of it.

Kills of whole runs are in test_training.py, whose runs must have equal rollouts too.
"""

import pytest
import torch
from test_training import trainer

from rlvr import estimators, verifiers
from rlvr.estimators import Estimator
from rlvr.records import KeptGroup, Problem, read_records
from rlvr.show.weights import under_its_state
from rlvr.training.deterministic import one_thread
from rlvr.training.rollout_log import NAME, RolloutLog, chosen

STEPS = 2


@pytest.fixture
def groups_of(workbench, tmp_path):
    """What the first steps of a run by an estimator keep."""

    def groups(name: str) -> list[KeptGroup]:
        one_thread()
        kept = RolloutLog(tmp_path, steps=STEPS, prompts=2, limit=10**6)
        made = trainer(workbench, name, kept_rollouts=kept)
        with made.verifier:
            for _ in range(STEPS):
                made.advance()
        kept.flush()
        return read_records(tmp_path / NAME, KeptGroup)

    return groups


@pytest.mark.parametrize("name", estimators.names())
def test_kept_weights_are_the_estimators_on_the_kept_rewards(groups_of, workbench, name):
    groups = groups_of(name)
    assert [group.step for group in groups] == [1, 1, 2, 2]
    estimator = Estimator.of_run({"name": name}, workbench.spec.steps)
    for group in groups:
        assert under_its_state(estimator, group) == pytest.approx(group.weights, rel=1e-4, abs=1e-6)


def test_kept_verdicts_and_texts_are_those_of_the_rollouts(groups_of, workbench):
    golds = {p.id: p for p in read_records(workbench.folder / workbench.spec.data.name / "problems.jsonl", Problem)}
    judge = verifiers.load(workbench.spec.data.verifier)
    for group in groups_of("grpo"):
        problem = golds[group.problem]
        assert (group.prompt, group.gold) == (problem.prompt, problem.gold)
        for response, status, extracted, reward in zip(
            group.responses, group.statuses, group.extracted, group.rewards, strict=True
        ):
            judged = judge(response, group.gold)
            assert (status, extracted) in (judged, verifiers.settle(judged, False))
            assert (reward == 1) == (status == "correct")


def test_every_rollout_of_a_prompt_is_kept(groups_of, workbench):
    for group in groups_of("grpo"):
        assert {len(value) for value in vars(group).values() if isinstance(value, tuple)} == {
            workbench.spec.rollout.samples_per_prompt
        }


# ---- the file ----


def group(step: int, problem: str = "p", text: str = "x") -> KeptGroup:
    return KeptGroup(
        step, problem, "?", "1", (text,), ("wrong",), (None,), (0.0,), (0.0,), (1,), (-1.0,), None, 0.5, {}
    )


def written(kept: RolloutLog, steps: range, problems: int = 1, text: str = "x") -> bytes:
    names = [f"p{i}" for i in range(problems)]
    for step in steps:
        kept.add(step, names, lambda p, step=step: group(step, names[p], text))
    kept.flush()
    return kept.path.read_bytes() if kept.path.exists() else b""


def test_the_choice_of_prompts_depends_on_their_problems_not_on_their_order():
    names = [f"p{i}" for i in range(30)]
    first = [names[p] for p in chosen(7, names, 4)]
    assert [names[::-1][p] for p in chosen(7, names[::-1], 4)] == first
    assert {names[p] for step in range(200) for p in chosen(step, names, 2)} == set(names)


@pytest.mark.parametrize("limit", [0, 300, 1000, 4000, 10**6])
def test_the_file_stays_below_its_bound_and_holds_whole_groups(tmp_path, limit):
    texts = "".join(map(chr, torch.randint(33, 120, (200,), generator=torch.Generator().manual_seed(0)).tolist()))
    kept = RolloutLog(tmp_path, steps=5, prompts=8, limit=limit)
    size = len(written(kept, range(1, 6), 8, texts))
    assert size <= limit
    groups = read_records(kept.path, KeptGroup) if size else []
    assert all(group.responses == (texts,) for group in groups)
    assert len(groups) == (40 if limit == 10**6 else len(groups)) and (limit < 4000 or groups)


def test_a_resumed_file_has_the_bytes_of_an_undisturbed_one(tmp_path):
    whole = written(RolloutLog(tmp_path / "whole", steps=6, prompts=1, limit=10**6), range(1, 7))
    for saved in range(7):
        for torn in (b"", whole[:7], b"\x1f\x8b garbage"):
            killed = RolloutLog(tmp_path / "killed", steps=6, prompts=1, limit=10**6)
            written(killed, range(1, 7))
            killed.path.write_bytes(killed.path.read_bytes() + torn)
            resumed = RolloutLog(tmp_path / "killed", steps=6, prompts=1, limit=10**6)
            resumed.resume(saved)
            assert written(resumed, range(saved + 1, 7)) == whole
            resumed.path.unlink()


def test_what_waits_for_a_checkpoint_is_not_in_the_file(tmp_path):
    kept = RolloutLog(tmp_path, steps=2, prompts=1, limit=10**6)
    kept.add(1, ["p"], lambda _: group(1))
    assert not kept.path.exists()
    kept.flush()
    assert [g.step for g in read_records(kept.path, KeptGroup)] == [1]


def test_a_run_may_keep_none(tmp_path, workbench):
    execution = workbench.execution.model_copy(update={"kept_prompts": 0})
    assert RolloutLog.of(tmp_path, 10, execution) is None
