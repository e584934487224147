"""The operator-chain task, its splits, blind guesses and working; both generated tasks' chance by enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.gym import ALL_TASKS

from rlvr import verifiers
from rlvr.config.registries import TASKS
from rlvr.data.tasks import first_false, operator_chain
from rlvr.data.tasks.operator_chain import chance, false_working, generate_problems, parse

judge = verifiers.load("operator_chain")
PROMPT = "5 4 3 = 17 2 6 = 25"
RESPONSE = "5 4 3 17 * 20 - 17 2 6 25 + 19 + 25 \\boxed{ * - + + }"


@st.composite
def problems(draw):
    level, seed = draw(st.integers(1, 3)), draw(st.integers(0, 2**32))
    return generate_problems("train", [level], 1, None, np.random.default_rng(seed))[0]


def candidates(prompt):
    """Every operator sequence, with the values that Python's own arithmetic gives at the targets, and all values."""
    first, stretches = parse(prompt)
    digits = [digit for stretch in stretches for digit in stretch.digits]
    ends = np.cumsum([len(stretch.digits) for stretch in stretches]) - 1
    for operators in product("+-*", repeat=len(digits)):
        expression, values = str(first), []
        for operator, digit in zip(operators, digits, strict=True):
            expression = f"({expression}) {operator} {digit}"
            values.append(eval(expression))
        yield operators, [values[end] for end in ends], values


@given(problems())
def test_the_verifier_agrees_with_pythons_arithmetic_on_every_candidate(problem):
    targets, right = [stretch.target for stretch in parse(problem.prompt)[1]], 0
    for operators, reached, values in candidates(problem.prompt):
        verdict, extracted = judge(f"so \\boxed{{ {' '.join(operators)} }}", problem.gold)
        assert verdict == ("correct" if reached == targets else "wrong") and extracted == " ".join(operators)
        right += verdict == "correct" and all(0 <= value <= operator_chain.LARGEST for value in values)
    assert right >= 1, "a problem has a solution with all values in range"


@pytest.mark.parametrize("family", operator_chain.UNSEEN)
def test_an_unseen_family_has_one_digit_that_no_other_problem_has(family):
    """Its problems are solvable, in range, and graded as the others; the chance is theirs too."""
    made = generate_problems("hard", [1, 3], 40, 1, np.random.default_rng(3), unseen=family)
    assert len({problem.prompt for problem in made}) == 40
    for problem in made:
        first, stretches = parse(problem.prompt)
        digits = [first, *(digit for stretch in stretches for digit in stretch.digits)]
        places = [i for i, digit in enumerate(digits) if digit not in operator_chain.DIGITS]
        assert len(places) == 1 and digits[places[0]] in operator_chain.UNSEEN_DIGITS
        assert (places[0] == 0) == (family == "first")
        assert 0 < chance(problem.prompt) < 1
    usual = generate_problems("sft", [1, 3], 40, None, np.random.default_rng(3))
    assert all(
        digit in operator_chain.DIGITS for problem in usual for s in parse(problem.prompt)[1] for digit in s.digits
    )


@given(problems())
def test_chance_is_what_a_blind_guesser_meets(problem):
    """A guesser of a stretch draws among those in range; here by counting the sequences, stretch by stretch."""
    first, stretches = parse(problem.prompt)
    expected = 1.0
    for digits, target in stretches:
        alone = f"{first} {' '.join(map(str, digits))} = {target}"
        inside = [ends for _, ends, all_values in candidates(alone) if all(0 <= v <= 31 for v in all_values)]
        expected *= sum(ends == [target] for ends in inside) / len(inside)
        first = target
    assert chance(problem.prompt) == pytest.approx(expected, rel=1e-12)


def test_chance_by_hand():
    # 5 . 4 . 3 = 17: of the nine, 5 - 4 - 3 < 0, (5 * 4) * 3 > 31 and none else leave 0..31; one of seven is 17.
    # 17 . 2 . 6 = 25: 17 * 2 > 31 and ... * 6 > 31 leave 17 + 2 + 6, 17 + 2 - 6, 17 - 2 + 6, 17 - 2 - 6.
    assert chance(PROMPT) == pytest.approx(1 / 7 / 4)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (RESPONSE, "correct"),
        ("\\boxed{* - + +}", "correct"),
        ("\\boxed{ * - + * }", "wrong"),
        ("\\boxed{ * - + }", "unparsable"),
        ("\\boxed{ * - + / }", "unparsable"),
        ("* - + +", "unparsable"),
        ("\\boxed{ + + + + } no, \\boxed{ * - + + }", "correct"),
    ],
)
def test_verdicts(text, verdict):
    assert judge(text, PROMPT)[0] == verdict


@pytest.mark.parametrize("gold", ["", "5", "5 4 3", "5 = 3", "5 4 = ", "5 4 = x", "5 4 = 9 2", "a 4 = 9"])
def test_a_gold_that_is_none_is_an_error(gold):
    with pytest.raises(verifiers.VerifierError, match="operator_chain"):
        verifiers.check_golds("operator_chain", [("line 1", gold)])


@pytest.mark.parametrize(
    ("response", "false"),
    [
        (RESPONSE, False),
        (RESPONSE.replace("20", "21", 1), True),
        (RESPONSE.replace("+ 25", "+ 26"), True),
        (RESPONSE.replace("2 6 25", "2 5 25"), True),
        (RESPONSE.replace("* 20", "/ 20"), True),
        ("5 4 3 17 * 20 - 17 \\boxed{ * - + + }", True),
        (RESPONSE.replace(" \\boxed", " 7 \\boxed"), True),
        ("\\boxed{ * - + + }", True),
        ("5 4 3 17 + 9 + 12 2 6 25 + 14 + 20 \\boxed{ + + + + }", False),  # a wrong answer by true steps
    ],
)
def test_false_working(response, false):
    assert false_working(PROMPT, response) == false


def test_a_small_level_gives_what_it_has():
    many = generate_problems("pilot", [1], 3000, None, np.random.default_rng(0))
    assert 20 < len(many) < 200


def test_the_limit_of_solutions():
    for problem in generate_problems("hard", [3], 20, 1, np.random.default_rng(0)):
        targets = [stretch.target for stretch in parse(problem.prompt)[1]]
        inside = [r for _, r, values in candidates(problem.prompt) if all(0 <= v <= 31 for v in values)]
        assert inside.count(targets) == 1


@pytest.mark.parametrize("name", ALL_TASKS)
def test_every_task_says_chance_and_false_working(name):
    """Demonstrations without blind guesses are right and true; a guesser's share of right answers is the chance."""
    task, generator = TASKS.load(name), np.random.default_rng(0)
    made = task.generate_problems("train", list(task.levels[:2]), 6, None, generator)
    grade = verifiers.load(task.verifier)
    for problem in made:
        guesses = task.demonstrate([problem], 1500, 1.0, generator)
        right = np.mean([grade(guess.response, problem.gold)[0] == "correct" for guess in guesses])
        assert right == pytest.approx(task.chance(problem.prompt), abs=0.07)
        assert not any(task.false_working(guess.prompt, guess.response) for guess in guesses[:20])
        right, working = guesses[0].response, len(guesses[0].response.split(task.answer)[0].split())
        more = right.replace(task.answer, f"7 {task.answer}", 1)
        assert task.false_working(problem.prompt, more)
        assert first_false(task, problem.prompt, right) is None and first_false(task, problem.prompt, more) == working
        for place in range(working):  # a word that fits nowhere is the first false one, and so is the end of a part
            words = right.split()
            assert first_false(task, problem.prompt, " ".join([*words[:place], "?", *words[place + 1 :]])) == place
            assert first_false(task, problem.prompt, " ".join(words[:place])) == place
