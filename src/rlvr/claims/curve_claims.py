"""Contrasts of measures of training: means over a part of the steps, or all checkpoints, in the measure's unit.

Suffixes: S training seeds, C checkpoints (one where a claim is about a mean).
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rlvr.claims.estimates import SEEDS, Found, identical, of_runs, with_joint_bounds
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.measures import HARD, METRICS, PROBE, Curve, curve
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.fields import Two
from rlvr.config.schema.items import Claim
from rlvr.files import RecordError
from rlvr.items.contrast import (
    RUNS,
    ClaimKind,
    ClaimSpec,
    Contrast,
    ContrastSpec,
    Estimate,
    Evidence,
    NotComparable,
    Rows,
    Spec,
    TermSpec,
)
from rlvr.statistics.joint import ScoreCell
from rlvr.statistics.run_rows import in_range, value_at
from rlvr.statistics.scores import Matrix

ENDS = ("value", "low", "high", "low_of_all", "high_of_all")  # of an estimate
WHOLE: Two = (0.0, 1.0)  # training
FACTORS = (0.5, 1.5)  # of the length of a part of training
PASS_RATES = ("pass_rate", HARD, "greedy")
NOWHERE = "these runs have no value of the measure in the claimed part of training"


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim names something that the figure lacks."""
    if claim.measure is None:
        raise ConfigError(f"{place}.measure: curves need one of {', '.join(config.measures)}")
    look_up(config.measures, claim.measure, "measure", f"{place}.measure")
    if claim.predicate not in ("greater", "not_below", "within", "ordering", "sooner"):
        raise ConfigError(f"{place}.predicate: {claim.predicate!r} needs k or hard levels, which curves lack")
    if claim.predicate == "sooner" and curve(claim.measure).rows != PROBE:
        raise ConfigError(f"{place}.measure: 'sooner' needs a measure of probes, not {claim.measure!r}")
    if not claim.each_checkpoint:
        return
    if claim.relative:
        raise ConfigError(f"{place}.relative: is of a mean; remove each_checkpoint")
    where = f"{place}.each_checkpoint"
    if claim.predicate == "within":
        raise ConfigError(f"{where}: use the predicate greater or ordering; 'within' is of a mean")
    if curve(claim.measure).rows != PROBE:
        raise ConfigError(f"{where}: {claim.measure!r} is of training batches; name a measure of probes")
    every = _every(item, plan)
    if len(every) > 1:
        raise ConfigError(f"{where}: probe.every differs between the arms of {claim.over}: {every}")
    if config.up_to_step is not None and config.up_to_step < every[0]:
        raise ConfigError(f"{where}: {claim.over} ends at step {config.up_to_step}, before the first of probe.every")


def _every(item: Item, plan: Plan) -> list[int]:
    return sorted({plan.runs[run].probe.every for cell in item.cells for run, _ in cell.policies})


class Options(Spec):
    """Which rows a claim reads, and the hard levels of its runs' problems."""

    during: Two
    since: Two | None
    relative: bool
    up_to_step: int | None
    every: int | None  # checkpoints at multiples of it, each by itself; None: their mean
    hard_levels: tuple[str, ...]


def options(claim: Claim, item: Item, plan: Plan, paper: str) -> Options:
    sets = [plan.runs[run].validation for cell in item.cells for run, _ in cell.policies] if _is_hard(claim) else []
    return Options(
        during=claim.during,
        since=claim.since,
        relative=claim.relative,
        up_to_step=item.content.up_to_step,  # type: ignore[attr-defined]
        every=_every(item, plan)[0] if claim.each_checkpoint else None,
        hard_levels=tuple(dict.fromkeys(level for data in sets for level in data.about.hard_levels)),
    )


def rows_of(claim: Claim) -> str:
    """The measure of runs that has the claim's rows, or probes and metrics."""
    rows = curve(str(claim.measure)).rows
    return RUNS if rows in (PROBE, METRICS) else rows


def _is_hard(claim: Claim) -> bool:
    return curve(str(claim.measure)).name == HARD


def contrasts(claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
    """One contrast per model and sum of arms: "GRPO, fall of entropy", or "A − B, change of entropy"."""
    if claim.predicate == "sooner":
        return of_runs(f"{{}}, how much sooner at the latter's last {claim.measure} (share of training)", claim, item)
    changes: dict[tuple[float, ...], str] = {(1.0,): "rise of ", (-1.0,): "fall of "} if claim.since else {}
    change = changes.get(tuple(claim.weights.values()), "change of " if claim.since else "")
    change = "share left of " if claim.relative else change
    checkpoints = ", lowest of all checkpoints" if claim.each_checkpoint else ""
    found = of_runs(f"{{}}, {change}{curve(str(claim.measure)).name}{checkpoints}", claim, item)
    return [replace(one, says=one.says.removeprefix("− ")) for one in found] if change == "fall of " else found


def estimates(contrasts: list[ContrastSpec], claim: ClaimSpec, inputs: Evidence) -> list[Estimate | NotComparable]:
    """Sums of means over a part of training, or their smallest values over checkpoints, with t over paired seeds.

    With `sooner`, differences of the shares of training at which both arms reach the right one's last value.

    Of several checkpoints, each end is the smallest of their ends: the lower end is above a threshold where that of
    every checkpoint is. The wider interval is of all checkpoints together.
    """
    measure, part = curve(str(claim.measure)), Options.model_validate(claim.options)
    rows = {PROBE: inputs.probes, METRICS: inputs.metrics, **inputs.measured}[measure.rows]
    of_terms = _sooner if claim.predicate == "sooner" else _values
    values = [of_terms(contrast, part, measure, rows) for contrast in contrasts]

    def series(term: TermSpec) -> Matrix:
        found = [_over_training(rows[run], part, measure, run) for run in term.policies]
        return np.array([value for of_run in found for _, value in of_run])

    alike = [identical({term.arm: series(term) for term in contrast.terms}) for contrast in contrasts]
    found = [
        Found(ScoreCell(values_SC[:, [i]], contrast.model, None), len(values_SC), None, SEEDS, identical=same)
        for contrast, values_SC, same in zip(contrasts, values, alike, strict=True)
        for i in range(values_SC.shape[1])
        if _known(values_SC)
    ]
    bounds = iter(with_joint_bounds(found, claim))
    return [
        _smallest([next(bounds) for _ in values_SC[0]], len(values_SC)) if _known(values_SC) else NotComparable(NOWHERE)
        for values_SC in values
    ]


def _known(values_SC: Matrix) -> bool:
    """Whether each run has a value in the claim's parts of training."""
    return values_SC.shape[1] > 0 and not np.isnan(values_SC).any()


def _smallest(checkpoints: list[Estimate], seeds: int) -> Estimate:
    """One estimate of those at some checkpoints."""
    smallest = [min(vars(one)[name] for one in checkpoints) for name in ENDS]
    p, p_of_all = max(one.p for one in checkpoints), min(one.p_of_all for one in checkpoints)
    p_equal, same = min(one.p_equal for one in checkpoints), checkpoints[0].identical
    chances = {"p": p, "p_of_all": p_of_all, "p_equal": p_equal}
    return Estimate(*smallest, seeds=seeds, problems=None, unit=SEEDS, **chances, identical=same)


def _values(contrast: ContrastSpec, part: Options, measure: Curve, rows: Rows) -> Matrix:
    """The sum of terms by seed and checkpoint, without checkpoints at which a run has no value.

    Raises RecordError where runs have different checkpoints.
    """
    weights = [(term.weight, run, i) for term in contrast.terms for i, run in enumerate(term.policies)]
    by_run = {run: _of_run(rows[run], part, measure, run) for _, run, _ in weights}
    checkpoints = {run: list(values) for run, values in by_run.items()}
    first = next(iter(checkpoints.values()))
    for run, steps in checkpoints.items():
        if steps != first:
            raise RecordError(f"{run}: checkpoints at steps {steps}, those of the runs beside it at {first}")
    values_SC = np.zeros((contrast.seeds, len(first)))
    for weight, run, seed in weights:
        values_SC[seed] += weight * np.array(list(by_run[run].values()))
    return values_SC if part.every is None else values_SC[:, ~np.isnan(values_SC).any(axis=0)]


def _of_run(rows: list[dict[str, Any]], part: Options, measure: Curve, run: str) -> dict[int, float]:
    """The measure of a run at each checkpoint of the claim's part of training, or its mean there (at key 0)."""
    steps = set(in_range([row["step"] for row in rows if row["step"]], part.up_to_step))
    last, levels = max(steps), list(part.hard_levels)
    series = {row["step"]: value_at(row, measure.name, levels, run) for row in rows if row["step"] in steps}

    def within(ends: Two) -> dict[int, float]:
        return {step: value for step, value in series.items() if ends[0] <= step / last <= ends[1]}

    early, late = _mean(within(part.since)) if part.since else 0.0, within(part.during)
    if part.every is None:
        return {0: _mean(late) / (early or math.nan) if part.relative else _mean(late) - early}
    return {step: value - early for step, value in late.items() if step % part.every == 0}


def _sooner(contrast: ContrastSpec, part: Options, measure: Curve, rows: Rows) -> Matrix:
    """How much earlier the left arm reaches the right one's last value than the right one, by seed (S, 1).

    An arm that never reaches it has the time 1, the end of training. So two arms of one law differ by 0 in the mean.
    """
    left, right = (term.policies for term in sorted(contrast.terms, key=lambda term: -term.weight))
    series = {run: _over_training(rows[run], part, measure, run) for run in [*left, *right]}
    if not all(series.values()):
        return np.empty((len(left), 0))  # a run has no value
    last = {run: series[run][-1][1] for run in right}
    pairs = zip(left, right, strict=True)
    return np.array([[_reaches(series[b], last[b]) - _reaches(series[a], last[b])] for a, b in pairs])


def _over_training(rows: list[dict[str, Any]], part: Options, measure: Curve, run: str) -> list[tuple[float, float]]:
    """(share of training, value) of a run from the base policy on, where it has a value."""
    steps = in_range([row["step"] for row in rows], part.up_to_step)
    found = [(row["step"] / max(steps), value_at(row, measure.name, list(part.hard_levels), run)) for row in rows]
    return [(share, value) for share, value in found if share <= 1 and not math.isnan(value)]


def _reaches(series: list[tuple[float, float]], level: float) -> float:
    """The share of training at which a curve, linear between its points, first reaches a level; 1 if it never does."""
    before, low = series[0]
    for share, value in series:
        if value >= level:
            return share if share == before else before + (share - before) * (level - low) / (value - low)
        before, low = share, value
    return 1.0


def _mean(series: dict[int, float]) -> float:
    """The mean of the values that are known; NaN where none is."""
    known = [value for value in series.values() if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def point(claim: Claim) -> float | None:
    """A percent point where the measure is a pass rate."""
    return 0.01 if curve(str(claim.measure)).name in PASS_RATES else None


def variants(claim: ClaimSpec) -> list[ClaimSpec]:
    """The claim over parts of training that are half as long, and one and a half times, where it is over parts."""
    part = Options.model_validate(claim.options)
    if claim.predicate == "sooner" or part.every is not None or (part.during == WHOLE and part.since is None):
        return []
    made = []
    for factor in FACTORS:
        during, since = _scaled(part.during, factor), part.since and _scaled(part.since, factor)
        if since is None or since[1] <= during[0]:
            options = {**claim.options, "during": during, "since": since}
            made.append(claim.model_copy(update={"options": options}))
    return made


def _scaled(part: Two, factor: float) -> Two:
    """A part of training that is longer by a factor: it keeps an end of training that it has, else its middle."""
    (start, end), length = part, factor * (part[1] - part[0])
    if part == WHOLE:
        return part
    if end == 1.0:
        return max(0.0, 1.0 - length), 1.0
    if start == 0.0:
        return 0.0, min(1.0, length)
    middle = (start + end) / 2
    return max(0.0, middle - length / 2), min(1.0, middle + length / 2)


CLAIMS = ClaimKind(
    what="a figure of curves",
    reads=("during", "since", "relative", "each_checkpoint"),
    check=check,
    contrasts=contrasts,
    estimates=estimates,
    options=options,
    rows=rows_of,
    point=point,
    variants=variants,
)
