"""Writes the source of the site: the repository's pages as they are, and pages made from its data.

The source mirrors the repository, so that a link that works there works on the site.
"""

import re
import shutil
from pathlib import Path
from typing import Annotated

import api
import claims
import mirror
import numbers_of
import pandas as pd
import papers
import tutorial
import typer
import yaml
from runs import Runs

from rlvr.planning.expansion import make_plan

ROOT = Path(__file__).resolve().parents[2]
MOST_PICTURES = 700_000  # bytes on one page
FIGURE = re.compile(r"\n\*\*.+\*\*\n\n!\[(.+?)\]\(((\w+)/\w+\.png)\)\n")


def main(
    out: Annotated[Path, typer.Argument(help="Folder to write; replaced.")],
    ledger: Annotated[Path, typer.Option(help="The theory's ledger, a CSV file.")],
) -> None:
    """Write the pages that sphinx-build reads."""
    shutil.rmtree(out, ignore_errors=True)
    mirror.copy_pages(ROOT, out)
    for runs in sorted((ROOT / "docs").glob("*/runs.csv")):
        snapshot(runs.parent, out / "docs" / runs.parent.name)
    (out / "docs/tutorial.md").write_text(tutorial.page(ROOT / "docs/tutorial.ipynb"))
    papers.write(ROOT, out, pd.read_csv(ledger, keep_default_na=False))
    api.write(out / "api")
    mirror.finish(ROOT, out, yaml.safe_load((ROOT / "docs/site/nav.yaml").read_text()))


def snapshot(folder: Path, out: Path) -> None:
    """The pages of a snapshot: runs, claims if it has any, and the numbers of each table and figure."""
    runs = Runs(folder)
    (out / "runs.md").write_text(runs.page())
    numbers_of.write(folder, out, runs)
    pages = ["runs"]
    if (folder / "claims.csv").is_file():
        frame = claims.read(folder)
        plans = [make_plan(ROOT, scale, list(dict.fromkeys(frame["paper"]))) for scale in dict.fromkeys(frame["scale"])]
        (out / "claims-table.md").write_text(claims.page(frame, runs, claims.policies(frame, plans)))
        pages = ["claims-table", "claims", *pages]
    readme = out / "README.md"
    papers_of = [path.name for path in sorted(out.iterdir()) if path.is_dir()]
    shown = [path.stem for path in (out.parent / "papers").glob("*.md")] if out.name == papers.RESULTS else []
    as_files = sum(picture.stat().st_size for picture in folder.rglob("*.png")) > MOST_PICTURES
    readme.write_text(pictures_as_links(readme.read_text(), shown, as_files=as_files))
    mirror.add_children(readme, *pages, *(f"{name}/*" for name in papers_of if name not in shown))


def pictures_as_links(text: str, shown: list[str], *, as_files: bool) -> str:
    """A snapshot's page with links in place of pictures: those that papers' own pages show, or all."""

    def link(found: re.Match[str]) -> str:
        title, file, paper = found.groups()
        if paper in shown:
            return f"- Figure: [{title}](../papers/{paper}.md#results)\n"
        return f"- Figure: [{title}]({file})\n" if as_files else found[0]

    return FIGURE.sub(link, text)


if __name__ == "__main__":
    typer.run(main)
