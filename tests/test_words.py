"""What messages say of a name or a value that is wrong."""

import pytest

from rlvr import estimators
from rlvr.words import close, missing, nearest, shown

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
        (
            ["question", "source"],
            'is missing; unknown keys "question", "source"; valid keys: prompt, answer, id, level',
        ),
        (["answer"], "is missing; valid keys: prompt, answer, id, level"),
        ([], "is missing; valid keys: prompt, answer, id, level"),
    ],
)
def test_a_missing_field_is_named_with_unknown_and_valid_keys(keys, message):
    assert missing("prompt", keys, KEYS) == message


def test_a_value_is_shown_as_json_and_cut():
    assert [shown(value) for value in ("0", 0, True, None, [1])] == ['"0"', "0", "true", "null", "[1]"]
    assert len(shown("a" * 100)) == 43
