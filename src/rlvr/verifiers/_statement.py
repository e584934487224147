r"""The answer that a text without a box states: `The answer is 42.`, `#### 72`, `<answer>42</answer>`, 答案是42。

The last statement counts, as a whole: `Final answer: 2 2/3` is 8/3, and no number of it. A text that only mentions a
number states nothing. docs/grading.md has a row per decision.
"""

import re

from rlvr.verifiers._rewritings import undecorated
from rlvr.verifiers._units import measure

_TAG = re.compile(r"<answer>\s*(.*?)\s*</answer>", re.DOTALL | re.IGNORECASE)
_HASHES = re.compile(r"^#### ?(?!#)(.+)$", re.MULTILINE)
_WORD = (
    r"\b(?:answer|Answer|ANSWER|antwort|ergebnis|lösung|respuesta|réponse|risposta|resposta|resultado|ответ)\b"
    r"|答案|最终结果|答え|答(?=[:：是为])|정답|답(?=[은:])"
)
_IS = (
    r"(?:\s*(?:is|would be|will be|must be|should be|equals|be|lautet|est|es|ist|è|é|=|:|：|为|是|は|은|는|が|—"
    r"|-(?=\s)))+"
)
_STATED = re.compile(
    rf"(?:{_WORD})(?:\s+to (?:the|this) \w+)?[*_\s]*{_IS}[*_]*[ \t]*\n?\s*(?P<value>[^\n]+)", re.IGNORECASE
)
_HEADED = re.compile(
    rf"^[#*\s]*(?:(?:the )?final )?(?:{_WORD})[*:：\s]*\n\s*(?P<value>[^\n]+)", re.IGNORECASE | re.MULTILINE
)
# A last line that is a formula or bold, alone or behind `is`; and a number at its end.
_FORMULA = r"\$\$.+\$\$|\$[^$]+\$|\\\(.+\\\)|\\\[.+\\\]|\*\*[^*]+\*\*"
_LAST = re.compile(
    rf"(?:^|\b(?:is|are|be|equals?|get|obtain|gives?|have)|[=:：为是得])\s*(?P<value>{_FORMULA})\s*[.。!]?$"
)
_COMPUTED = r"(?:[\d.,/^ ()*+π√{}-]|\\[a-z]+)*"
_PLAIN = re.compile(rf"(?:\b(?:is|are|equals)|(?<![!<>])=)\s*(?P<value>[-−]?{_COMPUTED}\d{_COMPUTED})[.。]?$")
_WITH_UNIT = re.compile(
    r"(?:\b(?:is|are|equals)|(?<![!<>])=)\s*(?P<value>[-−]?\d[\d.,/]*\s*[a-zA-Z][a-zA-Z^/ 23]{0,30})$"
)
_ALONE = re.compile(r"^[^A-Za-z]*\d[^A-Za-z]*$")

_DENIED = re.compile(r"\b(?:not|never|neither|isn't|cannot|can't|no longer|unknown|unclear)\b|不是|不为", re.IGNORECASE)
_DOUBT = re.compile(
    r"\A(?:not|never|neither|definitely not|either|between|less|more|at (?:least|most)|over|under|above|below|不)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[^\s.])(?:[.!?](?=\s|$|\*|\")|[。！？;])")
_REMARK = re.compile(
    r",?\s+(?:since|because|as|which|where|when|so|for|by|if|that is|i\.e\.|here)\b(?![^$]*\$[^$]*\Z).*"
    r"|\s+[-–—]\s+(?=[A-Za-z]).*|(?<=[\w$)}])\s+\((?!\s*mod)[^()]*\)\s*\Z"
    r"|\s+(?:of|in) (?:the|total|all)\b.*|\s+(?:です|입니다).*",
    re.DOTALL,
)
LONGEST_STATEMENT = 300  # characters


def stated(text: str) -> str | None:
    """The answer that a text states last; None if it states none, denies one, or only mentions a number."""
    if tags := _TAG.findall(text):
        return tags[-1] or None
    for form in (_STATED, _HASHES, _HEADED):
        if found := list(form.finditer(text)):
            last = found[-1]
            return _value(last.group(last.lastindex or 0), text[max(0, last.start() - 20) : last.start()])
    return _at_the_end(text)


def _at_the_end(text: str) -> str | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    last = _SENTENCE.split(lines[-1].rstrip(".。! "))[-1].strip()
    if len(last) > LONGEST_STATEMENT or _DENIED.search(last):
        return None
    found = _LAST.search(last) or _PLAIN.search(last)
    if found:
        return _value(found["value"], "")
    amount = _WITH_UNIT.search(last)
    unit = measure(undecorated(amount["value"]))[1] if amount else None
    if amount and unit and unit.bases:
        return amount["value"]
    return lines[-1].strip("*_#> ") if _ALONE.match(lines[-1]) and not lines[-1].endswith("?") else None


def _value(said: str, before: str) -> str | None:
    """The value of a statement: without emphasis, what follows its sentence, and remarks."""
    said = re.sub(r"\*\*|__|(?<!\\)`|</?s>|<\|\w+\|>", "", said[:LONGEST_STATEMENT]).strip()
    said = re.sub(r"\A(?:\\\(|\\\[|\$+)?\s*(?:(?:the )?(?:final )?answer\s*(?:is|:)\s*)", "", said, flags=re.IGNORECASE)
    said = re.sub(r"\A(?:\}|not .*?[,;.] *(?:it is|but|rather)\b) *", "", said)
    said = re.sub(r".*\bexactly\s+", "", _first_sentence(said))
    if said.endswith("?"):
        return None
    said = re.sub(r"(?<!\\)\$", "", said) if said.count("$") % 2 == 0 else said
    said = re.sub(r"(?<=\d)(\s?[kcdm]?m)([23])\Z", r"\1^\2", said).strip().rstrip("!.。, ")
    said = (
        re.sub(r"\s*(?:\\[\])]|\$+)\Z", "", said)
        if said.count("$") % 2 or said.count("\\[") < said.count("\\]")
        else said
    )
    said = _REMARK.sub("", said).strip(" ,:")
    if not said or _DOUBT.match(said) or _DENIED.search(before):
        return None
    return said


def _first_sentence(said: str) -> str:
    """A statement up to its sentence's end, outside of formulas."""
    for end in _SENTENCE.finditer(said):
        before = said[: end.start()]
        if (
            before.count("$") % 2 == 0
            and before.count("\\(") == before.count("\\)")
            and not re.search(r"\b[a-z]\Z", before)
        ):
            return said[: end.end()] if said[end.start()] == "?" else before
    return said
