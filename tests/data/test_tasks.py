"""What every generated task keeps: disjoint parts, levels in turn, limits, words, true demonstrations."""

import numpy as np
import pytest
from support.gym import ALL_TASKS

from rlvr import verifiers
from rlvr.config.registries import TASKS
from rlvr.data.tasks import list_program, word_problem

every_task = pytest.mark.parametrize("name", ALL_TASKS)
FAMILIES = [
    pytest.param(*one.values, family, marks=one.marks)
    for one in ALL_TASKS
    for family in (None, *TASKS.load(one.values[0]).unseen)
]


def made(task, part, count=60, seed=0, levels=3, **limits):
    limits = {"max_solutions": None, "generator": np.random.default_rng(seed), **limits}
    return task.generate_problems(part, list(task.levels[:levels]), count, **limits)


@every_task
def test_parts_have_no_common_problem_and_levels_take_turns(name):
    task, seen = TASKS.load(name), {}
    for seed, part in enumerate(task.parts):
        problems = made(task, part, 90, seed)
        first, second, third = (task.label.format(level) for level in task.levels[:3])
        assert [problem.level for problem in problems[:4]] == [first, second, third, first]
        assert len({problem.id for problem in problems}) == len(problems) > 60
        for problem in problems:
            assert seen.setdefault(problem.id.partition("-")[2], part) == part
            assert task.chance(problem.prompt) > 0


@every_task
def test_no_problem_is_likelier_to_be_guessed_than_the_limit(name):
    """A guesser of options is right with probability 1/5, so that lower limits leave no problem."""
    task = TASKS.load(name)
    limit = 0.2 if task.verifier == "choice" else 0.05
    problems = made(task, "easy", 20, max_chance=limit)
    assert problems and all(task.chance(problem.prompt) <= limit for problem in problems)
    assert task.verifier != "choice" or not made(task, "easy", 5, max_chance=0.1)


@pytest.mark.parametrize("module", [list_program, word_problem])
def test_no_problem_has_more_solutions_than_the_limit(module):
    problems = made(module.TASK, "easy", 20, levels=5, max_solutions=2, max_chance=0.005)
    assert problems and all(0 < module.solutions(problem.prompt) <= 2 for problem in problems)


@pytest.mark.parametrize(("name", "unseen"), FAMILIES)
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_demonstrations_are_true_and_right_unless_guessed(name, unseen, share):
    task = TASKS.load(name)
    family = {} if unseen is None else {"unseen": unseen}
    problems, judge = made(task, "sft", 24, **family), verifiers.load(task.verifier)
    golds = {problem.id: problem.gold for problem in problems}
    shown = task.demonstrate(problems, 96, share, np.random.default_rng(1))
    right = np.mean([judge(d.response, golds[d.id])[0] == "correct" for d in shown])
    assert right == 1.0 if share == 0 else 0.1 < right < 0.9
    assert not any(task.false_working(d.prompt, d.response) for d in shown)
    if task.vocabulary:  # empty for natural language
        assert {word for d in shown for word in f"{d.prompt} {d.response}".split()} <= {*task.vocabulary, "<image>"}
