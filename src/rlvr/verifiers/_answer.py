r"""The parts of a plain answer: items of a list, sides of a chain of equations, base, modulus, domain.

Nothing here computes. docs/grading.md has a row per decision.
"""

import re
from collections.abc import Iterator

from rlvr.verifiers._latex import split
from rlvr.verifiers._rewritings import undecorated

# ---- lists and chains ----

_SEPARATOR = re.compile(r"[,;]|\\text\s*\{\s*,?\s*(?:or|and)\s*\}|(?<![a-zA-Z\\{])(?:or|and)(?![a-zA-Z])")
_EQUALS = re.compile(r"(?<![<>!\\=:])(?<!\\not)=(?!=)|(?<!\\not)\\equiv(?![a-zA-Z])")
_COLON = re.compile(r":")
_PLUS_MINUS = re.compile(r"\\pm(?![a-z])")
_APPROXIMATELY = re.compile(r"\\approx(?![a-zA-Z])|\\simeq(?![a-zA-Z])")


def items(text: str) -> list[str]:
    """The answers of a list, separated by commas, `or` and `and` outside brackets."""
    return [item for item in split(text, _SEPARATOR) if item]


def sides(text: str) -> list[str]:
    """The sides of a chain of equations; one side if there is no equation."""
    return split(text, _EQUALS)


def approximations(text: str) -> list[str]:
    """The values between signs of approximation; a leading sign separates nothing."""
    first, *others = split(text, _APPROXIMATELY)
    return [first, *others] if first or not others else others


_WORD = r"\\(?:text|mathrm|textbf|operatorname|mathit)\s*\{[^{}]*\}"
_LETTERS = r"(?:\\(?!pi\b|infty\b)[a-zA-Z]+|[a-zA-Z]+)'*(?:_(?:\{[^{}]*\}|\w))?(?:\s*\([^()=]*\))?'*"
_SYMBOL = rf"(?>{_WORD}|{_LETTERS})"
_NAME = re.compile(
    rf"\(?\s*{_SYMBOL}(?:\s*,\s*{_SYMBOL})*\s*\)?"
    r"|\|[A-Za-z]{1,2}\||(?:\\(?:angle|triangle|overline|overrightarrow|vec|hat|bar|widehat|measuredangle|operatorname)"
    r"\s*(?:\{[^{}]*\}|[A-Za-z]+)\s*)+|m\s*\\angle\s*\{?\s*[A-Z]+\s*\}?|\\frac\{d\^?\d?\s*[a-z]\}\{d\s*[a-z]\^?\d?\}"
)


def is_name(side: str) -> bool:
    r"""Whether a left side is only a name for the right side: x, f(x), (x,y), \angle ABC, |AB|, \text{Area}."""
    return _NAME.fullmatch(side.strip()) is not None


# ---- base, modulus, domain ----

_BASE = re.compile(
    r"[({]?(?:\\text\s*\{)?(\d[0-9A-F]*|[A-F][0-9A-F]+)[)}]?\s*_\s*(?:\{\s*\(?\s*(?:\\text\{)?(\d+|[a-z]+)\}?\s*\)?\s*\}|(\d+))"
)
_BASES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_DOMAIN = re.compile(
    r"(?:[,;(]|\\text\s*\{[^{}]*\})\s*(?P<domain>[a-z](?:\s*,\s*[a-z])*\s*\\in\s*"
    r"\\mathbb\s*\{?[A-Z]\}?(?:[\^_](?:\{[^{}]*\}|.))*)\s*\)?"
)
_SCIENTIFIC = re.compile(r"(?<![\w.}])(\d+(?:\.\d+)?|\.\d+)[eE]([+-]?\d+)(?!\w)")
_FAMILY = re.compile(r"\\\{\s*(.*?)\s*[|:]\s*([a-z]\s*\\in\s*\\mathbb\{[ZN]\}[^|]*?)\s*\\\}")
_SETBUILDER = re.compile(r"\\\{\s*([a-z])\s*(?:\\in\s*\\mathbb\{R\}\s*)?[|:]\s*(.*)\\\}")


def in_base(text: str) -> tuple[str, str] | None:
    """Digits and base of 25_{6}; None for any other answer."""
    match = _BASE.fullmatch(text)
    if not match:
        return None
    base = match.group(2) or match.group(3)
    return match.group(1), str(_BASES.index(base)) if base in _BASES else base


_PMOD = re.compile(r"\s*\\pmod\{([^{}]*)\}$")


def modulus(text: str) -> tuple[str, str]:
    """An answer without its closing modulus, and the modulus; empty if it has none."""
    match = _PMOD.search(text)
    return (text[: match.start()].strip(), match.group(1).replace(" ", "")) if match else (text, "")


def domain(text: str) -> tuple[str, str]:
    r"""An answer without the set of its variable, and that set: 2n\pi, n \in \mathbb{Z} splits into its two halves."""
    for match in _DOMAIN.finditer(text):
        if match.end() == len(text) and match.start() > 0:
            return text[: match.start()].strip(), re.sub(r"\s", "", match["domain"])
    return text, ""


def readings(answer: str, lists: bool = True) -> Iterator[str]:
    r"""The readings of an answer, likeliest first: 1e-5 as a number or a difference, 3,100 as a number or a list."""
    text = undecorated(answer)
    yield from _written(text)
    if lists and "," in answer and (listed := undecorated(answer, True)) != text:
        yield from _written(listed)


def _written(text: str) -> Iterator[str]:
    conditions = _SETBUILDER.fullmatch(text)
    text = conditions.group(2).strip() if conditions and conditions.group(1) in conditions.group(2) else text
    text = _FAMILY.sub(r"\1, \2", text)
    scientific = _SCIENTIFIC.sub(lambda n: f"{n.group(1)} \\cdot 10^{{{int(n.group(2))}}}", text)
    for written in dict.fromkeys((scientific, text)):
        plain, modulo = modulus(_whole_run(written))
        *names, last = sides(plain) if modulo else [plain]
        value = " = ".join([*names, _both_signs(last)])
        yield f"{value} \\pmod{{{modulo}}}" if modulo else _ratio(value)


_RUN = re.compile(r"(-?\d{1,6}(?:\s*,\s*-?\d{1,6})+)\s*,\s*\\cdots\s*,\s*(-?\d{1,6})")
LONGEST_RUN = 1_000  # numbers


def _whole_run(text: str) -> str:
    r"""1, 2, \cdots, 5 as 1, 2, 3, 4, 5, if the numbers have one difference."""

    def written(run: re.Match[str]) -> str:
        first, second, *_ = numbers = [int(number) for number in run.group(1).split(",")]
        all_of_them = range(first, int(run.group(2)) + (1 if second > first else -1), second - first or 1)
        fits = [*all_of_them[: len(numbers)]] == numbers and int(run.group(2)) in all_of_them
        return ", ".join(map(str, all_of_them)) if fits and len(all_of_them) <= LONGEST_RUN else run.group()

    return _RUN.sub(written, text) if "\\cdots" in text else text


def _both_signs(text: str) -> str:
    r"""1 \pm \sqrt{2} as a list of two."""
    if len(_PLUS_MINUS.findall(text)) != 1 or "\\{" in text:
        return text
    signs = {True: ("+", "-"), False: ("",)}
    parts = [_PLUS_MINUS.sub(s, item) for item in items(text) for s in signs[bool(_PLUS_MINUS.search(item))]]
    return ", ".join(part.removeprefix("+").strip() for part in parts)


def _ratio(text: str) -> str:
    """a : b : c as a tuple in units of its first number; that of two numbers is a fraction."""
    parts = split(text, _COLON)
    if len(parts) < 3 or not all(re.fullmatch(r"\d+(?:\.\d+)?", part) for part in parts):
        return text
    return "(" + ", ".join(f"\\frac{{{part}}}{{{parts[0]}}}" for part in parts) + ")"
