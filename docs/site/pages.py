"""Writes the source of the site: the repository's pages as they are, and pages made from its data.

The source mirrors the repository, so that a link that works there works on the site. What a page says of results is
made by `rlvr.report`, as a run's own pages are.
"""

import shutil
from pathlib import Path
from typing import Annotated

import api
import mirror
import papers
import tutorial
import typer
import yaml

from rlvr.items import TABLES
from rlvr.report import readme, rerender
from rlvr.report.numbers import Popovers, numbers
from rlvr.report.runs import page_of

ROOT = Path(__file__).resolve().parents[2]
MOST_PICTURES = 700_000  # bytes on one page
ALONE = papers.WIDE.replace("hide-toc", "orphan: true\nhide-toc")  # reached from its table, not from the navigation
RUNS = """# Runs of {model}

Every policy of this model behind the [results](README.md). A name ends in a hash of every setting that changes the
numbers. {short}

"""
CLAIMS = """# Claims, one by one

What the papers claim, and what was found ([how a verdict is reached](../claims.md)).

"""
NUMBERS = "Press a value to see the runs behind it. Brackets are 95 % intervals.\n"


def main(
    out: Annotated[Path, typer.Argument(help="Folder to write; replaced.")],
    ledger: Annotated[Path, typer.Option(help="The theory's ledger, a CSV file.")],
    pictures: Annotated[bool, typer.Option(help="Draw the pictures of results; some minutes.")] = False,
) -> None:
    """Write the pages that sphinx-build reads."""
    shutil.rmtree(out, ignore_errors=True)
    mirror.copy_pages(ROOT, out)
    folders = [file.parent for file in sorted(ROOT.glob(f"docs/*/{readme.CONTENTS}"))]
    snapshots = {folder.name: papers.Snapshot(ROOT, out / "docs" / folder.name) for folder in folders}
    for name, taken in snapshots.items():
        for item in rerender.items(taken.folder):
            if not item.shown.is_file() and (pictures or item.folder == TABLES):
                item.render(item.shown, ROOT)
                if item.folder != TABLES:
                    rerender.copy(item.shown, item.shown)  # smaller
        snapshot(taken, out / "docs" / name)
    (out / "docs/tutorial.md").write_text(tutorial.page(ROOT / "docs/tutorial.ipynb"))
    papers.write(ROOT, out, ledger, snapshots[papers.RESULTS])
    api.write(out / "api")
    mirror.finish(ROOT, out, yaml.safe_load((ROOT / "docs/site/nav.yaml").read_text()))


def snapshot(taken: papers.Snapshot, out: Path) -> None:
    """The pages of a snapshot: runs, claims if it has any, and the numbers of each table and figure."""
    folders = [folder.name for folder in sorted(out.iterdir()) if folder.is_dir() and out.name != papers.RESULTS]
    pages = ["runs-*", *(f"{name}/*" for name in folders)]
    for model, own in taken.runs.of_models():
        about = RUNS.format(model=model or "no model", short=own.in_short())
        page = out / page_of(papers.PAGE_OF_RUNS, model)
        page.with_suffix(".md").write_text(papers.WIDE + about + own.table() + "\n")
    if not taken.claims.empty:
        (out / "claims-table.md").write_text(papers.WIDE + CLAIMS + taken.section(taken.claims, papers.PAGE_OF_RUNS))
        pages = ["claims-table", "claims", *pages]
    pages += ["mechanisms"] if (out / "mechanisms.md").is_file() else []
    for item in rerender.items(taken.folder):
        _numbers(item, taken, out / item.paper.name)
    few = sum(picture.stat().st_size for picture in taken.folder.rglob("*.png")) <= MOST_PICTURES
    (out / "README.md").write_text(readme.page(taken.folder, pictures=few))
    mirror.add_children(out / "README.md", *pages)


def _numbers(item: rerender.KeptItem, taken: papers.Snapshot, out: Path) -> None:
    """A page with the statistics of a table or figure, linked from the table's own page."""
    runs = taken.runs.at(f"../../{papers.PAGE_OF_RUNS}")
    popovers = Popovers(runs)
    parts = [numbers(frame, name, popovers) for name, frame in item.statistics().items()]
    page, title = out / "numbers" / f"{item.name}.md", item.layout.title
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n\n".join([f"{ALONE}# {title}: every number\n\n{NUMBERS}", *parts, *popovers.html]) + "\n")
    if item.folder == TABLES:
        mirror.append(out / item.shown.name, f"\n[Every number, with its runs](numbers/{item.name}.md)\n")


if __name__ == "__main__":
    typer.run(main)
