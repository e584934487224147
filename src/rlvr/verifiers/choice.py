r"""Multiple choice (GPQA, Geometry3K): the letter of the chosen option.

The gold is a letter, or JSON with the options too: {"letter": "B", "options": ["12 cm", "13 cm"]}. With options, an
answer also chooses an option by its text, or by its value according to the verifier `math`.
"""

import json
import re
from functools import lru_cache
from typing import NamedTuple

from rlvr.verifiers import (
    THOUGHT,
    Judgement,
    VerifierError,
    VerifierKind,
    ends_in_open_box,
    in_one_notation,
    last_boxed,
)
from rlvr.verifiers import math as mathematics
from rlvr.verifiers._text import visible

VERSION = 5
BOXED_VERSION = 4  # of a letter, a number or a word in a box, as in the tasks that train with this verifier
LETTERS = "ABCDEFGHIJ"
LONGEST = 4_000  # characters searched for a letter: the end of a completion, the start of a box

_WRAPPED = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|boldsymbol|bf|rm)\s*\{([^{}]*)\}")
_LETTER = r"[(\[\"']*([A-J])"
_WORD = r"(?:(?:the\s+)?(?:correct\s+)?(?:final\s+)?(?:answer|option|choice)\b\s*(?:(?:is\b|:)\s*)?)"
_ALONE = re.compile(rf"{_WORD}{{0,2}}{_LETTER}[)\]\"']*[.:,]?", re.IGNORECASE)
_MARKED = re.compile(rf"{_WORD}{{0,2}}(?:{_LETTER}[)\]]+[.:]?|{_LETTER}[.:])\s*\S.*", re.IGNORECASE | re.DOTALL)
# b) 12 cm, b. 12 cm; C - 12 cm, C 12 cm: signs that a variable or a product could have too
_MARKED_SMALL = re.compile(rf"{_WORD}{{0,2}}[(\[]*([a-j])(?:[)\]]+[.:]?\s*|\.\s+)\S.*", re.DOTALL)
_BESIDE = re.compile(r"(?:([A-HJ])\s*[-–—]\s+|([A-J])\s+(?=[-+]?\.?\d|\\))(?P<rest>\S.*)", re.DOTALL)
_IS = r"(?:\s*(?:is|would be|must be|should be|will be|has to be|lautet|ist|est|es|=|:|：|-(?=\s)|是|为|は|은|는))?"
_CALLED = rf"[\"'】\])]*{_IS}\s*(?:option|choice)?\s*:?\s*{_LETTER}(?![A-Za-z0-9_])(?!['’]\w)"
_ANSWER = r"\b(?:answer|antwort|respuesta|réponse|risposta|resposta|ответ)\b|答案|정답|正确选项"
# An answer, or the correct option; another option may be named after it, and is no answer.
_STATED = re.compile(rf"(?:{_ANSWER}|\b(?:correct|right|best|final)\s+(?:choice|option)\b){_CALLED}", re.IGNORECASE)
_NAMED = re.compile(rf"\b(?:choice|option)\b{_CALLED}", re.IGNORECASE)
_CAPITAL = r"[(\[\"']*([A-J])(?![A-Za-z0-9_])(?!['’]\w)"
_RIGHT = r"(?i:is|must be)\s+(?i:the\s+)?(?i:correct|right|true)(?i:\s+(?:answer|option|choice|one))?"
_PICKED = re.compile(
    r"(?i:\b(?:pick|choose|select|go with|going with|opt for)\b|应?选择?)\s*[:：]?\s*(?i:option|choice)?\s*"
    rf"{_CAPITAL}|(?<![A-Za-z'’]){_CAPITAL}[)\]\"']*\s+{_RIGHT}\s*(?=[.!]|$)"
    rf"|(?i:\b(?:hence|it is|it's|it must be|but rather)\b)\s*,?\s*{_CAPITAL}[)\]\"']*\s*(?=[.!;]|$)",
    re.MULTILINE,
)
_DENIED = re.compile(
    r"(?i:\b(?:not|never|cannot|why)\b|n't\b|不)[^.!?;,\n]{0,25}$|(?i:\b(?:neither|nor|if|whether|unless|suppose|assume)\b)[^.!?;\n]{0,25}$"
)
_AFTER_ANOTHER = re.compile(r"(?<![A-Za-z])[A-J][)\]]?\s*(?:,|/|&|and|or|nor)\s*$")
_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_HEADED = re.compile(r"\(?[A-J](?:\)|[.:])\s+(?!\(?[A-J][.:)])\S")
_NONE_OF_THEM = re.compile(r"none of (?:the above|these|them|the (?:other )?(?:options|choices|answers)|the others)")
_BOLD = re.compile(r"\*\*\s*\(?([A-J])\)?[.)]?\s*\*\*\s*[.!]?\s*\Z")
_ANOTHER = re.compile(r"[)\]\"']*\s*(?:,|/|&|and\b|or\b)[\s,]*(?:and\s+|or\s+)?[(\[\"']*[A-J]\b(?!['’])")
_ANOTHER_SMALL = re.compile(
    r"[)\]\"']*\s*(?:,|/|&|and\b|or\b)[\s,]*(?:and\s+|or\s+)?[(\[\"']*[a-j]\b(?!['’]| +[a-z]|\.\w)"
)
_BEFORE_WORDS = re.compile(r"\A[(\[]*[A-J][)\]]*[-–—.:\s]*", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\.?\d|\\")
_ONE = re.compile(r"(?<![A-Za-z'’])[A-J](?![A-Za-z'’])")
# A small letter is an answer where its statement ends; an article or a pronoun ends none.
_ENDS = re.compile(r"[\"']*(?:[)\]]|\.\s|[.!]?\s*(?:\n|$)|,?\s+(?:because|since)\b)")
_ENDS_WORD = re.compile(r"[\"']*(?:[)\]]|\.(?:\s|$))")
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


class Choice(NamedTuple):
    """What a response chooses: a letter, whether it can be nothing else, and the words of the answer."""

    letter: str | None
    sure: bool
    answer: str | None


def quick(text: str, gold: str) -> Judgement | None:
    """The judgement; None if it needs the options' values."""
    wanted, options = _read(gold)
    chosen = _chosen(text)
    if chosen is None:
        return "unparsable", None
    if chosen.sure or not options or not chosen.answer:
        return _verdict(chosen.letter, wanted)
    letter = _by_text(chosen.answer, options)
    return None if letter is None else _verdict(letter, wanted)


def judge(text: str, gold: str) -> Judgement:
    """Judges the letter in the last box, else the last stated one ("the answer is (B)"), else a text of one letter.

    Several letters are unparsable; so is an article or a pronoun: A cycloid, I think. With options, an answer that may
    be a letter or not (`c`, `C 12`) is an option's text or value first.
    """
    decided, chosen = quick(text, gold), _chosen(text)
    if decided is not None or chosen is None:
        return decided or ("unparsable", None)
    wanted, options = _read(gold)
    return _verdict(_by_value(chosen.answer or "", options) or _letter_of_an_option(chosen, options), wanted)


def _chosen(text: str) -> Choice | None:
    """What a response chooses; None if its last box is never closed."""
    text = in_one_notation(text).removeprefix(THOUGHT)
    if ends_in_open_box(text):
        return None
    boxed, text = last_boxed(text), text[-LONGEST:]
    letter, sure = _stated(text) if boxed is None else _letter(boxed[:LONGEST])
    return Choice(letter, sure, _said(text) if boxed is None else boxed)


def _verdict(letter: str | None, wanted: str) -> Judgement:
    if letter is None:
        return "unparsable", None
    return ("correct" if letter == wanted else "wrong"), letter


def _bare(text: str) -> str:
    """The text without emphasis of LaTeX and Markdown, in its lines."""
    text = "\n".join(map(visible, text.split("\n")))
    for _ in range(4):  # nested
        text = _WRAPPED.sub(r"\1", text)
    text = re.sub(r"[*$`]|\\[()\[\] ,;]|\\q?quad", " ", text)
    return "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())


Letter = tuple[str | None, bool]  # a letter, and whether it can be nothing else
NONE: Letter = (None, False)


def _letter(boxed: str) -> Letter:
    """The letter of a box: alone, or in front of an option's text; None for several or none."""
    text = _bare(boxed)
    if match := _ALONE.fullmatch(text):
        return match.group(1).upper(), match.group(1).isupper()
    match = _MARKED.fullmatch(text)
    letter = match and (match.group(1) or match.group(2))
    if match and letter and letter.isupper():
        several = re.search(r"[(\[][A-J][)\]]", text[2:]) or _ANOTHER.match(text, match.end(match.lastindex or 0))
        return NONE if several else (letter, True)
    if match := _MARKED_SMALL.fullmatch(text):
        several = re.search(r"[(\[][a-j][)\]]", text[2:]) or _ANOTHER_SMALL.match(text, match.end(1))
        return NONE if several else (match.group(1).upper(), False)
    match = _BESIDE.fullmatch(text)
    return (match.group(1) or match.group(2), False) if match and not _ONE.search(match["rest"]) else NONE


def _stated(text: str) -> Letter:
    """The letter last stated as the answer, else last chosen, else the last option named, else the whole text's.

    None if that statement names several.
    """
    if tagged := _TAGGED.findall(text):
        return _letter(tagged[-1])
    cleaned = _bare(text)
    for statement in (
        *reversed(list(_STATED.finditer(cleaned))),
        *_chosen_last(cleaned),
        *reversed(list(_NAMED.finditer(cleaned))),
    ):
        letter, rest = next(filter(None, statement.groups())), cleaned[statement.end() :]
        if letter.islower():
            if _ANOTHER_SMALL.match(rest):
                return NONE
            if _is_small_letter(statement.group(), rest):
                return letter.upper(), False
        elif letter not in "AI" or not _GOES_ON.match(rest):
            return NONE if _ANOTHER.match(rest) else (letter, True)
    if bold := _BOLD.search(text):
        return bold.group(1), True
    alone = re.fullmatch(r"\(?([A-Ja-j])\)?\.?", cleaned)
    if alone:
        return alone.group(1).upper(), alone.group(1).isupper()
    return _letter(cleaned) if "\n" not in cleaned and _HEADED.match(cleaned) else NONE


def _chosen_last(text: str) -> list[re.Match[str]]:
    """The choices of a text, the last first, without those that it denies and those among several."""
    choices = reversed(list(_PICKED.finditer(text)))
    return [
        one
        for one in choices
        if not _DENIED.search(text, 0, one.start())
        and not (one.group(2) and _AFTER_ANOTHER.search(text, 0, one.start()))
    ]


def _is_small_letter(statement: str, rest: str) -> bool:
    """Whether a statement such as `answer: b` ends with its letter; `answer is a` may have been cut off."""
    if not re.search(r":|\bis\b|option|choice", statement, re.IGNORECASE):
        return False
    word = statement[-1] in "ai" and ":" not in statement
    return (_ENDS_WORD if word else _ENDS).match(rest) is not None


def _said(text: str) -> str | None:
    """The rest of the sentence after the last `answer is`."""
    return answers[-1] if (answers := _SAID.findall(_bare(text))) else None


def _by_text(answer: str, options: tuple[str, ...]) -> str | None:
    """The one option whose text an answer is, apart from case and spaces."""
    wanted = _folded(answer)
    same = [letter for letter, option in zip(LETTERS, options, strict=False) if _folded(option) == wanted]
    return same[0] if len(same) == 1 else None


def _letter_of_an_option(chosen: Choice, options: tuple[str, ...]) -> str | None:
    """A letter that may be none. Words behind it must not be another option's, and a number there must be its own."""
    if chosen.letter is None or chosen.letter not in LETTERS[: len(options)]:
        return None
    behind = _BEFORE_WORDS.sub("", _bare(chosen.answer or ""))
    named = behind and (_by_text(behind, options) or _by_value(behind, options))
    return chosen.letter if named == chosen.letter or not (named or _NUMBER.match(behind)) else None


def _folded(text: str) -> str:
    return _NONE_OF_THEM.sub("none of these", " ".join(_bare(text).casefold().rstrip(".").split()))


def _by_value(answer: str, options: tuple[str, ...]) -> str | None:
    """The one option whose value an answer has."""
    if len(answer) > mathematics.LONGEST:
        return None
    same = [letter for letter, option in zip(LETTERS, options, strict=False) if mathematics.agree(answer, option)]
    return same[0] if len(same) == 1 else None


VERIFIER = VerifierKind(
    judge=judge,
    version=VERSION,
    boxed_version=BOXED_VERSION,
    quick=quick,
    prepare=mathematics.prepare,
    check_gold=check_gold,
    itself=itself,
)
