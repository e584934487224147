r"""Geometry by choice: read the labels of a small diagram, compute what is asked, and choose one of five options.

The picture shows a figure with its labels, the prompt asks and gives the options: `<image> area ? A 14 B 63 C 12 D 40
E 8`. The response works between <think> marks and boxes the option's value, which chooses it as its letter would:
`<think> 3 * 4 = 12 </think> \boxed{ 12 }`. A tiny model does not learn to look the letter up (docs/log.md).

Each option is the result of labels that are drawn alike and independently; the picture then gets those of one option,
chosen uniformly. So the text tells nothing of the answer, and a blind guess is right with probability 1/5.
Diagrams are not to scale. Level m is the number of steps: 1 the diameter of a circle, or the angle beside one on a
line; 2 a rectangle's area (one product) or perimeter; 3 the third angle of a triangle, by two differences. Level 4 asks
any of these without options, and the box holds the value: demonstrations need it, since a tiny model learns to read
labels where nothing but the picture tells them (docs/log.md).

Two families are left out of demonstrations and training, for tests out of domain: another `style` (green on yellow,
thick lines), and other shapes with the same labels and questions (`figure`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from rlvr.config.registries import TaskKind
from rlvr.data.tasks import _choice
from rlvr.data.tasks._choice import CELL, DONE, LETTERS, OPEN, SIDE, THINK, asked_of, follow, options_of
from rlvr.data.tasks._splits import LABEL, PARTS, drawn_in_turn, pick
from rlvr.records import Demonstration, Problem

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

Color = tuple[int, int, int]

LENGTHS = range(2, 10)
ANGLES = range(20, 100, 10)
ACUTE = range(20, 90, 10)  # of a triangle, whose third angle is then at least 20
FIGURES = {"diameter": "circle", "angle": "line", "area": "rectangle", "perimeter": "rectangle", "third": "triangle"}
ASKED = {1: ("diameter", "angle"), 2: ("area", "perimeter"), 3: ("third",), 4: tuple(FIGURES)}  # by level
LABELS = {"diameter": (LENGTHS,), "angle": (ANGLES,), "third": (ACUTE, ACUTE)}  # what a picture's labels may be
LABELS |= dict.fromkeys(("area", "perimeter"), (LENGTHS, LENGTHS))

DECISIONS = tuple(str(i) for i in (*range(2, 82), 90, 100, 110, 120, 130, 140, 150, 160, 180))
ANSWER = _choice.ANSWER
VOCABULARY = _choice.vocabulary(*DECISIONS, "+", "-", "*", "=", "?", *FIGURES)

UNSEEN = ("style", "figure")

GLYPHS = (  # 3 x 5 pixels a digit, row by row
    *("111101101101111", "010110010010111", "111001111100111", "111001111001111", "101101111001001"),
    *("111100111001111", "111100111101111", "111001001001001", "111101111101111", "111101111001111"),
)


def steps(asked: str, labels: tuple[int, ...]) -> list[tuple[int, str, int, int]]:
    """The computation: a, operator, b and the result of each step; the last result answers."""
    first, second = labels[0], labels[-1]
    if asked == "diameter":
        return [(first, "+", first, 2 * first)]
    if asked == "area":
        return [(first, "*", second, first * second)]
    if asked == "perimeter":
        half = first + second
        return [(first, "+", second, half), (half, "+", half, 2 * half)]
    rest = 180 - first
    return [(180, "-", first, rest)] + ([(rest, "-", second, rest - second)] if asked == "third" else [])


def _labels(asked: str, generator: np.random.Generator) -> tuple[int, ...]:
    return tuple(pick(values, generator) for values in LABELS[asked])


def result(asked: str, labels: tuple[int, ...]) -> int:
    return steps(asked, labels)[-1][-1]


def _draw_problem(level: int, unseen: str | None, generator: np.random.Generator) -> str | None:
    """A random problem, `<what is drawn>: <prompt>`; None if two options would be equal."""
    asked = pick(ASKED[level], generator)
    if level == OPEN:
        shown, values = _labels(asked, generator), []
    else:
        options = [_labels(asked, generator) for _ in LETTERS]
        values = [result(asked, labels) for labels in options]
        if len(set(values)) < len(values):
            return None
        shown = pick(options, generator)
    picture = f"{unseen or 'plain'} {asked} {','.join(map(str, shown))}"
    return _choice.drawn(picture, asked, values, generator)


def generate_problems(
    part: str,
    levels: list[int],
    count: int,
    max_solutions: int | None,
    generator: np.random.Generator,
    max_chance: float | None = None,
    unseen: str | None = None,
) -> list[Problem]:
    """Up to `count` different problems of one part, shared evenly between the levels, in turn.

    Each has one solution, whatever `max_solutions` allows; where `max_chance` is below its chance there are none.
    """
    return drawn_in_turn(
        *(part, levels, count),
        draw=lambda level: _draw_problem(level, unseen, generator),
        fits=lambda text: max_chance is None or chance(text) <= max_chance,
        problem=lambda text, level: _problem(f"{part}-{text}", level),
    )


def _problem(name: str, level: int) -> Problem:
    _, asked, labels = _drawn(name)
    return _choice.problem(name, result(asked, labels), LABEL.format(level))


def _drawn(name: str) -> tuple[str, str, tuple[int, ...]]:
    """What a problem's picture shows: family, question, labels."""
    family, asked, labels = name.split(": ")[0].split("-", 1)[1].split()[:3]
    return family, asked, tuple(int(number) for number in labels.split(","))


def chance(prompt: str) -> float:
    """The probability that a blind guess is correct: a letter, or the result of labels that are drawn anew."""
    if options_of(prompt):
        return 1 / len(LETTERS)
    asked = asked_of(prompt)
    values = Counter(result(asked, labels) for labels in product(*LABELS[asked]))
    return sum(count**2 for count in values.values()) / values.total() ** 2


# ---- the picture ----


def picture(problem: Problem) -> bytes:
    """The problem's diagram as PNG."""
    from PIL import Image, ImageDraw

    family, asked, labels = _drawn(problem.id)
    paper, color, width = (255, 255, 255), (0, 0, 0), 1
    if family == "style":
        paper, color, width = (255, 245, 190), (0, 90, 0), 2
    image = Image.new("RGB", (SIDE, SIDE), paper)
    pen = ImageDraw.Draw(image)
    for line in _lines(FIGURES[asked], other=family == "figure"):
        pen.line(line, fill=color, width=width)
    for label, (column, row) in zip(labels, CELLS[FIGURES[asked]], strict=True):
        _write(pen, str(label), column * CELL, row * CELL, color, paper)
    return _choice.png(image)


CELLS = {"circle": [(2, 1)], "line": [(2, 1)], "rectangle": [(2, 0), (0, 2)], "triangle": [(1, 2), (2, 2)]}  # of labels


def _lines(figure: str, *, other: bool) -> list[list[tuple[float, float]]]:
    """The figure's lines, as points; `other` is a shape that training has not."""
    if figure == "circle":
        turns = np.linspace(0, np.pi if other else 2 * np.pi, 25)  # a half circle
        arc = [(27 + 22 * float(np.cos(t)), 29 - 22 * float(np.sin(t))) for t in turns]
        return [arc, [(27, 29), (49, 29)]] + ([[(5, 29), (27, 29)]] if other else [])
    if figure == "line":
        return [[(2, 34), (52, 34)], [(24, 34), (4, 6) if other else (44, 4)]]
    if figure == "rectangle":
        slant = 8 if other else 0  # a parallelogram
        return [[(16 + slant, 16), (52, 16), (52 - slant, 50), (16, 50), (16 + slant, 16)]]
    top = (8, 6) if other else (27, 4)
    return [[(4, 46), (52, 46), top, (4, 46)]]


def _write(pen: ImageDraw, text: str, x: int, y: int, color: Color, paper: Color) -> None:
    """Digits of 6 x 10 pixels, from bitmaps: so a picture does not depend on the fonts of a machine."""
    pen.rectangle((x, y, x + 7 * len(text) - 2, y + 10), fill=paper)
    for place, digit in enumerate(text):
        for i, bit in enumerate(GLYPHS[int(digit)]):
            if bit == "1":
                left, top = x + 7 * place + 2 * (i % 3), y + 2 * (i // 3)
                pen.rectangle((left, top, left + 1, top + 1), fill=color)


# ---- responses ----


def demonstrate(
    problems: list[Problem], count: int, random_share: float, generator: np.random.Generator
) -> list[Demonstration]:
    """`count` demonstrations, the problems in turn. For `random_share` of them the option is a blind guess, with labels
    that lead there: every step is true, but of another picture."""
    return [_demonstration(problems[i % len(problems)], random_share, generator) for i in range(count)]


def _demonstration(problem: Problem, random_share: float, generator: np.random.Generator) -> Demonstration:
    _, asked, labels = _drawn(problem.id)
    options = list(map(int, options_of(problem.prompt).values()))
    if generator.random() < random_share:
        labels = _labels(asked, generator)
        wanted = pick(options, generator) if options else result(asked, labels)
        while result(asked, labels) != wanted:
            labels = _labels(asked, generator)
    response = _choice.response(_working(asked, labels), result(asked, labels))
    return Demonstration(problem.id, problem.prompt, response, problem.images)


def _working(asked: str, labels: tuple[int, ...]) -> list[str]:
    words = [
        word for a, operator, b, value in steps(asked, labels) for word in (str(a), operator, str(b), "=", str(value))
    ]
    return [THINK, *words, DONE]


READ = {"diameter": (1,), "angle": (3,), "area": (1, 3), "perimeter": (1, 3), "third": (3, 8)}  # words that are labels


def false_working(prompt: str, response: str) -> bool:
    """Whether the working has a step that is false, missing or unreadable, or another result than the box.

    It does not see the picture: labels that the picture does not show are not false steps.
    """
    return _choice.false_working(response, lambda words: _read(prompt, words))


def false_step(prompt: str, words: Iterator[str]) -> bool:
    """Whether the words of a working have a false or missing one, read up to the first that is."""
    return _read(prompt, words) is None


def _read(prompt: str, words: Iterator[str]) -> int | None:
    """The result of a working; None if one of its words is false or missing."""
    asked = asked_of(prompt)
    places, examples = READ[asked], tuple(values[0] for values in LABELS[asked])
    labels = follow(words, places, _number, lambda labels: _working(asked, labels), examples)
    return None if labels is None else result(asked, labels)


def _number(word: str, _: int) -> int | None:
    return int(word) if word.isdecimal() else None


TASK = TaskKind(
    generate_problems=generate_problems,
    demonstrate=demonstrate,
    chance=chance,
    false_working=false_working,
    false_step=false_step,
    parts=PARTS,
    levels=(1, 2, 3, 4),  # m
    label=LABEL,
    verifier="choice",
    answer=ANSWER,
    decisions=DECISIONS,
    vocabulary=VOCABULARY,
    unseen=UNSEEN,
    picture=picture,
)
