"""The templates of pages in Markdown, and text that Markdown shows as it is."""

import re
from pathlib import Path
from typing import Any

import jinja2

SPECIAL = re.compile(r"(`+[^`]*`+)|([\\*_<>\[\]#|$~{}])")


def environment(*folders: Path) -> jinja2.Environment:
    """Templates of this folder and others. `md` escapes Markdown's signs, `e` those of HTML."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, Path(__file__).parent]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["md"] = lambda text: escape(" ".join(text.split()))
    return made


def render(template: str, **content: Any) -> str:
    """A template of this folder with its content."""
    return environment().get_template(template).render(content).rstrip() + "\n"


def escape(text: str) -> str:
    """Text with Markdown's signs escaped, but for code in backticks."""
    return SPECIAL.sub(lambda found: found[1] or f"\\{found[2]}", text)
