r"""What tasks by choice of an option have in common: their options, and the reading of a working.

A prompt lists five options, `... ? A 14 B 63 C 12 D 40 E 8`; the gold has them and the letter of the right one. A
working is words that follow from a few labels, which the picture shows; `places` are those of the labels among them.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rlvr.records import Problem

if TYPE_CHECKING:
    from PIL.Image import Image

LETTERS = ("A", "B", "C", "D", "E")
SPECIAL_TOKENS = ("<pad>", "<bos>", "<eos>", "<unk>", "<|vision_start|>", "<|image_pad|>", "<|vision_end|>")
THINK, DONE, ANSWER = "<think>", "</think>", "\\boxed{"
SIDE = 56  # pixels of a picture
CELL = 14  # pixels of a place in it
OPEN = 4  # the level without options
SERIAL = 10**6  # so many open problems of one picture are different

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


def drawn(picture: str, asked: str, values: Sequence[object], generator: np.random.Generator) -> str:
    """A problem's text, `<what is drawn>: <prompt>`; without values an open question (a picture has many)."""
    if not values:
        return f"{picture} {generator.integers(SERIAL)}: <image> {asked} ?"
    return f"{picture}: <image> {asked} ? {listed(values)}"


def problem(name: str, value: object, level: str) -> Problem:
    """The problem of a name, which is its part and its text, whose right option is `value`.

    An open question has only that option.
    """
    prompt = name.split(": ")[1]
    options = options_of(prompt) or {LETTERS[0]: str(value)}
    letter = next(letter for letter, option in options.items() if option == str(value))
    return Problem(name, prompt, json.dumps({"letter": letter, "options": list(options.values())}), level)


def png(image: "Image") -> bytes:
    """A picture as the content of a PNG file."""
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def vocabulary(*words: str) -> tuple[str, ...]:
    """The words of a tiny model: these, and those that every task by choice has."""
    return (*SPECIAL_TOKENS, *words, *LETTERS, THINK, DONE, ANSWER, "}")


def response(working: list[str], value: object) -> str:
    """A working, and its result in a box."""
    return " ".join([*working, ANSWER, str(value), "}"])


def false_working(response: str, read: Callable[[Iterator[str]], object | None]) -> bool:
    """Whether the working has a step that is false, missing or unreadable, or another result than the box.

    `read` gives the result of the words of a working; None if one is false or missing.
    """
    working, _, answer = response.partition(ANSWER)
    value = read(iter(working.split()))
    return value is None or answer.split()[:1] != [str(value)]


def follow(
    words: Iterator[str],
    places: tuple[int, ...],
    label: Callable[[str, int], Label | None],
    working: Callable[[tuple[Label, ...]], list[str]],
    examples: tuple[Label, ...],
) -> tuple[Label, ...] | None:
    """The labels that a working reads; None at its first word that does not follow from them, or is missing.

    `label` reads a word as the label of a number, None if it is none. `examples` are labels instead of those that come
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
