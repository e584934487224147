"""The repository's Markdown pages, the files that they link to, and the navigation."""

import re
import shutil
from pathlib import Path

PAGES = ("CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md", "config/README.md")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
PAGE_OF = {"README.md": "index.md", "tutorial.ipynb": "tutorial.md"}  # of what is another page here
OTHER = re.compile(r"(\]\((?:\.\./|docs/)*)(README\.md|tutorial\.ipynb)")
# Pages that a checkout may lack.
LATER = {"docs/league/README", "docs/pretrained/README"}
OF_PAPER = "config/papers/{}/page.md"  # becomes docs/papers/<paper>.md
PICTURE = re.compile(r'<picture>.*?<img alt="([^"]+)"\s+src="([^"]+)".*?</picture>', re.DOTALL)  # light and dark
TOCTREE = "\n```{toctree}\n:hidden:\n:maxdepth: 1\n%s\n```\n"


def copy_pages(root: Path, out: Path) -> None:
    """Copies the pages to their places below `out`. The README is the start page, index.md."""
    shutil.copytree(root / "docs", out / "docs", ignore=shutil.ignore_patterns("site"))
    for page in PAGES:
        _copy(root, out, page)
    (out / "index.md").write_text(PICTURE.sub(r"![\1](\2)", (root / "README.md").read_text()))
    (out / "docs/papers").mkdir(exist_ok=True)
    for page in root.glob(OF_PAPER.format("*")):
        shutil.copyfile(page, out / f"docs/papers/{page.parent.name}.md")


def finish(root: Path, out: Path, nav: dict[str, list[str]]) -> None:
    """Copies what the pages link to, leads links to the README to the start page, and adds the navigation."""
    for page in out.rglob("*.md"):
        text = re.sub(OF_PAPER.format(r"(\w+)"), r"docs/papers/\1.md", OTHER.sub(_here, page.read_text()))
        for link in LINK.findall(text):
            path = (page.parent / link).resolve().relative_to(out.resolve())
            if not (out / path).exists() and (root / path).is_file():
                _copy(root, out, str(path))
        page.write_text(text)
    append(out / "index.md", _toctrees(out, nav))


def _here(link: re.Match[str]) -> str:
    """A link to a page that has another name here; docs/results/README.md and its like keep theirs."""
    stays = link[2] == "README.md" and not link[1].endswith("../")
    return link[0] if stays else link[1] + PAGE_OF[link[2]]


def add_children(page: Path, *patterns: str) -> None:
    """Puts the pages of some patterns below a page in the navigation."""
    append(page, TOCTREE % "\n".join([":glob:", "", *patterns]))


def append(page: Path, text: str) -> None:
    page.write_text(page.read_text() + text)


def _copy(root: Path, out: Path, path: str) -> None:
    (out / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(root / path, out / path)


def _toctrees(out: Path, nav: dict[str, list[str]]) -> str:
    """The navigation. A page of docs/ that no list has comes last.

    A page that is missing ends the build; one of LATER is left out. A star stands for any name.
    """
    nav = {caption: _expanded(out, pages) for caption, pages in nav.items()}
    listed = {page for pages in nav.values() for page in pages}
    missing = {page for page in listed if not (out / f"{page}.md").is_file()}
    if missing - LATER:
        raise SystemExit(f"docs/site/nav.yaml: no such page: {', '.join(sorted(missing - LATER))}")
    others = [f"docs/{page.stem}" for page in sorted((out / "docs").glob("*.md"))]
    text = ""
    for caption, pages in {**nav, "More": [page for page in others if page not in listed]}.items():
        if there := [page for page in pages if page not in missing]:
            text += TOCTREE % "\n".join([f":caption: {caption}", "", *there])
    return text


def _expanded(out: Path, pages: list[str]) -> list[str]:
    named = [sorted(out.glob(f"{page}.md")) if "*" in page else [out / f"{page}.md"] for page in pages]
    return [str(path.relative_to(out).with_suffix("")) for paths in named for path in paths]
