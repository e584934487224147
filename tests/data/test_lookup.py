"""Lookups: what a memory of other problems scores, against counts by hand."""

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from rlvr.config.identity import data_id
from rlvr.config.load import read_data
from rlvr.config.schema.models_and_data import Synthetic
from rlvr.data import prepare
from rlvr.data.lookup import ranks, similarity
from rlvr.records import Problem, read_records
from rlvr.statistics.scores import looked_up


def problem(prompt: str, gold: str) -> Problem:
    return Problem(id=prompt, prompt=prompt, gold=gold, level="1")


def test_similarity_is_the_cosine_of_word_counts():
    found = similarity(["a b b", "x"], ["b b", "a b b", "c", ""])
    assert found == pytest.approx(np.array([[2 / np.sqrt(5), 1, 0, 0], [0, 0, 0, 0]]))


def test_a_rank_is_the_first_near_problem_with_the_answer():
    known = [problem("2 and 3", "5"), problem("2 and 9", "11"), problem("7 less 1", "6"), problem("1 and 4", "5")]
    asked = [problem("2 and 4", "6"), problem("9 and 2", "11"), problem("8 less 3", "5"), problem("1 and 1", "7")]
    # 2 and 4: "2 and 3", "2 and 9" and "1 and 4" share two words with it, "7 less 1" none.
    # 8 less 3: "7 less 1" shares one word, and so does "2 and 3", which comes first.
    assert ranks(asked, known, "exact") == [4, 1, 1, 0]


def test_pass_at_k_of_a_lookup_counts_ranks_up_to_k():
    frame = pd.DataFrame({"problem": list("abcd"), "lookup": [1, 2, 0, 5]})
    assert [looked_up(frame, k) for k in (1, 2, 4, 5)] == [0.25, 0.5, 0.5, 0.75]
    assert looked_up(frame.drop(columns="lookup"), 1) is None
    clustered = frame.assign(cluster=["x", "x", "x", "y"])
    assert looked_up(clustered, 1) == pytest.approx((1 / 3 + 0) / 2)


def test_a_set_with_a_lookup_has_the_problems_of_one_without(tmp_path):
    entries = read_data(ROOT / "config", ROOT)
    with_lookup = entries["words-easy"].model_copy(update={"problems": 12})
    assert isinstance(with_lookup, Synthetic) and with_lookup.lookup == entries["words-train"]
    plain = with_lookup.model_copy(update={"lookup": None})
    made = {}
    for name, data in (("with", with_lookup), ("plain", plain)):
        (tmp_path / name).mkdir()
        prepare.make(data, tmp_path / name)
        made[name] = read_records(tmp_path / name / "problems.jsonl", Problem)
    assert [(one.prompt, one.gold) for one in made["with"]] == [(one.prompt, one.gold) for one in made["plain"]]
    assert {one.lookup for one in made["plain"]} == {-1} and all(one.lookup >= 0 for one in made["with"])
    assert data_id(with_lookup) != data_id(plain)
