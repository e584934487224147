"""The table of a league: its numbers by hand, its order, what it says, what it refuses."""

from collections import Counter

import pandas as pd
import pytest
from conftest import ROOT
from scores_by_hand import LAYOUT, on_x

from rlvr.config.load import ConfigError
from rlvr.planning.expansion import make_plan
from rlvr.statistics.run_rows import Runs
from rlvr.tables.league import render, statistics

COUNTS = {"base1": [0, 0, 0, 1], "a1": [2, 2, 1, 3], "a2": [2, 1, 2, 3], "b1": [4, 4, 3, 4], "b2": [4, 3, 4, 4]}


def layout() -> dict:
    base = {"learning_rate": 0.0, "policies": ["base1"]}
    cells = [
        {**cell, "rates": [base, {"learning_rate": 1.0, "policies": cell["policies"]}]} for cell in LAYOUT["cells"]
    ]
    words = {"title": "T", "scale": "laptop", "about_scale": "", "note": "", "compare_label": "a", "sampling": "t"}
    return {**LAYOUT, **words, "cells": cells, "k": [1, 4], "distinct": 2}


def training() -> Runs:
    rows = [{"step": s, "entropy": 0.1 * s, "timing": {"step": 2.0}} for s in range(1, 11)]
    return Runs({policy: {"metrics": rows} for policy in ("a1", "a2", "b1", "b2")})


def solutions(of_b: dict[str, int]) -> dict:
    made = {(policy, "x"): {"p0": Counter({"s": 3})} for policy in ("a1", "a2")}
    return {**made, **{(policy, "x"): {"p0": Counter(of_b)} for policy in ("b1", "b2")}}


@pytest.fixture
def frame() -> pd.DataFrame:
    return statistics(layout(), on_x(COUNTS), training(), solutions({"s": 1, "t": 1}))


def test_numbers_by_hand(frame):
    of = frame.set_index(["arm", "measure"])["value"]
    assert of["a", "pass_1"] == pytest.approx(50) and of["b", "pass_1"] == pytest.approx(100 * 30 / 32)
    assert of["a", "pass_k"] == of["b", "pass_k"] == 100
    # Between the base policy (1/16 and 1/4) and its own (15/16 and 1), b has a pass@1 of 1/2 at half of the way.
    assert of["b", "equal"] == pytest.approx(62.5) and of["b", "equal_gain"] == pytest.approx(-37.5)
    assert of["a", "rank"] == 1 and of["b", "rank"] == 2 and pd.isna(of["a", "equal_gain"])
    assert of["b", "better"] == 0.5, "both solve everything in four samples"
    assert of["a", "entropy"] == pytest.approx(1.0), "the last tenth of ten steps"
    assert of["a", "distinct"] == pytest.approx(1) and of["b", "distinct"] == pytest.approx(2)
    assert of["a", "seconds"] == 2


def test_it_is_in_the_order_of_ranks_and_says_which_method_when(frame):
    shown = render(layout(), frame)
    assert list(shown.frame["Method"]) == ["a", "b"] and shown.frame["rank"].str.startswith(("1", "2")).all()
    assert shown.frame.loc[0, "against a"] == "" and shown.frame.loc[1, "against a"].startswith("−37.5")
    words = shown.notes[-1]
    assert words.startswith("For one answer, b has the highest pass@1") and "no method is above a at k = 4" in words


def test_blind_guesses_and_false_steps_are_in_it_where_they_are_known(frame):
    assert "blind" not in set(frame["arm"]) and "false working (%)" not in render(layout(), frame).frame
    known = {pair: one.assign(chance=0.5, false_working=[0, 0, 0, 1]) for pair, one in on_x(COUNTS).items()}
    found = statistics(layout(), known, training(), solutions({"s": 1}))
    of = found.set_index(["arm", "measure"])["value"]
    assert dict(of["blind"]) == {"pass_1": 50, "pass_k": pytest.approx(100 * (1 - 0.5**4))}
    assert of["a", "false_working"] == pytest.approx(100 / 8) and of["b", "false_working"] == pytest.approx(100 / 15)
    last = render(layout(), found).frame.iloc[-1]
    assert (last["Method"], last["@1"], last["rank"], last["entropy"]) == ("Blind guess (exact)", "50.0", "", "")
    assert (
        last["false working (%)"] == "" and render(layout(), found).frame["false working (%)"][0] == "12.5 [12.5, 12.5]"
    )


def test_a_method_out_of_reach_has_no_rank_and_comes_last():
    counts = {**COUNTS, "b1": [0, 0, 1, 0], "b2": [0, 1, 0, 0]}
    frame = statistics(layout(), on_x(counts), training(), solutions({"s": 1}))
    of = frame.set_index(["arm", "measure"])["value"]
    assert pd.isna(of["b", "equal"]) and pd.isna(of["b", "rank"]) and of["a", "rank"] == 1
    assert pd.isna(of["b", "distinct"]), "no problem has two correct samples"
    assert list(render(layout(), frame).frame["rank"])[1] == ""


def test_the_league_is_made_by_name_alone_and_mine_adds_a_row():
    plan = make_plan(ROOT, "smoke", ["methods"], mine="pacs")
    made = plan.papers["methods"]
    assert made.by_name("league") and made.by_name("league_tree") and not made.by_name("methods")
    arms = [cell.row.arm for cell in made.tables["mine"].cells]
    assert arms[-1] == "pacs" and len(arms) == 6
    league = [cell.row.arm for cell in made.tables["league"].cells]
    assert set(league) == set(made.paper.arms) and "base" not in league
    with pytest.raises(ConfigError, match=r"--config mine: unknown arm .* 'pasc'; did you mean 'pacs'"):
        make_plan(ROOT, "smoke", ["methods"], mine="pasc")


def test_mine_without_the_methods_is_one_line():
    with pytest.raises(ConfigError, match="--config mine=pacs: the league is of the paper methods"):
        make_plan(ROOT, "smoke", ["ace"], mine="pacs")
