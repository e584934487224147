r"""What the table of rewritings calls: characters, commands, numbers, degrees, and what surrounds an answer.

Each function gives a text in another notation. docs/grading.md has a row per decision.
"""

import re
import unicodedata

from rlvr.verifiers._latex import closing, depths
from rlvr.verifiers._text import visible

# ---- characters ----

_SIGNS = str.maketrans({
    **dict.fromkeys("−–—﹣－", "-"), "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "÷": r"\div ",
    "±": r"\pm ", "∓": r"\mp ", "≤": r"\le ", "⩽": r"\le ", "≥": r"\ge ", "⩾": r"\ge ", "≠": r"\ne ", "≈": r"\approx ",
    "≡": r"\equiv ", "∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "∖": r"\setminus ",
    "∅": r"\emptyset ", "⌀": r"\emptyset ", "°": r"^\circ ", "º": r"^\circ ", "˚": r"^\circ ", "∀": r"\forall ",
    "∠": r"\angle ", "△": r"\triangle ", "∘": r"\circ ",
    "∣": "|", "…": r"\cdots ", "⋯": r"\cdots ", "′": "'", "’": "'", "∗": "*", "⌊": r"\lfloor ", "⌋": r"\rfloor ",
    "⟨": r"\langle ", "⟩": r"\rangle ", "⌈": r"\lceil ", "⌉": r"\rceil ", "∑": r"\sum ", "∫": r"\int ",
    "→": r"\to ", "⁄": "/", "∕": "/", "٪": "%", "。": ".",
})  # fmt: skip
_HYPHENS = dict.fromkeys("‐‑‒―⁃", "-")
_GREEK = re.compile("[Α-ω]")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ]+")
_LOWERED = re.compile("[₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₐₑₒₓₖₙₘ]+")
_STACKED = re.compile("[¼½¾⅐-⅞↉]")


def before_nfkc(text: str) -> str:
    r"""Hyphens, digits of any script, and letters in blackboard bold, which NFKC would make plain."""
    return text if text.isascii() else "".join(c if c.isascii() else _plain(c) for c in text)


def _plain(c: str) -> str:
    if c.isdecimal():
        return str(int(c))
    struck = "DOUBLE-STRUCK CAPITAL" in unicodedata.name(c, "")
    return f"\\mathbb{{{unicodedata.normalize('NFKC', c)}}}" if struck else _HYPHENS.get(c, c)


def characters(text: str) -> str:
    """Signs of Unicode as commands, 3² as 3^{2}, x₁ as x_{1}, ½ as a fraction."""
    if text.isascii():
        return text
    text = _GREEK.sub(_greek, text.translate(_SIGNS))
    text = _RAISED.sub(lambda run: f"^{{{_level(run.group())}}}", text)
    text = _LOWERED.sub(lambda run: f"_{{{_level(run.group())}}}", text)
    return _STACKED.sub(lambda sign: "\\frac{{{}}}{{{}}}".format(*_level(sign.group()).split("⁄")), text)


def _level(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("−", "-")


def _greek(letter: re.Match[str]) -> str:
    """A letter's command; a letter with an accent stays as it is."""
    match = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)", unicodedata.name(letter.group(), ""))
    if not match:
        return letter.group()
    name = match.group(2).lower().replace("lamda", "lambda")
    return f"\\{name if match.group(1) == 'SMALL' else name.capitalize()} "


# ---- commands ----

_RENAMED = {
    **dict.fromkeys(("dfrac", "tfrac", "cfrac", "nicefrac", "sfrac", "flatfrac"), "\\frac"),
    **dict.fromkeys(("leqslant", "leq"), "\\le"),
    **dict.fromkeys(("geqslant", "geq"), "\\ge"),
    **dict.fromkeys(("dots", "ldots", "dotsc", "dotsb"), "\\cdots"),  # math-verify drops the others
    **{"neq": "\\ne", "varnothing": "\\emptyset", "ast": "*", "colon": ":", "degree": "^\\circ", "lbrace": "\\{"},
    **{"rbrace": "\\}", "vert": "|", "lvert": "|", "rvert": "|", "mid": "|", "lt": "<", "gt": ">", "bmod": "\\mod"},
    **{"langle": "(", "rangle": ")", "prime": "'", "lg": "\\log_{10}", "imath": "i", "jmath": "j"},
    "gamma": "\\kappa_{g}",  # math-verify reads \gamma^2 - 8 as the function of -6, and \gamma as a number
}


def renamed(command: re.Match[str]) -> str:
    new, after = _RENAMED.get(command.group(2) or ""), command.string[command.end() :].lstrip()[:1]
    if new is None or (after == "_" and "_" in new):
        return command.group()
    return f"{new} " if new[-1].isalpha() else new


def rows(system: re.Match[str]) -> str:
    """The rows of a system of equations as a list; a matrix or a definition by cases stays."""
    rows = [row.replace("&", " ").strip(" ,;") for row in system.group(2).split("\\\\") if row.strip()]
    several = len(rows) > 1 or system.group(1) in ("array", "cases")
    equations = all("=" in row and not re.search(r"\bif\b|<|>|\\[lg]e(?![a-z])|\\text", row) for row in rows)
    return ", ".join(rows) if equations or not several else system.group()


def upright(letter: re.Match[str]) -> str:
    """An upright letter as a variable, after a space behind a factor."""
    before = letter.string[letter.start() - 1 : letter.start()]
    return (" " if before.isalnum() or (before in ("}", ")") and before) else "") + next(filter(None, letter.groups()))


def of_two(numbers: re.Match[str]) -> str:
    return "G_{{c}}({}, {})".format(*sorted(part.strip() for part in numbers.groups()))


# ---- numbers ----

_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:(?:,\d{3})+|(?: \d{3})+)(?![\d,])")
_ZEROS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_ZEROS |= {"十": 1, "百": 2, "千": 3, "万": 4, "萬": 4, "만": 4, "亿": 8, "億": 8, "억": 8}
_CURRENCIES = {"$": "dollar", "USD": "dollar", "US$": "dollar", "mathdollar": "dollar", "textdollar": "dollar"}
_CURRENCIES |= {"€": "euro", "EUR": "euro", "euro": "euro", "texteuro": "euro", "£": "sterling", "GBP": "sterling"}
_CURRENCIES |= {"pounds": "sterling", "textsterling": "sterling", "¥": "¥", "yen": "¥", "textyen": "¥", "RMB": "yuan"}
_CURRENCIES |= {
    "CNY": "yuan",
    "JPY": "yen",
    "₹": "rupee",
    "Rs": "rupee",
    "INR": "rupee",
    "rupee": "rupee",
    "₽": "ruble",
}
_CURRENCIES |= {"₩": "won", "CHF": "franc"}
_MONEY = "|".join(
    sorted((re.escape(name) + (r"\b\.?" if name[-1].isalpha() else "") for name in _CURRENCIES), key=len, reverse=True)
)


def joined(text: str, listed: bool) -> str:
    """1,000 as 1000, or as the list 1, 000; a comma inside brackets always separates: (3,100) is a pair."""
    if not _GROUPED.search(text):
        return text
    depth = depths(text, braces=False)

    def written(number: re.Match[str]) -> str:
        separate = depth[number.start()] > 0 or (listed and not re.search(",0", number.group()))
        return number.group().replace(",", ", ") if separate else re.sub("[ ,]", "", number.group())

    return _GROUPED.sub(written, text)


def fraction(number: re.Match[str]) -> str:
    r"""0.1\overline{6} as \frac{15}{90}."""
    whole, fixed = number["whole"], number["fixed"]
    repeated = re.sub(r"\D", "", number["repeated"])
    top = int(f"{whole}{fixed}{repeated}") - int(f"0{whole}{fixed}")
    return f"\\frac{{{top}}}{{{'9' * len(repeated)}{'0' * len(fixed)}}}"


def twice(number: re.Match[str]) -> str:
    r"""The double factorial 6!! as 2^{3} \cdot 3!, and 7!! as \frac{7!}{2^{3} \cdot 3!}."""
    half, odd = divmod(int(number.group(1)), 2)
    even = f"2^{{{half}}} \\cdot {half}!"
    return f"\\frac{{{number.group(1)}!}}{{{even}}}" if odd else f"({even})"


def multiplied(multiple: re.Match[str]) -> str:
    r"""5 million as 5 \cdot 10^{6}; in 5 \text{ million dollars} the unit stays in its \text."""
    rest = " \\text{" if multiple["text"] and not multiple["end"] else ""
    return f" \\cdot 10^{{{_ZEROS[multiple['word']]}}}{rest}"


def _priced(amount: re.Match[str]) -> str:
    unit = _CURRENCIES.get((amount["sign"] or amount["after"]).strip("\\ ."), "dollar")
    return (amount["first"] or amount["second"]) + (f"\\text{{ {unit}}}" if unit.isalpha() else "")


def money(text: str) -> str:
    return _PRICE.sub(_priced, text) if len(text) < 80 else text


_CURRENCY = rf"(?:\\(?:text|mathrm|textrm)\s*\{{\s*)?(?P<@>(?:[A-Z]{{1,2}})?\\\$|\\?(?:{_MONEY}))(?:\s*\}})?"
_PRICE = re.compile(
    rf"\A{_CURRENCY.replace('@', 'sign')}\s*(?=[\d.\\-])(?P<first>.*)"
    rf"|(?P<second>.*\d)\s*(?P<after>\\\$|[€£¥₹₽₩])",
    re.DOTALL,
)

# ---- words, lists of rows ----

OR = (
    r"(?<=[\d)}\]\sa-z])(?:或者?|または|또는)|(?<=[\d)}\]] )(?:oder|или)(?= )"
    r"|(?<=[{\s])(?:或者?|または|또는|oder|или)(?=\s*\})"
)
AND = (
    r"(?<=[\d)}\]\sa-z])(?:以及|[和与及、]|그리고)(?![^\W\d_a-zA-Z])|(?<=[\d)}\]] )(?:und|и)(?= )"
    r"|(?<=[{\s])(?:以及|[和与及]|그리고|und|и)(?=\s*\})"
)


def matrix(rows: re.Match[str]) -> str:
    cells = (row.replace(",", "&") for row in re.findall(r"\[([^\[\]]*)\]", rows.group(1)))
    return "\\begin{pmatrix}" + "\\\\".join(cells) + "\\end{pmatrix}"


# ---- degrees, modulus ----

_DEGREES = re.compile(
    r"\s*\^\s*(?:\\circ(?![a-zA-Z])|\{\s*\\circ\s*\})(?:\s*(?:\\text|\\mathrm)?\s*\{?\s*([CF])\s*\}?(?![a-zA-Z]))?"
)
_ARC = re.compile(r"(?P<degrees>\d+)\s*\^\s*\\circ\s*(?P<minutes>\d+)\s*'(?:\s*(?P<seconds>\d+)\s*'')?")
_IN_DEGREES = re.compile(r"(\d+(?:\.\d+)?)\s*\^\s*(?:\\circ(?![a-zA-Z])|\{\s*\\circ\s*\})")
_ANGLES = re.compile(r"\\?(?:sin|cos|tan|cot|sec|csc)(?![a-z])")
_MODULUS = re.compile(
    r"\s*(?:\\pmod\s*|\(\s*(?:\\(?:text|mathrm|operatorname)\s*\{\s*mod\s*\}|\\mod(?![a-z])|mod\b)\s*)"
    r"(?P<braced>\{[^{}]*\}|[^(){}]+)\s*\)?$|\s*(?:\\mod(?![a-z])|\bmod\b)\s*(?P<bare>\{[^{}]*\}|\w+)$"
)


def degrees(text: str) -> str:
    r"""The text with degrees at its end as a unit, without degrees elsewhere; 45^\circ 30' stays."""
    if _ANGLES.search(text):
        return _IN_DEGREES.sub(r"\\frac{\1\\pi}{180}", text)
    if arc := _ARC.fullmatch(text):
        minutes = f"{arc['degrees']} + \\frac{{{arc['minutes']}}}{{60}}"
        return (
            f"({minutes}" + (f" + \\frac{{{arc['seconds']}}}{{3600}}" if arc["seconds"] else "") + ")\\text{ degrees}"
        )
    if re.search(r"\d\s*'", text):
        return text
    *others, last = [None, *_DEGREES.finditer(text)]
    if last is None or others[1:] or last.end() < len(text.rstrip()):
        return _DEGREES.sub("", text)
    unit = {"C": "celsius", "F": "fahrenheit"}.get(last.group(1) or "", "degrees")
    return f"{text[: last.start()]}\\text{{ {unit}}}"


def modulus(text: str) -> str:
    r"""The text with a modulus at its end as \pmod{7}."""
    match = _MODULUS.search(text)
    if not match or (match["bare"] and "\\equiv" not in text):
        return text
    value = (match["braced"] or match["bare"]).strip("{} ")
    return f"{text[: match.start()]} \\pmod{{{value}}}"


# ---- what surrounds an answer ----

_AROUND = ((r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("__", "__"), ("`", "`"), ("'", "'"), ('"', '"'))
_NO_WORD = re.compile(r"\\(?:text|mathrm)\s*\{(\s*(?:\\?\$|-)?\s*\d[^{}]*|[^{}]*,[^{}]*)\}")  # a number, a list
_STATED = re.compile(
    r"\A(?:the\s+)?(?:final\s+)?answer\s*(?:is|:)\s*|\A\\text\s*\{[^{}]*(?:is|:)\s*\}|\A\\ell\s*:(?=.*=)", re.IGNORECASE
)
_STOP = re.compile(r"(?<=[^.\s\\])\s*[.,;。]$")


def _repeats(listed: str) -> bool:
    """Whether a list of words has one twice: True, False, True is a sequence and no set."""
    words = [item.strip() for item in listed.split(",")]
    return len(set(words)) < len(words) and all(word.isalpha() for word in words)


def peeled(text: str) -> str:
    """An answer without a closing full stop, dollars, brackets of formulas and redundant braces around it."""
    while True:
        before = text
        text = _STATED.sub("", _STOP.sub("", visible(text.strip())), count=1) if text else text
        for opens, closes in _AROUND:
            if len(text) > len(opens) + len(closes) and text.startswith(opens) and text.endswith(closes):
                text = text[len(opens) : -len(closes)]
        if (unworded := _NO_WORD.fullmatch(text)) and not _repeats(unworded.group(1)):
            text = unworded.group(1)
        text = re.sub(r"(?<!\\)\\{1,2}$", "", text)
        if text.startswith("{") and len(text) > 1 and closing(text, 0) == len(text) - 1:
            text = f"\\{text[:-1]}\\}}" if _SET.fullmatch(text) else text[1:-1]
        if text == before:
            return text


_SET = re.compile(r"\{\s*[a-z]\s*(?:\\in.*)?(?:\||\\mid|:)[^|]*\}")  # {x | x > 2} without backslashes
