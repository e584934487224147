"""Docstrings as Markdown."""

import re
from textwrap import dedent

from rlvr.report.text import escape


def markdown(text: str) -> str:
    """A docstring's paragraphs with their own signs kept as they are; indented parts as code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        first = paragraph.lstrip("\n")
        parts.append(_code(paragraph) if first.startswith("    ") else _mixed(paragraph))
    return "\n\n".join(parts)


def _mixed(paragraph: str) -> str:
    """A paragraph whose later lines may be indented, such as a list of names."""
    lines = paragraph.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("    ")), len(lines))
    words = escape("\n".join(lines[:start]))
    return words + ("\n\n" + _code("\n".join(lines[start:])) if lines[start:] else "")


def _code(text: str) -> str:
    return f"```text\n{dedent(text)}\n```"
