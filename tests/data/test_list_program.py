"""Programs on lists: statements are what Python makes of them, chance by enumeration, demonstrations by the sandbox."""

import itertools
import json

import numpy as np
import pytest

from rlvr.data import tasks
from rlvr.data.tasks import list_program as task
from rlvr.verifiers.pool import Pool


def problems(levels, count=12, part="pilot", seed=0, **limits):
    generator = np.random.default_rng(seed)
    return task.generate_problems(part, levels, count, limits.get("solutions"), generator, limits.get("chance"))


def test_a_statement_is_what_python_makes_of_it():
    generator = np.random.default_rng(1)
    for word, statement in task.STATEMENTS.items():
        for x in generator.integers(0, 10, (50, 3)).tolist():
            names = {"x": list(x)}
            exec(word, names)
            assert names["x"] == list(statement(tuple(x))), (word, x)


def test_chance_is_the_share_of_correct_sequences():
    for problem in problems([2, 3], 8):
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


def test_the_example_determines_the_function():
    """Whatever statements make the lists of the trace, they agree on the hidden inputs."""
    for problem in problems([3], 10):
        lists = task.parse(problem.prompt)
        choices = [task.reaching(x, y) for x, y in itertools.pairwise(lists)]
        for words in itertools.product(*choices):
            values = task.HIDDEN
            for word in words:
                values = tuple(map(task.STATEMENTS[word], values))
            assert values == task.results(problem.prompt)


def test_limits_are_kept_and_parts_are_disjoint():
    few = problems([4], 10, solutions=2, chance=0.002)
    assert few and all(task.solutions(p.prompt) <= 2 and task.chance(p.prompt) <= 0.002 for p in few)
    prompts = {part: {p.prompt for p in problems([1], 500, part)} for part in ("train", "easy")}
    assert not prompts["train"] & prompts["easy"]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_demonstrations_are_judged_by_the_sandbox(share):
    chosen = problems([2, 4], 8)
    shown = task.demonstrate(chosen, 24, share, np.random.default_rng(3))
    golds = {problem.id: problem.gold for problem in chosen}
    with Pool("code") as pool:
        statuses = [verdict.status for verdict in pool.judge((d.response, golds[d.id]) for d in shown)]
    assert not any(task.false_working(d.prompt, d.response) for d in shown)
    assert set(statuses) == {"correct"} if share == 0 else "wrong" in statuses


def test_a_false_step_and_a_missing_one_are_found():
    prompt = "3 1 4 1: 4 2 5 2: 5 2 4"
    add, turn = "x=[(a+1)%(10)for(a)in(x)];", "x=x[::-1];"
    right = f"<think> 3 1 4 1: 4 2 5 {add} 4 2 5 2: 5 2 4 {turn} 5 2 4 </think> def f(x): {add} {turn} return x"
    assert not task.false_working(prompt, right)
    assert task.false_working(prompt, right.replace(f"{add} 4 2 5", f"{turn} 4 2 5", 1))
    assert task.false_working(prompt, right.replace(f" {turn} 5 2 4 </think>", " </think>"))


def test_words_of_prompts_and_responses_are_in_the_vocabulary():
    chosen = problems(list(task.LEVELS), 14)
    shown = task.demonstrate(chosen, 14, 0.5, np.random.default_rng(0))
    words = {word for d in shown for word in f"{d.prompt} {d.response}".split()}
    assert words <= set(task.VOCABULARY) and tasks.of_vocabulary(task.VOCABULARY) is task
