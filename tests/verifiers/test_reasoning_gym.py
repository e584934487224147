"""reasoning-gym's verdicts: its own scores of its own answers, of others' and of answers written by hand."""

import json

import pytest
from support.gym import needs_gym

from rlvr.data.golds import check
from rlvr.verifiers import VerifierError, check_golds, kind, reasoning_gym
from rlvr.verifiers.pool import Pool
from rlvr.verifiers.reasoning_gym import ANSWERS, judge

SETTINGS = {"shortest_path": {"p_blocked": 0.3}, "mini_sudoku": {}, "countdown": {"min_numbers": 3, "max_numbers": 4}}
GRID = [list("*OO"), list("OXO"), list("OO#")]  # two shortest paths


def gold(dataset: str, answer: str, **metadata) -> str:
    entry = {"question": "?", "answer": answer, "metadata": {"source_dataset": dataset, **metadata}}
    return json.dumps(entry)


PATH = gold("shortest_path", "right right down down", matrix=GRID, solution=["right", "right", "down", "down"])
COUNTDOWN = gold("countdown", "7*3 + 3", numbers=[7, 3, 3], target=24)
BOARD = [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]
SUDOKU = gold("mini_sudoku", "\n".join(" ".join(map(str, row)) for row in BOARD), solution=BOARD)


@needs_gym
@pytest.mark.parametrize("dataset", ANSWERS)
def test_verdicts_are_the_librarys_full_scores_of_right_and_of_others_answers(dataset):
    import reasoning_gym as library

    made = library.create_dataset(dataset, seed=4, size=60, **SETTINGS[dataset])
    entries = [made[i] for i in range(60)]
    right = 0
    for asked in entries:
        for other in entries[:: 1 if dataset != "countdown" else 10]:
            answer = other["answer"].replace("\n", r" \\ ")
            score = made.score_answer(other["answer"], asked)
            status = judge(f"so \\boxed{{{answer}}}", json.dumps(asked))[0]
            assert status == ("correct" if score >= 1 else "wrong")
            right += status == "correct" and other is not asked
        assert judge(reasoning_gym.answer(json.dumps(asked)), json.dumps(asked))[0] == "correct"
    assert right or dataset != "shortest_path", "some answers are right for another problem too"
    golds = [(str(i), json.dumps(entry)) for i, entry in enumerate(entries)]
    assert not check(golds, "reasoning_gym").failed


@needs_gym
@pytest.mark.parametrize(
    ("text", "question", "status"),
    [
        ("\\boxed{ right right down down }", PATH, "correct"),
        ("b1 \\boxed{down  down right right}", PATH, "correct"),  # the other shortest path
        ("\\boxed{down up down down right right}", PATH, "wrong"),  # half the score: longer
        ("\\boxed{right down down right}", PATH, "wrong"),  # through a blocked cell
        ("\\boxed{infeasible}", PATH, "wrong"),
        ("right right down down", PATH, "unparsable"),
        ("\\boxed{right right down down", PATH, "unparsable"),
        ("\\boxed{→ → ↓ ↓}", PATH, "unparsable"),
        ("\\boxed{3 + 7 * 3}", COUNTDOWN, "correct"),
        ("\\boxed{( 7 + 1 ) * 3}", COUNTDOWN, "wrong"),  # 24 with another number
        ("\\boxed{7 + 3 + 3}", COUNTDOWN, "wrong"),
        ("\\boxed{7 * ( 3 + }", COUNTDOWN, "wrong"),
        ("\\boxed{3 / ( 7 - 7 )}", COUNTDOWN, "wrong"),
        ("\\boxed{24 = 7*3+3}", COUNTDOWN, "unparsable"),
        ("\\boxed{1 2 3 4 \\\\ 3 4 1 2 \\\\ 2 1 4 3 \\\\ 4 3 2 1}", SUDOKU, "correct"),
        ("\\boxed{1 2 3 4\n3 4 1 2\n2 1 4 3\n4 3 2 1}", SUDOKU, "correct"),
        ("\\boxed{1 2 3 4 \\\\ 3 4 1 2 \\\\ 2 1 4 3 \\\\ 4 3 1 2}", SUDOKU, "wrong"),  # most of the score
        ("\\boxed{1 2 3 4 3 4 1 2 2 1 4 3 4 3 2 1}", SUDOKU, "wrong"),
    ],
)
def test_verdicts_by_hand(text, question, status):
    with Pool("reasoning_gym") as pool:
        assert judge(text, question)[0] == next(pool.judge([(text, question)])).status == status


@needs_gym
def test_an_answer_that_computes_forever_is_a_time_out_and_costs_no_other_verdict():
    with Pool("reasoning_gym", seconds=3.0) as pool:
        texts = ["\\boxed{7 ** 7 ** 7 ** 33 + 3}", "\\boxed{7 * 3 + 3}", "\\boxed{3 ** 3 - 7}"]
        assert [verdict.status for verdict in pool.judge((text, COUNTDOWN) for text in texts)] == [
            "timeout",
            "correct",
            "wrong",
        ]


@needs_gym
def test_no_answer_is_run_as_python(tmp_path):
    """The library's score of `countdown` evaluates its answer, with Python's own functions in reach."""
    attack = f"exec(\"open('{tmp_path}/here', 'w')\") + 7 * 3 + 3"
    assert judge(f"\\boxed{{{attack}}}", COUNTDOWN)[0] == "unparsable"
    assert not list(tmp_path.iterdir())
    import reasoning_gym as library

    library.get_score_answer_fn("countdown")(attack, json.loads(COUNTDOWN))  # pyright: ignore
    assert list(tmp_path.iterdir()), "the library is what it is said to be"


@pytest.mark.parametrize("text", ["", "5", "[]", '{"answer": "5"}', gold("chess", "e4")])
def test_a_gold_that_is_no_entry_is_an_error(text):
    with pytest.raises(
        VerifierError, match="line 1: not a gold of the verifier `reasoning_gym`, an entry of countdown"
    ):
        check_golds("reasoning_gym", [("line 1", text)])


def test_without_the_library_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(reasoning_gym, "PINNED", "0.0.0")  # a version that no machine has
    with pytest.raises(VerifierError, match=r"reasoning-gym 0.0.0 is needed, and .*; install it by `make install-gym`"):
        kind("reasoning_gym").check()
    with pytest.raises(VerifierError, match="install-gym"):
        Pool("reasoning_gym")
