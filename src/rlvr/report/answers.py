"""What was found on each set, in words and numbers: the lines at the top of a page, from statistics that pages show."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from rlvr.claims.contrasts import PAPER
from rlvr.claims.mechanisms import NO
from rlvr.report.text import escape
from rlvr.statistics.shown import direction, records

BASE = "base"  # the arm that is not trained with RL
ON = ["model", "benchmark"]
DIFFERENCE = ("difference", "difference_low", "difference_high")
MANY = 0.2  # of blind guesses that are right, as `largest_chance` of config/defaults.yaml


def lines(
    frames: Sequence[pd.DataFrame], placebos: Mapping[str, Collection[str]], *, hidden: Collection[str] = ()
) -> list[str]:
    """A line of Markdown per model and set: the baseline's gain over its base, and each method minus the baseline.

    `frames` are statistics of pass@k; comparisons (`rlvr.tables.comparisons`), where they are among them, say which
    methods the lines have. Without them all arms are methods but the `placebos` of methods and the `hidden` ones.
    """
    comparing = [frame for frame in frames if "against" in frame]
    scored = [frame for frame in frames if {*ON, "label", "k", "value"} <= set(frame) and "against" not in frame]
    scored = [frame[frame["score"] == "pass"] for frame in scored if "score" in frame]
    hidden = {BASE, *hidden, *(arm for of in placebos.values() for arm in of)}
    found: dict[tuple[Any, ...], str] = {}
    for frame in comparing or scored:
        for of, rows in frame.groupby(ON, sort=False):
            line = _compared(rows) if comparing else _scored(rows, hidden)
            found.setdefault(tuple(of), line and _where(rows.iloc[0]) + _gain(scored, of, rows["seeds"].max()) + line)
    return [line for line in found.values() if line]


def _where(row: pd.Series) -> str:
    """The model and set that were run, and those of the paper that they stand for."""
    here, paper = (row["stand_in"], row.get("data", row["benchmark"])), (row["model"], row["benchmark"])
    instead = "" if here == paper else f", in place of {paper[0]} on {paper[1]}"
    return f"**{escape(f'{here[0]} on {here[1]}')}**{escape(instead)}: "


def _gain(scored: Sequence[pd.DataFrame], of: Any, seeds: int) -> str:
    """`GRPO 35.0 → 42.8 pass@1`: the baseline beside its base policy at the smallest k, with as many seeds; or "".

    A figure of fewer seeds has other numbers, which the methods beside it were not compared with.
    """
    for frame in scored:
        rows = frame[(frame[ON] == list(of)).all(axis=1)]
        rows = rows[rows["k"] == rows["k"].min()]
        base, baseline = rows[rows["arm"] == BASE], rows[rows["difference"].isna()]
        if len(base) and len(baseline) and baseline["seeds"].iloc[0] == seeds:
            first = baseline.iloc[0]
            change = f"{base['value'].iloc[0]:.1f} → {first['value']:.1f} pass@{first['k']}"
            return f"{escape(str(first['label']))} {change} (base policy, then trained). "
    return ""


def _compared(rows: pd.DataFrame) -> str:
    """Each method minus the baseline, which is the first arm that methods are compared with."""
    baseline = rows["against"].iloc[0]
    own = rows[(rows["effort"] == PAPER) & (rows["against"] == baseline)]
    said = _methods(own, str(rows["against_label"].iloc[0]))
    guessed = own.loc[own["k"] == own["k"].max(), "blind"].max() if "blind" in own else 0.0
    return f"{said} Blind guesses have {100 * guessed:.0f} % at this k." if said and guessed > MANY else said


def _scored(rows: pd.DataFrame, hidden: Collection[str]) -> str:
    without = rows[rows["difference"].isna()]
    if without.empty or rows["difference"].isna().all():
        return ""
    own = rows[rows["difference"].notna() & ~rows["arm"].isin(hidden)]
    return _methods(own, str(without["label"].iloc[0]))


def _methods(rows: pd.DataFrame, baseline: str) -> str:
    last = rows[rows["k"] == rows["k"].max()] if len(rows) else rows
    found = list(_words(last))
    return f"Pass@{last['k'].iloc[0]} minus that of {escape(baseline)}: {'; '.join(found)}." if found else ""


def _words(rows: pd.DataFrame) -> Iterator[str]:
    for row in records(rows):
        value, low, high = (row[name] for name in DIFFERENCE)
        if pd.notna(value):
            tested = " (its mechanism does not act)" if row.get("acts") == NO else ""
            interval = "" if pd.isna(low) else f" [{low:+.1f}, {high:+.1f}]"
            numbers = f"{value:+.1f}{interval}".replace("-", "−")
            word = "equal" if value == low == high == 0 else direction(low, high)
            yield escape(f"{row['label']} {numbers}, ") + f"**{word}**{tested}"
