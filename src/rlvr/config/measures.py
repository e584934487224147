"""Measures over training steps, from probe.jsonl, metrics.jsonl and weights.jsonl, with axis labels.

A figure names a measure by its name (`entropy`: of the probes where they have it), or with its file: `probe.entropy`,
`metrics.entropy`. docs/training.md defines each.
"""

import math
from dataclasses import dataclass

from rlvr.words import nearest

Range = tuple[float, float]  # of the possible values of a measure
ANY: Range = (-math.inf, math.inf)
SHARE: Range = (0.0, 1.0)
POSITIVE: Range = (0.0, math.inf)
PERCENTAGE: Range = (0.0, 100.0)
CORRELATION: Range = (-1.0, 1.0)

PROBE, METRICS, WEIGHTS = "probe", "metrics", "weights"
BOTH = (PROBE, METRICS)
HARD = "hard_pass_rate"  # on the hard levels of the validation set


@dataclass(frozen=True)
class Measure:
    """An axis label, the rows that have the measure (the first is the default), and whether it is a share.

    A measure of the `state` is of a method that has one: a run of another lacks it.
    """

    label: str
    rows: tuple[str, ...]
    share: bool = False
    state: bool = False


MEASURES = {
    "pass_rate": Measure("pass rate", BOTH, share=True),
    HARD: Measure("pass rate, hard levels", (PROBE,), share=True),
    "greedy": Measure("pass rate, greedy", (PROBE,), share=True),
    "all_wrong": Measure("share of prompts without a correct response", BOTH, share=True),
    "all_right": Measure("share of prompts without a wrong response", BOTH, share=True),
    "entropy": Measure("entropy, all tokens (nats)", BOTH),
    "entropy_decision": Measure("entropy, decision tokens (nats)", BOTH),  # of a generated task's vocabulary
    "entropy_forking": Measure("entropy, forking tokens (nats)", BOTH),  # of every other vocabulary
    "oef": Measure("overconfident share of errors (OEF)", BOTH, share=True),
    "false_working": Measure("correct responses with a false step", BOTH, share=True),
    "overconfidence_mean": Measure("mean c / T where c > 0 (nats)", BOTH),
    "overconfidence_sum": Measure("mean c where c > 0 (nats)", BOTH),
    "correct": Measure("correct responses in the batch", (METRICS,)),
    "unsolved": Measure("prompts without a correct response", (METRICS,)),
    "prompts_drawn": Measure("prompts drawn", (METRICS,)),
    "reward": Measure("mean reward", (METRICS,)),
    "positive_mass": Measure("positive mass", (METRICS,)),
    "negative_mass": Measure("negative mass", (METRICS,)),
    "response_tokens": Measure("response length (tokens)", (METRICS,)),
    "alpha": Measure("α of the controller", (METRICS,), state=True),
    "delta": Measure("δ of the controller", (METRICS,), state=True),
    "loss": Measure("loss", (METRICS,)),
    "grad_norm": Measure("gradient norm", (METRICS,)),
    "clip_fraction": Measure("share of tokens clipped", (METRICS,), share=True),
    "kl": Measure("KL to the reference (nats a token)", (METRICS,)),
    "weights_l2": Measure("‖ΔW‖", (WEIGHTS,)),
    "weights_l2_relative": Measure("‖ΔW‖ / ‖W‖", (WEIGHTS,)),
    "head_share": Measure("share of ‖ΔW‖² in the output head", (WEIGHTS,), share=True),
    "layer_share": Measure("share of ‖ΔW‖² in a layer, mean", (WEIGHTS,), share=True),
    "s1_over_s2": Measure("s₁ / s₂ of the head's ΔW", (WEIGHTS,)),
    "rank_1_share": Measure("rank-1 share of the head's ΔW", (WEIGHTS,), share=True),
    "srank": Measure("srank of the head's ΔW", (WEIGHTS,)),
    "rank_1_share_inner": Measure("rank-1 share, mean of the layers' matrices", (WEIGHTS,), share=True),
    "s1_over_s2_inner": Measure("s₁ / s₂, mean of the layers' matrices", (WEIGHTS,)),
    "align_head": Measure("|cos| of the head's u₁ with the last step's", (WEIGHTS,), share=True),
    "align_early": Measure("|cos| of u₁, early layers", (WEIGHTS,), share=True),
    "align_middle": Measure("|cos| of u₁, middle layers", (WEIGHTS,), share=True),
    "align_late": Measure("|cos| of u₁, late layers", (WEIGHTS,), share=True),
}


SHARES = ("negative_share", "half_energy_share")  # of tables alone


def possible(name: str) -> Range:
    """The possible values of a measure."""
    return SHARE if name in SHARES or (name in MEASURES and MEASURES[name].share) else ANY


def of_difference(of: Range) -> Range:
    """The possible values of the difference of two values of a range."""
    return (of[0] - of[1], of[1] - of[0])


class UnknownMeasure(ValueError):
    """An unknown measure; the message suggests the nearest."""


@dataclass(frozen=True)
class Curve:
    """A measure in a figure: its text in the configuration, its name, its rows, its label."""

    written: str
    name: str
    rows: str
    label: str
    share: bool


def curve(written: str, smooth: int | None = None) -> Curve:
    """The curve that a figure shows; measures of training batches may be running means. Raises UnknownMeasure."""
    place, dot, name = written.rpartition(".")
    measure = MEASURES.get(name)
    if measure is None or (dot and place not in measure.rows):
        every = [*MEASURES, *(f"{rows}.{key}" for key, other in MEASURES.items() for rows in other.rows)]
        raise UnknownMeasure(f"unknown measure {written!r}{nearest(written, every)}")
    rows = place or measure.rows[0]
    of_batches = ["training batches"] if rows == METRICS and measure.rows == BOTH else []
    smoothed = [f"mean of last {smooth} steps"] if rows == METRICS and smooth else []
    label = "\n".join(filter(None, [measure.label, ", ".join(of_batches + smoothed)]))
    return Curve(written, name, rows, label, measure.share)
