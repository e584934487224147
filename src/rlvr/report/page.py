"""Stage: report. One self-contained page: tables, figures, settings, and the origin of every number."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rlvr import items, stage_options
from rlvr.claims import controls, mechanism_table
from rlvr.config.layouts import Layout
from rlvr.config.paths import Paths
from rlvr.files import publish, read_json
from rlvr.report import answers, captions, claims, findings, html, ledger, text
from rlvr.report.numbers import Popovers, numbers
from rlvr.report.runs import COLUMNS, GROUP, RunPages, duration, row

MOST = 30  # rows of an item's numbers; of longer statistics a page has the methods, and names the file
OPEN = 6  # items of a page that a reader sees at once; of others the title, which opens them


class Page:
    """Collects the content of a page from a results folder."""

    def __init__(self, layout: dict[str, Any], results: Path):
        self.layout, self.overview, self.results = layout, layout["page"] == "index", results
        self.claims = claims.evaluated(results)
        self.paths = Paths(str(results), layout["scale"])
        shown = (item for paper in layout["papers"] for item in paper["items"])
        stages = {policy: folder for item in shown for policy, folder in item["manifests"].items()}
        self.manifests = {policy: read_json(results / stage / "manifest.json") for policy, stage in stages.items()}
        rows = [row(policy, manifest) for policy, manifest in self.manifests.items()]
        resumed = [manifest.get("resumed_from") or "" for manifest in self.manifests.values()]
        self.runs = RunPages(pd.DataFrame(rows, columns=list(COLUMNS)).assign(resumed_from=resumed))
        self.pictures: dict[str, Path] = {}
        self.popovers = Popovers(self.runs)

    def render(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            self.pictures, self.folder = {}, Path(folder)
            return html.page(self._markdown(), self.pictures, above="" if self.overview else "index.html")

    def _markdown(self) -> str:
        every, shown = self.layout["every_paper"], self.layout["papers"]
        all_claims = self._claims([paper["name"] for paper in every])
        papers, in_short = [self._paper(paper) for paper in shown], [self._in_short(paper) for paper in every]
        compared = {paper["name"]: self._compared(paper) for paper in every or shown}
        return text.render(
            "page.md.j2",
            **{key: self.layout[key] for key in ("page", "scale", "about_scale", "stand_ins", "notes")},
            title=self._title(", ".join(paper["short"] for paper in papers)),
            answers=self._answers(compared),
            picture=self._findings(compared),
            verdicts=claims.summary(self._claims([*compared])),
            missed=self._missed([paper["name"] for paper in shown]),
            claims=claims.content(all_claims, self.runs),
            started=[paper for paper in in_short if paper["started"]],
            others=[paper for paper in in_short if not paper["started"]],
            leagues=self._leagues(),
            papers=papers,
            runs=self.runs if self.manifests else None,
            open=OPEN,
            specifications=self._specifications(),
            popovers=self.popovers.html,
        )

    def _compared(self, paper: dict[str, Any]) -> list[pd.DataFrame]:
        """The existing statistics that say what was found of a paper, and those of its items on this page."""
        shown = [one for one in self.layout["papers"] if one["name"] == paper["name"]]
        items = [item for one in shown for item in one["items"] if not item["analytic"]]
        names = [*paper.get("answers", ()), *(name for item in items for name in item["statistics"])]
        files = [Path(self.paths.statistics(paper["name"], name)) for name in dict.fromkeys(names)]
        return [pd.read_csv(file) for file in files if file.is_file()]

    def _answers(self, compared: dict[str, list[pd.DataFrame]]) -> list[dict[str, Any]]:
        """By paper, what was found on each set."""
        shorts = {paper["name"]: paper["short"] for paper in [*self.layout["every_paper"], *self.layout["papers"]]}
        placebos = {paper["name"]: paper["placebos"] for paper in self.layout["papers"]}
        found = {name: answers.lines(frames, placebos.get(name, {})) for name, frames in compared.items()}
        several = sum(map(bool, found.values())) > 1
        return [{"name": shorts[name] if several else "", "lines": lines} for name, lines in found.items() if lines]

    def _findings(self, compared: dict[str, list[pd.DataFrame]]) -> str:
        """The picture of each method beside baseline, placebos and published gain, light and dark; its name, or ""."""
        frames = {name: [f for f in frames if "against" in f] for name, frames in compared.items()}
        rows = [findings.of_paper(name, one, compared[name]) for name, of in frames.items() for one in of]
        found = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
        if found.empty:
            return ""
        for name, dark in findings.PICTURES.items():
            self.pictures[name] = self.folder / name
            findings.draw(found, self.pictures[name], dark=dark)
        return next(iter(findings.PICTURES))

    def _specifications(self) -> dict[str, str]:
        """The specification of a run, and of the first run of each other arm the lines that differ from it."""
        first, shown, whole = self.runs.frame.drop_duplicates(GROUP)["policy"], {}, None
        for policy in first:
            own = dict(_leaves(self.manifests[policy].get("spec", self.manifests[policy].get("hub"))))
            whole = own if whole is None else whole
            lines = own if own is whole else {key: own[key] for key in own if own[key] != whole.get(key)}
            shown[policy] = "\n".join(f"{key}: {value}" for key, value in sorted(lines.items()))
        return shown

    def _missed(self, papers: list[str]) -> list[str]:
        """The controls of some papers that were not found at this scale."""
        files = [Path(self.paths.controls(paper)) for paper in papers]
        return [line for file in files if file.is_file() for line in controls.missed(pd.read_csv(file))]

    def _leagues(self) -> dict[str, str]:
        """The overview's links to pages of items that are made only by name, where there are any."""
        pages = {Path(self.paths.page(name)): title for name, title in self.layout["leagues"].items()}
        return {path.name: title for path, title in pages.items() if path.is_file()}

    def _title(self, shorts: str) -> str:
        if not self.manifests:
            return f"{shorts}: closed forms"
        if self.layout["title"]:
            return self.layout["title"]
        return f"Results at {self.layout['scale']} scale" if self.overview else f"{shorts}: tables, figures, claims"

    def _claims(self, papers: list[str]) -> pd.DataFrame:
        return self.claims[self.claims["paper"].isin(papers)]

    def _paper(self, paper: dict[str, Any]) -> dict[str, Any]:
        visible_arms = {name for item in paper["items"] for name in self._arms(paper["name"], item)}
        return {
            **{key: paper[key] for key in ("name", "short", "title", "authors", "deviations")},
            "items": [self._item(paper["name"], item) for item in paper["items"]],
            "arms": [arm for name, arm in paper["arms"].items() if name in visible_arms],
            "claims": claims.content(self._claims([] if self.overview else [paper["name"]]), self.runs),
            "mechanism": self._mechanism(paper["name"]),
            "overlap": self._overlap(paper["name"]) if paper["sets"] else "",
            "theory": self._theory(paper["short"]),
            "other_verifier": self._other_verifier(paper["name"]),
        }

    def _mechanism(self, paper: str) -> str:
        """The judged criteria of a paper at this scale; none on the overview, nor before they were judged."""
        path = Path(self.paths.mechanisms(paper))
        return "" if self.overview or not path.is_file() else mechanism_table.section(mechanism_table.read(path))

    def _other_verifier(self, paper: str) -> str:
        """A paper's completions under another verifier; none on the overview, nor before it was asked for."""
        path = Path(self.paths.other_verifier(paper)[0])
        return "" if self.overview or not path.is_file() else path.read_text(encoding="utf-8")

    def _theory(self, short: str) -> dict[str, Any]:
        """The ledger's findings on a paper; none on the overview, nor before the ledger was made."""
        path = Path(self.paths.ledger())
        if self.overview or not path.is_file():
            return {}
        return ledger.of(short, pd.read_csv(path, keep_default_na=False))

    def _in_short(self, paper: dict[str, Any]) -> dict[str, Any]:
        """The overview's row of a paper: how much of it ran at this scale, and the cost."""
        manifests = [self.results / "runs" / run / "manifest.json" for run in paper["runs"]]
        finished = [read_json(path) for path in manifests if path.is_file()]
        scores = [self.results / "evaluations" / policy / name / "scores.csv" for policy, name in paper["evaluations"]]
        page = Path(self.paths.page(paper["name"]))
        return {
            **{key: paper[key] for key in ("name", "short")},
            "started": bool(finished) or any(path.is_file() for path in scores),
            "runs": f"{len(finished)} of {len(manifests)}",
            "evaluations": f"{sum(path.is_file() for path in scores)} of {len(scores)}",
            "seconds": duration(sum(float(manifest.get("seconds", 0)) for manifest in finished)),
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
        frames = {name: self._statistics(paper, name) for name in item["statistics"]}
        name, behind = f"{paper}-{item['name']}", {} if item["analytic"] else frames
        path = Path(self.paths.papers, paper, item["folder"], item["name"])
        if item["folder"] == items.TABLES:
            shown = {"title": item["title"], "picture": "", **_table(path.with_suffix(".md"), item, behind.values())}
        else:
            self.pictures[f"{name}.png"] = path.with_suffix(".png")
            layout = Layout.model_validate({key: item[key] for key in ("title", "note", "scale", "kind")})
            shown = captions.figure(layout, item["smooth"], list(frames.values()), f"{name}.png")
        tables = [numbers(frame, source, self.popovers, MOST) for source, frame in behind.items()]
        files = [self.paths.statistics(paper, source) for source in frames]
        return {**shown, "here": _here(behind.values()), "files": files, "numbers": "\n".join(tables)}


def _here(frames: Iterable[pd.DataFrame]) -> str:
    """The models and sets behind an item whose title names others; empty where they are the paper's own."""
    found = [frame for frame in frames if {"model", "stand_in", "benchmark", "data"} <= set(frame)]
    pairs = [(frame[of], frame[here]) for frame in found for of, here in (("model", "stand_in"), ("benchmark", "data"))]
    instead = {(str(a), str(b)) for paper, here in pairs for a, b in zip(paper, here, strict=True) if pd.notna(a)}
    texts = [f"{here} in place of {paper}" for paper, here in sorted(instead) if paper != here and here != "nan"]
    return f"Here: {', '.join(texts)}." if texts else ""


def _table(path: Path, item: dict[str, Any], frames: Iterable[pd.DataFrame]) -> dict[str, Any]:
    """A table as its stage wrote it, without the title and the scale, and the sentences above it."""
    sentences = items.TABLE_KINDS.load(item["kind"]).sentences or (lambda frame, level: [])
    in_short = [sentence for frame in frames for sentence in sentences(frame, item["level"])]
    table, _, notes = path.read_text().split("**\n\n", 1)[1].partition("\n\n- ")
    return {"sentences": in_short, "table": table, "notes": notes and f"- {notes}"}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each value of nested mappings with its path."""
    if isinstance(value, dict) and value:
        for key, of in value.items():
            yield from _leaves(of, f"{path}.{key}" if path else key)
    else:
        yield path, json.dumps(value, ensure_ascii=False)


def main(
    spec: stage_options.Spec,
    results: stage_options.Results,
    out: Annotated[Path, typer.Option(help="HTML file to write.")],
) -> None:
    """Write a report page."""
    publish(out, Page(read_json(spec), results).render())


if __name__ == "__main__":
    typer.run(main)
