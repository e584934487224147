r"""Multiple choice (GPQA, Geometry3K): the letter of the chosen option.

The gold is a letter, or JSON with the options too: {"letter": "B", "options": ["12 cm", "13 cm"]}. With options, an
answer also chooses an option by its text, or by its value according to the verifier `math`.
"""

import json
import re
from functools import lru_cache

from rlvr.verifiers import Judgement, VerifierError, ends_in_open_box, last_boxed
from rlvr.verifiers import math as mathematics
from rlvr.verifiers._text import visible

VERSION = 3
LETTERS = "ABCDEFGHIJ"
LONGEST = 4_000  # characters searched for a letter: the end of a completion, the start of a box

_WRAPPED = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|boldsymbol|bf|rm)\s*\{([^{}]*)\}")
_LETTER = r"[(\[\"']*([A-J])"
_WORD = r"(?:(?:the\s+)?(?:correct\s+)?(?:final\s+)?(?:answer|option|choice)\b\s*(?:(?:is\b|:)\s*)?)"
_ALONE = re.compile(rf"{_WORD}{{0,2}}{_LETTER}[)\]\"']*[.:,]?", re.IGNORECASE)
_MARKED = re.compile(rf"{_WORD}{{0,2}}(?:{_LETTER}[)\]]+[.:]?|{_LETTER}[.:])\s*\S.*", re.IGNORECASE | re.DOTALL)
_CALLED = rf"\b\s*(?:is|:)?\s*(?:option|choice)?\s*:?\s*{_LETTER}\b(?!['’])"
# An answer, or the correct option; another option may be named after it, and is no answer.
_STATED = re.compile(rf"\b(?:answer|(?:correct|right|best|final)\s+(?:choice|option)){_CALLED}", re.IGNORECASE)
_NAMED = re.compile(rf"\b(?:choice|option){_CALLED}", re.IGNORECASE)
_ANOTHER = re.compile(r"[)\]\"']*\s*(?:,|/|&|and\b|or\b)[\s,]*(?:and\s+|or\s+)?[(\[\"']*[A-J]\b(?!['’])")
# A cycloid, I think
_GOES_ON = re.compile(r"\s+(?!because\b|since\b|as\b|is\b|for\b|which\b|with\b|by\b|and\b|so\b)[a-z]")
_SAID = re.compile(r"\banswer\b ?(?:is|:) ?(.+?)(?:\.(?= |$)|$)", re.IGNORECASE | re.MULTILINE)


def check_gold(gold: str) -> None:
    _read(gold)


def itself(gold: str) -> str:
    """How a gold compares with itself: the status of an answer that is its letter."""
    return judge(f"\\boxed{{{_read(gold)[0]}}}", gold)[0]


@lru_cache(maxsize=1024)
def _read(gold: str) -> tuple[str, tuple[str, ...]]:
    """A gold's letter, and its options if it has any."""
    letter, options = gold, ()
    if gold.lstrip().startswith("{"):
        try:
            content = json.loads(gold)
            letter, options = content["letter"], tuple(content["options"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise VerifierError(f"not a gold of the verifier `choice`: {gold[:80]!r}") from error
        if not all(isinstance(option, str) and visible(option) for option in options):
            raise VerifierError(f"not a gold of the verifier `choice`: an option is not a text in {gold[:80]!r}")
    name = visible(letter).strip("().").upper() if isinstance(letter, str) else ""
    if len(name) != 1 or name not in (LETTERS[: len(options)] if options else LETTERS):
        raise VerifierError(f"not a gold of the verifier `choice`, such as `B`: {gold[:80]!r}")
    return name, options


def quick(text: str, gold: str) -> Judgement | None:
    """The judgement; None if it needs the options' values."""
    wanted, options = _read(gold)
    if ends_in_open_box(text):
        return "unparsable", None
    boxed, text = last_boxed(text), text[-LONGEST:]
    letter = _stated(text) if boxed is None else _letter(boxed[:LONGEST])
    answer = _said(text) if boxed is None else boxed
    if letter is None and options and answer:
        letter = _by_text(answer, options)
        if letter is None:
            return None
    return _verdict(letter, wanted)


def judge(text: str, gold: str) -> Judgement:
    """Judges the letter in the last box, else the last stated one ("the answer is (B)"), else a text of one letter.

    Several letters are unparsable; so is an article or a pronoun: A cycloid, I think.
    """
    decided = quick(text, gold)
    if decided is not None:
        return decided
    wanted, options = _read(gold)
    boxed = last_boxed(text)
    return _verdict(_by_value((_said(text[-LONGEST:]) if boxed is None else boxed) or "", options), wanted)


def _verdict(letter: str | None, wanted: str) -> Judgement:
    if letter is None:
        return "unparsable", None
    return ("correct" if letter == wanted else "wrong"), letter


def _bare(text: str) -> str:
    """The text without emphasis of LaTeX and Markdown."""
    text = visible(text)
    for _ in range(4):  # nested
        text = _WRAPPED.sub(r"\1", text)
    text = re.sub(r"[*$`]|\\[()\[\] ,;]|\\q?quad", " ", text)
    return "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())


def _letter(boxed: str) -> str | None:
    """The letter of a box: alone, or in front of an option's text; None for several or none."""
    text = _bare(boxed)
    alone, marked = _ALONE.fullmatch(text), _MARKED.fullmatch(text)
    match = alone or marked
    letter = next((group for group in match.groups() if group), None) if match else None
    if letter is None or not letter.isupper() or (marked and not alone and re.search(r"[(\[][A-J][)\]]", text[2:])):
        return None
    return letter


def _stated(text: str) -> str | None:
    """The letter last stated as the answer, else the last option named; None if that statement names several."""
    cleaned = _bare(text)
    for statement in (*reversed(list(_STATED.finditer(cleaned))), *reversed(list(_NAMED.finditer(cleaned)))):
        rest = cleaned[statement.end() :]
        if not statement.group(1).isupper() or (statement.group(1) in "AI" and _GOES_ON.match(rest)):
            continue
        return None if _ANOTHER.match(rest) else statement.group(1)
    return cleaned.strip("() .") if re.fullmatch(r"\(?[A-J]\)?\.?", cleaned) else None


def _said(text: str) -> str | None:
    """The rest of the sentence after the last `answer is`."""
    return answers[-1] if (answers := _SAID.findall(_bare(text))) else None


def _by_text(answer: str, options: tuple[str, ...]) -> str | None:
    """The one option whose text an answer is, apart from case and spaces."""
    wanted = _folded(answer)
    same = [letter for letter, option in zip(LETTERS, options, strict=False) if _folded(option) == wanted]
    return same[0] if len(same) == 1 else None


def _folded(text: str) -> str:
    return " ".join(_bare(text).casefold().rstrip(".").split())


def _by_value(answer: str, options: tuple[str, ...]) -> str | None:
    """The one option whose value an answer has."""
    if len(answer) > mathematics.LONGEST:
        return None
    same = [letter for letter, option in zip(LETTERS, options, strict=False) if mathematics.agree(answer, option)]
    return same[0] if len(same) == 1 else None


prepare = mathematics.prepare
