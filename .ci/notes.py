"""Prints what CHANGELOG.md says of the version that a tag names. Fails where this commit has another version."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECTION = re.compile(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2})\)\n+(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def sections(text: str) -> list[tuple[str, str, str]]:
    """Version, date and text of each section with a date, as CHANGELOG.md has them: the newest first."""
    return [(version, date, words.strip()) for version, date, words in SECTION.findall(text)]


def version(root: Path = ROOT) -> str:
    return re.search(r'^__version__ = "(.+)"$', (root / "src/rlvr/__init__.py").read_text(), re.MULTILINE)[1]


def main(tag: str) -> None:
    if tag != f"v{version()}":
        sys.exit(f"the tag is {tag}, and the version of src/rlvr/__init__.py is {version()}")
    found = [words for of, _, words in sections((ROOT / "CHANGELOG.md").read_text()) if of == version()]
    if not found:
        sys.exit(f"CHANGELOG.md has no section '## {version()} (YYYY-MM-DD)'")
    print(found[0])


if __name__ == "__main__":
    main(sys.argv[1])
