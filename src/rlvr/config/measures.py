"""What figures show over training steps: measures of probe.jsonl and metrics.jsonl by their names, with axis labels.

A figure names a measure plainly (`entropy`), which is that of the probes where they have it, or with the rows that it
is taken from: `probe.entropy`, `metrics.entropy`. What each is stands in docs/training.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from rlvr.words import nearest

PROBE, METRICS = "probe", "metrics"
BOTH = (PROBE, METRICS)
HARD = "hard_pass_rate"  # of the levels that the validation set's entry says are its hard ones


@dataclass(frozen=True)
class Measure:
    """An axis label, the rows that have it (the first is meant by the plain name), and whether it is a share."""

    label: str
    rows: tuple[str, ...]
    share: bool = False


MEASURES = {
    "pass_rate": Measure("pass rate", BOTH, share=True),
    HARD: Measure("pass rate, hard levels", (PROBE,), share=True),
    "greedy": Measure("pass rate, greedy", (PROBE,), share=True),
    "all_wrong": Measure("share of prompts without a correct response", BOTH, share=True),
    "all_right": Measure("share of prompts without a wrong response", BOTH, share=True),
    "entropy": Measure("entropy, all tokens (nats)", BOTH),
    "entropy_decision": Measure("entropy, decision tokens (nats)", BOTH),
    "oef": Measure("overconfident share of errors (OEF)", BOTH, share=True),
    "overconfidence_mean": Measure("mean c / T where c > 0 (nats)", BOTH),
    "overconfidence_sum": Measure("mean c where c > 0 (nats)", BOTH),
    "correct": Measure("correct responses in the batch", (METRICS,)),
    "unsolved": Measure("prompts without a correct response", (METRICS,)),
    "prompts_drawn": Measure("prompts drawn", (METRICS,)),
    "reward": Measure("mean reward", (METRICS,)),
    "positive_mass": Measure("positive mass", (METRICS,)),
    "negative_mass": Measure("negative mass", (METRICS,)),
    "response_tokens": Measure("response length (tokens)", (METRICS,)),
    "loss": Measure("loss", (METRICS,)),
    "grad_norm": Measure("gradient norm", (METRICS,)),
    "clip_fraction": Measure("share of tokens clipped", (METRICS,), share=True),
    "kl": Measure("KL to the reference (nats a token)", (METRICS,)),
}


class UnknownMeasure(ValueError):
    """A measure that no row has; the message names the nearest."""


@dataclass(frozen=True)
class Shown:
    """A measure as a figure shows it: as it is written there, its name, the rows it is from, its label."""

    written: str
    name: str
    rows: str
    label: str
    share: bool


def shown(written: str, smooth: int | None = None) -> Shown:
    """The measure that a figure means; measures of training batches may be running means. Raises UnknownMeasure."""
    place, dot, name = written.rpartition(".")
    measure = MEASURES.get(name)
    if measure is None or (dot and place not in measure.rows):
        every = [*MEASURES, *(f"{rows}.{key}" for key, known in MEASURES.items() for rows in known.rows)]
        raise UnknownMeasure(f"unknown measure {written!r}{nearest(written, every)}")
    rows = place or measure.rows[0]
    of_batches = ["training batches"] if rows == METRICS and measure.rows == BOTH else []
    smoothed = [f"mean of last {smooth} steps"] if rows == METRICS and smooth else []
    label = "\n".join(filter(None, [measure.label, ", ".join(of_batches + smoothed)]))
    return Shown(written, name, rows, label, measure.share)
