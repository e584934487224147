"""A page per paper: docs/papers/<paper>.md, which is written by hand, and what the repository knows of the paper."""

import inspect
import json
from pathlib import Path
from typing import Any

import citing
import claims
import jinja2
import masses
import pandas as pd
from docstrings import markdown

from rlvr.claims.table import cautions, published
from rlvr.claims.verdicts import KINDS
from rlvr.config import paper_folders
from rlvr.estimators import load, names

RESULTS = "results"  # the snapshot that papers' pages show
WHOLE = (
    "full-laptop",
    "full-short",
)  # snapshots of every table and figure, the first of which that has a paper is linked


def write(root: Path, out: Path, ledger: pd.DataFrame) -> None:
    """Adds what is known of each paper to its page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template, results = environment.get_template("paper.md.j2"), root / "docs" / RESULTS
    verdicts = claims.read(results) if (results / "claims.csv").is_file() else pd.DataFrame({"paper": []})
    for page in sorted((out / "docs/papers").glob("*.md")):
        content = _content(root, page.stem, ledger, verdicts)
        masses.draw(content["estimator"], content["short"], page.with_name(f"masses-{page.stem}.svg"))
        page.write_text(f"{page.read_text()}\n{template.render(content)}")


def estimator_of(paper: str) -> str:
    """The paper's own estimator, whose name is the paper's without underscores."""
    return next(name for name in names() if name.replace("_", "") == paper)


def _content(root: Path, name: str, ledger: pd.DataFrame, verdicts: pd.DataFrame) -> dict[str, Any]:
    paper = paper_folders.read(root / "config", name, root).content
    estimator = estimator_of(name)
    ledger = ledger[ledger["paper"] == paper["short"]]
    found = verdicts[verdicts["paper"] == name]
    whole = next((scale for scale in WHOLE if (root / "docs" / scale / name).is_dir()), WHOLE[0])
    return {
        **{key: paper[key] for key in ("name", "short", "title", "authors", "year", "deviations")},
        "estimator": estimator,
        "docstring": markdown(inspect.getdoc(load(estimator)) or ""),
        "readings": _readings(root, estimator),
        "ledger": ledger.to_dict("records"),
        "ledger_counts": ledger["verdict"].value_counts().to_dict(),
        "claim_counts": [
            f"{count} {KINDS[kind]}" for kind, count in found.groupby("of", sort=False)["claim"].nunique().items()
        ]
        if len(found)
        else [],
        "cautions": cautions(found) if len(found) else [],
        "claims": [_claim(rows) for _, rows in found.groupby("claim", sort=False)] if len(found) else [],
        "results": _results(root / "docs" / RESULTS / name),
        "whole": whole,
        "more": _results(root / "docs" / whole / name),
        "bibtex": citing.fenced(citing.of_paper(root, name)),
    }


def _readings(root: Path, estimator: str) -> list[list[str]]:
    """The rows of docs/methods.md's table of readings on an estimator and on GRPO, which most are based on."""
    rows, method = [], ""
    for line in (root / "docs/methods.md").read_text().splitlines():
        if not line.startswith("|"):
            continue
        first, *rest = [cell.strip() for cell in line.strip("|").split(" | ")]
        method = first.strip("| ") or method
        if f"`{estimator}`" in method.split(" and ")[0] or method.startswith("`grpo`"):
            rows.append([method, *(cell.strip("| ") for cell in rest)])
    return sorted(rows, key=lambda row: row[0].startswith("`grpo`"))


def _claim(rows: pd.DataFrame) -> dict[str, Any]:
    first = rows.iloc[0]
    results = [
        {
            "where": f"{row['scale']}, {row['effort']}",
            "verdict": claims.verdict(row["verdict"]),
            "link": f"../results/claims-table.html#{claims.anchor(row)}",
        }
        for _, row in rows.iterrows()
    ]
    return {"says": first["says"], "place": first["place"], "published": published(first), "results": results}


def _results(folder: Path) -> list[dict[str, str]]:
    """The paper's tables and figures in a snapshot, with their titles."""
    found = []
    for path in sorted([*folder.glob("*.md"), *folder.glob("*.png")]):
        if path.suffix == ".md":
            title = path.read_text().partition("\n")[0].removeprefix("# ")
        else:
            kept = folder / ".data" / f"{path.stem}.json"
            title = json.loads(kept.read_text())["specification"].get("title", "") if kept.is_file() else ""
        found.append({"file": path.name, "kind": path.suffix[1:], "title": title or path.stem.replace("_", " ")})
    return found
