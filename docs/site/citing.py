"""BibTeX of the project and of its papers: titles, authors and years from their files, arXiv numbers from CITATION.cff.

`python docs/site/citing.py` writes the entries into docs/citing.md anew; a test fails where they differ.
"""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE, START = "docs/citing.md", "<!-- docs/site/citing.py wrote what follows. -->\n"
SPECIAL = re.compile(r"[&%$#_]")


def of_project(root: Path) -> str:
    """The project's entry, with the version and the date of CITATION.cff."""
    about = _citation(root)
    return _entry(
        "rlvr_reproduction",
        title=about["title"],
        author=[f"{{{author['name']}}}" for author in about["authors"]],
        year=about["date-released"].year,
        note=f"Version {about['version']}, Apache License 2.0",
    )


def of_paper(root: Path, name: str) -> str:
    """A paper's entry; its key is the first author's family name, the year and the paper's name."""
    paper = yaml.safe_load((root / f"config/papers/{name}/paper.yaml").read_text())
    authors = paper["authors"].split(", ")
    number = arxiv(root)[paper["short"]]
    return _entry(
        f"{authors[0].split()[-1].lower()}{paper['year']}{name}",
        title=paper["title"],
        author=authors,
        year=paper["year"],
        eprint=number,
        archivePrefix="arXiv",
        url=f"https://arxiv.org/abs/{number}",
    )


def arxiv(root: Path) -> dict[str, str]:
    """arXiv numbers by a paper's short name."""
    return {paper["notes"]: paper["url"].rpartition("/")[2] for paper in _citation(root)["references"]}


def names(root: Path) -> list[str]:
    """The papers that have a page."""
    return sorted(path.parent.name for path in (root / "config/papers").glob("*/page.md"))


def page(root: Path) -> str:
    """docs/citing.md: its words as they are, and every entry."""
    words = (root / PAGE).read_text().partition(START)[0]
    entries = [of_project(root), *(of_paper(root, name) for name in names(root))]
    return words + START + "".join(f"\n{fenced(entry)}" for entry in entries)


def fenced(entry: str) -> str:
    return f"```bibtex\n{entry}```\n"


def _citation(root: Path) -> dict[str, Any]:
    return yaml.safe_load((root / "CITATION.cff").read_text())


def _entry(key: str, *, author: list[str], **fields: Any) -> str:
    """An entry of type `misc`, which every style knows; its title is in braces twice, so that styles keep capitals."""
    fields = {"author": " and ".join(author), **fields, "title": f"{{{fields['title']}}}"}
    lines = [f"  {name} = {{{value if name == 'url' else _escaped(str(value))}}},\n" for name, value in fields.items()]
    return f"@misc{{{key},\n{''.join(lines)}}}\n"


def _escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\g<0>", text)


if __name__ == "__main__":
    (ROOT / PAGE).write_text(page(ROOT))
