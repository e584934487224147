"""Each method against its baseline and its placebos, at the smallest and largest k, at one rate and at equal pass@1.

A row says whether the method's mechanism acts (`rlvr.claims.mechanisms`), and which difference is detected with a power
of 80 %. `matched` names a sweep of the baseline's learning rates; without it there is no equal pass@1.
"""

from collections.abc import Iterator
from math import nan
from typing import Any

import pandas as pd
from pydantic import Field

from rlvr.claims.contrasts import EQUAL, PAPER
from rlvr.claims.mechanisms import NO, NOT_RUN, YES
from rlvr.config.layouts import CellLayout, ScoresLayout
from rlvr.config.measures import PERCENTAGE, SHARE, of_difference
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.fields import Positive
from rlvr.config.schema.items import Row
from rlvr.items import TableKind, layout
from rlvr.items.rendered import Rendered, scale_line
from rlvr.items.scope import Scope
from rlvr.statistics.frontier import OutOfReach
from rlvr.statistics.intervals import Interval, Matrix, SeedsAndProblems
from rlvr.statistics.power import components, smallest_difference
from rlvr.statistics.scores import Scores, blind, matrix, pass_at, units_of
from rlvr.statistics.table_rows import PERCENT, against_baseline, blocks, frames_of, head, numbers, sizes
from rlvr.tables import _scored
from rlvr.tables._methods import BenchmarksTable, curve_of

POWER = 0.8
NO_VALUE = Interval(nan, nan, nan)  # rows have only differences
NOTE = (
    "Each method minus the baseline, and minus each of its placebos, in percent points of pass@k with {confidence:g} % "
    "intervals over seeds × problems (paired). At equal pass@1 each method, at its own rate, is compared with the "
    "baseline's curve over its learning rates at the method's pass@1; of two methods so compared the difference is "
    "between these two distances."
)
ON_POWER = (
    "Detectable: the smallest true difference that such a comparison finds in 80 % of experiments (two-sided, {level})"
)
ON_CHANCE = (
    "{benchmark}: blind guesses score {chance:.0f} % at k = {k}, more than {largest:g} %. pass@{k} then measures "
    "guessing too, and no claim is judged there."
)
ON_CRITERIA = (
    'Acts: whether the runs meet the criteria of what the paper proposes (mechanisms.md). Where it is "no", the row '
    "tests nothing of the method, whatever its numbers are."
)


class Config(BenchmarksTable):
    models: list[str] = Field(min_length=1, max_length=1)
    k: list[Positive] = Field(min_length=1)
    compare_with: str  # type: ignore[reportIncompatibleVariableOverride]  # no table of comparisons is without
    matched: str | None = None  # a sweep of the learning rates of compare_with, at scales with equal pass@1


class Layout(ScoresLayout):
    placebos: dict[str, tuple[str, ...]] = {}  # by method


def expand(name: str, config: Config, scope: Scope) -> Item:
    """The rows of the file, and those of their methods' placebos."""
    known, named = scope.paper.placebos, [row.arm for row in config.rows]
    placebos = dict.fromkeys(arm for method in named for arm in known.get(method, ()) if arm not in named)
    rows = [*config.rows, *(Row(arm=arm, label=scope.paper.arms[arm].label or arm) for arm in placebos)]
    curve = curve_of(config, scope) if config.matched and scope.paper.name in scope.plan.companions else None
    return _scored.expand(name, config.model_copy(update={"rows": rows}), scope, curve=curve)


def lay_out(item: Item, plan: Plan, paper: str) -> Layout:
    arms, known = {cell.row.arm for cell in item.cells}, plan.papers[paper].paper.placebos
    placebos = {method: tuple(of) for method, of in known.items() if method in arms}
    return Layout(**dict(layout.with_scores(item, plan, paper)), placebos=placebos)


def statistics(layout: Layout, scores: Scores, mechanisms: pd.DataFrame) -> pd.DataFrame:
    """A row per benchmark, method, other arm, k and effort: the difference in percent points, and what is detectable.

    `acts` is yes or no by the judged criteria of the method's arm, and empty for an arm without criteria; `criteria`
    has their numbers in words. `blind` is pass@k of blind guesses, in [0, 1], where it is known.
    """
    rows, intervals = [], SeedsAndProblems(layout.confidence, SHARE)
    for panel, cells, baseline in blocks(layout):
        assert baseline is not None  # as `expand` has seen to
        frames = frames_of(scores, cells, panel.evaluations[cells[0].model])
        first, by_arm = frames[cells[0].policies[0]], {cell.arm: cell for cell in cells}
        hidden = {arm for of in layout.placebos.values() for arm in of}
        size = {"problems": len(first), "clusters": int(units_of(first).max()) + 1, "samples": int(first["n"].min())}
        for cell in (cell for cell in cells if cell is not baseline and cell.arm not in hidden):
            others = [baseline, *(by_arm[arm] for arm in layout.placebos.get(cell.arm, ()))]
            for other, (k, effort) in ((o, column) for o in others for column in columns(layout)):
                found = _pair(cell, other, baseline, frames, k, effort == EQUAL)
                lost = isinstance(found, OutOfReach)
                difference = None if lost else intervals.of_difference(*found)
                rows.append(
                    {
                        **head(cell, panel.name, "pass", k, cell.learning_rate),
                        **{"against": other.arm, "against_label": other.label, "effort": effort},
                        **{
                            key: of for key, of in numbers(NO_VALUE, difference).items() if key.startswith("difference")
                        },
                        "detectable": None if lost else _detectable(*found, layout.confidence),
                        "not_comparable": found.reason if lost else None,
                        "acts": acts(own := judged(mechanisms, cell.arm, cell.model)),
                        "criteria": criteria(own),
                        "blind": blind(first, k),
                        **sizes(cell, **size),
                    }
                )
    return pd.DataFrame(rows).astype({"blind": float}).assign(data=lambda frame: frame["benchmark"].map(layout.sets()))


def columns(layout: ScoresLayout) -> list[tuple[int, str]]:
    """The compared (k, effort): at equal pass@1 there is nothing to compare at k = 1."""
    ends = sorted({min(layout.k), max(layout.k)})
    equal = [(k, EQUAL) for k in ends[-1:] if layout.at_equal_pass_1 and k > 1]
    return [*((k, PAPER) for k in ends), *equal]


def _pair(
    cell: CellLayout, other: CellLayout, baseline: CellLayout, frames: dict[str, pd.DataFrame], k: int, equal: bool
) -> tuple[Matrix, Matrix] | OutOfReach:
    """The two matrices (S, N) whose difference is asked for."""

    def of(cell: CellLayout) -> Matrix:
        return matrix([frames[policy] for policy in cell.policies], pass_at(k))

    if not equal:
        return of(cell), of(other)
    left = against_baseline(cell, baseline, frames, pass_at(k))
    if isinstance(left, OutOfReach) or other is baseline:
        return left if isinstance(left, OutOfReach) else (of(cell), left.score_SN)
    right = against_baseline(other, baseline, frames, pass_at(k))
    if isinstance(right, OutOfReach):
        return OutOfReach(f"{other.label}: {right.reason}")
    return of(cell) - left.score_SN, of(other) - right.score_SN


def _detectable(left_SN: Matrix, right_SN: Matrix, confidence: float) -> float | None:
    """The smallest difference that is found with POWER; None for one training seed or problem."""
    difference_SN = left_SN - right_SN
    if min(difference_SN.shape) < 2:
        return None
    of = components(difference_SN)
    return PERCENT * smallest_difference(of, *difference_SN.shape, power=POWER, level=1 - confidence)


def judged(mechanisms: pd.DataFrame, arm: str, model: str) -> pd.DataFrame:
    """The criteria of an arm that were judged in runs of a model."""
    if mechanisms.empty:
        return mechanisms
    of = (mechanisms["arm"] == arm) & (mechanisms["model"] == model) & (mechanisms["met"] != NOT_RUN)
    return mechanisms[of]


def acts(rows: pd.DataFrame) -> str:
    """Whether all of some judged criteria are met; empty where there are none."""
    return "" if rows.empty else NO if (rows["met"] == NO).any() else YES


def criteria(rows: pd.DataFrame) -> str:
    """Judged criteria, each with its number and its bound."""
    from rlvr.claims.mechanism_table import numbers as measured  # planning loads this module, and no tabulate for it

    each = (
        f"{row['criterion'].replace('_', ' ')} {measured(row) or 'no value'} "
        f"({'' if row['met'] == YES else 'needed '}{row['bound']})"
        for _, row in rows.iterrows()
    )
    return ", ".join(each)


# ---- rendering ----


def render(layout: Layout, statistics: pd.DataFrame) -> Rendered:
    """A line per benchmark, method and arm that it is compared with."""
    every, lines, previous = columns(layout), [], ("", "")
    keys = ["benchmark", "arm", "against"]
    for at, rows in statistics.groupby(keys, sort=False):
        benchmark, arm, against = map(str, at)
        by_column = {(row["k"], row["effort"]): row for row in rows.to_dict("records")}
        first = by_column[every[0]]
        shown_before = (benchmark, arm) == previous
        where = benchmark if first["data"] == benchmark else f"{benchmark} → {first['data']}"
        line = {
            "Benchmark": "" if benchmark == previous[0] else where,
            "Method": "" if shown_before else first["label"],
            "Acts": "" if shown_before else first["acts"] if isinstance(first["acts"], str) else "",
            "Minus": first["against_label"] + (" (placebo)" if against != layout.compare_with else ""),
        }
        line |= {_header(k, effort): _difference(by_column[k, effort]) for k, effort in every}
        largest = [by_column[column]["detectable"] for column in every[1:] or every]
        line |= {"Detectable": ", ".join("–" if pd.isna(value) else f"{value:.1f}" for value in largest)}
        lines.append({**line, "Seeds × problems": f"{first['seeds']} × {first['problems']}"})
        previous = (benchmark, arm)
    return Rendered(layout.title, scale_line(layout), pd.DataFrame(lines), list(_notes(layout, statistics, every)))


def _header(k: int, effort: str) -> str:
    return f"@{k}" if effort == PAPER else f"@{k}, {EQUAL}"


def _difference(row: Any) -> str:
    lost = isinstance(row["not_comparable"], str)
    return "not comparable" if lost else _scored.with_interval(row, "difference", 1, of_difference(PERCENTAGE), "+")


def _notes(layout: Layout, statistics: pd.DataFrame, every: list[tuple[int, str]]) -> Iterator[str]:
    yield NOTE.format(confidence=100 * layout.confidence)
    several = [f"first {effort}" if effort == PAPER else f"then {effort}" for _, effort in every[1:]]
    in_order = f": {', '.join(several)}" if len(several) > 1 else ""
    yield f"{ON_POWER.format(level=f'{100 * (1 - layout.confidence):g} %')}, at k = {every[-1][0]}{in_order}."
    if statistics["acts"].isin([YES, NO]).any():
        yield ON_CRITERIA
        for label, rows in statistics.groupby("label", sort=False):
            if isinstance(found := rows["criteria"].iloc[0], str) and found:
                yield f"{label}, measured: {found}."
    guessed = statistics[statistics["blind"] > layout.statistics.largest_chance]
    for (benchmark, k), rows in guessed.groupby(["benchmark", "k"], sort=False):
        of = {"benchmark": benchmark, "k": k, "chance": PERCENT * rows["blind"].iloc[0]}
        yield ON_CHANCE.format(**of, largest=PERCENT * layout.statistics.largest_chance)
    yield from _scored.out_of_reach(layout, statistics)
    if layout.note:
        yield layout.note


def sentences(frame: pd.DataFrame, level: float | None) -> list[str]:
    """A sentence per benchmark: each method beside its baseline and its placebos, at the largest k."""
    texts, k = [], frame["k"].max()
    last = frame[(frame["k"] == k) & (frame["effort"] == PAPER)]
    for benchmark, rows in last.groupby("benchmark", sort=False):
        parts = []
        for label, of in rows.groupby("label", sort=False):
            words = {"above": of["difference_low"] > 0, "below": of["difference_high"] < 0}
            words["undecided against"] = ~(words["above"] | words["below"])
            found = [
                f"{word} {' and '.join(of['against_label'][is_so])}" for word, is_so in words.items() if is_so.any()
            ]
            tested = " (its mechanism does not act)" if (of["acts"] == NO).any() else ""
            parts.append(f"{label}{tested} is {', '.join(found)}")
        texts.append(f"{benchmark}, pass@{k}: {'; '.join(parts)}.")
    return texts


TABLE = TableKind(
    config=Config,
    layout=Layout,
    expand=expand,
    lay_out=lay_out,
    statistics=statistics,
    reads=("scores", "mechanisms"),
    render=render,
    sentences=sentences,
)
