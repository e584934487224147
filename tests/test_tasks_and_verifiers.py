"""The embedded task, its splits and its verifier; math-verify's verdicts; published sets from local files."""

import ast
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlvr import verifiers
from rlvr.config.schema import MathWords
from rlvr.tasks import math_words, operator_fill
from rlvr.tasks.operator_fill import demonstrate, generate_problems, part_of, respond, solutions, text_of, values

judge = verifiers.load("operators")
numbers = st.lists(st.integers(1, 9), min_size=2, max_size=5).map(tuple)


@given(numbers)
def test_every_solution_passes_the_verifier_and_python_agrees(found):
    for target, ways in solutions(found).items():
        for operators in ways:
            response = respond(found, operators)
            assert judge(response, text_of(found, target))[0] == "correct"
            boxed = verifiers.last_boxed(response)
            assert eval(compile(ast.parse(boxed, mode="eval"), "box", "eval")) == target


@given(numbers, st.integers(0, 63))
def test_a_response_to_another_target_fails(found, target):
    for reached, ways in solutions(found).items():
        verdict = judge(respond(found, ways[0]), text_of(found, target))[0]
        assert verdict == ("correct" if reached == target else "wrong")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("\\boxed{ ( 8 * 8 ) - 6 }", "correct"),
        ("\\boxed{((8*8)-6)}", "correct"),
        ("\\boxed{ 8 * 8 - 6 }", "correct"),
        ("\\boxed{ 58 }", "wrong"),  # the target itself
        ("\\boxed{ 8 * 6 + 10 }", "wrong"),  # other numbers
        ("\\boxed{ ( 8 * 6 ) - 8 }", "wrong"),  # another order
        ("\\boxed{ ( 8 + 8 ) - 6 }", "wrong"),
        ("\\boxed{ ( 8 * 8 ) - 6", "unparsable"),  # never closed
        ("8 * 8 = 64 - 6 = 58", "unparsable"),
        ("\\boxed{ ( 8 * 8 - 6 }", "unparsable"),
        ("\\boxed{ 8 * 8 - 6 if 1 else 2 }", "unparsable"),
        ("\\boxed{ __import__('os') }", "unparsable"),
        ("\\boxed{ 8 ** 8 ** 8 }", "unparsable"),  # no power is evaluated
        ("\\boxed{" + "(" * 5000 + "8" + ")" * 5000 + "}", "unparsable"),
        ("\\boxed{ 1 } then \\boxed{ ( 8 * 8 ) - 6 }", "correct"),  # the last box counts
        ("\\boxed{ ( 8 * 8 ) - 6 } then \\boxed{ 1 }", "wrong"),
    ],
)
def test_verdicts_on_operator_fill(text, status):
    assert judge(text, "8 8 6 = 58")[0] == status


def test_a_cut_response_is_truncated_not_unparsable():
    assert verifiers.settle(judge("8 * 8 =", "8 8 6 = 58"), finished=False)[0] == "truncated"
    assert verifiers.settle(judge("8 * 8 =", "8 8 6 = 58"), finished=True)[0] == "unparsable"
    assert verifiers.settle(judge("\\boxed{8*8-6}", "8 8 6 = 58"), finished=False)[0] == "correct"


def test_values_stay_in_range():
    assert values((8, 7, 6, 2), ("*", "-", "+")) == [56, 50, 52]
    assert values((8, 8, 6), ("*", "-")) is None  # 64 on the way
    assert values((9, 9), ("*",)) is None
    assert values((1, 2), ("-",)) is None


@pytest.fixture(scope="module")
def splits():
    made = {}
    for seed, part in enumerate(operator_fill.PARTS):
        made[part] = generate_problems(part, [3, 4, 5], 300, None, np.random.default_rng(seed))
    return made


def test_splits_are_disjoint_and_solvable(splits):
    seen = {}
    for part, problems in splits.items():
        assert len({p.prompt for p in problems}) == len(problems)
        for problem in problems:
            assert seen.setdefault(problem.prompt, part) == part
            left, target = problem.prompt.split(" = ")
            found = tuple(int(i) for i in left.split())
            assert int(target) in solutions(found) and part_of(found, int(target)) == part


def test_levels_take_turns_and_a_small_level_gives_what_it_has(splits):
    assert [p.level for p in splits["train"][:6]] == ["n=3", "n=4", "n=5"] * 2
    many = generate_problems("easy", [3], 5000, None, np.random.default_rng(0))
    assert 200 < len(many) < 600


def test_hard_problems_have_one_solution():
    for problem in generate_problems("hard", [5], 40, 1, np.random.default_rng(0)):
        left, target = problem.prompt.split(" = ")
        assert len(solutions(tuple(int(i) for i in left.split()))[int(target)]) == 1


def test_random_demonstrations_miss_more_often(splits):
    generator = np.random.default_rng(0)
    golds = {p.id: p.gold for p in splits["sft"]}

    def share(random_share):
        shown = demonstrate(splits["sft"], 600, random_share, generator)
        return np.mean([judge(d.response, golds[d.id])[0] == "correct" for d in shown])

    assert share(0.0) == 1.0
    assert 0.02 < share(1.0) < 0.5


def test_the_tokenizer_knows_every_word(policy):
    text = respond((8, 7, 6, 2), ("*", "-", "+"))
    assert text == "8 * 7 = 56 - 6 = 50 + 2 = 52 \\boxed{ ( ( ( 8 * 7 ) - 6 ) + 2 ) }"
    tokens = policy.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert policy.tokenizer.unk_token_id not in tokens
    assert policy.decode([tokens]) == [text]


def test_math_verdicts_by_math_verify():
    math = verifiers.load("math")
    assert math("so \\boxed{\\frac{1}{2}}", "0.5")[0] == "correct"
    assert math("so \\boxed{ 42 }", "42")[0] == "correct"
    assert math("so \\boxed{41}", "42")[0] == "wrong"
    assert math("I do not know", "42")[0] == "unparsable"


AIME = MathWords(
    name="aime-2025",
    task="math_words",
    repo="math-ai/aime25",
    revision="main",
    file="test.jsonl",
    prompt_field="problem",
    gold_field="answer",
    problems=30,
)


def test_a_published_set_is_read_from_a_file_that_was_brought(tmp_path):
    rows = [
        {"problem": "1+1?", "answer": "2"},
        {"problem": "1+1? ", "answer": "2"},
        {"problem": "", "answer": "3"},
        {"problem": "What is 025?", "answer": "025"},
    ]
    folder = tmp_path / "aime-2025"
    folder.mkdir()
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    problems, counts = math_words.load(AIME, tmp_path)
    assert [(p.prompt, p.gold) for p in problems] == [("1+1?", "2"), ("What is 025?", "025")]
    assert counts == {"rows": 4, "empty": 1, "repeated": 1}


def test_parquet_and_whole_solutions_are_read(tmp_path):
    spec = AIME.model_copy(update={"name": "aime-2024", "file": "test.parquet", "gold_field": "solution"})
    (tmp_path / "aime-2024").mkdir()
    frame = pd.DataFrame({"problem": ["p"], "solution": ["thus \\boxed{204}"]})
    frame.to_parquet(tmp_path / "aime-2024" / "test.parquet")
    assert math_words.load(spec, tmp_path)[0][0].gold == "204"


def test_a_missing_set_says_what_to_bring(tmp_path, monkeypatch):
    import huggingface_hub

    def unreachable(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", unreachable)
    with pytest.raises(math_words.DataUnavailable, match=r"bring math-ai/aime25/test.jsonl .* as .*aime-2025"):
        math_words.load(AIME, tmp_path)
    (tmp_path / "aime-2025").mkdir()
    (tmp_path / "aime-2025" / "test.jsonl").write_text('{"question": "x", "answer": "1"}\n')
    with pytest.raises(math_words.DataUnavailable, match="problem"):
        math_words.load(AIME, tmp_path)
