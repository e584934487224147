"""A page per paper: config/papers/<paper>/page.md, written by hand, and what the repository knows of the paper."""

import inspect
from functools import cached_property
from pathlib import Path
from typing import Any

import citing
import masses
import pandas as pd
from docstrings import markdown

from rlvr.config import paper_folders
from rlvr.cost import stated as devices
from rlvr.estimators import load, names
from rlvr.files import read_json
from rlvr.planning.expansion import make_plan
from rlvr.report import claims, ledger, readme, runs, stated, text

WIDE = "---\nhide-toc: true\n---\n\n"  # of a page that is a table: it takes the whole width
PAPERS_OWN = "paper"  # the scale of the papers' own models, data and settings
SETTINGS = "settings"  # the folder of pages of settings
PAGE_OF_RUNS = "runs-{model}.html"  # of a snapshot; all of a large one would be above the largest page
RESULTS = "results"  # the snapshot that papers' pages show, and lead to in the navigation


class Snapshot:
    """The runs and claims of a snapshot."""

    def __init__(self, root: Path, folder: Path):
        self.root, self.folder, self.runs = root, folder, runs.read(folder)
        found = readme.claims_of(folder)
        self.claims = found if found.empty else claims.complete(found)

    @cached_property
    def behind(self) -> claims.Policies:
        """The policies behind each claim, as today's plans have them."""
        papers = list(dict.fromkeys(self.claims["paper"]))
        plans = [make_plan(self.root, scale, papers) for scale in dict.fromkeys(self.claims["scale"])]
        return claims.policies(self.claims, plans)

    def section(self, chosen: pd.DataFrame, page_of_runs: str) -> str:
        """What pages say of some of the claims."""
        parts: Any = text.environment().get_template("parts.md.j2").module
        return parts.claims(claims.content(chosen, self.runs.at(page_of_runs), self.behind))

    def results(self, paper: str) -> dict[str, Any]:
        """The paper's tables and figures."""
        contents = read_json(self.folder / readme.CONTENTS)
        items = {one["name"]: one["items"] for one in contents["papers"]}
        return readme.results(self.folder / paper, items.get(paper, []))


def write(root: Path, out: Path, statements: Path, taken: Snapshot) -> None:
    """Adds what is known of each paper to its page; `statements` is the theory's ledger."""
    template = text.environment(Path(__file__).parent).get_template("paper.md.j2")
    theory = pd.read_csv(statements, keep_default_na=False)
    (out / "docs/papers" / SETTINGS).mkdir()
    for page in sorted((out / "docs/papers").glob("*.md")):
        (page.parent / SETTINGS / page.name).write_text(WIDE + settings(root, page.stem))
        content = _content(root, page.stem, theory, taken)
        masses.draw(content["estimator"], content["short"], page.with_name(f"masses-{page.stem}.svg"))
        title, rest = page.read_text().split("\n", 1)
        page.write_text(f"{title}\n\n{content['found']}{rest}\n{template.render(content)}")


def settings(root: Path, paper: str) -> str:
    """The page of a paper's settings beside its sentences. A difference that nothing explains is named in its line."""
    plan = make_plan(root, PAPERS_OWN, [paper])
    whole, rows = devices.compared(root, plan, paper)
    return stated.page(plan, paper, rows, whole)


def estimator_of(paper: str) -> str:
    """The paper's own estimator, whose name is the paper's without underscores."""
    return next(name for name in names() if name.replace("_", "") == paper)


def _content(root: Path, name: str, theory: pd.DataFrame, taken: Snapshot) -> dict[str, Any]:
    paper = paper_folders.read(root / "config", name, root).content
    estimator = estimator_of(name)
    own = taken.claims[taken.claims["paper"] == name]
    return {
        **{key: paper[key] for key in ("name", "short", "deviations")},
        "estimator": estimator,
        "docstring": markdown(inspect.getdoc(load(estimator)) or ""),
        "readings": _readings(root, estimator),
        "theory": ledger.of(paper["short"], theory),
        "claims": "" if own.empty else taken.section(own, f"../{RESULTS}/{PAGE_OF_RUNS}"),
        "results": taken.results(name),
        "found": _found(taken, name),
        "bibtex": citing.fenced(citing.of_paper(root, name)),
    }


def _found(taken: Snapshot, paper: str) -> str:
    """What was found of a paper, for the top of its page."""
    lines = [f"- {line}" for line in readme.found(taken.folder / paper)]
    scale = f"{read_json(taken.folder / readme.CONTENTS)['title'].removeprefix('Results ')}"
    return "\n".join([f"**Found here**, {scale} ([results](../{RESULTS}/README.md)):", "", *lines, ""]) if lines else ""


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
