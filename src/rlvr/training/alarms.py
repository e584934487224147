"""Signs that a run is dying, from its rows of metrics and probes while it trains. It changes nothing, without torch.

Each bound is a constant here. Of 136 laptop runs of three methods none comes near one; the comments give their
extremes. TRL logs the first as `frac_reward_zero_std`, verl the last as `rollout_probs_diff`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

WINDOW = 10  # steps of a mean: of single steps each figure is noisy

NO_CONTRAST = 0.9  # share of groups that are all correct or all wrong; laptop runs have at most 0.35

# Times the entropy of the run's first steps, since a small model starts at 0.1 nats and a large one at 1: laptop runs
# keep 0.47 of it.
ENTROPY_FLOOR = 0.1

# Share of solved problems. The best of several probes is high by luck: the last probe of a healthy laptop run is up to
# 0.047 below it. So the last two must be below it by this much, while the reward has risen by half of it.
DIVERGED = 0.1

# Nats per token, mean of |log pi of the sampler - log pi of the trainer|. Rounding to bfloat16 makes up to 0.021
# (docs/benchmarks.md); more means that the two do not have the same weights, temperature or tokens. It is the default
# of `execution.logprob_gap_warning`, by which verl's trainer warns of a single step.
GAP = 0.05

FIGURES = ("step", "pass_rate", "entropy", "all_wrong", "all_right", "logprob_gap")  # of a row of metrics
Row = Mapping[str, Any]


def alarms(metrics: Sequence[Row], probes: Sequence[Row]) -> dict[str, str]:
    """A sentence per alarm that the last steps give, by the alarm's name; empty for a healthy or a new run.

    `metrics` need FIGURES, `probes` step and pass rate; a figure that a row lacks gives no alarm.
    """
    if len(metrics) < WINDOW:
        return {}
    last = metrics[-WINDOW:]
    found = {
        "groups": _groups(last),
        "entropy": _entropy(metrics[:WINDOW], last),
        "validation": _validation(metrics, probes),
        "gap": _gap(last),
    }
    return {name: sentence for name, sentence in found.items() if sentence is not None}


def _groups(last: Sequence[Row]) -> str | None:
    wrong, right = _mean(last, "all_wrong"), _mean(last, "all_right")
    if wrong is None or right is None or wrong + right < NO_CONTRAST:
        return None
    cure = "easier problems, or more rollouts per problem" if wrong > right else "harder problems"
    return (
        f"{100 * (wrong + right):.0f} % of the groups have equal rewards ({100 * wrong:.0f} % all wrong, "
        f"{100 * right:.0f} % all correct), which teach nothing: it needs {cure}"
    )


def _entropy(first: Sequence[Row], last: Sequence[Row]) -> str | None:
    began, now = _mean(first, "entropy"), _mean(last, "entropy")
    if began is None or now is None or now >= ENTROPY_FLOOR * began:
        return None
    return (
        f"entropy fell from {began:.3g} to {now:.3g} nats per token: the policy answers each problem in one way, "
        "and finds nothing new; a lower learning rate or a KL penalty slows this"
    )


def _validation(metrics: Sequence[Row], probes: Sequence[Row]) -> str | None:
    judged = [row for row in probes if row.get("pass_rate") is not None]
    if len(judged) < 3:
        return None
    best = max(judged[:-2], key=lambda row: row["pass_rate"])
    now = max(row["pass_rate"] for row in judged[-2:])
    before, after = (_mean(_until(metrics, row["step"]), "pass_rate") for row in (best, judged[-1]))
    if before is None or after is None or best["pass_rate"] - now < DIVERGED or after - before < DIVERGED / 2:
        return None
    return (
        f"training reward rose from {before:.2f} to {after:.2f} since step {best['step']}, and on held-out problems "
        f"the pass rate fell from {best['pass_rate']:.2f} to {now:.2f}: it learns the training problems by heart, or "
        "deceives the verifier"
    )


def _gap(last: Sequence[Row]) -> str | None:
    gap = _mean(last, "logprob_gap")
    if gap is None or gap < GAP:
        return None
    return (
        f"sampler and trainer differ by {gap:.2g} nats per token (rounding makes {GAP:g} at most): they do not have "
        "the same weights, temperature or tokens, so updates are not of the policy that sampled"
    )


def _until(metrics: Sequence[Row], step: int) -> Sequence[Row]:
    """The last WINDOW rows up to a step; of the base policy the first ones."""
    return [row for row in metrics if row["step"] <= step][-WINDOW:] or metrics[:WINDOW]


def _mean(rows: Sequence[Row], name: str) -> float | None:
    """The mean of a figure; None where a row lacks it."""
    values = [row.get(name) for row in rows]
    return None if not values or None in values else sum(map(float, values)) / len(values)  # type: ignore[arg-type]
