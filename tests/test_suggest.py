"""Names in messages, names that are given in short, and what messages say of a wrong name or value."""

import pytest

from rlvr import estimators
from rlvr.suggest import NEAREST, close, missing, named, nearest, shown

KEYS = ("prompt", "answer", "id", "level")


@pytest.mark.parametrize("name", estimators.names())
def test_a_name_in_capitals_is_the_nearest_to_itself(name):
    assert nearest(name.upper(), estimators.names()) == f"; did you mean {name!r}?"


def test_the_nearest_name_keeps_its_own_case():
    assert close("aime2025", ["AIME2024", "AIME2025"]) == "AIME2025"
    assert close("x", ["prompt"]) is None
    assert nearest("x", ["b", "a"]) == "; valid: a, b"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["promt"], 'is missing; unknown key "promt"; did you mean "prompt"?'),
        (["PROMPT"], 'is missing; unknown key "PROMPT"; did you mean "prompt"?'),
        (["question", "b"], 'is missing; unknown keys "question", "b"; valid keys: prompt, answer, id, level'),
        (["answer"], "is missing; valid keys: prompt, answer, id, level"),
        ([], "is missing; valid keys: prompt, answer, id, level"),
    ],
)
def test_a_missing_field_is_named_with_unknown_and_valid_keys(keys, message):
    assert missing("prompt", keys, KEYS) == message


def test_a_value_is_shown_as_json_and_cut():
    assert [shown(value) for value in ("0", 0, True, None, [1])] == ['"0"', "0", "true", "null", "[1]"]
    assert len(shown("a" * 100)) == 43


# ---- names ----

RUNS = [f"qwen2-chain-{method}-lr5e-05-seed{seed}-{seed}a2c" for method in ("ace", "grpo") for seed in range(1, 11)]
EVALUATIONS = [f"{run}/{name}" for run in RUNS for name in ("chain-easy-n16", "chain-hard-n64")]


def test_few_names_are_all_listed_and_of_many_the_nearest():
    assert nearest("x", []) == "; valid: none"
    message = nearest("nope", RUNS, "ls results/runs")
    assert message.count("qwen2") == NEAREST and message.endswith(" and 15 more (`ls results/runs` lists all)")


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
    several = r"10 of the runs begin so: qwen2-chain-grpo-.* and 5 more; give more of"
    with pytest.raises(LookupError, match=several) as met:
        named("qwen2-chain-grpo", [*RUNS, *EVALUATIONS], "the runs")
    assert str(met.value).count("qwen2") == 1 + NEAREST and "/" not in str(met.value)
    with pytest.raises(LookupError, match=r"2 of the runs begin so: .*chain-easy-n16, .*chain-hard-n64; give more"):
        named("qwen2-chain-ace-lr5e-05-seed3/chain", EVALUATIONS, "the runs")


def test_an_unknown_name_is_answered_with_a_near_one_of_its_kind():
    with pytest.raises(LookupError, match=r"none of the runs has this name; did you mean 'qwen2-chain-ace-.*'") as met:
        named("qwen2-chain-acee-lr5e-05-seed3", [*RUNS, *EVALUATIONS], "the runs")
    assert "/" not in str(met.value)
