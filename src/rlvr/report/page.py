"""Stage: report. One self-contained page: tables, figures, settings, and the origin of every number."""

import base64
import json
import time
from pathlib import Path
from typing import Annotated, Any

import jinja2
import pandas as pd
import typer

from rlvr import items, stages
from rlvr.claims.pages import Claims
from rlvr.claims.table import NOTES
from rlvr.config.paths import Paths
from rlvr.files import publish, read_json
from rlvr.report import captions, origins
from rlvr.statistics.shown import records


class Page:
    """Collects the content of a page from a results folder."""

    def __init__(self, layout: dict[str, Any], results: Path):
        self.layout, self.results, self.claims = layout, results, Claims(results)
        self.paths = Paths(str(results), layout["scale"])
        self.manifests: dict[str, dict[str, Any]] = {}
        for paper in layout["papers"]:
            for item in paper["items"]:
                for policy, folder in item["manifests"].items():
                    self.manifests.setdefault(policy, read_json(results / folder / "manifest.json"))

    def render(self) -> str:
        folder = Path(__file__).parent
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined
        )
        runs = [self._run(policy) for policy in self.manifests]
        seconds = sum(float(m.get("seconds", 0)) for m in self.manifests.values())
        papers = [self._paper(paper) for paper in self.layout["papers"]]
        overview = [self._in_short(paper) for paper in self.layout["every_paper"]]
        shorts = ", ".join(paper["short"] for paper in papers)
        shown = self.layout["every_paper"] or papers
        return environment.get_template("page.html.j2").render(
            **{key: self.layout[key] for key in ("page", "scale", "about_scale", "stand_ins", "notes")},
            title=self._title(shorts),
            papers=papers,
            overview=overview,
            leagues=self._leagues(),
            grid=self.claims.picture([paper["name"] for paper in self.layout["every_paper"]]),
            matrix=self.claims.matrix([paper["name"] for paper in self.layout["every_paper"]]),
            about_verdicts=NOTES,
            cautions=self.claims.cautions([paper["name"] for paper in shown]),
            runs=runs,
            seconds=_duration(seconds),
            commits=origins.each(self.manifests.values(), origins.commit),
            locks=origins.each(self.manifests.values(), origins.lock),
            devices=origins.each(self.manifests.values(), origins.device),
        )

    def _leagues(self) -> dict[str, str]:
        """The overview's links to pages of items that are made by name alone, where there are any."""
        pages = {Path(self.paths.page(name)): title for name, title in self.layout["leagues"].items()}
        return {path.name: title for path, title in pages.items() if path.is_file()}

    def _title(self, shorts: str) -> str:
        if not self.manifests:
            return f"{shorts}: closed forms"
        if self.layout["title"]:
            return self.layout["title"]
        return f"{shorts}: tables, figures, claims" if self.layout["page"] != "index" else "RLVR papers: what was run"

    def _paper(self, paper: dict[str, Any]) -> dict[str, Any]:
        visible_arms = {row for item in paper["items"] for row in self._arms(paper["name"], item)}
        return {
            **paper,
            "items": [self._item(paper["name"], item) for item in paper["items"]],
            "arms": [arm for name, arm in paper["arms"].items() if name in visible_arms],
            "claims": self.claims.of(paper["name"]) if self.layout["page"] != "index" else [],
            "overlap": self._overlap(paper["name"]) if paper["sets"] else "",
            "theory": self._theory(paper["short"]),
        }

    def _theory(self, short: str) -> list[dict[str, Any]]:
        """The ledger's findings on a paper; none on the overview, nor before the ledger was made."""
        path = Path(self.paths.ledger())
        if self.layout["page"] == "index" or not path.is_file():
            return []
        ledger = pd.read_csv(path, keep_default_na=False)
        return records(ledger[ledger["paper"] == short])

    def _in_short(self, paper: dict[str, Any]) -> dict[str, Any]:
        """The overview's row of a paper: how much of it ran at this scale, and the cost."""
        manifests = [self.results / "runs" / run / "manifest.json" for run in paper["runs"]]
        finished = [read_json(path) for path in manifests if path.is_file()]
        scores = [self.results / "evaluations" / policy / name / "scores.csv" for policy, name in paper["evaluations"]]
        page = Path(self.paths.page(paper["name"]))
        return {
            **{key: paper[key] for key in ("name", "short", "title", "claims", "items")},
            "runs": f"{len(finished)} of {len(manifests)}",
            "evaluations": f"{sum(path.is_file() for path in scores)} of {len(scores)}",
            "seconds": _duration(sum(float(manifest.get("seconds", 0)) for manifest in finished)),
            "page": page.name if page.is_file() or len(finished) == len(manifests) > 0 else "",
        }

    def _overlap(self, paper: str) -> str:
        overlap = read_json(self.paths.overlap(paper))
        shared = {pair: count for pair, count in overlap["shared"].items() if count}
        sizes = ", ".join(f"{name} {count}" for name, count in overlap["problems"].items())
        near = {pair: report["near"] for pair, report in overlap.get("compared", {}).items() if report["near"]}
        similar = f" Pairs that are nearly equal: {near or 'none'}." if "compared" in overlap else ""
        return f"Different problems: {sizes}. Shared by two sets: {shared or 'none'}.{similar}"

    def _arms(self, paper: str, item: dict[str, Any]) -> set[str]:
        """The arms of the paper's file that an item shows; a swept arm counts as the arm it varies."""
        if item["analytic"]:
            return set()
        methods = self.layout["methods"][paper]
        arms = {str(arm) for source in item["statistics"] for arm in self._statistics(paper, source)["arm"]}
        return {methods.get(arm, arm) for arm in arms}

    def _statistics(self, paper: str, name: str) -> pd.DataFrame:
        return pd.read_csv(self.paths.statistics(paper, name))

    def _item(self, paper: str, item: dict[str, Any]) -> dict[str, Any]:
        folder = Path(self.paths.papers) / paper
        entry: dict[str, Any] = {**item, "short": item["name"].replace("_", " "), "files": []}
        entry["files"] = [f"{folder}/statistics/{name}.csv" for name in item["statistics"]]
        frames = [] if item["analytic"] else [self._statistics(paper, name) for name in item["statistics"]]
        entry["sources"] = [row for frame in frames for row in self._sources(frame)]
        kind = items.kinds(item["folder"]).load(item["shown"])
        if isinstance(kind, items.TableKind):
            table = pd.read_csv(folder / "tables" / f"{item['name']}.csv", dtype=str, keep_default_na=False)
            entry["columns"], entry["rows"] = _folded(table) if not item["analytic"] else _plain(table)
            text = (folder / "tables" / f"{item['name']}.md").read_text()
            in_short = kind.sentences or (lambda frame, level: [])
            entry["in_short"] = [sentence for frame in frames for sentence in in_short(frame, entry["level"])]
            entry["notes"] = [line[2:] for line in text.splitlines() if line.startswith("- ")]
        else:
            image = (folder / "figures" / f"{item['name']}.png").read_bytes()
            entry["image"] = base64.b64encode(image).decode()
            shown = frames or [self._statistics(paper, name) for name in item["statistics"]]
            entry["alt"] = captions.in_words(item["title"], shown)
            at = "" if item["analytic"] else f" Made at {self.layout['scale']} scale."
            entry["caption"] = captions.caption(item["shown"], shown, item["smooth"]) + at
        return entry

    def _sources(self, frame: pd.DataFrame) -> list[dict[str, Any]]:
        rows = []
        made = frame.dropna(subset="policies")  # not a blind guesser
        for (label, model), cell in made.groupby(["label", "model"], sort=False):
            policies = list(dict.fromkeys(" ".join(cell["policies"]).split()))
            manifests = [self.manifests[policy] for policy in policies]
            seeds = [str(manifest.get("seed", "")) for manifest in manifests]
            rows.append(
                {
                    "label": label,
                    "model": model,
                    "seeds": ", ".join(dict.fromkeys(seeds)),
                    "seconds": round(sum(float(manifest.get("seconds", 0)) for manifest in manifests), 1),
                    "commits": origins.each(manifests, origins.commit),
                    "locks": origins.each(manifests, origins.lock),
                    "devices": origins.each(manifests, origins.device),
                    "runs": policies,
                }
            )
        return rows

    def _run(self, policy: str) -> dict[str, Any]:
        manifest = self.manifests[policy]
        return {
            "id": policy,
            "stage": manifest.get("stage", "published model"),
            "seed": manifest.get("seed", ""),
            "steps": manifest.get("step", ""),
            "seconds": manifest.get("seconds", ""),
            "resumed_from": manifest.get("resumed_from") or "",
            "commit": origins.in_order(manifest, origins.commit),
            "lock": origins.in_order(manifest, origins.lock),
            "device": origins.in_order(manifest, origins.device),
            "finished": origins.finished(manifest),
            "spec": json.dumps(manifest.get("spec", manifest.get("hub")), indent=1, sort_keys=True),
        }


def _plain(table: pd.DataFrame) -> tuple[list[str], list[dict[str, Any]]]:
    rows = [{"cells": [[cell] for cell in cells], "kind": "plain"} for cells in table.to_numpy().tolist()]
    return list(table.columns), rows


def _folded(table: pd.DataFrame) -> tuple[list[str], list[dict[str, Any]]]:
    """A table's columns and rows, narrow enough for a small screen.

    Where a method has several lines (ours, published, ...), one column has their names, and each benchmark and model
    is a heading. A cell is a text and, in smaller type below it, its interval.
    """
    names = ["" if name.startswith("Unnamed") else name for name in table.columns]
    if "" not in names:
        return names, [{"cells": _cells(cells), "kind": "first ours"} for cells in table.to_numpy().tolist()]
    lead, rows = names.index(""), []
    for cells in table.to_numpy().tolist():
        *above, method = cells[:lead]
        if any(above):
            rows.append({"cells": [[", ".join(filter(None, above))]], "kind": "above"})
        kind = "first ours" if method else "other"
        rows.append({"cells": _cells([method or cells[lead], *cells[lead + 1 :]]), "kind": kind})
    return names[lead:], rows


def _cells(texts: list[str]) -> list[list[str]]:
    return [text.replace("]", "").split(" [", 1) for text in texts]


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else time.strftime("%-M min %-S s", time.gmtime(seconds))


def main(
    spec: stages.Spec, results: stages.Results, out: Annotated[Path, typer.Option(help="HTML file to write.")]
) -> None:
    """Write a report page."""
    publish(out, Page(read_json(spec), results).render())


if __name__ == "__main__":
    typer.run(main)
