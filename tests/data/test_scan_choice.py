"""Scans by choice: pictures of three modalities, options, and that the text alone tells nothing of the answer."""

import json
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from rlvr.data import tasks
from rlvr.data.tasks import scan_choice as task
from rlvr.data.tasks._choice import LETTERS, options_of
from rlvr.records import Problem
from rlvr.verifiers import load
from rlvr.verifiers._form import well_formed

PROMPT = "<image> shade ? A grey B white C black D dark E light"
NAME = f"easy-mri shade 3 grey: {PROMPT}"


def made(part="easy", levels=(1, 2, 3), count=60, **family):
    return task.generate_problems(part, list(levels), count, None, np.random.default_rng(0), **family)


def letter_of(problem):
    return json.loads(problem.gold)["letter"]


def drawn(name):
    return np.asarray(Image.open(BytesIO(task.picture(Problem(name, "", "A", "m=1")))).convert("L"))


def test_problems_have_one_right_option_and_parts_are_disjoint():
    parts = {part: made(part, count=90) for part in task.PARTS}
    texts = [problem.id.split("-", 1)[1] for problems in parts.values() for problem in problems]
    assert len(set(texts)) == len(texts) == 90 * len(task.PARTS)
    for problem in parts["easy"]:
        assert len(set(options_of(problem.prompt).values())) == len(LETTERS) and letter_of(problem) in LETTERS
    assert [problem.level for problem in parts["train"][:4]] == ["m=1", "m=2", "m=3", "m=1"]
    assert {problem.id.split()[0] for problem in made(unseen="xray")} == {"easy-xray"}


def test_the_text_alone_tells_nothing_of_the_answer():
    """The right option has each letter, and each rank among the options, equally often."""
    problems = made("train", count=3000)
    order = {value: i for values in task.VALUES.values() for i, value in enumerate(values)}
    letters = [LETTERS.index(letter_of(problem)) for problem in problems]
    ranks = []
    for problem in problems:
        options = options_of(problem.prompt)
        ranks.append(sorted(options, key=lambda letter: order[options[letter]]).index(letter_of(problem)))
    for places in (letters, ranks):
        shares = np.bincount(places, minlength=5) / len(places)
        assert np.abs(shares - 0.2).max() < 4 * np.sqrt(0.2 * 0.8 / len(places))


def test_a_picture_shows_the_lesions_in_their_regions():
    empty = drawn("easy-mri lesions 0 black: x")  # one lesion, in the first region
    assert empty.shape == (task.SIDE, task.SIDE)
    for cell, region in enumerate(task.REGIONS):
        row, side = divmod(cell, 2)
        x, y = task.CELL * (side + 1) + task.CELL // 2, task.CELL * row + task.CELL // 2
        for shade, grey in task.SHADES.items():
            assert drawn(f"easy-mri shade {cell} {shade}: x")[y, x] == grey, region
    counted = drawn("easy-mri lesions 1,4,6 white: x")
    middles = [(task.CELL * r + 7, task.CELL * (s + 1) + 7) for r in range(4) for s in range(2)]
    assert [i for i, (y, x) in enumerate(middles) if counted[y, x] == 255] == [1, 4, 6]
    modalities = {task.picture(Problem(NAME.replace("mri", name), "", "A", "m=2")) for name in ("mri", *task.UNSEEN)}
    assert len(modalities) == 3


@pytest.mark.parametrize("levels", [[1], [2], [3], [4]])
def test_demonstrations_are_true_in_form_and_as_often_right_as_asked(levels):
    problems, judge = made("sft", levels=levels, count=200), load(task.VERIFIER)
    golds = {problem.id: problem.gold for problem in problems}
    for share in (0.0, 1.0):
        shown = task.demonstrate(problems, 800, share, np.random.default_rng(1))
        assert not any(task.false_working(d.prompt, d.response) for d in shown)
        assert all(tasks.first_false(task.TASK, d.prompt, d.response) is None for d in shown)
        assert all(well_formed(d.response) for d in shown)
        assert {word for d in shown for word in d.response.split()} <= set(task.VOCABULARY)
        right = np.mean([judge(d.response, golds[d.id])[0] == "correct" for d in shown])
        chance = np.mean([task.chance(problem.prompt) for problem in problems])
        assert right == pytest.approx(chance if share else 1.0, abs=0.06)


@pytest.mark.parametrize(
    ("prompt", "response", "false"),
    [
        (PROMPT, "<think> lesion upper-right grey </think> \\boxed{ grey }", None),
        (PROMPT, "<think> lesion top-left dark </think> \\boxed{ dark }", None),  # of another picture
        (PROMPT, "<think> lesion upper-right grey </think> \\boxed{ dark }", None),  # the box is no step
        (PROMPT, "<think> lesion grey grey </think> \\boxed{ grey }", 2),
        (PROMPT, "<think> lesion upper-right </think> \\boxed{ grey }", 3),
        ("<image> lesions ?", "<think> 1 + 2 = 3 </think> \\boxed{ 3 }", None),
        ("<image> lesions ?", "<think> 1 + 2 = 4 </think> \\boxed{ 4 }", 5),
        ("<image> lesions ?", "<think> 5 + 2 = 7 </think> \\boxed{ 7 }", 1),  # a side has four regions
        ("<image> lesions ?", "<think> 1 + 2 = 3", 6),
    ],
)
def test_the_first_false_word(prompt, response, false):
    assert tasks.first_false(task.TASK, prompt, response) == false
    another_box = "grey" in response and response.endswith("{ dark }")
    assert task.false_working(prompt, response) == (false is not None or another_box)
