"""Names in messages, and names that are given in short."""

import pytest

from rlvr.words import NEAREST, named, nearest

RUNS = [f"qwen2-chain-{method}-lr5e-05-seed{seed}-{seed}a2c" for method in ("ace", "grpo") for seed in range(1, 11)]
EVALUATIONS = [f"{run}/{name}" for run in RUNS for name in ("chain-easy-n16", "chain-hard-n64")]


def test_few_names_are_all_listed_and_of_many_the_nearest():
    assert nearest("x", ["b", "a"]) == "; valid: a, b"
    assert nearest("x", []) == "; valid: none"
    message = nearest("nope", RUNS, "ls results/runs")
    assert message.count("qwen2") == NEAREST and message.endswith(" and 15 more (`ls results/runs` lists all)")
    assert nearest("ACE", ["ace", "grpo"]) == "; did you mean 'ace'?"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("qwen2-chain-grpo-lr5e-05-seed1", "qwen2-chain-grpo-lr5e-05-seed1-1a2c"),
        ("qwen2-chain-grpo-lr5e-05-seed10", "qwen2-chain-grpo-lr5e-05-seed10-10a2c"),
        ("qwen2-chain-grpo-lr5e-05-seed10-10", "qwen2-chain-grpo-lr5e-05-seed10-10a2c"),
        ("qwen2-chain-ace-lr5e-05-seed2/chain-hard", "qwen2-chain-ace-lr5e-05-seed2-2a2c/chain-hard-n64"),
        ("qwen2-chain-ace-lr5e-05-seed2-2a2c/chain-h/", "qwen2-chain-ace-lr5e-05-seed2-2a2c/chain-hard-n64"),
        *((name, name) for name in (RUNS[0], EVALUATIONS[-1])),
    ],
)
def test_a_beginning_is_enough_that_no_other_has(given, found):
    assert named(given, [*RUNS, *EVALUATIONS], "the runs") == found


def test_a_beginning_of_several_lists_at_most_five():
    with pytest.raises(
        LookupError, match=r"10 of the runs begin so: qwen2-chain-grpo-.* and 5 more; give more of"
    ) as met:
        named("qwen2-chain-grpo", [*RUNS, *EVALUATIONS], "the runs")
    assert str(met.value).count("qwen2") == NEAREST and "/" not in str(met.value)
    with pytest.raises(LookupError, match=r"2 of the runs begin so: .*chain-easy-n16, .*chain-hard-n64; give more"):
        named("qwen2-chain-ace-lr5e-05-seed3/chain", EVALUATIONS, "the runs")


def test_an_unknown_name_is_answered_with_a_near_one_of_its_kind():
    with pytest.raises(LookupError, match=r"none of the runs has this name; did you mean 'qwen2-chain-ace-.*'") as met:
        named("qwen2-chain-acee-lr5e-05-seed3", [*RUNS, *EVALUATIONS], "the runs")
    assert "/" not in str(met.value)
