r"""How a plain answer is put together: a list, a chain of equations, a value with its unit, base, modulus or domain.

Of text alone: nothing here computes. docs/grading.md has a row for each decision.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from rlvr.verifiers._latex import depths, plain

# ---- lists and chains ----

_SEPARATOR = re.compile(r"[,;]|\\text\s*\{\s*,?\s*(?:or|and)\s*\}|(?<![a-zA-Z\\{])(?:or|and)(?![a-zA-Z])")
_EQUALS = re.compile(r"(?<![<>!\\=:])(?<!\\not)=(?!=)|(?<!\\not)\\equiv(?![a-zA-Z])")
_COLON = re.compile(r":")
_PLUS_MINUS = re.compile(r"\\pm(?![a-z])")
_APPROXIMATELY = re.compile(r"\\approx(?![a-zA-Z])|\\simeq(?![a-zA-Z])")


def items(text: str) -> list[str]:
    """The answers of a list: what commas, `or` and `and` outside of brackets separate."""
    return [item for item in _split(text, _SEPARATOR) if item]


def sides(text: str) -> list[str]:
    """The sides of a chain of equations; one where there is no equation."""
    return _split(text, _EQUALS)


def approximations(text: str) -> list[str]:
    """What signs of approximation separate; one in front separates nothing."""
    first, *others = _split(text, _APPROXIMATELY)
    return [first, *others] if first or not others else others


def _split(text: str, separator: re.Pattern[str]) -> list[str]:
    depth = depths(text)
    parts, place = [], 0
    for sign in separator.finditer(text):
        if depth[sign.start()] == 0:
            parts.append(text[place : sign.start()].strip())
            place = sign.end()
    return [*parts, text[place:].strip()]


_WORD = r"\\(?:text|mathrm|textbf|operatorname|mathit)\s*\{[^{}]*\}"
_LETTERS = r"(?:\\(?!pi\b|infty\b)[a-zA-Z]+|[a-zA-Z]+)'*(?:_(?:\{[^{}]*\}|\w))?(?:\s*\([^()=]*\))?'*"
_SYMBOL = rf"(?>{_WORD}|{_LETTERS})"
_NAME = re.compile(
    rf"\(?\s*{_SYMBOL}(?:\s*,\s*{_SYMBOL})*\s*\)?"
    r"|\|[A-Za-z]{1,2}\||(?:\\(?:angle|triangle|overline|overrightarrow|vec|hat|bar|widehat|measuredangle|operatorname)"
    r"\s*(?:\{[^{}]*\}|[A-Za-z]+)\s*)+|m\s*\\angle\s*\{?\s*[A-Z]+\s*\}?|\\frac\{d\^?\d?\s*[a-z]\}\{d\s*[a-z]\^?\d?\}"
)


def is_name(side: str) -> bool:
    r"""Whether a left side only names what the right side is: x, f(x), (x,y), \angle ABC, |AB|, \text{Area}."""
    return _NAME.fullmatch(side.strip()) is not None


# ---- measures ----

_MEASURES = {
    "second": "s sec", "minute": "min", "hour": "h hr", "day": "", "week": "", "month": "", "year": "yr",
    "millimetre": "mm millimeter", "centimetre": "cm centimeter", "metre": "m meter", "kilometre": "km kilometer",
    "inch": "in inches", "foot": "ft feet", "yard": "yd", "mile": "mi", "gram": "g gm", "kilogram": "kg",
    "milligram": "mg", "pound": "lb", "ounce": "oz", "litre": "l L liter", "millilitre": "ml mL milliliter",
    "gallon": "gal", "degree": "deg", "radian": "rad", "celsius": "", "fahrenheit": "", "kelvin": "K",
    "dollar": "usd USD", "cent": "", "euro": "eur EUR", "sterling": "", "yen": "", "rs": "rupee", "newton": "N",
    "kilonewton": "kN", "joule": "J", "kilojoule": "kJ", "watt": "W", "mile/hour": "mph", "unit": "",
    "am": "", "pm": "",
}  # fmt: skip
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
_POWER_OF_UNIT = r"\s*(?:\^\s*\{?\s*(?P<power>-?\d)\s*\}?)?"
_TEXTED = re.compile(
    r"(?P<body>.*?\S)\s*\\(?:text|mathrm|mbox|textrm|textit|textbf)\s*\{(?P<words>[^{}]*)\}"
    rf"(?:\s*(?P<over>/)\s*\\(?:text|mathrm)\s*\{{(?P<per>[^{{}}]*)\}})?{_POWER_OF_UNIT}"
)
_WORDED = re.compile(
    r"(?P<body>.*(?:[\d})\]|]|\\pi))(?P<space>\s*)(?P<words>[A-Za-z]+(?:[ /.]{1,2}[A-Za-z]+)*\.?)"
    rf"(?P<over>)(?P<per>){_POWER_OF_UNIT}"
)
_SHORT_WORDS = {"of", "in", "per", "a", "an", "the", "by", "am", "pm"}
_NO_UNITS = set(  # words that compute, or say something else
    re.findall(
        r"\w+",
        "sin cos tan log ln exp mod and or if is for where when all any not to plus minus none half halves "
        "thirds quarter fourths fifths tenths dozen lakh crore squared cubed incorrect included pi infinity",
    )
)

Unit = str  # such as "metre/second" or "centimetre^2"


@cache
def _measures() -> dict[str, str]:
    return {word: name for name, words in _MEASURES.items() for word in (name, *words.split())}


def measure(text: str) -> tuple[str, Unit | None]:
    r"""An answer without its unit, and the unit: of 5 \text{ hours} 5, hour; of 3 cm^2 3, centimetre^2.

    The unit is None where there is none, and where its words name no known one, as in 12 students. Letters beside a
    number without \text are a unit where they are one of a known name of two letters or more, or words of at least
    three after a space: 6t and 2ab are products. Words that compute (half, million, or) are no unit.
    """
    texted = _TEXTED.fullmatch(text)
    found = texted or _WORDED.fullmatch(text)
    if not found or not any(c.isdigit() or c == "\\" for c in found["body"]):
        return text, None
    said = re.sub(r"\s+per\s+", "/", found["words"]) + (f"/{found['per']}" if found["over"] else "")
    said, powers = re.sub(r"[.°()]|\^\{?-?\d\}?", "", said), re.findall(r"\^\{?(-?\d)", said)
    words = re.split(r"[\s/]+", said.strip())
    if not all(word.isalpha() for word in words if word) or _NO_UNITS & {word.lower() for word in words} - {*_POWERS}:
        return text, None
    unit = "/".join(filter(None, (_unit(part.split()) for part in said.split("/")))) or None
    power = found["power"] or "".join(powers) or "1"
    if unit and power != "1":
        unit += f"^{power}"
    if texted:
        apart = all(len(word) > 1 or word.isupper() or not word for word in words) and said.lower() not in _POWERS
    else:
        apart = bool(found["space"]) and all(len(word) > 2 or word in _SHORT_WORDS for word in words)
    known = unit is not None and (texted is not None or len(words[-1]) > 1 or "/" in said)
    if known or (apart and said.strip().lower() not in _POWERS):
        body, inner = measure(found["body"].strip())
        return body, inner or unit
    return text, None


def _unit(words: list[str]) -> Unit | None:
    """The known unit of some words, with its power: of `square inches` inch^2."""
    known, power, unit = _measures(), 1, None
    for word in words:
        name = word if word in known else word.lower()
        name = name if name in known else name.removesuffix("s")
        power = _POWERS.get(word.lower(), 1) * power
        if unit and name in known:
            return None  # m s^-1: one that is not read here
        unit = unit or known.get(name)
    return unit and (f"{unit}^{power}" if power > 1 else unit)


_QUANTITY = re.compile(
    r"\s*(?P<number>-?\d+(?:\.\d+)?)\s*"
    r"(?:\\text\s*\{\s*(?P<text>[A-Za-z. ]+?)\s*(?:,?\s*and\s*|,\s*)?\}|(?P<word>[A-Za-z]+))"
    r"\s*(?:,|\\text\s*\{\s*and\s*\}|and\b)?"
)


def quantities(text: str) -> list[tuple[str, str]]:
    r"""Numbers with their units, of an answer of several, such as 2 \text{ h } 30 \text{ min}; empty for any other."""
    found, place = [], 0
    while place < len(text):
        part = _QUANTITY.match(text, place)
        if not part or (part["word"] and _unit([part["word"]]) is None):
            return []
        words = (part["text"] or part["word"]).replace(".", "").split()
        found.append((part["number"], _unit(words) or " ".join(words).lower().removesuffix("s")))
        place = part.end()
    return found if len(found) > 1 else []


_LETTER_UNIT = re.compile(r"(?P<body>.*\d)\s*(?P<unit>[a-zA-Z]{1,2})(?:\^\{?[23]\}?)?")


def letters_as_unit(text: str) -> tuple[str, Unit | None]:
    """6 and metre for 6 m: the other reading of letters after a number, which is a product in `measure`."""
    found = _LETTER_UNIT.fullmatch(text)
    unit = _unit([found["unit"]]) if found else None
    return (found["body"].strip(), unit) if found and unit else (text, None)


# ---- what else stands beside a value ----

_BASE = re.compile(
    r"[({]?(?:\\text\s*\{)?(\d[0-9A-F]*|[A-F][0-9A-F]+)[)}]?\s*_\s*(?:\{\s*\(?\s*(?:\\text\{)?(\d+|[a-z]+)\}?\s*\)?\s*\}|(\d+))"
)
_BASES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_DOMAIN = re.compile(
    r"(?:[,;(]|\\text\s*\{[^{}]*\})\s*(?P<domain>[a-z](?:\s*,\s*[a-z])*\s*\\in\s*"
    r"\\mathbb\s*\{?[A-Z]\}?(?:[\^_](?:\{[^{}]*\}|.))*)\s*\)?"
)
_SCIENTIFIC = re.compile(r"(?<![\w.}])(\d+(?:\.\d+)?|\.\d+)[eE]([+-]?\d+)(?!\w)")
_SETBUILDER = re.compile(r"\\\{\s*([a-z])\s*(?:\\in\s*\\mathbb\{R\}\s*)?[|:]\s*(.*)\\\}")


def in_base(text: str) -> tuple[str, str] | None:
    """Digits and base of 25_{6}; None for any other answer."""
    found = _BASE.fullmatch(text)
    if not found:
        return None
    base = found.group(2) or found.group(3)
    return found.group(1), str(_BASES.index(base)) if base in _BASES else base


_PMOD = re.compile(r"\s*\\pmod\{([^{}]*)\}$")


def modulus(text: str) -> tuple[str, str]:
    """An answer without its closing modulus, and that; empty where it has none."""
    found = _PMOD.search(text)
    return (text[: found.start()].strip(), found.group(1).replace(" ", "")) if found else (text, "")


def domain(text: str) -> tuple[str, str]:
    r"""An answer without the set that its variable is from, and that set: of 2n\pi, n \in \mathbb{Z} its two halves."""
    for found in _DOMAIN.finditer(text):
        if found.end() == len(text) and found.start() > 0:
            return text[: found.start()].strip(), re.sub(r"\s", "", found["domain"])
    return text, ""


def readings(answer: str, lists: bool = True) -> Iterator[str]:
    r"""What an answer may say, the likeliest first: 1e-5 a number or a difference, 3,100 a number or a list."""
    text = plain(answer)
    yield from _written(text)
    if lists and "," in answer and (listed := plain(answer, True)) != text:
        yield from _written(listed)


def _written(text: str) -> Iterator[str]:
    conditions = _SETBUILDER.fullmatch(text)
    text = conditions.group(2).strip() if conditions and conditions.group(1) in conditions.group(2) else text
    scientific = _SCIENTIFIC.sub(lambda n: f"{n.group(1)} \\cdot 10^{{{int(n.group(2))}}}", text)
    for written in dict.fromkeys((scientific, text)):
        yield _ratio(_both_signs(written))


def _both_signs(text: str) -> str:
    r"""1 \pm \sqrt{2} as a list of two."""
    if len(_PLUS_MINUS.findall(text)) != 1 or "\\{" in text:
        return text
    signs = {True: ("+", "-"), False: ("",)}
    parts = [_PLUS_MINUS.sub(s, item) for item in items(text) for s in signs[bool(_PLUS_MINUS.search(item))]]
    return ", ".join(part.removeprefix("+").strip() for part in parts)


def _ratio(text: str) -> str:
    """a : b : c as a tuple in units of its first number; that of two numbers is a fraction."""
    parts = _split(text, _COLON)
    if len(parts) < 3 or not all(re.fullmatch(r"\d+(?:\.\d+)?", part) for part in parts):
        return text
    return "(" + ", ".join(f"\\frac{{{part}}}{{{parts[0]}}}" for part in parts) + ")"
