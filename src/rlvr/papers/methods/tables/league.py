"""A league of methods: each beside all others at one learning rate and at equal pass@1, with its rank and its cost.

Its companions are the frontier over learning rates, a tree of the methods that cannot be told apart, and performance
profiles.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from rlvr.config.layers import ConfigError
from rlvr.config.layouts import CellLayout, ScoresLayout
from rlvr.config.measures import ANY, PERCENTAGE, POSITIVE, SHARE, Range, of_difference
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.fields import Positive
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.config.schema.settings import Statistics
from rlvr.figures import frontier
from rlvr.items import TableKind
from rlvr.items.inputs import Solutions
from rlvr.items.layout import filled
from rlvr.items.rendered import Rendered
from rlvr.items.scope import Scope
from rlvr.papers.methods.figures import league_tree, performance_profile
from rlvr.papers.methods.ranking import Methods, methods_at, probability_of_improvement, ranks
from rlvr.statistics.aggregate import RunsAndProblemsByBenchmark, iqm
from rlvr.statistics.intervals import Interval, SeedsAndProblems, over_seeds
from rlvr.statistics.joint import ScoreCell, joint
from rlvr.statistics.run_rows import RunRows, cell_columns, value_of
from rlvr.statistics.scores import Matrix, Scores, blind, false_working
from rlvr.statistics.shown import WHY, WITHHELD, brackets, over
from rlvr.statistics.table_rows import BLIND, BLIND_LABEL
from rlvr.tables import _scored
from rlvr.tables._methods import BenchmarksTable, curve_of

LAST = 0.1  # of a run's steps, over which entropy and seconds are means
PERCENT = 100.0
POSSIBLE: dict[str, Range] = dict.fromkeys(("pass_1", "pass_k", "iqm", "false_working"), PERCENTAGE)
POSSIBLE |= {"gain": of_difference(PERCENTAGE), "entropy": POSITIVE, "distinct": POSITIVE}
NAMED = 6  # methods in a sentence; of others it says how many


class Config(BenchmarksTable):
    k: list[Positive] = Field(min_length=2, max_length=2)  # pass@1, and the large k that methods are ranked by
    matched: str  # a sweep of the learning rates of compare_with
    seeds: Positive | None = None  # as many of the paper's training seeds; default: all

    @model_validator(mode="after")
    def starts_at_1(self):
        if self.k[0] != 1:
            raise ValueError("k: the first must be 1: methods are compared at equal pass@1")
        return self


def companions(name: str, config: Config, scope: Scope) -> tuple[dict[str, ItemConfig], dict[str, ItemConfig]]:
    """The frontier of every method, the tree, and performance profiles."""
    arms, k, curve = [row.arm for row in _methods(config, scope)], _ks(config, scope), curve_of(config, scope)
    knots = scope.swept(*curve)
    common: dict[str, Any] = {key: getattr(config, key) for key in ("models", "benchmark", "benchmarks", "seeds")}
    baseline, title = curve.baseline, config.title
    curves = frontier.Config(
        **common, title=f"Pass@{k[0]} against pass@{k[-1]}: {title}", kind="frontier", k=k,
        arms=[*knots, *(arm for arm in arms if arm != baseline)], knots=knots,
        baseline=baseline, note=frontier.NOTE,
    )  # fmt: skip
    tree = league_tree.Config(
        **common, title=f"Methods that cannot be told apart: {title}", kind="league_tree", arms=arms, k=k,
        matched=config.matched, compare_with=baseline,
    )  # fmt: skip
    profile = performance_profile.Config(
        **common, title=f"Performance profiles: {title}", kind="performance_profile", arms=arms, k=k[:1],
        compare_with=str(baseline),
    )  # fmt: skip
    return {}, {f"{name}_frontier": curves, f"{name}_tree": tree, f"{name}_profile": profile}


def expand(name: str, config: Config, scope: Scope) -> Item:
    if len(config.over()) != 1 or len(config.models) != 1 or config.compare_with is None:
        raise ConfigError(f"{scope.place}: a league needs exactly one model, one benchmark, and compare_with")
    config = config.model_copy(update={"rows": _methods(config, scope), "every_arm": False, "k": _ks(config, scope)})
    return _scored.expand(name, config, scope, k=config.k, curve=curve_of(config, scope), seeds=config.seeds)


def _ks(config: Config, scope: Scope) -> list[int]:
    """1, and the larger k as far as the scale goes."""
    return [1, scope.largest([*(2**i for i in range(config.k[-1].bit_length())), config.k[-1]])[-1]]


def _methods(config: Config, scope: Scope) -> list[Row]:
    """Its rows without the base policy, which is no method."""
    return [row for row in scope.rows(config) if row.arm != "base"]


class LeagueLayout(ScoresLayout):
    distinct: int


def lay_out(item: Item, plan: Plan, paper: str) -> LeagueLayout:
    return filled(LeagueLayout, item, plan, paper, distinct=plan.diversity.common)


def statistics(layout: LeagueLayout, scores: Scores, training: RunRows, solutions: Solutions) -> pd.DataFrame:
    """One row per model, method, place and measure.

    `pass_1`, `pass_k` and `iqm`, its interquartile mean over runs; `gain`, the difference in pass@k from the baseline,
    with bounds that hold all methods' together (`rlvr.statistics.joint`); `rank` by pass@k, and `rank_1` by pass@1;
    `better`, the probability that a run has a higher pass@k than one of the baseline; `entropy` and `seconds` (of a
    step), means over the last tenth of training; `distinct`, the expected number of different correct solutions among m
    correct samples; `false_working`, the share of correct samples with a false step, in percent, where the working is
    checked. `at` is `common` for these: all methods have one learning rate. At `equal`, equal pass@1, `gain` is from
    the baseline's curve at the method's pass@1, and `rank` is by it; neither has a value where the curve does not reach
    that pass@1. Blind guesses have `pass_1` and `pass_k`, where their chance is known.
    """
    rows = []
    for methods in methods_at(layout, scores):
        values = _Values(methods, training, solutions, layout.distinct)
        for at, found in (("common", _measures(methods, values, layout)), ("equal", _at_equal(methods, layout))):
            rows += [
                {**_columns(methods, cell, layout), "at": at, "measure": measure, **_numbers(of_arm.get(cell.arm))}
                for cell in methods.cells
                for measure, of_arm in found.items()
            ]
        rows += _blind_rows(rows[-1], methods, layout.k)
    return pd.DataFrame(rows)


def _blind_rows(of_model: dict[str, Any], methods: Methods, k: Sequence[int]) -> list[dict[str, Any]]:
    """What blind guesses score, exactly; `of_model` is a row of a method on their model."""
    frame = methods.frames[methods.baseline.policies[0]]
    guesser = {**of_model, "arm": BLIND, "label": BLIND_LABEL, "policies": "", "seeds": 0, "at": "common"}
    values = {name: blind(frame, at) for name, at in zip(("pass_1", "pass_k"), k, strict=True)}
    exact = {name: Interval(PERCENT * value, np.nan, np.nan) for name, value in values.items() if value is not None}
    return [{**guesser, "measure": name, **_numbers(found)} for name, found in exact.items()]


class _Values:
    """Measures of a method's runs (S,)."""

    def __init__(self, methods: Methods, training: RunRows, solutions: Solutions, m: int):
        self.methods, self.training = methods, training
        self.distinct = {policy: _distinct(solutions[policy, methods.evaluation], m) for policy in methods.policies}

    def of(self, measure: str, policies: Sequence[str]) -> Matrix:
        """A measure of each policy; entropy and seconds are means over the last tenth of training."""
        if measure == "distinct":
            return np.array([self.distinct[policy] for policy in policies])
        if measure == "false_working":
            shares = [false_working([self.methods.frames[policy]]) for policy in policies]
            return np.array([np.nan if share is None else PERCENT * share for share in shares])
        means = []
        for run in policies:
            rows, seconds = self.training[run]["metrics"], measure == "seconds"
            last = rows[-max(1, round(LAST * len(rows))) :]
            means.append(np.mean([row["timing"]["step"] if seconds else value_of(row, measure, run) for row in last]))
        return np.array(means)


def _distinct(by_problem: dict[str, Counter[str]], m: int) -> float:
    """The mean over a policy's problems with m correct samples."""
    from rlvr.scoring.diversity import rarefied

    values = [rarefied(list(counts.values()), m) for counts in by_problem.values()]
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan


def _measures(methods: Methods, values: _Values, layout: LeagueLayout) -> dict[str, dict[str, Interval]]:
    """Each measure of the methods at the common rate, by arm."""
    settings, (_, k), base = layout.statistics, layout.k, methods.baseline.arm
    confidence, intervals = settings.confidence, SeedsAndProblems(settings.confidence, SHARE)
    generator = np.random.default_rng(settings.seed)

    def middle(values: Matrix) -> Interval:
        return RunsAndProblemsByBenchmark(len(values), confidence, SHARE).of(iqm, [values])

    first, last = ({cell.arm: methods.pass_at(at, cell.policies) for cell in methods.cells} for at in (1, k))
    others = {arm: matrix for arm, matrix in last.items() if arm != base}
    return {
        "pass_1": {arm: _percent(intervals.of(matrix)) for arm, matrix in first.items()},
        "pass_k": {arm: _percent(intervals.of(matrix)) for arm, matrix in last.items()},
        "iqm": {arm: _percent(middle(matrix)) for arm, matrix in last.items()},
        "gain": _gains({arm: matrix - last[base] for arm, matrix in others.items()}, methods, settings),
        "rank": _ranks(last, confidence, generator),
        "rank_1": _ranks(first, confidence, generator),
        "better": {arm: _better(matrix, last[base], settings) for arm, matrix in others.items()},
        **{
            name: {
                cell.arm: over_seeds(values.of(name, cell.policies), confidence, POSSIBLE.get(name, ANY))
                for cell in methods.cells
            }
            for name in ("entropy", "distinct", "seconds", "false_working")
        },
    }


def _at_equal(methods: Methods, layout: LeagueLayout) -> dict[str, dict[str, Interval]]:
    """The differences from the baseline's curve, and the ranks by them."""
    settings = layout.statistics
    found = ((cell.arm, methods.at_equal(layout.k[-1], cell)) for cell in methods.cells)
    reached = {arm: matrix for arm, matrix in found if matrix is not None}
    others = {arm: matrix for arm, matrix in reached.items() if arm != methods.baseline.arm}
    generator = np.random.default_rng(settings.seed)
    return {"gain": _gains(others, methods, settings), "rank": _ranks(reached, settings.confidence, generator)}


def _gains(differences: dict[str, Matrix], methods: Methods, settings: Statistics) -> dict[str, Interval]:
    """Differences from the baseline in points, with bounds that hold all of them together."""
    cells = [ScoreCell(PERCENT * values, methods.baseline.model, methods.evaluation) for values in differences.values()]
    generator = np.random.default_rng(settings.seed)
    found = joint(cells, confidence=settings.confidence, resamples=settings.resamples, generator=generator)
    pairs = zip(found.spreads, found.half_widths(), strict=True)
    bounds = (Interval(s.mean, s.mean - half, s.mean + half).within(POSSIBLE["gain"]) for s, half in pairs)
    return dict(zip(differences, bounds, strict=True))


def _ranks(values: dict[str, Matrix], confidence: float, generator: np.random.Generator) -> dict[str, Interval]:
    if not values:
        return {}
    return dict(zip(values, ranks(list(values.values()), confidence=confidence, generator=generator), strict=True))


def _better(ours: Matrix, base: Matrix, settings: Statistics) -> Interval:
    """The probability that a run's pass@k is above one of the baseline."""
    generator = np.random.default_rng(settings.seed)
    runs = ours.mean(axis=1), base.mean(axis=1)
    return probability_of_improvement(*runs, confidence=settings.confidence, generator=generator)


def _percent(interval: Interval) -> Interval:
    return Interval(*(PERCENT * part for part in (interval.estimate, interval.low, interval.high)))


def _columns(methods: Methods, cell: CellLayout, layout: LeagueLayout) -> dict[str, Any]:
    frame, k = methods.frames[cell.policies[0]], layout.k[-1]
    counts = {"problems": len(frame), "seeds": len(cell.policies), "samples": int(frame["n"].min())}
    return {**cell_columns(cell), "benchmark": methods.benchmark, "k": k, **counts}


def _numbers(found: Interval | None) -> dict[str, float | None]:
    parts = (None,) * 3 if found is None else (found.estimate, found.low, found.high)
    return dict(zip(("value", "value_low", "value_high"), parts, strict=True))


# ---- rendering ----


def render(layout: LeagueLayout, statistics: pd.DataFrame) -> Rendered:
    """The table, the highest rank first; methods without a rank at equal pass@1 at the end, by pass@k."""
    k, digits = layout.k[-1], {"entropy": 3, "better": 2, "distinct": 2, "seconds": 2}
    baseline, confidence = layout.compare_label, f"{100 * layout.confidence:g} %"
    headers = {
        ("equal", "rank"): "rank",
        ("equal", "gain"): f"@{k} less {baseline}'s at equal pass@1",
        ("common", "pass_1"): "@1",
        ("common", "pass_k"): f"@{k}",
        ("common", "gain"): f"@{k} less {baseline}'s",
        ("common", "iqm"): f"IQM of @{k}",
        ("common", "better"): f"P(@{k} above {baseline})",
        ("common", "entropy"): "entropy",
        ("common", "distinct"): f"distinct @{layout.distinct}",
        ("common", "seconds"): "seconds a step",
    }
    checked = statistics.loc[statistics["measure"] == "false_working", "value"].notna().any()
    headers |= {("common", "false_working"): "false working (%)"} if checked else {}
    is_blind = statistics["arm"] == BLIND
    blind_guesses, statistics = statistics.loc[is_blind], statistics.loc[~is_blind]
    lines = []
    for (model, _), rows in statistics.groupby(["model", "arm"], sort=False):
        of: Any = rows.set_index(["at", "measure"]).sort_index()
        rank = of.loc[("equal", "rank"), "value"]
        order = (model, 1e9 if pd.isna(rank) else rank, -of.loc[("common", "pass_k"), "value"])
        texts = {header: _text(of.loc[at], digits.get(at[1], 1), at[1]) for at, header in headers.items()}
        lines.append((order, {"Method": rows["label"].iloc[0], **texts}))
    for model, rows in blind_guesses.groupby("model", sort=False):
        exact = {headers["common", row["measure"]]: _text(row, 1, row["measure"]) for row in rows.to_dict("records")}
        empty = dict.fromkeys(headers.values(), "")
        lines.append(((model, np.inf, 0.0), {"Method": BLIND_LABEL, **empty, **exact}))
    frame = pd.DataFrame([line for _, line in sorted(lines, key=lambda pair: pair[0])])
    first = statistics.iloc[0]
    notes = [
        f"{layout.panels[0].name} (here {layout.panels[0].stand_in}), {first['problems']} problems, "
        f"n = {first['samples']}; {layout.sampling}. In brackets: {confidence} intervals over "
        f"{statistics['seeds'].max()} training seeds × problems (two-way random effects, Student's t); of ranks and "
        "probabilities percentiles of 2,000 draws of seeds and problems; of entropy and distinct solutions "
        f"Student's t over seeds. Differences from {baseline} have bounds that hold all methods' together (max-t).",
        f"Every method has the common learning rate. At equal pass@1 it is compared with the curve of {baseline} over "
        "several learning rates, at the method's pass@1. Ranks are by this difference.",
        *_out_of_reach(statistics, baseline),
        "IQM: the mean of the middle half of runs. Entropy (nats per token of training rollouts) and seconds are "
        "means over the last tenth of training.",
        *(["False working: correct samples with a false step, as a share of all correct ones."] if checked else []),
        *([WHY.format(over(statistics["seeds"].max(), first["problems"]))] if WITHHELD in frame.to_string() else []),
        " ".join(sentences(statistics, None)),
    ]
    return Rendered.of(layout, frame, notes)


def _out_of_reach(statistics: pd.DataFrame, baseline: str) -> list[str]:
    ranked = statistics[(statistics["at"] == "equal") & (statistics["measure"] == "rank")]
    lost = ranked[ranked["value"].isna()]["label"]
    return [f"With a pass@1 that {baseline} has at no learning rate: {', '.join(lost)}."] if len(lost) else []


def _text(row: Any, digits: int, name: str) -> str:
    if pd.isna(row["value"]):
        return ""
    if name == "rank":
        return f"{row['value']:g} [{row['value_low']:g}, {row['value_high']:g}]"
    form = f"{'+' if name == 'gain' else ''}.{digits}f"
    text = f"{row['value']:{form}}"
    if name != "seconds":
        text += brackets(row["value_low"], row["value_high"], form, POSSIBLE.get(name, ANY))
    return text.replace("-", "−")


def sentences(statistics: pd.DataFrame, level: float | None) -> list[str]:
    """Which method to use when, as far as these runs can tell."""
    statistics = statistics.loc[statistics["arm"] != BLIND]
    labels = dict(zip(statistics["arm"], statistics["label"], strict=True))
    wide = statistics.pivot(index="arm", columns=["at", "measure"], values=["value", "value_low"]).reindex(list(labels))
    value: Any = wide["value"].astype(float)
    low: Any = wide["value_low"].astype(float)
    base = next(arm for arm in labels if np.isnan(value["common"]["gain"][arm]))
    k, baseline = statistics["k"].iloc[0], labels[base]
    value.loc[base, [("common", "gain"), ("equal", "gain")]] = 0.0

    def first_by(at: str, rank: str, score: str) -> str:
        """The methods whose rank may be 1, those with the highest score first; equal methods share a rank."""
        order, lows = value[at].sort_values(score, ascending=False, kind="stable").index, low[at][rank]
        names = [labels[arm] for arm in order if lows[arm] <= max(1.5, lows.min())]
        return f"{', '.join(names[:NAMED])}{f' and {len(names) - NAMED} more' if len(names) > NAMED else ''}"

    above = [labels[arm] for arm in value.index if low["equal"]["gain"][arm] > 0]
    many = f"{', '.join(above)} {'is' if len(above) == 1 else 'are'}" if above else "no method is"
    entropy, seconds = value["common"]["entropy"], value["common"]["seconds"]
    return [
        "For one answer, the highest pass@1 at the common learning rate may be that of "
        f"{first_by('common', 'rank_1', 'pass_1')} (a rank's interval holds 1).",
        f"For many answers, {many} above {baseline} at k = {k} and equal pass@1 (bounds for all methods "
        f"together), and the highest may be {first_by('equal', 'rank', 'gain')}; entropy is "
        f"{entropy.min():.3f} to {entropy.max():.3f} nats ({baseline}: {entropy[base]:.3f}), and a step takes "
        f"{seconds.min():.2f} to {seconds.max():.2f} seconds ({baseline}: {seconds[base]:.2f}).",
    ]


def rank_of(statistics: pd.DataFrame, arm: str) -> str:
    """An arm's rank by pass@k at equal pass@1, else at the common rate, and its difference from the baseline."""
    methods = statistics.loc[statistics["arm"] != BLIND]
    of: Any = methods[methods["arm"] == arm].set_index(["at", "measure"]).sort_index()
    at = "common" if pd.isna(of.loc[("equal", "rank"), "value"]) else "equal"
    ranked = methods[(methods["at"] == at) & (methods["measure"] == "rank") & methods["value"].notna()]
    k, where = statistics["k"].iloc[0], {"equal": "at equal pass@1", "common": "at one learning rate"}[at]
    gain = f"; minus the baseline: {_text(of.loc[(at, 'gain')], 1, 'gain')} points"
    why = "; the baseline's curve does not reach its pass@1" if at == "common" else ""
    rank = _text(of.loc[(at, "rank")], 1, "rank")
    return f"{of['label'].iloc[0]}: rank {rank} of {len(ranked)} by pass@{k} {where}{gain}{why}"


TABLE = TableKind(
    config=Config,
    layout=LeagueLayout,
    expand=expand,
    lay_out=lay_out,
    statistics=statistics,
    reads=("scores", "training", "solutions"),
    render=render,
    companions=companions,
    sentences=sentences,
    rank_of=rank_of,
)
