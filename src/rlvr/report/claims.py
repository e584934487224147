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
from rlvr.claims.verdicts import DECIDED, IN_WORDS, NOT_EXERCISED, NOT_RUN, VERDICTS, meaning
from rlvr.config.plan import Plan
from rlvr.report.browse import CHOICE, NUMBER, TEXT, TableCell, popover, table
from rlvr.report.runs import RunPages
from rlvr.statistics.shown import records

COLUMNS = {
    **{"Paper": CHOICE, "Claim": TEXT, "Verdict": CHOICE, "Estimate": NUMBER, "Scale": CHOICE, "Setting": CHOICE},
    **{"In the paper's own numbers": CHOICE, "Seeds": NUMBER, "About": CHOICE},
}
Policies = Mapping[tuple[str, ...], list[str]]  # by scale, paper, claim, effort: those of the deciding contrast


def evaluated(results: Path) -> pd.DataFrame:
    """The claims evaluated so far, at every scale; else those that the default target decides."""
    frame = gather(results / "claims")
    if frame.empty:
        first = gather(results / "first")
        frame = first if first.empty else first[first["verdict"] != NOT_RUN]
    return pd.DataFrame({"paper": []}) if frame.empty else complete(frame)


def complete(frame: pd.DataFrame) -> pd.DataFrame:
    """With what the paper's own numbers say on each row, not only on a claim's first."""
    first = frame.groupby(["scale", "paper", "claim"], sort=False)
    names = ("published", "published_cells", "published_exceptions")
    return frame.assign(**{name: first[name].transform(lambda values: values.iloc[0]) for name in names})


def summary(frame: pd.DataFrame) -> dict[str, Any]:
    """How many claims have which verdict, with a legend of the verdicts, as HTML and as Markdown; nothing without any.

    The legend counts claims of the papers; margins and controls of ours, and claims that settings were chosen for, are
    in the counts by kind only.
    """
    if frame.empty:
        return {}
    of_papers = counted(frame[frame["of"] == "paper"])
    efforts = list(dict.fromkeys(zip(frame["scale"], frame["effort"], strict=True)))
    shorts = list(dict.fromkeys(frame["short"]))
    number = of_papers.groupby(["verdict", "short", "scale", "effort"]).size()
    rows = [
        {
            "Verdict": verdict,
            **{
                short: " / ".join(str(number.get((verdict, short, *effort), 0)) for effort in efforts)
                for short in shorts
            },
            "It means": IN_WORDS[verdict],
        }
        for verdict in VERDICTS
        if verdict in set(frame["verdict"])
    ]
    return {
        "legend": legend(rows),
        "table": tabulate(rows, headers="keys", tablefmt="pipe", disable_numparse=True),
        "numbers": " / ".join(_settings(*effort, frame) for effort in efforts),
        "kinds": tabulate(records(counts(frame, ["short", "scale", "effort"])), headers="keys", tablefmt="pipe"),
        "sentences": [*cautions(frame), *discoveries(frame)],
    }


def _settings(scale: str, effort: str, frame: pd.DataFrame) -> str:
    return effort if frame["scale"].nunique() == 1 else f"{scale}, {effort}"


def legend(rows: list[dict[str, str]]) -> str:
    """The rows of `summary` as HTML, each verdict in its colour."""
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in rows[0])
    lines = [
        "".join(TableCell(text, mark=_mark(text) if name == "Verdict" else "").html() for name, text in row.items())
        for row in rows
    ]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    table = f"<table><thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<div class="wide legend" tabindex="0">{table}</div>'


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


def decided(frame: pd.DataFrame) -> str:
    """The counted claims with a verdict, with the contrast that decides, as a table of Markdown; empty without any."""
    rows = [
        {
            "Paper": row["short"],
            "Setting": _settings(row["scale"], row["effort"], frame),
            "Claim": f"{row['says']} ({row['place']})",
            "Verdict": f"**{row['verdict']}**",
            "Deciding contrast": row["deciding"],
            "Estimate": numbers(row),
        }
        for _, row in (counted(frame[frame["verdict"].isin(DECIDED)]).iterrows() if len(frame) else ())
    ]
    cells = [{name: text.replace("|", r"\|") for name, text in row.items()} for row in rows]
    return tabulate(cells, headers="keys", tablefmt="pipe", disable_numparse=True)


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
    """A row per claim, scale and effort; its estimate leads to the contrast, its interval and its runs.

    A column with one value for all claims is left out.
    """
    lines = [row for _, row in frame.iterrows()]
    cells = [_cells(row) for row in lines]
    shown = [name for name in COLUMNS if COLUMNS[name] != CHOICE or len({row[name].text for row in cells}) > 1]
    shown = [name for name in COLUMNS if name in ("Verdict", *shown)]
    rows = [(anchor(row), [of[name] for name in shown]) for row, of in zip(lines, cells, strict=True)]
    popovers = [popover(f"of-{anchor(row)}", str(row["says"]), _facts(row, runs, behind)) for row in lines]
    return "\n".join([table("Claims", {name: COLUMNS[name] for name in shown}, rows), *popovers])


def _cells(row: pd.Series) -> dict[str, TableCell]:
    """Without an estimate, and where the mechanism is not exercised, the verdict's button leads to the reason."""
    judged, origin = bool(pd.notna(row["estimate"])), f"of-{anchor(row)}"
    reasoned = not judged or row["verdict"] == NOT_EXERCISED
    return {
        "Paper": TableCell(row["short"]),
        "Claim": TableCell(row["says"], small=f"{row['place']}. {_here(row)}"),
        "Verdict": TableCell(row["verdict"], origin=origin if reasoned else "", mark=_mark(row["verdict"])),
        "Estimate": TableCell(re.split(r"[;(]", numbers(row))[0].strip(), row["estimate"], origin)
        if judged
        else TableCell(""),
        "Scale": TableCell(row["scale"]),
        "Setting": TableCell(row["effort"]),
        "In the paper's own numbers": TableCell(row["published"]),
        "Seeds": TableCell(f"{row['seeds']:.0f}", row["seeds"]) if judged else TableCell(""),
        "About": TableCell(kind_of(row)),
    }


def _here(row: pd.Series) -> str:
    """What the deciding contrast is of: a reader must not take a stand-in's number for one on the paper's set."""
    if pd.isna(row["estimate"]):
        return "Not judged here." if row["verdict"] != NOT_RUN else "Not run here."
    data = row["data"] if isinstance(row["data"], str) else ""
    return f"Here: {row['stand_in']}{f' on {data}' if data else ''}."


def _mark(verdict: str) -> str:
    """The class of a verdict's colour."""
    return meaning(verdict).replace(" ", "-")


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
