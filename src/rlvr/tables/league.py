"""A league of methods: each beside all others at one learning rate and at equal pass@1, with its rank and its cost.

Its companions are the frontier over learning rates, a tree of the methods that cannot be told apart, and performance
profiles.
"""

from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from rlvr.config.layers import ConfigError, look_up
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.fields import Positive
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.figures import frontier, league_tree, performance_profile
from rlvr.items.inputs import Solutions
from rlvr.items.layout import with_scores
from rlvr.items.scope import Scope
from rlvr.statistics.intervals import Interval, SeedsAndProblems, over_seeds
from rlvr.statistics.league import at_equal, probability_of_improvement, ranks, scores_of
from rlvr.statistics.run_rows import Runs, cell_columns, value_of
from rlvr.statistics.scores import Matrix, Scores, blind, false_working
from rlvr.statistics.table_rows import BLIND, BLIND_LABEL, frames_of
from rlvr.tables import _scored
from rlvr.tables._methods import BenchmarksTable
from rlvr.tables._rendered import Rendered, scale_line

LAST = 0.1  # of a run's steps, over which entropy and seconds are means
PERCENT = 100.0


class Config(BenchmarksTable):
    k: list[Positive] = Field(min_length=2, max_length=2)  # pass@1, and the large k that methods are ranked by
    matched: str  # a sweep of learning rates over all of its methods
    seeds: Positive | None = None  # as many of the paper's training seeds; default: all

    @model_validator(mode="after")
    def starts_at_1(self):
        if self.k[0] != 1:
            raise ValueError("k: the first must be 1: methods are compared at equal pass@1")
        return self


def companions(name: str, config: Config, scope: Scope) -> tuple[dict[str, ItemConfig], dict[str, ItemConfig]]:
    """The frontier of every method, the tree, and performance profiles."""
    sweep = look_up(scope.paper.sweeps, config.matched, "sweep", f"{scope.place}.matched")
    if sweep.times != "rl.learning_rate":
        raise ConfigError(f"{scope.place}.matched: {config.matched!r} is no sweep with `times: rl.learning_rate`")
    arms = [row.arm for row in _methods(config, scope)]
    swept = [arm for like in arms for arm in scope.swept(like, config.matched)]
    common = {"models": config.models, "benchmark": config.benchmark, "benchmarks": config.benchmarks}
    k = _ks(config, scope)
    curves = frontier.Config(
        **common,
        title=f"Pass@{k[0]} against pass@{k[-1]}: {config.title}",
        kind="frontier",
        seeds=config.seeds,
        arms=swept,
        k=k,
        note=frontier.NOTE,
    )
    tree = league_tree.Config(
        **common, title=f"Methods that cannot be told apart: {config.title}", kind="league_tree", arms=arms, k=k,
        matched=config.matched, compare_with=config.compare_with, seeds=config.seeds,
    )  # fmt: skip
    profile = performance_profile.Config(
        **common, title=f"Performance profiles: {config.title}", kind="performance_profile", arms=arms, k=k[:1],
        compare_with=config.compare_with, seeds=config.seeds,
    )  # fmt: skip
    return {}, {f"{name}_frontier": curves, f"{name}_tree": tree, f"{name}_profile": profile}


def expand(name: str, config: Config, scope: Scope) -> Item:
    if len(config.over()) != 1 or len(config.models) != 1 or config.compare_with is None:
        raise ConfigError(f"{scope.place}: a league needs exactly one model, one benchmark, and compare_with")
    config = config.model_copy(update={"rows": _methods(config, scope), "every_arm": False, "k": _ks(config, scope)})
    return _scored.expand(name, config, scope, k=config.k, matched=config.matched, seeds=config.seeds)


def _ks(config: Config, scope: Scope) -> list[int]:
    """1, and the larger k as far as the scale goes."""
    return [1, scope.largest([*(2**i for i in range(config.k[-1].bit_length())), config.k[-1]])[-1]]


def _methods(config: Config, scope: Scope) -> list[Row]:
    """Its rows without the base policy, which is no method."""
    return [row for row in scope.rows(config) if row.arm != "base"]


def lay_out(item: Item, plan: Plan, paper: str) -> dict[str, Any]:
    return {**with_scores(item, plan, paper), "distinct": plan.diversity.common}


def statistics(layout: dict[str, Any], scores: Scores, training: Runs, solutions: Solutions) -> pd.DataFrame:
    """One row per model, method and measure.

    `pass_1` and `pass_k` at the common learning rate; `equal` is pass@k where the method has the baseline's pass@1, and
    `equal_gain` its difference from the baseline; `rank` is that of `equal` (`rlvr.statistics.league`), where
    a method has it; `better` the probability that a run has a higher pass@k than one of the baseline; `entropy` and
    `seconds` (of a step) are means over the last tenth of training; `distinct` is the expected number of different
    correct solutions among m correct samples; `false_working` is the share of correct samples with a false step, in
    percent, where the working is checked. Blind guesses have `pass_1` and `pass_k` alone, where their chance is known.
    """
    (panel,) = layout["panels"]
    settings, rows = layout["statistics"], []
    intervals, confidence = SeedsAndProblems(settings["confidence"]), settings["confidence"]
    for model in dict.fromkeys(cell["model"] for cell in layout["cells"]):
        cells = [cell for cell in layout["cells"] if cell["model"] == model]
        baseline = next(cell for cell in cells if cell["arm"] == layout["compare_with"])
        evaluation, (_, large) = panel["evaluations"][model], layout["k"]
        frames = frames_of(scores, cells, evaluation)
        generator = np.random.default_rng(settings["seed"])
        equal = {cell["arm"]: at_equal(cell, baseline, frames, large) for cell in cells}
        reached = [arm for arm, found in equal.items() if found is not None]
        placed = ranks([equal[arm] for arm in reached], confidence=confidence, generator=generator)  # type: ignore[misc]
        rank_of = dict(zip(reached, placed, strict=True))
        of_baseline = scores_of(baseline, frames, large)
        for cell in cells:
            first, last = (scores_of(cell, frames, k) for k in layout["k"])
            ours, base, compared = equal[cell["arm"]], equal[baseline["arm"]], cell is not baseline
            found: dict[str, Interval | None] = {
                "pass_1": _percent(intervals.of(first)),
                "pass_k": _percent(intervals.of(last)),
                "equal": None if ours is None else _percent(intervals.of(ours)),
                "equal_gain": None
                if ours is None or cell is baseline
                else _percent(intervals.of_difference(ours, base)),
                "rank": rank_of.get(cell["arm"]),
                "better": _better(last, of_baseline, settings) if compared else None,
                "entropy": over_seeds(_over_last(training, cell, _entropy), confidence),
                "distinct": over_seeds(_distinct(solutions, cell, evaluation, layout["distinct"]), confidence),
                "seconds": over_seeds(_over_last(training, cell, _seconds), confidence),
                "false_working": _false_working(frames, cell, confidence),
            }
            columns = {**cell_columns(cell), "benchmark": panel["name"], "k": large, "problems": first.shape[1]}
            columns |= {"seeds": len(first), "samples": int(frames[cell["policies"][0]]["n"].min())}
            rows += _rows(columns, found)
        rows += _blind_rows(rows[-1], layout["k"], frames[baseline["policies"][0]])
    return pd.DataFrame(rows)


def _rows(columns: dict[str, Any], found: dict[str, Interval | None]) -> list[dict[str, Any]]:
    """A row per measure."""
    none = Interval(*3 * [float("nan")])
    parts = [(name, one or none) for name, one in found.items()]
    keys = ("value", "value_low", "value_high")
    return [
        {**columns, "measure": name, **dict(zip(keys, (one.estimate, one.low, one.high), strict=True))}
        for name, one in parts
    ]


def _blind_rows(of_model: dict[str, Any], k: list[int], frame: pd.DataFrame) -> list[dict[str, Any]]:
    """What blind guesses score, exactly; `of_model` is a row of a method on their model."""
    values = {name: blind(frame, at) for name, at in zip(("pass_1", "pass_k"), k, strict=True)}
    guesser = {**of_model, "arm": BLIND, "label": BLIND_LABEL, "learning_rate": None, "seeds": 0}
    known = {name: Interval(PERCENT * value, np.nan, np.nan) for name, value in values.items() if value is not None}
    return _rows(guesser, dict(known))


def _false_working(frames: dict[str, pd.DataFrame], cell: dict[str, Any], confidence: float) -> Interval | None:
    """In percent, over seeds; None where no seed has a checked working."""
    shares = [false_working([frames[policy]]) for policy in cell["policies"]]
    known = np.array([share for share in shares if share is not None])
    return _percent(over_seeds(known, confidence)) if len(known) else None


def _better(ours: Matrix, base: Matrix, settings: dict[str, Any]) -> Interval:
    """The probability that a run's pass@k is above one of the baseline."""
    generator = np.random.default_rng(settings["seed"])
    runs = ours.mean(axis=1), base.mean(axis=1)
    return probability_of_improvement(*runs, confidence=settings["confidence"], generator=generator)


def _percent(interval: Interval) -> Interval:
    return Interval(*(PERCENT * part for part in (interval.estimate, interval.low, interval.high)))


def _over_last(training: Runs, cell: dict[str, Any], value: Any) -> np.ndarray:
    """A value's mean over the last tenth of each seed's steps."""
    means = []
    for run in cell["policies"]:
        rows = training[run]["metrics"]
        means.append(np.mean([value(row, run) for row in rows[-max(1, round(LAST * len(rows))) :]]))
    return np.array(means)


def _entropy(row: dict[str, Any], run: str) -> float:
    return value_of(row, "entropy", run)


def _seconds(row: dict[str, Any], run: str) -> float:
    return row["timing"]["step"]


def _distinct(solutions: Any, cell: dict[str, Any], evaluation: str, m: int) -> np.ndarray:
    """Of each seed: the mean over its problems with m correct samples."""
    from rlvr.scoring.diversity import rarefied

    means = []
    for policy in cell["policies"]:
        values = [rarefied(list(counts.values()), m) for counts in solutions[policy, evaluation].values()]
        known = [value for value in values if not np.isnan(value)]
        means.append(np.mean(known) if known else np.nan)
    return np.array(means)


# ---- rendering ----


def render(layout: dict[str, Any], statistics: pd.DataFrame) -> Rendered:
    """The table, the highest rank first; methods without a rank at the end, by pass@k."""
    k, digits = layout["k"][-1], {"entropy": 3, "better": 2, "distinct": 2, "seconds": 2}
    headers = {
        "rank": "rank",
        "equal": f"@{k} at equal pass@1",
        "equal_gain": f"against {layout['compare_label']}",
        "pass_1": "@1",
        "pass_k": f"@{k}",
        "better": f"P(@{k} above {layout['compare_label']})",
        "entropy": "entropy",
        "distinct": f"distinct @{layout['distinct']}",
        "seconds": "seconds a step",
    }
    checked = statistics.loc[statistics["measure"] == "false_working", "value"].notna().any()
    headers |= {"false_working": "false working (%)"} if checked else {}
    lines = []
    for (model, _), rows in statistics.groupby(["model", "arm"], sort=False):
        of = rows.set_index("measure").reindex(headers)
        order = (
            model,
            of.loc["rank", "value"] if not pd.isna(of.loc["rank", "value"]) else 1e9,
            -of.loc["pass_k", "value"],
        )
        cells = {header: _text(of.loc[name], digits.get(name, 1), name) for name, header in headers.items()}
        lines.append((order, {"Method": rows["label"].iloc[0], **cells}))
    frame = pd.DataFrame([line for _, line in sorted(lines, key=lambda pair: pair[0])])
    first, confidence = statistics.iloc[0], f"{100 * layout['statistics']['confidence']:g} %"
    notes = [
        f"{layout['panels'][0]['name']} (here {layout['panels'][0]['stand_in']}), {first['problems']} problems, "
        f"n = {first['samples']}; {layout['sampling']}. In brackets: {confidence} intervals over "
        f"{statistics['seeds'].max()} training seeds × problems (two-way random effects, Student's t); of ranks and "
        "probabilities percentiles of 2,000 draws of seeds and problems; of entropy, distinct solutions and seconds "
        "Student's t over seeds.",
        f"At equal pass@1: where a method's curve over its learning rates, from the base policy on, has the pass@1 of "
        f"{layout['compare_label']} at the common learning rate. Ranks are of this number. A method without a rank has "
        "that pass@1 at none of its rates.",
        "Entropy (nats per token of training rollouts) and seconds are means over the last tenth of training.",
        *(["False working: correct samples with a false step, as a share of all correct ones."] if checked else []),
        *_in_two_sentences(layout, statistics),
        *([layout["note"]] if layout["note"] else []),
    ]
    return Rendered(layout["title"], scale_line(layout), frame, notes)


def _text(row: Any, digits: int, name: str) -> str:
    if pd.isna(row["value"]):
        return ""
    if name == "rank":
        return f"{row['value']:g} [{row['value_low']:.0f}, {row['value_high']:.0f}]"
    sign = "+" if name == "equal_gain" else ""
    value, low, high = (f"{row[key]:{sign}.{digits}f}" for key in ("value", "value_low", "value_high"))
    if name == "seconds" or pd.isna(row["value_low"]):
        return value
    return f"{value} [{low}, {high}]".replace("-", "−")


def _in_two_sentences(layout: dict[str, Any], statistics: pd.DataFrame) -> list[str]:
    """Which method to use when, as far as these runs can tell."""
    wide = statistics.pivot_table(index="label", columns="measure", values=["value", "value_low"], sort=False)
    k, baseline = layout["k"][-1], layout["compare_label"]
    best = wide["value"]["pass_1"].idxmax()
    gains = wide["value_low"]["equal_gain"] if "equal_gain" in wide["value_low"] else pd.Series(dtype=float)
    above = [str(label) for label in gains.index if gains[label] > 0]
    many = f"{', '.join(above)} {'is' if len(above) == 1 else 'are'}" if above else "no method is"
    return [
        f"For one answer, {best} has the highest pass@1 at the common learning rate. For many answers, {many} above "
        f"{baseline} at k = {k} where all have its pass@1, each by its own interval, without a correction for "
        "their number."
    ]
