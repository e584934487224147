"""Contrasts of pass@k on benchmarks, in percent points, paired by training seed and problem.

Dimensions: S training seeds, C units of resampling (problems, or their clusters), B bootstrap draws.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from rlvr.claims._contrast import Contrast, Estimate, Evidence, Term, half_width, models, seeds_of, sums, tails
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Statistics
from rlvr.files import RecordError
from rlvr.statistics.intervals import draw
from rlvr.statistics.scores import Matrix, Measure, matrix, pass_at, problems_of, units_of

WHAT = "a table of scores"
IGNORED = ("during", "since", "each_checkpoint")  # keys of a claim that have no meaning here
UNIT = "training seeds × problems"
PERCENT = 100.0


def check(claim: Claim, item: Item, config: Any, plan: Plan, place: str) -> None:
    """Raises ConfigError where a claim names something that the table in the paper's file lacks."""
    if claim.measure is not None:
        raise ConfigError(f"{place}.measure: remove this key: {claim.over} is a table of pass@k")
    benchmarks = list(item.benchmarks)
    for benchmark in claim.benchmarks:
        look_up(dict.fromkeys(benchmarks), benchmark, "benchmark", f"{place}.benchmarks")
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
    """All contrasts of a claim, over models, benchmarks and k of its table."""
    benchmarks = [name for name in item.benchmarks if not claim.benchmarks or name in claim.benchmarks]
    return [
        Contrast(text, model, benchmark, terms)
        for model, benchmark in product(models(claim, item), benchmarks)
        for text, terms in _of_scores(claim, item, ks)
    ]


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


def estimate(terms: list[dict[str, Any]], claim: dict[str, Any], inputs: Evidence, count: int) -> Estimate:
    """The weighted sum of pass@k, its interval, and a wider one for `count` contrasts.

    Each end is the wider one of two: a two-way bootstrap over seeds and problems, and Student's t over seeds. A
    bootstrap of few seeds is too narrow where runs of one method differ much; t does not resample problems.
    """
    policies = [policy for term in terms for policy in term["policies"]]
    evaluation = terms[0]["evaluation"]
    problems_of([inputs.scores[policy, evaluation] for policy in policies], policies)
    settings = Statistics.model_validate(claim["statistics"])
    first = inputs.scores[policies[0], evaluation]
    units, seeds = int(units_of(first).max()) + 1, seeds_of(terms)
    generator = np.random.default_rng(settings.seed)
    seeds_BS, units_BC = (draw(size, settings.resamples, generator) for size in (seeds, units))
    values_S, draws_B = np.zeros(seeds), np.zeros(settings.resamples)
    for term in terms:
        frames = [inputs.scores[policy, evaluation] for policy in term["policies"]]
        scores_SC = matrix(frames, _pass_at(term["k"], term["levels"]))
        known_C = ~np.isnan(scores_SC[0])
        scores_SC = np.nan_to_num(scores_SC)
        if len(scores_SC) == 1:  # a policy without a training seed
            scores_SC = np.repeat(scores_SC, seeds, axis=0)
        values_S += term["weight"] * scores_SC[:, known_C].mean(axis=1)
        weights_B = units_BC @ known_C
        means_BS = np.divide(
            units_BC @ scores_SC.T,
            weights_B[:, None],
            where=weights_B[:, None] > 0,
            out=np.full(seeds_BS.shape, np.nan),
        )
        draws_B += term["weight"] * (means_BS * seeds_BS).sum(axis=1)
    draws_B = PERCENT * draws_B[~np.isnan(draws_B)]
    bounds = [_wider(draws_B, PERCENT * values_S, tail) for tail in tails(settings, count)]
    return Estimate(PERCENT * float(values_S.mean()), *bounds[0], *bounds[1], seeds, len(first), UNIT)


def _wider(draws_B: Matrix, values_S: Matrix, tail: float) -> tuple[float, float]:
    low, high = np.quantile(draws_B, [tail, 1 - tail])
    if len(values_S) < 2:
        return float(low), float(high)
    half = half_width(values_S, tail)
    return min(float(low), float(values_S.mean()) - half), max(float(high), float(values_S.mean()) + half)


def _pass_at(k: int, levels: list[str] | None) -> Measure:
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
