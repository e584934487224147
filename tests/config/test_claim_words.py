"""The words of claims in a paper's file, and the contrasts that they stand for."""

import pytest

from rlvr.config.claim_words import CHANGES, PREDICATES, SWAPPED, WORDS, checked
from rlvr.config.layers import ConfigError, Layer

SIDES = {"left": "a", "right": "b"}
TEXT = {"says": "S", "place": "P", "over": "table1"}


def claims_of(*entries):
    return checked(Layer("p/claims.yaml", "", {"claims": list(entries)})).content["claims"]


def sides(word, value, **over):
    (claim,) = claims_of({**TEXT, "name": "c", "over": {"table": "table1", **over}, word: value})
    return claim.predicate, claim.left, claim.right, claim.weights, claim.arms


@pytest.mark.parametrize(("word", "predicate"), [(word, SWAPPED.get(word, word)) for word in ("greater", *SWAPPED)])
def test_a_swapped_word_has_the_contrast_with_the_sides_exchanged(word, predicate):
    left, right = ("b", ["a"]) if word in SWAPPED else ("a", ["b"])
    more = {"threshold": 0.5} if predicate == "not_below" else {}
    k = {"k": [1, 4]} if predicate in ("slope", "crossing") else {}
    assert sides(word, {"left": "a", "right": "b", **more}, **k) == (predicate, left, right, {}, [])


def test_several_arms_stand_on_one_side():
    assert sides("greater", {"left": "a", "right": ["b", "c"]})[1:3] == ("a", ["b", "c"])
    assert sides("less", {"left": ["b", "c"], "right": "a"})[1:3] == ("a", ["b", "c"])


def test_a_sum_of_arms_changes_its_sign_with_the_direction():
    weights = {"weights": {"a": 1.0, "b": -0.5}, "threshold": 0.25}
    assert sides("greater", weights)[3] == {"a": 1.0, "b": -0.5} and sides("less", weights)[3] == {"a": -1.0, "b": 0.5}


def test_what_rises_or_falls_changes_between_two_parts_of_training():
    parts = {"since": [0.0, 0.1], "during": [0.9, 1.0]}
    assert sides("rises", "a", **parts) == ("greater", None, [], {"a": 1.0}, [])
    assert sides("falls", "a", **parts) == ("greater", None, [], {"a": -1.0}, [])
    with pytest.raises(ConfigError, match=r"^p/claims.yaml: claims.0: falls needs `since` in `over`"):
        sides("falls", "a")


def test_an_ordering_is_a_list():
    assert sides("ordering", ["a", "b", "c"]) == ("ordering", None, [], {}, ["a", "b", "c"])


def test_each_claim_of_an_entry_has_the_keys_that_all_share():
    each = {
        "one": {"says": "One.", "over": "table1"},
        "two": {"says": "Two.", "over": {"figure": "figure2", "measure": "entropy", "during": [0.5, 1.0]}},
    }
    one, two = claims_of({"place": "sec. 5", "greater": {**SIDES, "threshold": 2.0}, "each": each})
    assert (one.name, one.says, one.place, one.over) == ("one", "One.", "sec. 5", "table1")
    assert (two.name, two.says, two.place, two.over) == ("two", "Two.", "sec. 5", "figure2")
    assert one.threshold == two.threshold == 2.0 and (two.measure, two.during) == ("entropy", (0.5, 1.0))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"each": ["a"]}, r"claims.0.each: must be a mapping of names to keys"),
        ({"each": {"a": "b"}}, r"claims.0.each.a: must be a mapping of keys to values \(got 'b'\)"),
        ({"name": "x", "each": {"a": {}}}, r"claims.0.name: remove this key; a key of `each` is the name"),
        ({"each": {"a": {"syas": "S"}}}, r"claims.0.each.a.syas: unknown key; did you mean 'says'"),
        ({"palce": "P", "each": {"a": {}}}, r"claims.0.palce: unknown key; did you mean 'place'"),
        ({"each": {"a": {"says": "S"}}}, r"claims.0.each.a: a claim needs one of greater, .* \(got none\)"),
        ({"greater": SIDES, "each": {"a": {"less": SIDES}}}, r"claims.0.each.a: .* \(got greater, less\)"),
        ({"eahc": {}}, r"claims.0.eahc: unknown key; did you mean 'each'"),
    ],
)
def test_a_mistake_in_an_entry_is_named_with_its_place(entry, message):
    with pytest.raises(ConfigError, match=rf"^p/claims.yaml: {message}"):
        claims_of(entry)


def test_every_predicate_has_a_word_and_no_word_two_meanings():
    assert set(SWAPPED.values()) <= set(PREDICATES) and len(set(WORDS)) == len(PREDICATES) + len(SWAPPED) + len(CHANGES)
