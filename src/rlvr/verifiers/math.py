r"""Mathematical answers: plain numbers at once, everything else by math-verify on a cleaned answer.

docs/grading.md lists what is decided before math-verify, and where the verdict then differs from its own. A judgement
can take without end on a hostile answer (towers of powers, huge factorials): run it in `rlvr.verifiers.pool`. Called
from a main thread without it, math-verify's own time-out of 5 seconds stands (a SIGALRM, which a main thread gets).
"""

from __future__ import annotations

import re

from rlvr.verifiers import OPEN, Judgement, VerifierError, _math_verify, final_box, last_boxed
from rlvr.verifiers._answer import (
    approximations,
    domain,
    in_base,
    is_name,
    items,
    letters_as_unit,
    measure,
    modulus,
    quantities,
    readings,
    sides,
)
from rlvr.verifiers._latex import plain
from rlvr.verifiers.memory import remembered

VERSION = 5
LONGEST = 2_000  # characters of an answer worth parsing
REMEMBERED = 32 << 20  # bytes of answers and their verdicts, in each process

_INTEGER = re.compile(r"[-+−]?\d+")
_GAP = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
_NO_ANSWER = re.compile(r"(?:see|refer to) .*|proof|not ?found|n/?a|nan|null|tbd|\?+", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z]{3}[A-Za-z0-9 .'-]*|[A-Za-z][A-Za-z .'-]*")
_ARC = re.compile(r"\d\s*'")
_CONDITION = re.compile(r"[<>=]|\\(?:[lg]e|ne|in)(?![a-z])")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox|textrm|textbf|textit|operatorname)\s*\{([^{}]*)\}")
SHORTEST_WORD = 5  # letters; fewer without \text are a product of variables


def check_gold(gold: str) -> None:
    """Raises VerifierError for a gold that is empty, that says that there is no answer, or that is no text."""
    if len(gold) > LONGEST:
        raise VerifierError(f"a gold of more than {LONGEST:,} characters: {gold[:40]!r}...")
    if not plain(gold) or _NO_ANSWER.fullmatch(plain(gold)):
        raise VerifierError(f"not a gold of the verifier `math`, such as `5` or `\\frac{{1}}{{2}}`: {gold[:80]!r}")


def itself(gold: str) -> str:
    """How a gold is equal to itself: `correct` as mathematics, `text` where its text alone can be compared."""
    from math_verify.errors import TimeoutException

    answer = measure(plain(gold))[0]
    if _INTEGER.fullmatch(answer):
        return "correct"
    try:
        found = _math_verify.whole(answer)
        return "correct" if found and not isinstance(found[0], str) and _math_verify.equal(found, found) else "text"
    except TimeoutException:
        return "timeout"
    except Exception:  # what a judgement would count as an error of the library
        return "error"


def reads(text: str) -> str:
    r"""The last box (`\boxed{` where it is open), or the end of a text without one: what a verdict depends on."""
    box = final_box(text)
    return text[-LONGEST:] if box is None else box


def quick(text: str, gold: str) -> Judgement | None:
    """Integers and answers that are the gold's text; None where mathematics is needed."""
    box = final_box(text)
    if box is None:
        return None
    answer = box[len(OPEN) : -1]
    if answer.isdigit() and gold.isdigit() and len(answer) <= LONGEST and answer.isascii() and gold.isascii():
        return ("correct" if answer.lstrip("0") == gold.lstrip("0") else "wrong"), answer
    return _decided(box, gold)


@remembered(REMEMBERED)
def _decided(box: str, gold: str) -> Judgement | None:
    if box == OPEN:
        return "unparsable", None
    boxed = box[len(OPEN) : -1].strip()
    if len(boxed) > LONGEST:
        return "unparsable", boxed[:LONGEST]
    answer, wanted = plain(boxed), plain(gold)
    if not answer:
        return "unparsable", boxed
    if answer == wanted:
        return "correct", boxed
    if _INTEGER.fullmatch(answer) and _INTEGER.fullmatch(wanted) and "," not in boxed + gold:
        return ("correct" if _integer(answer) == _integer(wanted) else "wrong"), boxed
    return None


def _integer(text: str) -> tuple[bool, str]:
    """Sign and digits, so that a million digits are compared and never converted."""
    digits = text.lstrip("-+−").lstrip("0") or "0"
    return text[0] in "-−" and digits != "0", digits


def judge(text: str, gold: str) -> Judgement:
    """The last box, else what math-verify finds in the text; `unparsable` where it finds nothing."""
    return quick(text, gold) or _judged(reads(text), gold)


@remembered(REMEMBERED)
def _judged(read: str, gold: str) -> Judgement:
    boxed = last_boxed(read)
    if boxed is None:
        found = _math_verify.extracted(read)
        if not found:
            return "unparsable", None
        return ("correct" if _math_verify.equal(_math_verify.whole(plain(gold)), found) else "wrong"), str(found[-1])
    return ("correct" if agree(boxed, gold) else "wrong"), boxed


# ---- what an answer says ----


def agree(answer: str, gold: str) -> bool:
    """Whether one reading of an answer says what one reading of the gold says."""
    lists = not plain(gold).startswith(("(", "["))  # a number is no tuple
    return any(_same(said, wanted) for wanted in readings(gold) for said in readings(answer, lists))


def _same(answer: str, gold: str) -> bool:
    (answer, modulo), (gold, wanted_modulo) = modulus(answer), modulus(gold)
    if modulo and wanted_modulo and modulo != wanted_modulo:
        return False
    if modulo and not _reduced(sides(answer)[-1], modulo):
        return False
    answer = sides(answer)[-1] if modulo else answer  # 2^10 = 2 holds modulo 7 alone
    golds = _values(gold) if approximations(gold)[1:] else [gold]
    return any(_equal(said, wanted) for one in golds for wanted, said in _pairs(answer, one))


def _reduced(residue: str, modulo: str) -> bool:
    """Whether a residue is below its modulus, as far as both are numbers."""
    known = re.fullmatch("[0-9]{1,99}", residue) and re.fullmatch("[0-9]{1,99}", modulo)
    return not known or int(residue) < int(modulo)


def _equal(answer: str, gold: str) -> bool:
    """Equality of what is no chain: by its text, in a base, in units, as words, or as math-verify says."""
    if _closed(answer) == _closed(gold):
        return True
    if len(gold) > 2 and gold.isalpha() and answer.isalpha() and answer.casefold() == gold.casefold():
        return True
    if _ARC.search(answer) or _ARC.search(gold):
        return False  # 45 degrees 30 minutes: math-verify leaves the minutes' sign out
    (answer, said_of), (gold, wanted_of) = domain(answer), domain(gold)
    if said_of and wanted_of and said_of != wanted_of:
        return False
    based = _same_in_base(answer, gold)
    if based is not None:
        return based
    several, wanted_several = quantities(answer), quantities(gold)
    if several and wanted_several:
        return several == wanted_several
    if several or wanted_several:
        answer, gold = _numbers_of(several) or answer, _numbers_of(wanted_several) or gold
    (answer, unit), (gold, wanted_unit) = measure(answer), measure(gold)
    if wanted_unit and unit is None and letters_as_unit(answer)[1] == wanted_unit:
        answer, unit = letters_as_unit(answer)
    if unit and wanted_unit and unit != wanted_unit:
        return False  # 5 hours for 5 minutes
    wanted, said = _words(gold), _words(answer)
    if wanted is None and said is not None:
        wanted = _words(gold, least=2)
    elif said is None and wanted is not None:
        said = _words(answer, least=2)
    if wanted is not None and said is not None:
        return wanted == said
    return _math_verify.equal(_math_verify.whole(gold), _math_verify.whole(answer))


def _numbers_of(several: list[tuple[str, str]]) -> str:
    """12 cm, 18 cm as 12, 18; nothing where the units differ, as in 2 hours 30 minutes."""
    return ", ".join(number for number, _ in several) if len({unit for _, unit in several}) == 1 else ""


def _same_in_base(answer: str, gold: str) -> bool | None:
    """Digits, and bases where both state one; None where neither does. 25_6 and 25_3 are not equal."""
    said, wanted = in_base(answer), in_base(gold)
    if said is None and wanted is None:
        return None
    if said and wanted:
        return said == wanted
    digits, other = (said[0], gold) if said else (wanted[0], answer)  # type: ignore[index]
    return digits == other.replace(" ", "")


def _closed(text: str) -> str:
    """A text without spaces, but for those between digits: two that are equal need not be read."""
    return _GAP.sub("", text)


def _words(text: str, least: int = SHORTEST_WORD) -> str | None:
    r"""\text{No solution} and a word of at least five letters as words, without an article; None for a formula."""
    inner = _TEXT.sub(r"\1", text).strip(" .()")
    if not _WORDS.fullmatch(inner) or (inner == text.strip(" .()") and len(inner) < least) or len(inner) < 2:
        return None
    return re.sub(r"^(?:an?|the) ", "", " ".join(inner.casefold().split()))


def _pairs(answer: str, gold: str) -> list[tuple[str, str]]:
    """What of a gold must equal what of an answer: of x = 5 the 5, where the other has no equation as well.

    No pair where the answer asserts several things: of 1 = 5 nothing can be equal to anything.
    """
    chains = [_values(item) for item in items(answer)]
    if not all(chains):
        return []
    named, wanted_named = _assigned(answer), _assigned(gold)
    if wanted_named and (named or len(wanted_named) > 1):
        return _by_name(wanted_named, named, answer)
    in_gold, in_answer = len(sides(gold)) > 1, any(len(sides(item)) > 1 for item in items(answer))
    if in_gold and in_answer:
        return [(gold, answer)]
    if in_gold:
        parts = items(gold)
        names = all(is_name(left) for item in parts for left in sides(item)[:-1])
        return [*([(", ".join(sides(item)[-1] for item in parts), answer)] if names else []), (gold, answer)]
    if len(named) > 1 and gold.startswith("("):
        return [(gold, _listed(named))]
    if len(chains) == 1:
        short, unit = letters_as_unit(answer)
        others = [short] if measure(gold)[1] in (None, unit) else []
        return [(gold, value) for value in dict.fromkeys([*chains[0], *others])]
    stated = in_answer or any(approximations(item)[1:] for item in items(answer))
    return [(gold, ", ".join(values[0] for values in chains) if stated else answer)]


def _by_name(wanted: dict[str, str], said: dict[str, str], answer: str) -> list[tuple[str, str]]:
    """Of x = 3, y = 4 the values by name; or in the order of the names, where the answer gives none."""
    if said:
        return [(_listed(wanted), _listed(said))] if said.keys() == wanted.keys() else []
    return [] if _CONDITION.search(answer) else [(_listed(wanted), answer)]


def _listed(values: dict[str, str]) -> str:
    """Values in the order of their names, as a tuple where there are several."""
    listed = ", ".join(values[name] for name in sorted(values))
    return f"({listed})" if len(values) > 1 else listed


def _assigned(text: str) -> dict[str, str]:
    """Values by single letters, of x = 3, y = 4 or (x,y) = (3,4); empty for any other text and for a letter twice."""
    found: list[tuple[str, str]] = []
    for item in items(text):
        parts = sides(item)
        names, values = ([part.strip("() ") for part in side.split(",")] for side in (parts[0], parts[-1]))
        if len(parts) != 2 or len(names) != len(values) or not all(len(n) == 1 and n.isalpha() for n in names):
            return {}
        found += zip(names, values if len(names) > 1 else [parts[-1]], strict=True)
    return dict(found) if len(dict(found)) == len(found) else {}


def _values(item: str) -> list[str]:
    """What a chain of equations states, in each form; nothing where two of its sides are numbers that differ.

    A side with free symbols says nothing numeric: a + b = 5 is 5. Of pi ~ 3.14 the exact side counts, and the other
    where it is the exact one rounded.
    """
    exact, *rounded = approximations(item)
    chain = sides(exact)
    if len(chain) == 1 and not rounded:
        return [exact]
    unit = measure(chain[-1])[1]
    numbers = [
        side for side in chain if measure(side)[1] in (None, unit) and _math_verify.number(measure(side)[0]) is not None
    ]
    if any(not _equal(number, numbers[-1]) for number in numbers[:-1]):
        return []
    last = numbers[-1] if numbers and is_name(chain[-1]) else chain[-1]
    if not rounded:
        return [last]
    if not numbers and is_name(last):
        return [rounded[-1]]
    return [last, rounded[-1]] if numbers and _math_verify.rounds(numbers[-1], measure(rounded[-1])[0]) else [last]


def prepare() -> None:
    """In a worker, which has its own time limit: without math-verify's, and sympy loaded before the first question."""
    _math_verify.in_a_worker()
    judge("\\boxed{x+1}", "1+x")
