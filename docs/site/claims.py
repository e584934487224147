"""The page of all claims: a verdict a row, and the origin of each estimate."""

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
from browse import CHOICE, NUMBER, TEXT, WIDE, Cell, popover, raw, table
from runs import Runs

from rlvr.claims.contrasts import layout
from rlvr.claims.table import NOTES, cautions, numbers, published
from rlvr.claims.verdicts import KINDS, meaning
from rlvr.config.plan import Plan

COLUMNS = {
    **{"Paper": CHOICE, "Claim": TEXT, "Whose": CHOICE, "In the paper's own numbers": CHOICE, "Scale": CHOICE},
    **{"Effort": CHOICE, "Verdict": CHOICE, "Estimate": NUMBER, "Seeds": NUMBER},
}
INTRODUCTION = """# Claims, one by one

What the papers claim, and what was found ([how a verdict is reached](../claims.md)).
Press an estimate to see the contrast, its interval and the runs behind it.

"""
Policies = dict[tuple[str, str, str, str], list[str]]  # scale, paper, claim, effort: those of the deciding contrast


def read(folder: Path) -> pd.DataFrame:
    """The claims of a snapshot, with what the paper's own numbers say on each row, not on a claim's first alone."""
    frame = pd.read_csv(folder / "claims.csv")
    first = frame.groupby(["scale", "paper", "claim"], sort=False)
    for column in ("published", "published_cells", "published_exceptions"):
        frame[column] = first[column].transform(lambda values: values.iloc[0])
    return frame


def anchor(row: Any) -> str:
    return f"{row['paper']}-{row['claim']}-{row['scale']}-{row['effort']}".replace(" ", "-").replace("'", "")


def policies(frame: pd.DataFrame, plans: Iterable[Plan]) -> Policies:
    """The policies behind each claim's deciding contrast, by the plan of its scale."""
    deciding = {
        (row["scale"], row["paper"], row["claim"], row["effort"]): row["deciding"] for _, row in frame.iterrows()
    }
    found: Policies = {}
    for plan in plans:
        for paper in plan.papers:
            for claim in layout(plan, paper) if plan.papers[paper].paper.claims else []:
                key = (plan.scale, paper, claim["claim"], claim["effort"])
                for contrast in claim["contrasts"]:
                    if str(deciding.get(key, "")).startswith(contrast["says"] + " with " + contrast["stand_in"]):
                        found.setdefault(key, _behind(contrast))
    return found


def _behind(contrast: dict[str, Any]) -> list[str]:
    of_terms = [policy for term in contrast["terms"] for rate in term["rates"] for policy in rate["policies"]]
    return [*of_terms, *contrast.get("at", [])]


def page(frame: pd.DataFrame, runs: Runs, behind: Policies) -> str:
    rows, origins = [], []
    for i, (_, row) in enumerate(frame.iterrows()):
        judged = pd.notna(row["estimate"])
        if judged:
            origins.append(popover(f"origin-{i}", str(row["says"]), _facts(row, runs, behind)))
        cells = [
            Cell(row["short"]),
            Cell(row["says"], small=str(row["place"])),
            Cell(KINDS[row["of"]]),
            Cell(row["published"]),
            Cell(row["scale"]),
            Cell(row["effort"]),
            verdict(row["verdict"]),
            Cell(re.split(r"[;(]", numbers(row))[0].strip(), row["estimate"], f"origin-{i}") if judged else Cell(""),
            Cell(f"{row['seeds']:.0f}" if judged else "", row["seeds"] if judged else None),
        ]
        rows.append((anchor(row), cells))
    notes = "\n".join(f"- {note}" for note in NOTES)
    warning = "".join(f"{caution}\n\n" for caution in cautions(frame))
    return WIDE + INTRODUCTION + warning + raw(table("Claims", COLUMNS, rows), *origins) + f"\n{notes}\n"


def verdict(word: str) -> Cell:
    return Cell(word, mark=meaning(word).replace(" ", "-"))


def _facts(row: pd.Series, runs: Runs, behind: Policies) -> dict[str, str]:
    """What a reader asks of an estimate."""
    texts = {
        "Contrast": row["deciding"],
        "Estimate": numbers(row),
        "Interval": f"95 %, over {row['unit']}",
        "p": f"{row['p']:.2g}; over all claims {row['p_of_all_claims']:.2g}" if pd.notna(row["p"]) else None,
        "Contrasts judged": f"{row['run']} of {row['contrasts']}",
        "Learning rates": row["learning_rates"],
        "Place in the paper": row["place"],
        "The paper's own numbers": published(row),
        "Not there": row["published_exceptions"],
    }
    shown = {key: escape(str(text)) for key, text in texts.items() if isinstance(text, str)}
    key = (row["scale"], row["paper"], row["claim"], row["effort"])
    return {**shown, **runs.origin(behind.get(key, []), "runs.html")}
