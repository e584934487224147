r"""The sentences of word problems, and what they mean: a text is read back into the values and steps that solve it.

A problem is a row of sentences. Each sentence has one meaning (`MEANINGS`): which values it names, and which steps
follow.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

OPERATIONS = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x // y}
NAMES = ["Ann", "Ben", "Carl", "Dora", "Emma", "Finn", "Gina", "Hugo"]
NAMES += ["Ida", "Jack", "Kate", "Leo", "Mia", "Noah", "Olga"]
THINGS = ("apples", "balls", "books", "cards", "coins", "cups", "eggs", "keys", "pens", "shells", "stamps", "toys")

# What a sentence means. `n` and `k` are its numbers, with their range here; `v` is the value so far, `p` the one before
# it, `f` the first. Each term is a number to start with, or a step, whose result is the new value.
MEANINGS: dict[str, dict[str, Sequence[int]]] = {
    "": {},
    "n": {"n": range(3, 61)},
    "n*k": {"n": range(2, 10), "k": range(2, 13)},
    "n*k p+v": {"n": range(2, 10), "k": range(2, 13)},
    "v+k": {"k": range(2, 61)},
    "v-k": {"k": range(2, 61)},
    "v*k": {"k": range(2, 6)},
    "v/k": {"k": range(2, 10)},
    "k-v": {"k": (50, 100, 150, 200)},
    "v-f": {},
    "v+f": {},
}


class Theme(NamedTuple):
    """The sentences of a problem by place, each with its meaning. `a` is who the last sentence was about, `b` another
    person, `f` the first person, `x` a thing; after a comparison, `b` is the next `a`."""

    first: dict[str, str]
    then: dict[str, str]
    last: dict[str, str]
    moves: bool = False  # each sentence is about the next person


_CHANGES = {
    "{a} buys {k} more.": "v+k",
    "{a} finds {k} more.": "v+k",
    "{b} gives {k} more to {a}.": "v+k",
    "{a} gives {k} to {b}.": "v-k",
    "{a} sells {k}.": "v-k",
    "{a} loses {k}.": "v-k",
}
_HAS = {"{a} has {n} {x}.": "n", "{a} has {n} boxes with {k} {x} in each box.": "n*k"}
THEMES: dict[str, tuple[Theme, ...]] = {
    "story": (Theme(_HAS, _CHANGES, {"How many {x} does {a} have now?": ""}),),
    "chain": (
        Theme(
            {"Start with {n}.": "n", "Multiply {n} by {k}.": "n*k"},
            {"Add {k}.": "v+k", "Subtract {k}.": "v-k", "Multiply by {k}.": "v*k"},
            {"What is the result?": ""},
        ),
    ),
    "comparison": (
        Theme(
            {"{a} is {n} years old.": "n"},
            {
                "{b} is {k} years older than {a}.": "v+k",
                "{b} is {k} years younger than {a}.": "v-k",
                "{b} is {k} times as old as {a}.": "v*k",
            },
            {"How old is {a}?": "", "How many years older is {a} than {f}?": "v-f"},
            moves=True,
        ),
        Theme(
            {"{a} has {n} {x}.": "n"},
            {
                "{b} has {k} {x} more than {a}.": "v+k",
                "{b} has {k} {x} fewer than {a}.": "v-k",
                "{b} has {k} times as many {x} as {a}.": "v*k",
            },
            {"How many {x} does {a} have?": "", "How many {x} do {a} and {f} have together?": "v+f"},
            moves=True,
        ),
    ),
    "purchase": (
        Theme(
            {"One box of {x} costs {n} dollars, and {a} buys {k}.": "n*k"},
            {"One box of {y} costs {n} dollars, and {a} buys {k} of these too.": "n*k p+v"},
            {
                "How many dollars does {a} pay?": "",
                "{a} pays with {k} dollars. How many dollars does {a} get back?": "k-v",
            },
        ),
    ),
    "shares": (
        Theme(_HAS, _CHANGES, {"{a} shares all equally among {k} friends. How many {x} does each friend get?": "v/k"}),
    ),
}


class Step(NamedTuple):
    """One operation on two earlier values, by their places."""

    left: int
    operation: str
    right: int


class Solution(NamedTuple):
    """The values of a problem in the order in which they are known: numbers of its text, and steps."""

    known: tuple[int | Step, ...]

    @property
    def values(self) -> list[int]:
        """All values, the answer last."""
        values: list[int] = []
        for item in self.known:
            if isinstance(item, Step):
                item = OPERATIONS[item.operation](values[item.left], values[item.right])
            values.append(item)
        return values

    @property
    def steps(self) -> int:
        return sum(isinstance(item, Step) for item in self.known)


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """A pattern for each sentence of all themes, with its meaning."""
    parts = [part for family in THEMES.values() for theme in family for part in (theme.first, theme.then, theme.last)]
    sentences = {text: does for part in parts for text, does in part.items()}
    return [(re.compile(_pattern(text)), does) for text, does in sentences.items()]


def _pattern(text: str) -> str:
    pattern = re.escape(text).replace(r"\ ", " ")
    for number in "nk":
        pattern = pattern.replace(rf"\{{{number}\}}", rf"(?P<{number}>[0-9]+)", 1)
    pattern = re.sub(r"\\\{[abf]\\\}", "[A-Z][a-z]+", pattern)
    return re.sub(r"\\\{[xy]\\\}", "[a-z]+", pattern)


@lru_cache(maxsize=4096)  # a problem has many rollouts
def parse(prompt: str) -> Solution:
    """The values and steps of the problem that is a line of a prompt. Raises ValueError where no line is one."""
    for line in prompt.splitlines():
        if (solution := _read(line.strip())) is not None:
            return solution
    raise ValueError(f"no word problem: {prompt!r}")


def _read(text: str) -> Solution | None:
    """The values and steps of a text, sentence by sentence; None if a sentence has no meaning, or no step follows."""
    known: list[int | Step] = []
    places: dict[str, int] = {}  # of the values so far, by their names in MEANINGS

    def place_of(item: int | Step) -> int:
        known.append(item)
        return len(known) - 1

    while text:
        found = next(((m, d) for pattern, d in _patterns() if (m := pattern.match(text))), None)
        if found is None:
            return None
        match, does = found
        for term in does.split():
            for name, number in match.groupdict().items():
                if name in term:
                    places[name] = place_of(int(number))
            last = len(known) - 1
            if len(term) == 3:
                last = place_of(Step(places[term[0]], term[1], places[term[2]]))
            places |= {"p": places.get("v", last), "v": last}
            places.setdefault("f", last)
        text = text[match.end() :].lstrip()
    solution = Solution(tuple(known))
    return solution if solution.steps else None
