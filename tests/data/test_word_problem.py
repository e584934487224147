"""Word problems: answers by arithmetic, texts that read back, parts without common problems, chance, working."""

import itertools
import re

import numpy as np
import pytest

from rlvr import verifiers
from rlvr.config.layers import ConfigError, Layer
from rlvr.config.load import named_entries
from rlvr.config.schema.models_and_data import Model
from rlvr.data.tasks import _sentences, first_false
from rlvr.data.tasks import word_problem as task

judge = verifiers.load("exact")
STORY = "Ann has 24 apples. Ann buys 13 more. Ann gives 7 to Tom. How many apples does Ann have now?"
RIGHT = "24+13=37 37-7=30 \\boxed{30}"
PURCHASE = (
    "One box of pens costs 2 dollars, and Ben buys 6. One box of cards costs 9 dollars, and Ben buys 3 of these too. "
    "Ben pays with 100 dollars. How many dollars does Ben get back?"
)


def problems(levels, count=30, part="pilot", seed=0, **more):
    return task.generate_problems(part, levels, count, None, np.random.default_rng(seed), **more)


@pytest.mark.parametrize(
    ("text", "answer", "steps"),
    [
        (STORY, 30, 2),
        (PURCHASE, 100 - (2 * 6 + 9 * 3), 4),
        ("Ann has 4 boxes with 9 cups in each box. How many cups does Ann have now?", 36, 1),
        ("Multiply 4 by 5. Add 7. Multiply by 3. What is the result?", 81, 3),
        ("Ida is 9 years old. Leo is 3 times as old as Ida. How many years older is Leo than Ida?", 18, 2),
        ("Ida has 9 pens. Leo has 4 pens fewer than Ida. How many pens do Leo and Ida have together?", 14, 2),
        ("Al has 9 keys. Al loses 3. Al shares all equally among 2 friends. How many keys does each friend get?", 3, 2),
    ],
)  # fmt: skip
def test_answers_by_hand(text, answer, steps):
    assert (task.parse(text).values[-1], task.parse(text).steps) == (answer, steps)
    assert task.parse(f"user\n{text}\nassistant\n") == task.parse(text)  # as a chat template wraps it


def test_every_sentence_reads_back_as_what_it_means():
    """No sentence can be taken for another, and each meaning has its numbers."""
    for theme in itertools.chain.from_iterable(task.THEMES.values()):
        for text, meaning in {**theme.first, **theme.then, **theme.last}.items():
            filled = text.format(a="Ann", b="Ben", f="Carl", x="pens", y="cups", n=5, k=7)
            assert {does for pattern, does in _sentences._patterns() if pattern.match(filled)} == {meaning}
            assert set(re.findall(r"\{([nk])\}", text)) == set(task.MEANINGS[meaning])


@pytest.mark.parametrize("unseen", [None, *task.UNSEEN])
def test_problems_are_right_and_in_range(unseen):
    made = problems([1, 3, 6], 60, unseen=unseen)
    assert len({problem.prompt for problem in made}) == 60
    for problem, shown in zip(made, task.demonstrate(made, 60, 0.0, np.random.default_rng(0)), strict=True):
        equations = shown.response.split(task.ANSWER)[0].split()
        assert problem.level == f"m={len(equations)}"
        for equation in equations:
            left, right = equation.split("=")
            assert eval(left) == int(right) and 0 < int(right) <= task.LARGEST
        assert int(problem.gold) == int(right) and judge(shown.response, problem.gold)[0] == "correct"
        assert not task.false_working(shown.prompt, shown.response)


def test_unseen_families_are_never_learned_from():
    prices, friends = "dollars", "friends"
    for part in ("train", "sft"):
        assert not [p for p in problems([1, 2, 3], 200, part) if prices in p.prompt or friends in p.prompt]
    assert all(prices in p.prompt for p in problems([1, 2], 20, unseen="purchase"))
    assert all(friends in p.prompt for p in problems([1, 2], 20, unseen="shares"))


def test_parts_have_no_common_problem_in_other_words_either():
    of = {part: {task.parse(p.prompt).known for p in problems([1, 2], 100, part)} for part in task.PARTS}
    for one, other in itertools.combinations(task.PARTS, 2):
        assert not of[one] & of[other], (one, other)
    ann, ben = STORY, STORY.replace("Ann", "Ben").replace("apples", "toys")
    assert task.parse(ann).known == task.parse(ben).known


def test_chance_is_that_of_every_sequence_of_operations():
    """Here by trying all: sum, product, difference, and the quotient where it is exact."""

    def guesses(known, values=()):
        if len(values) == len(known):
            return [(1.0, values[-1])]
        item = known[len(values)]
        if not isinstance(item, task.Step):
            return guesses(known, (*values, item))
        x, y = sorted((values[item.left], values[item.right]))
        options = [x + y, x * y, y - x] + ([y // x] if x and y % x == 0 else [])
        return [(p / len(options), answer) for value in options for p, answer in guesses(known, (*values, value))]

    for problem in [*problems([1, 2, 4], 12), *problems([4], 4, unseen="purchase")]:
        every = guesses(task.parse(problem.prompt).known)
        right = [p for p, answer in every if str(answer) == problem.gold]
        assert sum(p for p, _ in every) == pytest.approx(1)
        assert task.chance(problem.prompt) == pytest.approx(sum(right))
        assert task.solutions(problem.prompt) == len(right)
    assert task.chance(STORY) == pytest.approx(1 / 9)  # 24 and 13, then 37, 312 or 11 and 7: no exact quotient


@pytest.mark.parametrize(
    ("response", "false"),
    [
        (RIGHT, None),
        ("13+24=37 37-7=30 \\boxed{30}", None),  # in another order
        ("24+13=37 37+7=44 \\boxed{44}", None),  # a wrong answer by true equations
        ("24+13=36 36-6=30 \\boxed{30}", 0),
        ("24+13=37 37-8=29 \\boxed{30}", 1),  # an 8 from nowhere
        ("24+6=30 \\boxed{30}", 0),
        ("24+13=37 \\boxed{30}", 1),  # a step is missing
        ("24+13=37 37-7=30 30+7=37 \\boxed{30}", 2),
        ("\\boxed{30}", 0),
        ("so 24+13=37 37-7=30 \\boxed{30}", 0),
    ],
)
def test_the_first_false_step(response, false):
    assert first_false(task.TASK, STORY, response) == false
    assert task.false_working(STORY, response) == (false is not None)


def test_a_box_that_does_not_follow_is_false_working():
    assert task.false_working(STORY, RIGHT.replace("{30}", "{31}")) and first_false(task.TASK, STORY, RIGHT) is None


def test_a_model_from_scratch_has_no_words_for_it():
    tiny = {"source": "scratch", "architecture": "qwen2", "hidden_size": 8, "layers": 1, "heads": 1, "kv_heads": 1}
    tiny |= {"intermediate_size": 8, "tie_embeddings": True, "init_std": 0.1, "init_seed": 1, "task": "word_problem"}
    with pytest.raises(ConfigError, match="word_problem is natural language"):
        named_entries(Model, Layer("models.yaml", "", {"tiny": tiny}))
