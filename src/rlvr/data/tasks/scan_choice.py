r"""Scans by choice: where a lesion lies in a drawn scan, which shade it has, or how many there are, of five options.

The prompt asks and gives the options: `<image> shade ? A grey B white C black D dark E light`. The response says what
it sees, and boxes the option: `<think> lesion upper-left grey </think> \boxed{ grey }`. The five options are drawn
alike, and the picture then shows one of them, chosen uniformly: so the text tells nothing of the answer.

A lesion lies in one of eight regions, in two columns and four rows. Level m is the number of things to see: 1 the
region of one lesion; 2 its shade, after its region; 3 the number of lesions, as a sum over left and right. Level 4 asks
any of these without options, for demonstrations (see `geometry_choice`).

Pictures are of three modalities, which differ in background, outline and texture: `mri`, which is learned, and the
families `ct` and `xray`, which are left out for tests out of domain. They are drawings and no medical images.
"""

from __future__ import annotations

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

RADIUS = 5  # pixels of a lesion
SIDES = ("left", "right")
REGIONS = tuple(f"{row}-{side}" for row, side in product(("top", "upper", "lower", "bottom"), SIDES))
SHADES = {"black": 0, "dark": 60, "grey": 125, "light": 190, "white": 255}
COUNTS = tuple(str(i) for i in range(len(REGIONS) + 1))  # of lesions, on one side or in all
VALUES = {"region": REGIONS, "shade": tuple(SHADES), "lesions": COUNTS[1:]}  # the answers of a question
ASKED = {1: ("region",), 2: ("shade",), 3: ("lesions",), 4: tuple(VALUES)}  # by level

DECISIONS = (*REGIONS, *SHADES, *COUNTS)
ANSWER = _choice.ANSWER
VOCABULARY = _choice.vocabulary(*DECISIONS, "+", "=", "?", "lesion", "region", "shade", "lesions")

LEARNED = "mri"
UNSEEN = ("ct", "xray")


def _draw_problem(level: int, unseen: str | None, generator: np.random.Generator) -> str:
    """A random problem, `<what is drawn>: <prompt>`."""
    asked = pick(ASKED[level], generator)
    options = generator.permutation(VALUES[asked])[: len(LETTERS)].tolist()
    cells, shade = _scene(asked, pick(options, generator), generator)
    picture = f"{unseen or LEARNED} {asked} {','.join(map(str, cells))} {shade}"
    return _choice.drawn(picture, asked, [] if level == OPEN else options, generator)


def _scene(asked: str, value: str, generator: np.random.Generator) -> tuple[list[int], str]:
    """Regions with a lesion, by number, and the lesions' shade, such that `value` answers."""
    count = int(value) if asked == "lesions" else 1
    cells = sorted(generator.choice(len(REGIONS), count, replace=False).tolist())
    shade = str(generator.choice(list(SHADES)))
    if asked == "region":
        cells = [REGIONS.index(value)]
    return cells, value if asked == "shade" else shade


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
    _, asked, cells, shade = _drawn(name)
    return _choice.problem(name, _result(asked, _labels(asked, cells, shade)), LABEL.format(level))


def _drawn(name: str) -> tuple[str, str, list[int], str]:
    """What a problem's picture shows: modality, question, regions with a lesion, shade."""
    modality, asked, cells, shade = name.split(": ")[0].split("-", 1)[1].split()[:4]
    return modality, asked, [int(number) for number in cells.split(",")], shade


def _labels(asked: str, cells: list[int], shade: str) -> tuple[str, ...]:
    """What a working reads off the picture."""
    if asked == "lesions":
        on_right = sum(cell % len(SIDES) for cell in cells)
        return str(len(cells) - on_right), str(on_right)
    return (REGIONS[cells[0]], shade)[: 1 if asked == "region" else 2]


def _result(asked: str, labels: tuple[str, ...]) -> str:
    return str(sum(map(int, labels))) if asked == "lesions" else labels[-1]


def chance(prompt: str) -> float:
    """The probability that a blind guess is correct: a letter, or one of the answers that the question has."""
    return 1 / (len(LETTERS) if options_of(prompt) else len(VALUES[asked_of(prompt)]))


# ---- the picture ----

BODIES = {"mri": (0, 95, 170, 1), "ct": (0, 30, 235, 3), "xray": (25, 160, 160, 1)}  # background, body, outline, width


def picture(problem: Problem) -> bytes:
    """The problem's scan as PNG."""
    from PIL import Image, ImageDraw

    modality, _, cells, shade = _drawn(problem.id)
    background, body, outline, width = BODIES[modality]
    image = Image.new("RGB", (SIDE, SIDE), (background,) * 3)
    pen = ImageDraw.Draw(image)
    pen.ellipse((2, 0, SIDE - 3, SIDE - 1), fill=(body,) * 3, outline=(outline,) * 3, width=width)
    if modality == "xray":
        for y in range(CELL, SIDE, CELL):  # ribs
            pen.line((4, y, SIDE - 5, y), fill=(205,) * 3)
    for cell in cells:
        _lesion(pen, cell, SHADES[shade])
    return _choice.png(image)


def _lesion(pen: ImageDraw, cell: int, shade: int) -> None:
    """A disc in the middle of its region, with an edge that is seen on any body."""
    row, side = divmod(cell, len(SIDES))
    x, y = CELL * (side + 1) + CELL // 2, CELL * row + CELL // 2
    edge = 255 if shade < 128 else 0
    pen.ellipse((x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS), fill=(shade,) * 3, outline=(edge,) * 3)


# ---- responses ----


def demonstrate(
    problems: list[Problem], count: int, random_share: float, generator: np.random.Generator
) -> list[Demonstration]:
    """`count` demonstrations, the problems in turn. For `random_share` of them the option is a blind guess, with a
    working that leads there."""
    return [_demonstration(problems[i % len(problems)], random_share, generator) for i in range(count)]


def _demonstration(problem: Problem, random_share: float, generator: np.random.Generator) -> Demonstration:
    _, asked, cells, shade = _drawn(problem.id)
    if generator.random() < random_share:
        options = list(options_of(problem.prompt).values()) or VALUES[asked]
        cells, shade = _scene(asked, pick(options, generator), generator)
    labels = _labels(asked, cells, shade)
    response = _choice.response(_working(asked, labels), _result(asked, labels))
    return Demonstration(problem.id, problem.prompt, response, problem.images)


def _working(asked: str, labels: tuple[str, ...]) -> list[str]:
    if asked == "lesions":
        left, right = labels
        return [THINK, left, "+", right, "=", _result(asked, labels), DONE]
    return [THINK, "lesion", *labels, DONE]


READ = {"region": (2,), "shade": (2, 3), "lesions": (1, 3)}  # words of a working that are labels
KINDS = {
    "region": (REGIONS,),
    "shade": (REGIONS, tuple(SHADES)),
    "lesions": (COUNTS[:5], COUNTS[:5]),
}  # and what they may be


def false_working(prompt: str, response: str) -> bool:
    """Whether the working has a step that is false, missing or unreadable, or another result than the box.

    It does not see the picture: a lesion that the picture does not show is no false step.
    """
    return _choice.false_working(response, lambda words: _read(prompt, words))


def false_step(prompt: str, words: Iterator[str]) -> bool:
    """Whether the words of a working have a false or missing one, read up to the first that is."""
    return _read(prompt, words) is None


def _read(prompt: str, words: Iterator[str]) -> str | None:
    """The result of a working; None if one of its words is false or missing."""
    asked = asked_of(prompt)
    examples = tuple(values[0] for values in KINDS[asked])

    def label(word: str, number: int) -> str | None:
        return word if word in KINDS[asked][number] else None

    labels = follow(words, READ[asked], label, lambda labels: _working(asked, labels), examples)
    return None if labels is None else _result(asked, labels)


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
