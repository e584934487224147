"""Contrasts of pass@k on benchmarks, in percent points, paired by training seed and problem.

Dimensions: S training seeds, C units of sampling (problems, or their clusters).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from rlvr.statistics.frontier import on_curve
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


def estimates(contrasts: list[ContrastSpec], claim: ClaimSpec, inputs: Evidence) -> list[Estimate | NotComparable]:
    """Weighted sums of pass@k with the intervals of tables, where a blind guesser scores little at every k.

    A contrast with a baseline (`at`) is at equal pass@1: each term stands where its curve has the baseline's pass@1.
    """
    return estimated([_found(contrast, claim, inputs) for contrast in contrasts], claim)


def _found(contrast: ContrastSpec, claim: ClaimSpec, inputs: Evidence) -> Found | NotComparable:
    terms = contrast.terms
    evaluations = list(dict.fromkeys(term.on for term in terms))
    parts, means, by_arm, problems = [], [], {}, 0
    for evaluation in evaluations:
        on_it = [term for term in terms if term.evaluation == evaluation]
        found = _scores(on_it, evaluation, contrast, claim, inputs)
        if isinstance(found, NotComparable):
            return found
        scores, asked = found
        parts.append(np.sum([term.weight * scores_SC for term, scores_SC in scores], axis=0))
        means += [(term.weight, PERCENT * float(scores_SC.mean())) for term, scores_SC in scores]
        for term, scores_SC in scores:
            own = [scores_SC] if contrast.at else _counts(term, evaluation, contrast.seeds, inputs.scores)
            by_arm.setdefault(term.arm, []).extend(own)
        problems += asked
    sum_SC = over_benchmarks(parts, claim.statistics.confidence)
    cell = ScoreCell(PERCENT * sum_SC, contrast.model, " ".join(evaluations))
    lowest, highest = (sum(end(PERCENT * term.weight, 0.0) for term in terms) for end in (min, max))
    room = sum(weight * (PERCENT if weight > 0 else score) for weight, score in means)
    at_bound = _at_bound([score for _, score in means], max(claim.margin, ROUNDED))
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


def _scores(
    terms: Sequence[TermSpec], evaluation: str, contrast: ContrastSpec, claim: ClaimSpec, inputs: Evidence
) -> tuple[list[tuple[TermSpec, Matrix]], int] | NotComparable:
    """Each term with its scores (S, C) on one benchmark, and the number of problems."""
    policies = list(dict.fromkeys(policy for term in terms for rate in term.rates for policy in rate.policies))
    frames = [inputs.scores[policy, evaluation] for policy in policies]
    inputs.once(("problems", evaluation, *policies), lambda: problems_of(frames, policies))
    first = frames[0]
    levels = [term.levels for term in terms if term.levels is not None]
    asked = first[first["level"].isin(levels[0])] if len(levels) == len(terms) else first
    refused = _guessed(asked, max(term.at_k for term in terms), claim.statistics)
    if refused:
        return refused
    shape, scores = (contrast.seeds, int(units_of(first).max()) + 1), []
    for term in terms:
        scores_SC = _scores_of(term, contrast.at, inputs)
        if scores_SC is None:
            return NotComparable(f"no learning rate of {term.label} has the pass@1 of {contrast.at_label}")
        scores.append((term, np.broadcast_to(scores_SC, shape)))
    return scores, len(first)


def over_benchmarks(parts: list[Matrix], confidence: float) -> Matrix:
    """A matrix (S, all C) whose mean is the sum of the parts' (S, C), with the interval of a table over benchmarks."""
    if len(parts) == 1:
        return parts[0]
    by_benchmark = RunsAndProblemsByBenchmark(len(parts[0]), confidence)
    return by_benchmark.linearised(mean, [len(parts) * part for part in parts])


def _scores_of(term: TermSpec, at: Sequence[str], inputs: Evidence) -> Matrix | None:
    """pass@k (S, C) of a term, at the pass@1 of the policies `at` if there are any; None where it is out of reach."""

    def made(policies: Sequence[str], k: int) -> Matrix:
        frames = [inputs.scores[policy, term.on] for policy in policies]
        return linearised(matrix(frames, _pass_at(k, term.levels)))

    def of(policies: Sequence[str], k: int) -> Matrix:
        key = ("pass@k", tuple(policies), term.on, k, term.levels)
        return inputs.once(key, lambda: made(policies, k))

    if not at:
        return of(term.policies, term.at_k)
    found = on_curve(term.rates, at, lambda policies: of(policies, 1), lambda policies: of(policies, term.at_k))
    return None if found is None else found.score_SN


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
