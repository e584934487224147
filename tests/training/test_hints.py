"""What a run's rows say is probably wrong with it."""

import pytest

from rlvr.training.hints import equal_rewards, hints, unmoved


def row(correct: int, wrong: int, kl: float | None = 1e-3) -> dict:
    statuses = {"correct": correct, "unparsable": wrong}
    return {"statuses": {name: count for name, count in statuses.items() if count}, "kl": kl}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(0, 8)] * 4, "none of the first 16 rollouts is correct (16 unparsable); likely causes: "),
        ([row(0, 8), row(0, 8), row(4, 4)], "none of the first 16 rollouts is correct (16 unparsable)"),
        ([row(8, 0)] * 4, "all of the first 16 rollouts are correct: "),
        ([row(0, 8)], "none of the first 8 rollouts is correct"),
        ([row(1, 7), row(0, 8)], None),
        ([row(0, 8), row(1, 7)], None),
        ([], None),
    ],
)
def test_equal_rewards_of_the_first_rollouts_are_said(rows, said):
    found = equal_rewards(rows, 16)
    assert found is None if said is None else found is not None and found.startswith(said)


def test_a_policy_that_stays_its_base_is_said_once_and_only_where_kl_tells(plan):
    (run, *_) = plan.runs.values()
    still = [row(1, 7, kl=0.0), row(1, 7, kl=1e-9)]
    (said,) = hints(run, still, 16)
    assert (
        f"(KL to its base at most 1e-09 nats per token): raise the learning rate, which is {run.rl.learning_rate:g}"
        in said
    )
    assert unmoved(run, [row(1, 7, kl=0.0), row(1, 7, kl=1e-4)]) is None
    assert unmoved(run, [row(1, 7, kl=None)] * 3) is None and unmoved(run, still[:1]) is None
    resets = run.model_copy(update={"rl": run.rl.model_copy(update={"reference_reset": 1})})
    assert unmoved(resets, still) is None
    (said,) = hints(run, [row(0, 8, kl=0.0)] * 3, 16)
    assert said.startswith("none of the first"), "the cause, not its consequence"
