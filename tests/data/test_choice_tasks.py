"""Tasks by choice of an option: one right option, a text that alone tells nothing of it, responses in form."""

import json

import numpy as np
import pytest

from rlvr.data import tasks
from rlvr.data.tasks import geometry_choice, scan_choice
from rlvr.data.tasks._choice import LETTERS, options_of
from rlvr.verifiers import load
from rlvr.verifiers._form import well_formed

both_tasks = pytest.mark.parametrize("task", [geometry_choice, scan_choice])
# The ranks of a question's answers.
SCAN_ORDER = {value: i for values in scan_choice.VALUES.values() for i, value in enumerate(values)}


def made(task, part, levels, count):
    return task.generate_problems(part, levels, count, None, np.random.default_rng(0))


@both_tasks
def test_the_text_alone_tells_nothing_of_the_answer(task):
    """All options are drawn alike: the right one has each letter, and each rank among the options, equally often."""
    letters, ranks = [], []
    for problem in made(task, "train", [1, 2, 3], 3000):
        options, letter = options_of(problem.prompt), json.loads(problem.gold)["letter"]
        assert len(set(options.values())) == len(LETTERS)
        order = options if task is geometry_choice else {name: SCAN_ORDER[value] for name, value in options.items()}
        letters.append(LETTERS.index(letter))
        ranks.append(sorted(order, key=order.__getitem__).index(letter))
    for places in (letters, ranks):
        shares = np.bincount(places, minlength=5) / len(places)
        assert np.abs(shares - 0.2).max() < 4 * np.sqrt(0.2 * 0.8 / len(places))


@both_tasks
def test_open_questions_have_no_options(task):
    problems = made(task, "sft", [4], 200)
    assert len({problem.id for problem in problems}) == 200
    assert {problem.prompt for problem in problems} == {f"<image> {asked} ?" for asked in task.ASKED[4]}


@both_tasks
@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_demonstrations_are_in_form_and_as_often_right_as_asked(task, level):
    problems, judge = made(task, "sft", [level], 200), load("choice")
    golds = {problem.id: problem.gold for problem in problems}
    for share in (0.0, 1.0):
        shown = task.demonstrate(problems, 800, share, np.random.default_rng(1))
        assert all(well_formed(d.response) for d in shown)
        assert all(tasks.first_false(task.TASK, d.prompt, d.response) is None for d in shown)
        right = np.mean([judge(d.response, golds[d.id])[0] == "correct" for d in shown])
        chance = np.mean([task.chance(problem.prompt) for problem in problems])
        assert right == pytest.approx(chance if share else 1.0, abs=0.06)
