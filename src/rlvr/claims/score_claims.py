"""Contrasts of pass@k on benchmarks, in percent points, paired by training seed and problem.

Dimensions: S training seeds, C units of sampling (problems, or their clusters).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from rlvr.claims.estimates import Found, estimated, identical, models, sums
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Statistics
from rlvr.files import RecordError
from rlvr.items.contrast import (
    ClaimKind,
    ClaimSpec,
    Contrast,
    ContrastSpec,
    Estimate,
    Evidence,
    NotComparable,
    Term,
    TermSpec,
)
from rlvr.statistics.aggregate import RunsAndProblemsByBenchmark, mean
from rlvr.statistics.frontier import OnCurve, OutOfReach, on_curve
from rlvr.statistics.intervals import linearised
from rlvr.statistics.joint import ScoreCell
from rlvr.statistics.scores import Matrix, Measure, Scores, blind, matrix, pass_at, problems_of, units_of

UNIT = "training seeds × problems"
PERCENT = 100.0
ROUNDED = 1e-9  # of a score in percent


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim names something that the table in the paper's file lacks."""
    if claim.measure is not None:
        raise ConfigError(f"{place}.measure: remove this key: {claim.over} is a table of pass@k")
    if claim.predicate == "sooner":
        raise ConfigError(f"{place}.predicate: 'sooner' is of curves; name a figure of the kind over_steps")
    benchmarks = list(item.benchmarks)
    for benchmark in claim.benchmarks:
        look_up(benchmarks, benchmark, "benchmark", f"{place}.benchmarks")
    if claim.average and len(claim.benchmarks or benchmarks) < 2:
        raise ConfigError(f"{place}.average: remove this key: one benchmark has no mean over benchmarks")
    if not set(claim.k) <= set(config.k):
        beyond = ", ".join(str(k) for k in claim.k if k not in config.k)
        raise ConfigError(f"{place}.k: {claim.over} has no k = {beyond}")
    indices = [benchmarks.index(benchmark) for benchmark in claim.benchmarks or benchmarks]
    sets = [plan.evaluations[ids[i]].data for ids in item.evaluations.values() for i in indices]
    without = sorted({data.name for data in sets if not data.about.hard_levels})
    if claim.predicate == "harder" and (without or getattr(config, "hard_levels", False)):
        of_sets = f"about.hard_levels of {', '.join(without)} (config/datasets.yaml)"
        raise ConfigError(f"{place}.predicate: 'harder' needs {of_sets if without else 'a table of all levels'}")


def contrasts(claim: Claim, item: Item, ks: list[int]) -> list[Contrast]:
    """All contrasts of a claim, over models, benchmarks (or their mean) and k of its table."""
    benchmarks = [name for name in item.benchmarks if not claim.benchmarks or name in claim.benchmarks]
    if claim.average:
        return [
            _mean(text, terms, model, benchmarks)
            for model in models(claim, item)
            for text, terms in _of_scores(claim, item, ks)
        ]
    return [
        Contrast(text, model, benchmark, terms)
        for model, benchmark in product(models(claim, item), benchmarks)
        for text, terms in _of_scores(claim, item, ks)
    ]


def _mean(text: str, terms: tuple[Term, ...], model: str, benchmarks: list[str]) -> Contrast:
    """The mean of a contrast over benchmarks, each with the same weight."""
    count = len(benchmarks)
    shares = tuple(replace(term, weight=term.weight / count, benchmark=name) for name in benchmarks for term in terms)
    return Contrast(f"mean over {count} benchmarks of {text}", model, ", ".join(benchmarks), shares)


def _of_scores(claim: Claim, item: Item, ks: list[int]) -> Iterator[tuple[str, tuple[Term, ...]]]:
    chosen_k = [k for k in claim.k if k in ks] or ([] if claim.k else ks)
    largest = claim.k and max(claim.k) > max(ks)
    if claim.predicate in ("crossing", "slope"):
        first, last = claim.k[0], max(ks) if largest else claim.k[-1]
        for text, weights in sums(claim, item):
            low, high = (tuple(Term(w, arm, k) for arm, w in weights.items()) for k in (first, last))
            back = tuple(Term(-term.weight, term.arm, term.k) for term in low)
            if claim.predicate == "slope":
                yield f"{text}, @{last} against @{first}", high + back
            else:
                yield f"reversed: {text} @{first}", back
                yield f"{text} @{last}", high
        return
    if largest and max(ks) not in chosen_k:
        chosen_k.append(max(ks))  # the largest k of this scale replaces larger ones
    for k, (text, weights) in product(chosen_k, sums(claim, item)):
        terms = tuple(Term(w, arm, k) for arm, w in weights.items())
        if claim.predicate == "harder":
            hard = tuple(Term(term.weight, term.arm, k, True) for term in terms)
            yield f"{text} @{k}, hard levels against all", hard + tuple(Term(-t.weight, t.arm, k) for t in terms)
        else:
            yield f"{text} @{k}", terms


@dataclass(frozen=True)
class Part:
    """A summand with its scores (S, C)."""

    weight: float
    scores_SC: Matrix

    @property
    def mean(self) -> float:
        return PERCENT * float(self.scores_SC.mean())


def estimates(contrasts: list[ContrastSpec], claim: ClaimSpec, inputs: Evidence) -> list[Estimate | NotComparable]:
    """Weighted sums of pass@k with the intervals of tables, where a blind guesser scores little at every k.

    A contrast with a curve is at equal pass@1: each term counts against the baseline's curve at its own pass@1, and
    the baseline's own term is zero.
    """
    return estimated([_found(contrast, claim, inputs) for contrast in contrasts], claim)


def _found(contrast: ContrastSpec, claim: ClaimSpec, inputs: Evidence) -> Found | NotComparable:
    terms = contrast.terms
    evaluations = list(dict.fromkeys(term.on for term in terms))
    sums, parts, by_arm, problems = [], [], {}, 0
    for evaluation in evaluations:
        on_it = [term for term in terms if term.evaluation == evaluation]
        found = _parts(on_it, evaluation, contrast, claim, inputs)
        if isinstance(found, NotComparable):
            return found
        of_it, asked = found
        sums.append(np.sum([part.weight * part.scores_SC for part in of_it], axis=0))
        parts += of_it
        for term in on_it:
            by_arm.setdefault(term.arm, []).extend(_counts(term, evaluation, contrast.seeds, inputs.scores))
        problems += asked
    sum_SC = over_benchmarks(sums, claim.statistics.confidence)
    cell = ScoreCell(PERCENT * sum_SC, contrast.model, " ".join(evaluations))
    lowest, highest = (sum(end(PERCENT * part.weight, 0.0) for part in parts) for end in (min, max))
    room = sum(part.weight * (PERCENT if part.weight > 0 else part.mean) for part in parts)
    at_bound = _at_bound([part.mean for part in parts], max(claim.margin, ROUNDED))
    alike = len({len(of_arm) for of_arm in by_arm.values()}) == 1 and identical(by_arm)
    return Found(cell, contrast.seeds, problems, UNIT, (lowest, highest), room, at_bound, alike)


def _counts(term: TermSpec, evaluation: str, seeds: int, scores: Scores) -> list[Matrix]:
    """The correct samples of each problem, by seed: pass@k may be equal where they are not."""
    counts = [scores[policy, evaluation]["correct"].to_numpy() for policy in term.policies]
    return counts if len(counts) > 1 else counts * seeds  # a base policy is compared with each seed


def _at_bound(scores: list[float], margin: float) -> str:
    """Why several scores have no room to differ; empty where they have."""
    low, high = min(scores), max(scores)
    if len(scores) > 1 and (high <= margin or low >= PERCENT - margin):
        return f"all scores are between {low:.1f} and {high:.1f} %"
    return ""


def _parts(
    terms: Sequence[TermSpec], evaluation: str, contrast: ContrastSpec, claim: ClaimSpec, inputs: Evidence
) -> tuple[list[Part], int] | NotComparable:
    """The summands on one benchmark, and the number of problems."""
    policies = list(dict.fromkeys(policy for each in (*terms, *contrast.curve) for policy in each.policies))
    frames = [inputs.scores[policy, evaluation] for policy in policies]
    inputs.once(("problems", evaluation, *policies), lambda: problems_of(frames, policies))
    first = frames[0]
    levels = [term.levels for term in terms if term.levels is not None]
    asked = first[first["level"].isin(levels[0])] if len(levels) == len(terms) else first
    refused = _guessed(asked, max(term.at_k for term in terms), claim.statistics)
    if refused:
        return refused
    shape, parts = (contrast.seeds, int(units_of(first).max()) + 1), []
    for term in terms:
        if contrast.curve and term.arm == contrast.baseline:
            continue
        parts.append(Part(term.weight, np.broadcast_to(_scores_of(term, term.policies, term.at_k, inputs), shape)))
        if contrast.curve:
            against = _on_curve(term, contrast, inputs)
            if isinstance(against, OutOfReach):
                return NotComparable(f"{term.label}: {against.reason}")
            parts.append(Part(-term.weight, against.score_SN))
    return parts, len(first)


def over_benchmarks(parts: list[Matrix], confidence: float) -> Matrix:
    """A matrix (S, all C) whose mean is the sum of the parts' (S, C), with the interval of a table over benchmarks."""
    if len(parts) == 1:
        return parts[0]
    by_benchmark = RunsAndProblemsByBenchmark(len(parts[0]), confidence)
    return by_benchmark.linearised(mean, [len(parts) * part for part in parts])


def _scores_of(term: TermSpec, policies: Sequence[str], k: int, inputs: Evidence) -> Matrix:
    """pass@k (S, C) of policies on the benchmark and the levels of a term."""

    def made() -> Matrix:
        frames = [inputs.scores[policy, term.on] for policy in policies]
        return linearised(matrix(frames, _pass_at(k, term.levels)))

    return inputs.once(("pass@k", tuple(policies), term.on, k, term.levels), made)


def _on_curve(term: TermSpec, contrast: ContrastSpec, inputs: Evidence) -> OnCurve | OutOfReach:
    """The baseline's pass@k at the pass@1 of a term."""

    def of(k: int) -> Callable[[Sequence[str]], Matrix]:
        return lambda policies: _scores_of(term, policies, k, inputs)

    return on_curve(contrast.curve, term.policies, of(1), of(term.at_k))


def _guessed(frame: pd.DataFrame, k: int, settings: Statistics) -> NotComparable | None:
    """The refusal of a k at which blind guesses score too much."""
    chance = blind(frame, k)
    if chance is None or chance <= settings.largest_chance:
        return None
    return NotComparable(
        f"blind guesses score {PERCENT * chance:.0f} % at k = {k}, more than {PERCENT * settings.largest_chance:g} %"
    )


def _pass_at(k: int, levels: Sequence[str] | None) -> Measure:
    """pass@k of each problem, NaN at other levels: this keeps the units of the whole set."""

    def measure(frame: pd.DataFrame) -> Matrix:
        values_N = pass_at(k)(frame)
        if levels is None:
            return values_N
        inside_N = frame["level"].isin(levels).to_numpy()
        if not inside_N.any():
            raise RecordError(f"no problems of the levels {', '.join(levels)}")
        return np.where(inside_N, values_N, np.nan)

    return measure


CLAIMS = ClaimKind(
    what="a table of scores",
    reads=("benchmarks", "average", "k"),
    check=check,
    contrasts=contrasts,
    estimates=estimates,
    point=lambda claim: 1.0,
)
