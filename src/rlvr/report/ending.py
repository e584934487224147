"""What a command of Snakemake ends with: its results in a line each, and where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from rlvr import items
from rlvr.config.measures import PERCENTAGE, of_difference
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan, by_name, first_items
from rlvr.planning.arms import BASE
from rlvr.statistics import shown
from rlvr.statistics.table_rows import BLIND

if TYPE_CHECKING:
    from rlvr.config.plan import PaperPlan

MEANINGLESS = "smoke"  # a scale that checks the stages


def lines(plan: Plan, paths: Paths, targets: Sequence[str], mine: str = "") -> list[str]:
    """The lines on a command's targets: none or `all`, a league, papers. Other targets and absent files have none.

    `mine` is the arm that a league ranks beside others.
    """
    said: list[str] = []
    if not targets or "all" in targets:
        said += _of_default(plan, paths)
    if "league" in targets:
        said += _of_league(plan, paths, mine)
    pages = [paths.page(paper) for paper in plan.papers if f"paper_{paper}" in targets]
    said += [f"page: {page}" for page in pages if Path(page).is_file()]
    if said and paths.scale == MEANINGLESS:
        said.insert(0, f"the numbers of scale {MEANINGLESS} mean nothing: it checks every stage")
    return said


def _of_default(plan: Plan, paths: Paths) -> Iterator[str]:
    """A line per table, the page, and the verdicts."""
    for paper, name in first_items(plan):
        file = Path(paths.statistics(paper, name))
        if plan.papers[paper].item(name).folder == items.TABLES and file.is_file():
            yield from result(pd.read_csv(file), _placebos(plan.papers[paper]))
    verdicts = next(path for path in paths.first_verdicts() if path.endswith(".md"))
    found = {"page to open": paths.entrance(), "verdicts on the claims": verdicts}
    yield from (f"{name}: {path}" for name, path in found.items() if Path(path).is_file())


def _placebos(planned: PaperPlan) -> set[str]:
    return {arm for several in planned.paper.placebos.values() for arm in several}


def result(frame: pd.DataFrame, left_out: set[str]) -> Iterator[str]:
    """A line per data set and model of a table of pass@k: the baseline's, and each method minus it at the largest k."""
    for (benchmark, stand_in), rows in frame.groupby(["benchmark", "stand_in"], sort=False):
        trained = rows["arm"].ne(BASE) & rows["arm"].ne(BLIND)
        least, k = rows["k"].min(), rows["k"].max()
        baseline = rows[trained & rows["difference"].isna()].set_index("k")
        others = rows[trained & (rows["k"] == k) & rows["difference"].notna() & ~rows["arm"].isin(left_out)]
        if baseline.empty or others.empty:
            continue
        of: Any = baseline.loc[k]
        before = rows[rows["arm"] == BASE].set_index("k")["value"]
        solved = [
            _percent(baseline.loc[at]) + (f" (before RL {before[at]:.1f} %)" if at in before else "")
            for at in (least, k)
        ]
        data = of.get("data", benchmark)
        place = f"{data} (in place of {benchmark})" if data != benchmark else data
        compared = "; ".join(_compared(row) for row in shown.records(others))
        yield (
            f"{stand_in} on {place}: {of['label']} solves {solved[0]} in {_tries(least)} and {solved[1]} in "
            f"{_tries(k)}. Difference to {of['label']} in {_tries(k)}: {compared}. "
            f"95 % intervals over {shown.over(int(of['seeds']), int(of['problems']))}."
        )


def _tries(k: int) -> str:
    return f"{k} {'try' if k == 1 else 'tries'}"


def _percent(row: Any) -> str:
    return f"{row['value']:.1f} %{shown.brackets(row['value_low'], row['value_high'], '.1f', PERCENTAGE)}"


def _compared(row: dict[str, Any]) -> str:
    low, high = row["difference_low"], row["difference_high"]
    interval = shown.brackets(low, high, "+.1f", of_difference(PERCENTAGE))
    numbers = f"{row['difference']:+.1f} points{interval}".replace("-", "−")
    return f"{row['label']} {numbers}, {shown.direction(low, high)}"


def _of_league(plan: Plan, paths: Paths, mine: str) -> Iterator[str]:
    """The rank of an arm of one's own, or else who comes first; and where the table is."""
    league = "mine" if mine else "league"
    for paper, name in by_name(plan).get(league, ()):
        item, file = plan.papers[paper].item(name), Path(paths.statistics(paper, name))
        if item.folder != items.TABLES or not file.is_file():
            continue
        kind, frame = items.TABLE_KINDS.load(item.content.kind), pd.read_csv(file)
        if mine and kind.rank_of:
            yield kind.rank_of(frame, mine)
        elif kind.sentences:
            yield from kind.sentences(frame, None)
        table = next(path for path in paths.table(paper, name) if path.endswith(".md"))
        yield from (f"{what}: {path}" for what, path in (("table", table), ("page to open", paths.page(league))))
