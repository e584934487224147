"""What answers have in common before any mathematics: invisible characters, widths, decoration."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = {"Cc", "Cf", "Co", "Cs"}


def visible(text: str) -> str:
    """NFKC (full-width digits become digits), without control and direction characters, outer space and dollars."""
    normal = unicodedata.normalize("NFKC", text)
    if not normal.isascii() or not normal.isprintable():
        normal = "".join(c if unicodedata.category(c) not in _INVISIBLE else " " if c in "\t\n" else "" for c in normal)
    return normal.strip().strip("$").strip()


_SPACING = re.compile(r"\\[,;:! ]|\\(?:left|right|displaystyle)(?![a-zA-Z])|~")
_THOUSANDS = re.compile(r"(?<![\d.])(\d{1,3}(?:,\d{3})+)(?![\d,])")
_THOUSANDS_OF_LATEX = re.compile(r"(?<=\d)(?:\\,|\{,\}|\\!,?)(?=\d{3}(?!\d))")
_BINARY_MODULO = re.compile(r"\\bmod(?![a-zA-Z])")
_MODULUS = re.compile(r"\s*\\pmod\s*(?:\{[^{}]*\}|\w+)$")


def plain(answer: str) -> str:
    r"""An answer without decoration: 1\,000 and 1,000 are 1000, {{5}} and 5. are 5, \dfrac is \frac, 5\% is 5.

    A closing \pmod{7} says where the answer lives and is dropped; \bmod is written \mod, which math-verify reads.
    """
    text = visible(answer)
    text = _THOUSANDS_OF_LATEX.sub("", text)
    text = _SPACING.sub(" ", text).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    text = _THOUSANDS.sub(lambda match: match.group().replace(",", ""), text)
    text = text.replace("\\%", "").replace("%", "").strip()
    text = re.sub(r"(?<=[\w})\]])\.$", "", text)
    text = _MODULUS.sub("", _BINARY_MODULO.sub(r"\\mod", text))
    while len(text) > 1 and text[0] == "{" and _matching(text) == len(text) - 1:
        text = text[1:-1].strip()
    return re.sub(r"\s+", " ", text)


def _matching(text: str) -> int:
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return place
    return -1
