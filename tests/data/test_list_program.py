"""Programs on lists: statements are what Python makes of them, chance by enumeration, demonstrations by the sandbox."""

import hashlib
import itertools
import json

import numpy as np
import pytest

from rlvr.data.tasks import list_program as task

FAMILIES = (None, *task.UNSEEN)


def problems(levels, count=12, part="pilot", seed=0, unseen=None, chance=None):
    generator = np.random.default_rng(seed)
    return task.generate_problems(part, levels, count, None, generator, chance, unseen)


def still(problem):
    """The number of statements that leave the example's list as it is."""
    return sum(x == y for x, y in itertools.pairwise(task.parse(problem.prompt)))


def test_a_statement_is_what_python_makes_of_it():
    generator = np.random.default_rng(1)
    for word, statement in task.STATEMENTS.items():
        for x in generator.integers(0, 10, (50, 3)).tolist():
            names = {"x": list(x)}
            exec(word, names)
            assert names["x"] == list(statement(tuple(x))), (word, x)


@pytest.mark.parametrize("unseen", FAMILIES)
def test_chance_is_the_share_of_correct_sequences(unseen):
    for problem in problems([2, 3], 8, unseen=unseen):
        m = len(task.parse(problem.prompt)) - 1
        tests = [(tuple(test["input"][0]), tuple(test["output"])) for test in json.loads(problem.gold)["tests"]]
        right = 0
        for words in itertools.product(task.STATEMENTS, repeat=m):
            values = [x for x, _ in tests]
            for word in words:
                values = [task.STATEMENTS[word](x) for x in values]
            right += values == [y for _, y in tests]
        assert right == task.solutions(problem.prompt) > 0
        assert task.chance(problem.prompt) == right / 6**m


@pytest.mark.parametrize("unseen", FAMILIES)
def test_the_example_determines_the_function(unseen):
    """Whatever statements make the lists of the trace, they agree on the hidden inputs."""
    for problem in problems([3], 10, unseen=unseen):
        lists = task.parse(problem.prompt)
        choices = [task.reaching(x, y) for x, y in itertools.pairwise(lists)]
        for words in itertools.product(*choices):
            values = task.HIDDEN
            for word in words:
                values = tuple(map(task.STATEMENTS[word], values))
            assert values == task.results(problem.prompt)


def test_an_unseen_family_has_one_statement_that_changes_nothing_and_no_other_problem_has_one():
    made = problems([2, 4], 40, "hard", unseen="still", chance=0.05)
    assert len({problem.prompt for problem in made}) == 40
    assert all(still(problem) == 1 and 0 < task.chance(problem.prompt) <= 0.05 for problem in made)
    usual = [problem for part in task.PARTS for problem in problems([3, 4], 60, part)]
    assert len(usual) == 60 * len(task.PARTS) and not any(map(still, usual))


def test_problems_without_an_unseen_family_are_those_of_before_it_existed():
    """Finished runs depend on them; the digest is of a version without families."""
    made = problems([3, 4, 5], 30, "train", seed=41)
    text = "\n".join(f"{problem.prompt} {problem.gold}" for problem in made)
    assert hashlib.sha256(text.encode()).hexdigest().startswith("79606912cb6ae4b9")


def test_a_false_step_and_a_missing_one_are_found():
    prompt = "3 1 4 1: 4 2 5 2: 5 2 4"
    add, turn = "x=[(a+1)%(10)for(a)in(x)];", "x=x[::-1];"
    right = f"<think> 3 1 4 1: 4 2 5 {add} 4 2 5 2: 5 2 4 {turn} 5 2 4 </think> def f(x): {add} {turn} return x"
    assert not task.false_working(prompt, right)
    assert task.false_working(prompt, right.replace(f"{add} 4 2 5", f"{turn} 4 2 5", 1))
    assert task.false_working(prompt, right.replace(f" {turn} 5 2 4 </think>", " </think>"))
