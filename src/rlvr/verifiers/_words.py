r"""Answers in words: no solution, all real numbers, three, 14 March, yes; and what words add to a formula.

`canonical` gives one text for phrases of one meaning. `core` splits off quantifiers and conditions behind a formula;
`branches` reads a definition by cases. docs/grading.md has a row per decision.
"""

import re
from typing import NamedTuple

_WRAPPED = re.compile(r"\\(?:text|mathrm|mbox|textrm|textbf|textit|operatorname)\s*\{([^{}]*)\}")


def plain(text: str) -> str:
    r"""The words of \text and of the rest, in small letters, without an article and a full stop."""
    words = " ".join(_WRAPPED.sub(r" \1 ", text).casefold().split()).strip(" .()!")
    return re.sub(r"^(?:an?|the) ", "", words)


# ---- phrases of one meaning ----

_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty
"""
_CHINESE = "零一二三四五六七八九十"
_REALS = (
    r"(?:any|every|all|the set of|the set of all|set of all|the)?\s*(?:real numbers?|reals?)(?:\s+(?:numbers?|[a-z]))?"
    "|全体实数|所有实数|一切实数"
)
_PHRASES = (
    (
        r"(?:there (?:is|are) |has |have )?no (?:such |real |integer |valid |possible |positive )*"
        r"(?:solutions?|roots?|values?|numbers?|integers?|[a-z]|answers?|functions?|pairs?|triples?)(?: exists?)?"
        r"|(?:the )?(?:empty|null) set|\\emptyset|无解|無解|空集|无实数解|none exists?|解なし|нет решений|keine lösung",
        r"\emptyset",
    ),
    (r"dne|does not exist|doesn't exist|do not exist|不存在|(?:the )?limit does not exist", "does not exist"),
    (rf"{_REALS}|\\mathbb\{{r\}}|[a-z] \\in \\mathbb\{{r\}}|\(-\\infty ?, ?\+?\\infty ?\)", r"(-\infty,\infty)"),
    (r"infinitely many(?: solutions| values)?|infinite|infinity|无穷多|无数", r"\infty"),
    (r"yes\s*[,.:].*|是的?|对|да|ja", "yes"),
    (r"no\s*[,.:].*|否|不是|нет|nein", "no"),
    (r"cannot be determined|can't be determined|not determinable|无法确定", "cannot be determined"),
)
_PHRASE = [(re.compile(pattern), meaning) for pattern, meaning in _PHRASES]


def canonical(text: str) -> str | None:
    """One text for the answers of one meaning, such as `\\emptyset` for `no solutions`; None for any other answer."""
    words = plain(text)
    if not any(c.isalpha() for c in words[:40]):
        return _date(words) if iso_date(words) else None
    for phrase, meaning in _PHRASE:
        if phrase.fullmatch(words):
            return meaning
    if words in _NUMBERS.split():
        return str(_NUMBERS.split().index(words))
    if words and all(c in _CHINESE for c in words) and len(words) <= 3:
        return _chinese(words)
    return _date(words)


def _chinese(words: str) -> str | None:
    """The number of 三, 十二, 三十 or 四十二 in digits; None for any other order of these digits."""
    match = re.fullmatch("([一二三四五六七八九]?)十([一二三四五六七八九]?)|([零一二三四五六七八九十])", words)
    if not match:
        return None
    tens, ones, alone = match.groups()
    return str(_CHINESE.index(alone) if alone else 10 * _CHINESE.index(tens or "一") + _CHINESE.index(ones or "零"))


# ---- dates ----

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<month>(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\.?"
_DATES = (
    rf"{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s*,?\s*(?P<year>\d{{4}}))?",
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?{_MONTH}(?:\s*,?\s*(?P<year>\d{{4}}))?",
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})",
    r"(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]",
)
_DATE = [re.compile(form) for form in _DATES]


def _date(words: str) -> str | None:
    """A date as 2024-3-14, or 3-14 without a year."""
    for form in _DATE:
        if match := form.fullmatch(words):
            month = match["month"]
            number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
            return f"date {match['year'] or ''}-{number}-{int(match['day'])}".replace(" -", " ")
    return None


def iso_date(text: str) -> bool:
    """Whether a text is a date such as 2024-03-14, which math-verify would take for a difference."""
    return _DATE[2].fullmatch(text) is not None


# ---- quantifiers and conditions behind a formula ----

_CLAUSE = re.compile(
    r"(?:\s*,)?\s*(?:\\text\s*\{[\s,(]*(?=(?:for|where|with|if|when|provided|over)\b)|\\forall(?![a-z])"
    r"|(?<=[\s,(])\b(?=(?:for (?:all|every|any|each|some)|where|provided that)\b)"
    r"|[,(]\s*(?=[a-zA-Z]\s*(?:\\ne(?![a-z])|\\not)))"
)
_SAID = re.compile(
    r"\b(?:for|where|with|all|every|any|each|some|is|are|an?|the|arbitrary|real|complex|integers?|constants?|numbers?|fixed|"
    r"positive|nonnegative|non-negative|natural|whole|and|value|values|of|over|in|reals?|which|that|provided)\b"
    r"|\\in(?![a-z])|\\mathbb\s*\{?[A-Z]\}?(?:[\^_](?:\{[^{}]*\}|.))*|\\(?:forall|text|mathrm|geq?|neq?)(?![a-z])"
)
_OF_INDEX = re.compile(r"\b[a-z]\s*(?:\\ge\s*[012]|>\s*0|\\ne\s*-?\d+)(?![\d.])")


class Clause(NamedTuple):
    """What stands behind a formula: its text, and whether it restricts the formula."""

    text: str
    restricts: bool


def core(text: str) -> tuple[str, Clause | None]:
    r"""A formula without a quantifier or a condition behind it: x + 1 \text{ for all } x is x + 1."""
    start = _CLAUSE.search(text) if "\\" in text or "for" in text or "where" in text else None
    if start is None or not text[: start.start()].strip() or text.startswith("\\{"):
        return text, None
    clause = text[start.start() :]
    left = _SAID.sub(" ", _OF_INDEX.sub(" ", clause))
    formula = text[: start.start()].strip().removesuffix("\\text{")
    return formula, Clause(_condition(clause), re.search(r"[\d=<>\\]|[^\W\d_]{2}", left) is not None)


# ---- definitions by cases ----

_CASES = re.compile(r"(?P<name>.*?)\\begin\{(cases|array)\}(?:\{[lcr ]*\})?(?P<rows>.*)\\end\{\2\}", re.DOTALL)
_BEFORE_CONDITION = re.compile(r"&|,?\s*\\text\s*\{\s*,?\s*(?=if\b|for\b|when\b|otherwise)|,\s*(?=[a-z]\s*[<>\\])")
_FILLERS = re.compile(r"\b(?:if|for|when|where|is|an?|all|and)\b|[,.;]$")
OTHERWISE = "otherwise"


def branches(text: str) -> list[tuple[str, str]] | None:
    """Values and conditions of a definition by cases, in its order; None for any other answer."""
    match = _CASES.search(text) if "\\begin" in text else None
    if match is None or not re.fullmatch(r"[^=]*=?\s*(?:\\\{)?\s*", match["name"]):
        return None
    rows = [row for row in match["rows"].split("\\\\") if row.strip()]
    parts = [_BEFORE_CONDITION.split(row, maxsplit=1) for row in rows]
    if not rows or not all(len(part) == 2 for part in parts):
        return None
    return [(value.strip(" ,;&"), _condition(condition)) for value, condition in parts]


def _condition(text: str) -> str:
    """A condition without the words around it: `if n is even` as `n even`; `else` as `otherwise`."""
    words = _FILLERS.sub(" ", plain(text.replace("&", " ").replace("{", " { ")).strip(" ,.;"))
    words = re.sub(r"\\text\s*\{|[{}]", " ", words)
    words = re.sub(r"\belse\b|\bin other cases\b", OTHERWISE, words)
    return " ".join(re.sub(r"([<>=]|\\[a-z]+)", r" \1 ", words).split())
