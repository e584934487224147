"""Measures over training steps, from probe.jsonl, metrics.jsonl and measures of runs, with axis labels.

A figure names a measure by its name (`entropy`: of the probes where they have it), or with its file: `probe.entropy`,
`metrics.entropy`. docs/training.md defines each.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from rlvr.registry import Registry
from rlvr.suggest import nearest

Range = tuple[float, float]  # of the possible values of a measure
ANY: Range = (-math.inf, math.inf)
SHARE: Range = (0.0, 1.0)
POSITIVE: Range = (0.0, math.inf)
PERCENTAGE: Range = (0.0, 100.0)
CORRELATION: Range = (-1.0, 1.0)

PROBE, METRICS = "probe", "metrics"
BOTH = (PROBE, METRICS)
HARD = "hard_pass_rate"  # on the hard levels of the validation set


@dataclass(frozen=True)
class Measure:
    """An axis label, the rows that have the measure (the first is the default), and whether it is a share.

    A measure of the `state` is of a method that has one: a run of another lacks it.
    """

    label: str
    rows: tuple[str, ...] = ()
    share: bool = False
    state: bool = False


MEASURES = {
    "pass_rate": Measure("pass rate", BOTH, share=True),
    HARD: Measure("pass rate, hard levels", (PROBE,), share=True),
    "greedy": Measure("pass rate, greedy", (PROBE,), share=True),
    "all_wrong": Measure("share of prompts without a correct response", BOTH, share=True),
    "all_right": Measure("share of prompts without a wrong response", BOTH, share=True),
    "entropy": Measure("entropy, all tokens (nats)", BOTH),
    "entropy_decision": Measure("entropy, decision tokens (nats)", BOTH),  # of a generated task's problems
    "entropy_forking": Measure("entropy, forking tokens (nats)", BOTH),  # of all other problems
    "oef": Measure("overconfident share of errors (OEF)", BOTH, share=True),
    "false_working": Measure("correct responses with a false step", BOTH, share=True),
    "overconfidence_mean": Measure("mean c / T where c > 0 (nats)", BOTH),
    "overconfidence_sum": Measure("mean c where c > 0 (nats)", BOTH),
    "shift_mean_q50": Measure("c / T of errors, median (nats)", BOTH),
    "shift_mean_q90": Measure("c / T of errors, 90 % quantile (nats)", BOTH),
    "shift_mean_q99": Measure("c / T of errors, 99 % quantile (nats)", BOTH),
    "shift_sum_q50": Measure("c of errors, median (nats)", BOTH),
    "shift_sum_q90": Measure("c of errors, 90 % quantile (nats)", BOTH),
    "shift_sum_q99": Measure("c of errors, 99 % quantile (nats)", BOTH),
    "correct": Measure("correct responses in the batch", (METRICS,)),
    "unsolved": Measure("prompts without a correct response", (METRICS,)),
    "prompts_drawn": Measure("prompts drawn", (METRICS,)),
    "reward": Measure("mean reward", (METRICS,)),
    "positive_mass": Measure("positive mass", (METRICS,)),
    "negative_mass": Measure("negative mass", (METRICS,)),
    "response_tokens": Measure("response length (tokens)", (METRICS,)),
    "mass_all_wrong": Measure("share of |A| in groups without a correct response", (METRICS,), share=True),
    "mass_mixed": Measure("share of |A| in mixed groups", (METRICS,), share=True),
    "mass_all_right": Measure("share of |A| in groups without a wrong response", (METRICS,), share=True),
    "factor_q50": Measure("1 + α f(c) of errors, median", (METRICS,), state=True),
    "factor_q90": Measure("1 + α f(c) of errors, 90 % quantile", (METRICS,), state=True),
    "factor_spread": Measure("1 + α f(c) of errors, std over mean", (METRICS,), state=True),
    "psi_q50": Measure("|ψ| at the last minibatch, median", (METRICS,), state=True),
    "psi_q90": Measure("|ψ| at the last minibatch, 90 % quantile", (METRICS,), state=True),
    "omega": Measure("ω of the controller", (METRICS,), state=True),
    "h_hat": Measure("entropy of the controller (nats)", (METRICS,), state=True),
    "target": Measure("target entropy of the controller (nats)", (METRICS,), state=True),
    "alpha": Measure("α of the controller", (METRICS,), state=True),
    "delta": Measure("δ of the controller", (METRICS,), state=True),
    "loss": Measure("loss", (METRICS,)),
    "grad_norm": Measure("gradient norm", (METRICS,)),
    "clip_fraction": Measure("share of tokens clipped", (METRICS,), share=True),
    "clip_fraction_low": Measure("share of tokens clipped, negative weights", (METRICS,), share=True),
    "clip_fraction_high": Measure("share of tokens clipped, positive weights", (METRICS,), share=True),
    "kl": Measure("KL to the reference (nats a token)", (METRICS,)),
}


@dataclass(frozen=True, kw_only=True)
class RunMeasure:
    """What a stage of its own computes from the policies of a trained run.

    A module in a folder `measures` of a paper's package defines it as `MEASURE`; the file name is the measure's name.

    compute  (base, run, problems): its rows, one per step, and a summary, from the manifests of the base policy and of
             the run, and the problems that the run trained on
    columns  the columns of its rows that figures can show over steps
    gpu      whether the stage needs the run's device; else one CPU
    modules  what it imports, for the check before the first job
    """

    compute: Callable[[Path, Path, Path], tuple[list[dict[str, Any]], dict[str, Any]]]
    columns: Mapping[str, Measure] = field(default_factory=dict)
    gpu: bool = False
    modules: tuple[str, ...] = ("torch", "transformers")


RUN_MEASURES = Registry[RunMeasure]("measures", "MEASURE")


@cache
def every() -> dict[str, Measure]:
    """All measures: those of probes and batches, then the columns of measures of runs."""
    return MEASURES | {
        name: replace(column, rows=(rows,))
        for rows, measure in RUN_MEASURES.all()
        for name, column in measure.columns.items()
    }


@cache
def possible(name: str) -> Range:
    """The possible values of a measure."""
    measure = MEASURES.get(name) or every().get(name)
    return SHARE if measure is not None and measure.share else ANY


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
    measure = MEASURES.get(name) or every().get(name)
    if measure is None or (dot and place not in measure.rows):
        names = [*every(), *(f"{rows}.{key}" for key, other in every().items() for rows in other.rows)]
        raise UnknownMeasure(f"unknown measure {written!r}{nearest(written, names)}")
    rows = place or measure.rows[0]
    of_batches = ["training batches"] if rows == METRICS and measure.rows == BOTH else []
    smoothed = [f"mean of last {smooth} steps"] if rows == METRICS and smooth else []
    label = "\n".join(filter(None, [measure.label, ", ".join(of_batches + smoothed)]))
    return Curve(written, name, rows, label, measure.share)
