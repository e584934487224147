r"""The parts of a plain answer: items of a list, sides of a chain of equations, unit, base, modulus, domain.

Nothing here computes. docs/grading.md has a row per decision.
"""

import re
from collections.abc import Iterator

from rlvr.verifiers._latex import depths, undecorated

# ---- lists and chains ----

_SEPARATOR = re.compile(r"[,;]|\\text\s*\{\s*,?\s*(?:or|and)\s*\}|(?<![a-zA-Z\\{])(?:or|and)(?![a-zA-Z])")
_EQUALS = re.compile(r"(?<![<>!\\=:])(?<!\\not)=(?!=)|(?<!\\not)\\equiv(?![a-zA-Z])")
_COLON = re.compile(r":")
_PLUS_MINUS = re.compile(r"\\pm(?![a-z])")
_APPROXIMATELY = re.compile(r"\\approx(?![a-zA-Z])|\\simeq(?![a-zA-Z])")


def items(text: str) -> list[str]:
    """The answers of a list, separated by commas, `or` and `and` outside brackets."""
    return [item for item in _split(text, _SEPARATOR) if item]


def sides(text: str) -> list[str]:
    """The sides of a chain of equations; one side if there is no equation."""
    return _split(text, _EQUALS)


def approximations(text: str) -> list[str]:
    """The values between signs of approximation; a leading sign separates nothing."""
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
_ANY_WORD = re.compile(rf"{_WORD}|\\[ ,;]")
_NAME = re.compile(
    rf"\(?\s*{_SYMBOL}(?:\s*,\s*{_SYMBOL})*\s*\)?"
    r"|\|[A-Za-z]{1,2}\||(?:\\(?:angle|triangle|overline|overrightarrow|vec|hat|bar|widehat|measuredangle|operatorname)"
    r"\s*(?:\{[^{}]*\}|[A-Za-z]+)\s*)+|m\s*\\angle\s*\{?\s*[A-Z]+\s*\}?|\\frac\{d\^?\d?\s*[a-z]\}\{d\s*[a-z]\^?\d?\}"
)


def is_name(side: str) -> bool:
    r"""Whether a left side is only a name for the right side: x, f(x), (x,y), \angle ABC, |AB|, \text{Area}."""
    return _NAME.fullmatch(side.strip()) is not None


# ---- measures ----

_MEASURES = {
    "second": "s sec", "minute": "min", "hour": "h hr", "day": "", "week": "", "month": "", "year": "yr",
    "millimetre": "mm millimeter", "centimetre": "cm centimeter", "metre": "m meter", "kilometre": "km kilometer",
    "inch": "in inches", "foot": "ft feet", "yard": "yd", "mile": "mi", "gram": "g gm", "kilogram": "kg",
    "milligram": "mg", "pound": "lb", "ounce": "oz", "litre": "l L liter", "millilitre": "ml mL milliliter",
    "gallon": "gal", "degree": "deg", "radian": "rad", "celsius": "", "fahrenheit": "", "kelvin": "K",
    "dollar": "usd USD", "cent": "", "euro": "eur EUR", "sterling": "", "yen": "", "rs": "rupee", "newton": "N",
    "kilonewton": "kN", "joule": "J", "kilojoule": "kJ", "watt": "W", "kilowatt": "kW", "mile/hour": "mph", "knot": "",
    "nanometre": "nm nanometer", "nanosecond": "ns", "millisecond": "ms", "hertz": "Hz", "kilohertz": "kHz",
    "megahertz": "MHz", "gigahertz": "GHz", "ampere": "A amp", "milliampere": "mA", "volt": "V", "millivolt": "mV",
    "ohm": "", "pascal": "Pa", "kilopascal": "kPa", "atmosphere": "atm", "electronvolt": "eV",
    "kiloelectronvolt": "keV", "megaelectronvolt": "MeV", "ton": "tonne", "unit": "",
    "am": "", "pm": "", "ad": "AD CE", "bc": "BC BCE",
}  # fmt: skip
_NAMES = {word: name for name, words in _MEASURES.items() for word in (name, *words.split())}
UNITS = "|".join(rf"{word}s?\b" for word in sorted(_NAMES, key=len, reverse=True))  # as a regular expression
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

# Words after a number that say another thing than their opposite.
_OPPOSED = re.compile(
    r"\b(north|south|east|west|left|right|up|down|above|below|increase|decrease|profit|loss|gain|clockwise|"
    r"counterclockwise|anticlockwise)\b",
    re.IGNORECASE,
)


def directions(text: str) -> list[str]:
    """The words of an answer whose opposite would change it: south, loss."""
    return sorted(word.lower() for word in _OPPOSED.findall(text))


Unit = str  # such as "metre/second" or "centimetre^2"


def measure(text: str) -> tuple[str, Unit | None]:
    r"""An answer without its unit, and the unit: 5 \text{ hours} gives 5, hour; 3 cm^2 gives 3, centimetre^2.

    The unit is None if there is none, or if it is unknown, as in 12 students. Letters beside a number without \text are
    a unit if they are a known name of at least two letters or, after a space, words of at least three: 6t and 2ab are
    products. Words that compute (half, million, or) are no unit.
    """
    texted = _TEXTED.fullmatch(text)
    match = texted or _WORDED.fullmatch(text)
    if not match or not any(c.isdigit() or c == "\\" for c in _ANY_WORD.sub("", match["body"])):
        return text, None  # a unit needs a number before it: words are none
    label = re.sub(r"\s+per\s+", "/", match["words"]) + (f"/{match['per']}" if match["over"] else "")
    label, powers = re.sub(r"[.°()]|\^\{?-?\d\}?", "", label), re.findall(r"\^\{?(-?\d)", label)
    words = re.split(r"[\s/]+", label.strip())
    if not all(word.isalpha() for word in words if word) or _NO_UNITS & {word.lower() for word in words} - {*_POWERS}:
        return text, None
    unit = "/".join(filter(None, (_unit(part.split()) for part in label.split("/")))) or None
    power = match["power"] or "".join(powers) or "1"
    if unit and power != "1":
        unit += f"^{power}"
    if texted:
        apart = all(len(word) > 1 or word.isupper() or not word for word in words) and label.lower() not in _POWERS
    else:
        apart = bool(match["space"]) and all(len(word) > 2 or word in _SHORT_WORDS for word in words)
    is_unit = unit is not None and (texted is not None or len(words[-1]) > 1 or "/" in label)
    if is_unit or (apart and label.strip().lower() not in _POWERS):
        body, inner = measure(match["body"].strip())
        return body, inner or unit
    return text, None


def _unit(words: list[str]) -> Unit | None:
    """The unit that some words name, with its power (`square inches` gives inch^2); None if it is unknown."""
    power, unit = 1, None
    for word in words:
        name = word if word in _NAMES else word.lower()
        name = name if name in _NAMES else name.removesuffix("s")
        power = _POWERS.get(word.lower(), 1) * power
        if unit and name in _NAMES:
            return None  # m s^-1 is not supported
        unit = unit or _NAMES.get(name)
    return unit and (f"{unit}^{power}" if power > 1 else unit)


_QUANTITY = re.compile(
    r"\s*(?P<number>-?\d+(?:\.\d+)?)\s*"
    r"(?:\\text\s*\{\s*(?P<text>[A-Za-z. ]+?)\s*(?:,?\s*and\s*|,\s*)?\}|(?P<word>[A-Za-z]+))"
    r"\s*(?:,|\\text\s*\{\s*and\s*\}|and\b)?"
)


def quantities(text: str) -> list[tuple[str, str]]:
    r"""Numbers with their units, if an answer has several, such as 2 \text{ h } 30 \text{ min}; else empty."""
    pairs, place = [], 0
    while place < len(text):
        part = _QUANTITY.match(text, place)
        if not part or (part["word"] and _unit([part["word"]]) is None):
            return []
        words = (part["text"] or part["word"]).replace(".", "").split()
        pairs.append((part["number"], _unit(words) or " ".join(words).lower().removesuffix("s")))
        place = part.end()
    return pairs if len(pairs) > 1 else []


_LETTER_UNIT = re.compile(r"(?P<body>.*\d)\s*(?P<unit>[a-zA-Z]{1,2})(?:\^\{?[23]\}?)?")


def letters_as_unit(text: str) -> tuple[str, Unit | None]:
    """An answer with the letters after its number read as a unit: 6 m gives 6, metre. `measure` reads a product."""
    match = _LETTER_UNIT.fullmatch(text)
    unit = _unit([match["unit"]]) if match else None
    return (match["body"].strip(), unit) if match and unit else (text, None)


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
