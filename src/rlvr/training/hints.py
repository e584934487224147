"""What the rows of a finished run say is probably wrong with it, a sentence each. It needs no torch."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rlvr.config.schema.specs import RunSpec

UNMOVED = 1e-6  # nats per token of KL to the base policy, below which no sample shows a difference


def hints(run: RunSpec, metrics: Sequence[dict[str, Any]], first: int) -> list[str]:
    """Sentences on a run's rows of metrics; `first` is execution.first_rollouts."""
    equal = equal_rewards(metrics, first)
    return [hint for hint in (equal, None if equal else unmoved(run, metrics)) if hint is not None]


def equal_rewards(metrics: Sequence[dict[str, Any]], first: int) -> str | None:
    """Says that none of the first rollouts is correct, or all are: then a step has nothing to compare."""
    statuses: Counter[str] = Counter()
    for row in metrics:
        if statuses.total() >= first:
            break
        statuses.update(row["statuses"])
    total, correct = statuses.total(), statuses["correct"]
    if not total or 0 < correct < total:
        return None
    if correct:
        return f"all of the first {total} rollouts are correct: the problems are too easy to learn from"
    counts = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    causes = "problems too hard, golds or a verifier that do not fit, a prompt that asks for no box, or too few tokens"
    return f"none of the first {total} rollouts is correct ({counts}); likely causes: {causes}"


def drawn(metrics: Sequence[dict[str, Any]]) -> int:
    """The number of rollouts of all steps."""
    return sum(sum(row["statuses"].values()) for row in metrics)


def unmoved(run: RunSpec, metrics: Sequence[dict[str, Any]]) -> str | None:
    """Says that the policy is still its base, as far as each step's KL to the reference tells."""
    kls = [row["kl"] for row in metrics[1:] if row.get("kl") is not None]
    if run.rl.reference_reset or not kls or max(kls) > UNMOVED:
        return None
    return (
        f"the policy hardly changed in {len(metrics)} steps (KL to its base at most {max(kls):.1g} nats per token): "
        f"raise the learning rate, which is {run.rl.learning_rate:g}, or train longer"
    )
