"""Claims on pages: their counts, a row per verdict, and the origin of each estimate."""

import re
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
from tabulate import tabulate

from rlvr.claims.contrasts import layout
from rlvr.claims.table import cautions, counted, counts, discoveries, gather, kind_of, notes, numbers, published
from rlvr.claims.verdicts import DECIDED, NOT_EXERCISED, NOT_RUN, meaning
from rlvr.config.plan import Plan
from rlvr.report.browse import CHOICE, NUMBER, TEXT, TableCell, popover, table
from rlvr.report.runs import RunPages
from rlvr.statistics.shown import records

COLUMNS = {
    **{"Paper": CHOICE, "Claim": TEXT, "Verdict": CHOICE, "Estimate": NUMBER, "Scale": CHOICE, "Effort": CHOICE},
    **{"In the paper's own numbers": CHOICE, "Seeds": NUMBER, "About": CHOICE},
}
ALT = "Each claim of each paper: whether its own numbers say so, and what was found here"
Policies = Mapping[tuple[str, ...], list[str]]  # by scale, paper, claim, effort: those of the deciding contrast


def evaluated(results: Path) -> pd.DataFrame:
    """The claims evaluated so far, at every scale; else those that the default target decides."""
    frame = gather(results / "claims")
    if frame.empty:
        first = gather(results / "first")
        frame = first if first.empty else first[first["verdict"] != NOT_RUN]
    return pd.DataFrame({"paper": []}) if frame.empty else complete(frame)


def complete(frame: pd.DataFrame) -> pd.DataFrame:
    """With what the paper's own numbers say on each row, not on a claim's first alone."""
    first = frame.groupby(["scale", "paper", "claim"], sort=False)
    names = ("published", "published_cells", "published_exceptions")
    return frame.assign(**{name: first[name].transform(lambda values: values.iloc[0]) for name in names})


def in_short(frame: pd.DataFrame, picture: str | None = None) -> list[str]:
    """The claims' numbers below their picture, where there is one, as lines of Markdown; none without claims."""
    if frame.empty:
        return []
    table = tabulate(records(counts(frame, ["short", "scale", "effort"])), headers="keys", tablefmt="pipe")
    sentences = [f"- {sentence}" for sentence in [*cautions(frame), *discoveries(frame)]]
    shown = [f"![{ALT}]({picture})", ""] if picture else []
    return [*shown, table, "", *sentences, ""]


def content(frame: pd.DataFrame, runs: RunPages, behind: Policies = MappingProxyType({})) -> dict[str, Any]:
    """What a page says of some claims, nothing without any; `behind` has the policies of each."""
    if frame.empty:
        return {}
    table = verdicts(frame, runs, behind)
    return {"kinds": kinds(frame), "cautions": cautions(frame), "table": table, "notes": notes(frame)}


def kinds(frame: pd.DataFrame) -> str:
    """How many claims of each kind there are, in words."""
    claims = frame.drop_duplicates(["paper", "claim"])
    found = pd.Series([kind_of(row) for row in claims.to_dict("records")]).value_counts(sort=False)
    return "Claims: " + ", ".join(f"{count} on {kind}" for kind, count in found.items())


def decided(frame: pd.DataFrame) -> list[str]:
    """The counted claims with a verdict, with the contrast that decides, as lines of Markdown."""
    return [
        f"- {row['short']}, {row['scale']}, {row['effort']}: {row['says']} ({row['place']}). "
        f"**{row['verdict'].capitalize()}**: {row['deciding']} {numbers(row)}"
        for _, row in counted(frame[frame["verdict"].isin(DECIDED)]).iterrows()
    ]


def policies(frame: pd.DataFrame, plans: Iterable[Plan]) -> Policies:
    """The policies behind each claim's deciding contrast, by the plan of its scale."""
    deciding = {_key(row): str(row["deciding"]) for _, row in frame.iterrows()}
    found: dict[tuple[str, ...], list[str]] = {}
    papers = [(plan, name) for plan in plans for name, made in plan.papers.items() if made.paper.claims]
    for own, paper in papers:
        for claim in layout(own, paper):
            key = (own.scale, paper, claim.claim, claim.effort)
            for contrast in claim.contrasts:
                if deciding.get(key, "").startswith(f"{contrast.says} with {contrast.stand_in}"):
                    found.setdefault(key, contrast.policies)
    return found


def _key(row: Any) -> tuple[str, ...]:
    return (row["scale"], row["paper"], row["claim"], row["effort"])


def anchor(row: Any) -> str:
    """The name of a verdict's row, without signs that an anchor cannot have."""
    name = f"{row['paper']}-{row['claim']}-{row['scale']}-{row['effort']}"
    return name.replace(" ", "-").replace("'", "")


def verdicts(frame: pd.DataFrame, runs: RunPages, behind: Policies) -> str:
    """A row per claim, scale and effort; its estimate leads to the contrast, its interval and its runs."""
    lines = [row for _, row in frame.iterrows()]
    rows = [(anchor(row), _cells(row)) for row in lines]
    popovers = [popover(f"of-{anchor(row)}", str(row["says"]), _facts(row, runs, behind)) for row in lines]
    return "\n".join([table("Claims", COLUMNS, rows), *popovers])


def _cells(row: pd.Series) -> list[TableCell]:
    """Without an estimate, and where the mechanism is not exercised, the verdict's button leads to the reason."""
    judged, origin = bool(pd.notna(row["estimate"])), f"of-{anchor(row)}"
    reasoned = not judged or row["verdict"] == NOT_EXERCISED
    return [
        *(TableCell(row["short"]), TableCell(row["says"], small=str(row["place"]))),
        TableCell(row["verdict"], origin=origin if reasoned else "", mark=meaning(row["verdict"]).replace(" ", "-")),
        TableCell(re.split(r"[;(]", numbers(row))[0].strip(), row["estimate"], origin) if judged else TableCell(""),
        *(TableCell(row["scale"]), TableCell(row["effort"]), TableCell(row["published"])),
        TableCell(f"{row['seeds']:.0f}", row["seeds"]) if judged else TableCell(""),
        TableCell(kind_of(row)),
    ]


def _facts(row: pd.Series, runs: RunPages, behind: Policies) -> dict[str, str]:
    tested = pd.notna(row["p"])
    texts = {
        "Contrast": row["deciding"],
        "Estimate": numbers(row),
        "Interval": f"95 %, over {row['unit']}" if pd.notna(row["estimate"]) else None,
        "p": f"{row['p']:.2g}; over all claims {row['p_of_all_claims']:.2g}" if tested else None,
        "Contrasts judged": f"{row['run']} of {row['contrasts']}",
        "Reason": row["reason"],
        "Learning rates": row["learning_rates"],
        "Place in the paper": row["place"],
        "The paper's own numbers": published(row),
        "Not there": row["published_exceptions"],
    }
    shown = {key: escape(text) for key, text in texts.items() if isinstance(text, str)}
    return {**shown, **runs.origin(behind.get(_key(row), []))}
