"""Checks a built site: links and anchors within it lead somewhere, and a page with what it loads is below 1 MB."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LARGEST = 1_000_000  # bytes of a page with its pictures, styles and scripts
LOADED = {"img": "src", "script": "src", "link": "href"}


class Page(HTMLParser):
    """The anchors of a page, its links, and the files that it loads."""

    def __init__(self, path: Path):
        super().__init__()
        self.path, self.anchors, self.links, self.loaded = path, {"", "top"}, [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.anchors |= {found[key] for key in ("id", "name") if key in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if found.get("popovertarget"):
            self.links.append(f"#{found['popovertarget']}")
        is_loaded = tag != "link" or found.get("rel") in ("stylesheet", "icon")
        if is_loaded and LOADED.get(tag, "") in found:
            self.loaded.add(found[LOADED[tag]])


def faults(site: Path) -> tuple[list[str], dict[str, int]]:
    """What is wrong, one line each, and the size of each page."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    wrong, sizes = [], {}
    for path, page in pages.items():
        name = str(path.relative_to(site.resolve()))
        for link in [*page.links, *page.loaded]:
            if problem := _problem(link, path, pages):
                wrong.append(f"{name}: {link}: {problem}")
        loaded = {_target(link, path) for link in page.loaded if not urlsplit(link).scheme}
        sizes[name] = path.stat().st_size + sum(file.stat().st_size for file in loaded if file.is_file())
        if sizes[name] > LARGEST:
            wrong.append(f"{name}: {sizes[name]:,} bytes with what it loads; at most {LARGEST:,}")
    return wrong, sizes


def _target(link: str, path: Path) -> Path:
    relative = unquote(urlsplit(link).path)
    return (path.parent / relative).resolve() if relative else path


def _problem(link: str, path: Path, pages: dict[Path, Page]) -> str:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return "" if parts.scheme in ("https", "mailto", "data") else "not https"
    target = _target(link, path)
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    known = target not in pages or anchor in pages[target].anchors
    return "" if known else "no such anchor"


def main(site: Path) -> None:
    wrong, sizes = faults(site)
    largest = max(sizes, key=lambda name: sizes[name])
    print(f"{len(sizes)} pages; the largest, {largest}, has {sizes[largest]:,} bytes with what it loads")
    if wrong:
        raise SystemExit("\n".join([*wrong, f"{len(wrong)} faults"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
