"""The repository's Markdown pages, the files that they link to, and the start page with the navigation."""

import re
import shutil
from pathlib import Path

PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "config/README.md")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
TOCTREE = "\n```{toctree}\n:hidden:\n:maxdepth: 1\n%s\n```\n"


def write(root: Path, out: Path, nav: dict[str, list[str]]) -> None:
    shutil.copytree(root / "docs", out / "docs", ignore=lambda folder, names: {"site", ".data"})
    for page in PAGES:
        copy(root, out, page)
    text = (root / "README.md").read_text()
    (out / "index.md").write_text(text + "\n" + toctrees(out, nav))
    add_children(out / "docs/results/README.md", "claims\n*/*")
    for page in out.rglob("*.md"):
        for link in linked(page):
            path = (page.parent / link).resolve().relative_to(out.resolve())
            if not (out / path).exists() and (root / path).is_file() and path.name != "README.md":
                copy(root, out, str(path))
        if "README.md" in (text := page.read_text()):
            page.write_text(re.sub(r"\]\((\.\./)+README\.md", lambda found: found[0].replace("README", "index"), text))


def copy(root: Path, out: Path, path: str) -> None:
    (out / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(root / path, out / path)


def linked(page: Path) -> list[str]:
    """The local files that a page links to, as it writes them."""
    return LINK.findall(page.read_text())


def toctrees(out: Path, nav: dict[str, list[str]]) -> str:
    """The navigation; a page of docs/ that no list has comes last."""
    listed = {page for pages in nav.values() for page in pages}
    others = [f"docs/{page.stem}" for page in sorted((out / "docs").glob("*.md"))]
    more = [page for page in others if page not in listed]
    captions = {**nav, **({"More": more} if more else {})}
    return "".join(TOCTREE % "\n".join([f":caption: {caption}", "", *pages]) for caption, pages in captions.items())


def add_children(page: Path, pattern: str) -> None:
    """Puts the pages of a pattern below a page in the navigation."""
    page.write_text(page.read_text() + TOCTREE % f":glob:\n\n{pattern}")
