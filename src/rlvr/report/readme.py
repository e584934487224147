"""The page of a snapshot, README.md, from the snapshot's own files: so it can be written again at any time.

`contents.json` has what the other files do not say: the title, what the scale is, and the papers with their items.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from rlvr.claims import controls, mechanism_table
from rlvr.config.plan import Plan
from rlvr.files import publish, read_json
from rlvr.items import TABLES
from rlvr.report import answers, captions, claims, findings, rerender, runs, text

CONTENTS, CLAIMS, CHECKSUMS = "contents.json", "claims.csv.xz", "SHA256SUMS"


def publish_with(folder: Path, **contents: Any) -> None:
    """Writes the contents and the page; `snapshot.md.j2` names the contents."""
    publish(folder / CONTENTS, json.dumps(contents, ensure_ascii=False, indent=1) + "\n")
    publish(folder / "README.md", page(folder))


def paper(plan: Plan, name: str, items: list[str]) -> dict[str, Any]:
    """The contents of a paper."""
    about = plan.papers[name].paper
    return {**about.model_dump(include={"name", "short", "title", "authors", "year"}), "items": items}


def page(folder: Path, *, pictures: bool = True) -> str:
    """The page; without `pictures` it has links to them."""
    contents, frame = read_json(folder / CONTENTS), claims_of(folder)
    criteria = folder / mechanism_table.CSV
    judged = (
        mechanism_table.read(criteria) if criteria.is_file() else pd.DataFrame({"paper": [], "kind": [], "met": []})
    )
    papers = [
        {
            **paper,
            **results(folder / paper["name"], paper["items"]),
            "answers": found(folder / paper["name"]),
            "missed": controls.missed(judged[judged["paper"] == paper["name"]]),
        }
        for paper in contents["papers"]
    ]
    return text.render(
        "snapshot.md.j2",
        **{**contents, "papers": papers},
        shown=pictures,
        lacking=_lacking(papers),
        counted=(folder / CHECKSUMS).is_file(),
        compared=all((folder / picture).is_file() for picture in findings.PICTURES),
        runs=runs.read(folder),
        criteria=criteria.is_file(),
        verdicts=claims.summary(frame),
        decided=claims.decided(frame),
    )


def _lacking(papers: list[dict[str, Any]]) -> str:
    """In words: what of the papers' tables and figures a snapshot has no file of; empty where it has all."""
    kinds = {"figures": "Pictures", "tables": "tables without a link"}
    lost = [words for kind, words in kinds.items() if any(not item["file"] for paper in papers for item in paper[kind])]
    return " and ".join(lost).capitalize() if lost else ""


def found(folder: Path) -> list[str]:
    """What was found of a paper on each set, from its folder of a snapshot; empty where it has no comparisons."""
    if not findings.compared(folder):
        return []
    frames = [pd.read_csv(file) for file in sorted((folder / rerender.DATA).glob("*.csv*"))]
    return answers.lines([frame for frame in frames if {"label", "k"} <= set(frame)], {})


def results(folder: Path, items: list[str]) -> dict[str, list[dict[str, str]]]:
    """A paper's tables and figures in a snapshot, each with its file, or "" where the snapshot has only its data."""
    found: dict[str, list[dict[str, str]]] = {"tables": [], "figures": []}
    every = rerender.items_of(folder)
    for item in (every[name] for name in items):
        layout, file = item.layout, f"{folder.name}/{item.shown.name}" if item.shown.is_file() else ""
        if item.folder == TABLES:
            found["tables"].append({"title": layout.title, "file": file})
            continue
        smooth, frames = getattr(layout, "smooth", None), [*item.statistics().values()]
        found["figures"].append({**captions.figure(layout, smooth, frames, file), "file": file})
    return found


def claims_of(folder: Path) -> pd.DataFrame:
    """The claims of a snapshot; empty for one without."""
    file = folder / CLAIMS
    return pd.read_csv(file) if file.is_file() else pd.DataFrame({"paper": []})
