r"""What tasks by choice of an option have in common: their options, and the reading of a working.

A prompt lists five options, `... ? A 14 B 63 C 12 D 40 E 8`; the gold has them and the letter of the right one. A
working is words that follow from a few labels, which the picture shows; `places` are those of the labels among them.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rlvr.data.tasks._splits import drawn_in_turn, part_of
from rlvr.records import Problem

LETTERS = ("A", "B", "C", "D", "E")

Label = TypeVar("Label")


def listed(values: Sequence[object]) -> str:
    """The options as a prompt lists them."""
    return " ".join(f"{letter} {value}" for letter, value in zip(LETTERS, values, strict=True))


def options_of(prompt: str) -> dict[str, str]:
    """The option of each letter; {} for an open question."""
    words = prompt.partition(" ?")[2].split()
    return dict(zip(words[::2], words[1::2], strict=True))


def asked_of(prompt: str) -> str:
    """The word that asks: `area` of `<image> area ? A 14 ...`."""
    return prompt.partition(" ?")[0].split()[-1]


def problem(name: str, prompt: str, value: object, level: str) -> Problem:
    """A problem whose right option is `value`. An open question has that option alone."""
    options = options_of(prompt) or {LETTERS[0]: str(value)}
    letter = next(letter for letter, option in options.items() if option == str(value))
    return Problem(name, prompt, json.dumps({"letter": letter, "options": list(options.values())}), level)


def generate(
    part: str,
    levels: list[int],
    count: int,
    max_chance: float | None,
    *,
    draw: Callable[[int], str | None],
    make: Callable[[str, int], Problem],
    chance: Callable[[str], float],
    parts: dict[str, int],
    patience: int,
) -> list[Problem]:
    """Up to `count` different problems of a part, by level in turn, that a blind guess hits with at most `max_chance`.

    `draw` gives a text of a level; `make` makes the problem of a name, which is the part and the text.
    """

    def fits(text: str) -> bool:
        return part_of(text, parts) == part and (max_chance is None or chance(text) <= max_chance)

    def named(text: str, level: int) -> Problem:
        return make(f"{part}-{text}", level)

    return drawn_in_turn(levels, count, draw, fits, named, patience)


def follow(
    words: Iterator[str],
    places: tuple[int, ...],
    label: Callable[[str, int], Label | None],
    working: Callable[[tuple[Label, ...]], list[str]],
    examples: tuple[Label, ...],
) -> tuple[Label, ...] | None:
    """The labels that a working reads; None at its first word that does not follow from them, or is missing.

    `label` reads a word as the label of a number, None if it is none. `examples` are labels in place of those that come
    later in the working.
    """
    labels = list(examples)
    for place in range(len(working(examples))):
        word = next(words, "")
        if place in places:
            found = label(word, places.index(place))
            if found is None:
                return None
            labels[places.index(place)] = found
        if word != working(tuple(labels))[place]:
            return None
    return None if next(words, None) is not None else tuple(labels)
