"""Scans by choice: pictures of three modalities, and false steps."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from rlvr.data import tasks
from rlvr.data.tasks import scan_choice as task
from rlvr.records import Problem

PROMPT = "<image> shade ? A grey B white C black D dark E light"
NAME = f"easy-mri shade 3 grey: {PROMPT}"


def drawn(name):
    return np.asarray(Image.open(BytesIO(task.picture(Problem(name, "", "A", "m=1")))).convert("L"))


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
    (problem,) = task.generate_problems("easy", [1], 1, None, np.random.default_rng(0), unseen="xray")
    assert problem.id.startswith("easy-xray ")


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
