r"""Whether an answer equals a gold, reading by reading: as text, words, cases, quantities, and by math-verify.

docs/grading.md has a row per decision.
"""

import re

from rlvr.verifiers import _math_verify
from rlvr.verifiers._answer import approximations, domain, in_base, is_name, items, modulus, readings, sides
from rlvr.verifiers._rewritings import undecorated
from rlvr.verifiers._units import Unit, directions, letters_as_unit, measure, quantities, ratio, total
from rlvr.verifiers._words import OTHERWISE, branches, canonical, core, iso_date

_GAP = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
_LETTERS = re.compile(r"\\(?:text|mathrm|ce)\s*\{([A-Za-z][\w ]*)\}|\{(\w)\}")
_WORDS = re.compile(r"[A-Za-z]{3}[A-Za-z0-9 .'-]*|[A-Za-z][A-Za-z .'-]*")
_ARC = re.compile(r"\d\s*'")
_CONDITION = re.compile(r"[<>=]|\\(?:[lg]e|ne|in)(?![a-z])")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox|textrm|textbf|textit|operatorname)\s*\{([^{}]*)\}")
SHORTEST_WORD = 5  # letters; fewer without \text are a product of variables


_POINT = re.compile(r"\A[A-Z]\s*(?=\((?:.*,).*\)\Z)")
_INTERVAL = re.compile(r"[(\[][^()\[\]]+,[^()\[\]]+[)\]]")


def agree(answer: str, gold: str) -> bool:
    """Whether one reading of an answer equals one reading of the gold."""
    if _percent_and_unit(answer, gold) or _percent_and_unit(gold, answer):
        return False
    lists = not undecorated(gold).startswith(("(", "["))  # a number is no tuple
    golds = list(readings(gold))
    return any(_same(*_alike(reading, wanted)) for wanted in golds for reading in readings(answer, lists))


def _percent_and_unit(one: str, other: str) -> bool:
    """Whether one is a percentage, and the other has a unit of another kind."""
    if ("%" not in one and "percent" not in one) or "%" in other or "percent" in other:
        return False
    unit = measure(undecorated(other))[1]
    return unit is not None and unit.bases != ()


def _alike(answer: str, gold: str) -> tuple[str, str]:
    """Both as unions if one is a union and the other a list of intervals; P(3,4) as (3,4) for a gold without a name."""
    if ("\\cup" in answer) != ("\\cup" in gold):
        answer, gold = _union(answer), _union(gold)
    return (_POINT.sub("", answer), gold) if gold.startswith("(") else (answer, gold)


def _union(text: str) -> str:
    intervals = items(text)
    return r" \cup ".join(intervals) if all(map(_INTERVAL.fullmatch, intervals)) else text


def _same(answer: str, gold: str) -> bool:
    (answer, modulo), (gold, wanted_modulo) = modulus(answer), modulus(gold)
    if modulo and wanted_modulo and modulo != wanted_modulo:
        return False
    if modulo and not _reduced(sides(answer)[-1], modulo):
        return False
    answer = sides(answer)[-1] if modulo else answer  # 2^10 = 2 holds modulo 7 alone
    if modulo and wanted_modulo:
        answer, gold = _residues(answer, modulo), _residues(gold, modulo)
    golds = _values(gold) if approximations(gold)[1:] else [gold]
    return any(_equal(said, wanted) for one in golds for wanted, said in _pairs(answer, one))


def _reduced(residue: str, modulo: str) -> bool:
    """Whether a residue is below its modulus, as far as both are numbers."""
    numeric = re.fullmatch("[0-9]{1,99}", residue) and re.fullmatch("[0-9]{1,99}", modulo)
    return not numeric or int(residue) < int(modulo)


_NEGATIVE = re.compile("- ?[0-9]{1,9}")


def _residues(text: str, modulo: str) -> str:
    """A list of residues with those below zero in the range from 0 to the modulus: -1 modulo 6 is 5."""
    if not re.fullmatch("[0-9]{1,9}", modulo) or "-" not in text:
        return text
    *names, last = sides(text)
    values = [
        str(int(item.replace(" ", "")) % int(modulo)) if _NEGATIVE.fullmatch(item) else item for item in items(last)
    ]
    return " = ".join([*names, ", ".join(values)])


def _equal(answer: str, gold: str) -> bool:
    """Equality of two answers without chains: as text, as words, by cases, in a base, in units, or by math-verify."""
    if _closed(answer) == _closed(gold):
        return True
    if directions(answer) and directions(gold) and directions(answer) != directions(gold):
        return False
    meanings = canonical(answer), canonical(gold)
    if all(meanings) or iso_date(answer) or iso_date(gold):
        return meanings[0] == meanings[1]
    by_cases = branches(answer), branches(gold)
    if by_cases[0] and by_cases[1]:
        return _same_branches(by_cases[0], by_cases[1])
    answer, gold = meanings[0] or answer, meanings[1] or gold
    (answer, said), (gold, wanted) = core(answer), core(gold)
    if any(clause and clause.restricts for clause in (said, wanted)) and (said and said.text) != (
        wanted and wanted.text
    ):
        return False
    sequences = _sequence(answer), _sequence(gold)
    if all(sequences) and any(len(set(words)) < len(words) for words in sequences):
        return sequences[0] == sequences[1]
    if len(gold) > 2 and gold.isalpha() and answer.isalpha() and answer.casefold() == gold.casefold():
        return True
    if _ARC.search(answer) or _ARC.search(gold):
        return False  # 45 degrees 30 minutes: math-verify leaves the minutes' sign out
    (answer, answer_domain), (gold, gold_domain) = domain(answer), domain(gold)
    if answer_domain and gold_domain and _set_of(answer_domain) != _set_of(gold_domain):
        return False
    verdict = _same_in_base(answer, gold)
    return _same_amount(answer, gold) if verdict is None else verdict


def _set_of(domain: str) -> str:
    return domain.partition("\\in")[2]


def _same_branches(answer: list[tuple[str, str]], gold: list[tuple[str, str]]) -> bool:
    """Equality of definitions by cases, in any order: equal values under equal conditions."""
    left = list(answer)
    for value, condition in gold:
        same = (one for one in left if _same_condition(one[1], condition) and agree(one[0], value))
        if (found := next(same, None)) is None:
            return False
        left.remove(found)
    return not left


def _same_condition(answer: str, gold: str) -> bool:
    if answer == gold or OTHERWISE in (answer, gold):
        return answer == gold
    return _closed(answer) == _closed(gold) or _math_verify.equal(_math_verify.whole(gold), _math_verify.whole(answer))


def _same_amount(answer: str, gold: str) -> bool:
    """Equality of quantities by their sizes, else of values."""
    several = quantities(answer), quantities(gold)
    if all(several):
        totals = total(several[0]), total(several[1])
        if totals[0] and totals[1]:
            return totals[0] == totals[1]
        pairs = zip(*several, strict=True) if len(several[0]) == len(several[1]) else ()
        return [a == b and ratio(u, v) == 1 for (a, u), (b, v) in pairs] == [True] * len(several[0])
    (answer, unit), (gold, wanted) = (
        _summed(text) if many else measure(text) for text, many in zip((answer, gold), several, strict=True)
    )
    if wanted and unit is None and (letters := letters_as_unit(answer)) and letters[1] and ratio(letters[1], wanted):
        answer, unit = letters
    if unit and wanted:
        size = ratio(unit, wanted)
        if size is None:
            return False  # 5 hours for 5 metres
        answer = answer if size == 1 else f"({answer}) \\cdot \\frac{{{size.numerator}}}{{{size.denominator}}}"
    return _same_value(_in_radians(answer, unit, gold, wanted), _in_radians(gold, wanted, answer, unit))


def _summed(text: str) -> tuple[str, Unit | None]:
    """12 cm, 18 cm as 12, 18; 2 h 30 min as 9000 and the second; the text if the units measure different things."""
    several = quantities(text)
    if len({unit for _, unit in several}) == 1:
        return ", ".join(number for number, _ in several), several[0][1]
    amount = total(several)
    return (str(amount[0]), amount[1]) if amount else (text, None)


def _in_radians(answer: str, unit: Unit | None, other: str, other_unit: Unit | None) -> str:
    """Degrees in radians, if the other side is a multiple of pi without a unit."""
    degrees = unit is not None and unit.bases == (("degree", 1),) and other_unit is None
    return f"\\frac{{({answer}) \\pi}}{{180}}" if degrees and "\\pi" in other and "\\pi" not in answer else answer


def _same_value(answer: str, gold: str) -> bool:
    gold_words, answer_words = _words(gold), _words(answer)
    if gold_words is None and answer_words is not None:
        gold_words = _words(gold, least=2)
    elif answer_words is None and gold_words is not None:
        answer_words = _words(answer, least=2)
    if gold_words is not None and answer_words is not None:
        return gold_words == answer_words
    return _math_verify.equal(_math_verify.whole(gold), _math_verify.whole(_with_integer(answer, gold)))


_INTEGER_NAME = re.compile(r"(?<![\\A-Za-z])[kmn](?![A-Za-z])")


def _with_integer(answer: str, gold: str) -> str:
    r"""An answer such as \frac{\pi}{6} + 2k\pi with the gold's letter for the integer."""
    said, wanted = set(_INTEGER_NAME.findall(answer)), set(_INTEGER_NAME.findall(gold))
    if "\\pi" not in gold or len(said) != 1 or len(wanted) != 1:
        return answer
    return _INTEGER_NAME.sub(wanted.pop(), answer)


def _same_in_base(answer: str, gold: str) -> bool | None:
    """Equality of digits, and of bases if both state one; None if neither does. 25_6 and 25_3 are not equal."""
    said, wanted = in_base(answer), in_base(gold)
    if said is None and wanted is None:
        return None
    if said and wanted:
        return said == wanted
    digits, other = (said[0], gold) if said else (wanted[0], answer)  # type: ignore[index]
    return digits == other.replace(" ", "") or (said is not None and _decimal(*said) == other)


def _decimal(digits: str, base: str) -> str:
    """The value of a numeral in digits of base ten; empty if it has none."""
    try:
        return str(int(digits, int(base))) if 2 <= int(base) <= 36 else ""
    except ValueError:
        return ""


def _closed(text: str) -> str:
    r"""A text without spaces, except between digits, and without \text around letters: equal texts need no parsing."""
    return _GAP.sub("", _LETTERS.sub(r"\1\2", text))


def _words(text: str, least: int = SHORTEST_WORD) -> str | None:
    r"""\text{No solution} and a word of at least five letters as words, without an article; None for a formula."""
    inner = _TEXT.sub(r"\1", text).strip(" .()")
    if not _WORDS.fullmatch(inner) or (inner == text.strip(" .()") and len(inner) < least) or len(inner) < 2:
        return None
    return re.sub(r"^(?:an?|the) ", "", " ".join(inner.casefold().split()))


def _sequence(text: str) -> list[str]:
    r"""The words of a list of words, \text{True}, \text{False} too; empty for any other text."""
    words = [word.strip().casefold() for word in _TEXT.sub(r"\1", text).split(",")]
    return words if len(words) > 1 and all(word.isalpha() for word in words) else []


def _pairs(answer: str, gold: str) -> list[tuple[str, str]]:
    """Pairs of a gold and an answer; one of them must be equal. For x = 5 it is 5, if the other side has no equation.

    No pair if the answer contradicts itself, as 1 = 5.
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
        wanted_unit = measure(gold)[1]
        others = [short] if unit and (wanted_unit is None or ratio(unit, wanted_unit) == 1) else []
        return [(gold, value) for value in dict.fromkeys([*chains[0], *others])]
    stated = in_answer or any(approximations(item)[1:] for item in items(answer))
    return [(gold, ", ".join(values[0] for values in chains) if stated else answer)]


def _by_name(wanted: dict[str, str], said: dict[str, str], answer: str) -> list[tuple[str, str]]:
    """The values of x = 3, y = 4 by name, or in the order of the names if the answer has no names."""
    if said:
        return [(_listed(wanted), _listed(said))] if said.keys() == wanted.keys() else []
    return [] if _CONDITION.search(answer) else [(_listed(wanted), answer)]


def _listed(values: dict[str, str]) -> str:
    """Values in the order of their names, as a tuple if there are several."""
    listed = ", ".join(values[name] for name in sorted(values))
    return f"({listed})" if len(values) > 1 else listed


def _assigned(text: str) -> dict[str, str]:
    """Values by letter, from x = 3, y = 4 or (x,y) = (3,4); empty for any other text and for a repeated letter."""
    assignments: list[tuple[str, str]] = []
    for item in items(text):
        parts = sides(item)
        names, values = ([part.strip("() ") for part in side.split(",")] for side in (parts[0], parts[-1]))
        if len(parts) != 2 or len(names) != len(values) or not all(len(n) == 1 and n.isalpha() for n in names):
            return {}
        assignments += zip(names, values if len(names) > 1 else [parts[-1]], strict=True)
    return dict(assignments) if len(dict(assignments)) == len(assignments) else {}


def _values(item: str) -> list[str]:
    """The values that a chain of equations states, in each form; none if two of its numbers differ.

    Sides with free symbols state no number: a + b = 5 is 5. In pi ~ 3.14 the exact side counts; the other one counts
    too if it is the exact one rounded.
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
