"""Clean-up of answers of every kind: widths, invisible characters, outer dollars."""

import re
import unicodedata
from functools import cache

_INVISIBLE = {"Cc", "Cf", "Co", "Cs"}
_SQUARED = {ord("㎡"): "m²", ord("㎢"): "km²", ord("㎠"): "cm²", ord("㎟"): "mm²", ord("㎥"): "m³", ord("㎤"): "cm³"}


def visible(text: str) -> str:
    """NFKC (full-width digits become digits), without control and direction characters, outer space and dollars.

    Superscripts, subscripts and fractions (½) stay: NFKC would make 3² the number 32.
    """
    if not text.isascii():
        text = _normal(text.translate(_SQUARED))
    if not text.isprintable():
        text = "".join(c if unicodedata.category(c) not in _INVISIBLE else " " if c in "\t\n" else "" for c in text)
    return _without_dollars(text.strip())


def _normal(text: str) -> str:
    """NFKC of all but characters that are raised, lowered or stacked."""
    parts, place = [], 0
    for match in _placed().finditer(text):
        parts += [unicodedata.normalize("NFKC", text[place : match.start()]), match.group()]
        place = match.end()
    return "".join([*parts, unicodedata.normalize("NFKC", text[place:])])


@cache
def _placed() -> re.Pattern[str]:
    kinds = ("<super>", "<sub>", "<fraction>")
    return re.compile(
        f"[{''.join(c for c in map(chr, range(0x20000)) if unicodedata.decomposition(c).startswith(kinds))}]+"
    )


def _without_dollars(text: str) -> str:
    r"""The text without dollars around it; an escaped `\$` stays."""
    text = text.lstrip("$")
    while text.endswith("$") and not text.endswith("\\$"):
        text = text[:-1]
    return text.strip()
