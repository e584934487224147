"""The table of a league: its numbers by hand, its order, what it says, what it refuses."""

from collections import Counter

import pandas as pd
import pytest
from conftest import ROOT
from support.layouts_by_hand import typed
from support.scores_by_hand import LAYOUT, on_x

from rlvr.config.load import ConfigError
from rlvr.papers.methods.tables.league import LeagueLayout, render, statistics
from rlvr.planning.expansion import make_plan
from rlvr.registry import papers
from rlvr.statistics.run_rows import RunRows

# Of four samples. The baseline, a, at its slow, own and fast rate: pass@1 5/16, 1/2, 11/16; b: 1/2.
COUNTS = {"slow1": [1, 1, 1, 2], "slow2": [1, 1, 1, 2], "fast1": [3, 3, 2, 3], "fast2": [3, 3, 2, 3]}
COUNTS |= {"a1": [2, 2, 1, 3], "a2": [2, 1, 2, 3], "b1": [4, 0, 0, 4], "b2": [0, 4, 0, 4]}


def layout() -> LeagueLayout:
    knots = [
        {"learning_rate": rate, "policies": [f"{name}1", f"{name}2"]}
        for rate, name in ((0.25, "slow"), (1.0, "a"), (2.25, "fast"))
    ]
    first, second = map(dict, LAYOUT.cells)
    return typed(LeagueLayout, LAYOUT, cells=[{**first, "rates": knots}, second], k=[1, 4], distinct=2)


def training() -> RunRows:
    rows = [{"step": s, "entropy": 0.1 * s, "timing": {"step": 2.0}} for s in range(1, 11)]
    return RunRows({policy: {"metrics": rows} for policy in ("a1", "a2", "b1", "b2")})


def solutions(of_b: dict[str, int]) -> dict:
    made = {(policy, "x"): {"p0": Counter({"s": 3})} for policy in ("a1", "a2")}
    return {**made, **{(policy, "x"): {"p0": Counter(of_b)} for policy in ("b1", "b2")}}


def of_league(scores: dict, of_b: dict[str, int], of: LeagueLayout | None = None) -> pd.DataFrame:
    return statistics(of or layout(), scores, training(), solutions(of_b))


@pytest.fixture
def frame() -> pd.DataFrame:
    return of_league(on_x(COUNTS), {"s": 1, "t": 1})


def test_numbers_by_hand(frame):
    of = frame.set_index(["at", "arm", "measure"])["value"]
    assert of["common", "a", "pass_1"] == of["common", "b", "pass_1"] == pytest.approx(50)
    assert of["common", "a", "pass_k"] == 100 and of["common", "b", "pass_k"] == of["common", "b", "iqm"] == 50
    assert of["common", "b", "gain"] == -50 and of["common", "b", "rank"] == 2 and of["common", "b", "better"] == 0
    assert of["common", "a", "rank_1"] == of["common", "b", "rank_1"] == 1.5
    # The baseline solves every problem in four samples at each rate, so on its curve too.
    assert of["equal", "b", "gain"] == pytest.approx(-50) and pd.isna(of["equal", "a", "gain"])
    assert of["equal", "a", "rank"] == 1 and of["equal", "b", "rank"] == 2
    assert set(frame[frame["at"] == "equal"]["measure"]) == {"gain", "rank"}
    assert of["common", "a", "entropy"] == pytest.approx(1.0), "the last tenth of ten steps"
    assert of["common", "a", "distinct"] == pytest.approx(1) and of["common", "b", "distinct"] == pytest.approx(2)
    assert of["common", "a", "seconds"] == 2


def test_bounds_of_differences_hold_all_methods_together():
    """With ten more methods the bounds of the same difference are wider."""
    given = layout()
    more = [given.cells[1].model_copy(update={"arm": f"c{i}", "label": "c"}) for i in range(10)]
    counts = {**COUNTS, "b1": [2, 2, 1, 0], "b2": [2, 1, 2, 0]}

    def width(cells: list) -> float:
        made = of_league(on_x(counts), {"s": 1}, typed(LeagueLayout, given, cells=cells))
        of = made.set_index(["at", "arm", "measure"]).loc[("common", "b", "gain")]
        return of["value_high"] - of["value_low"]

    assert width([*given.cells]) < width([*given.cells, *more])


def test_it_is_in_the_order_of_ranks_and_says_which_method_when(frame):
    shown = render(layout(), frame)
    assert list(shown.frame["Method"]) == ["a", "b"] and shown.frame["rank"].str.startswith(("1", "2")).all()
    assert list(shown.frame["@4 less a's"]) == list(shown.frame["@4 less a's at equal pass@1"])
    assert shown.frame["@4 less a's"][0] == "" and shown.frame["@4 less a's"][1].startswith("−50.0")
    words = shown.notes[-1]
    assert (
        "pass@1 at the common learning rate may be that of a, b (" in words and "no method is above a at k = 4" in words
    )
    assert "the highest may be a; entropy is 1.000 to 1.000 nats (a: 1.000)" in words


def test_a_sentence_names_every_method_that_may_be_first_or_counts_them(frame):
    """Two arms of one label are two methods. Ten methods with the scores of b: six by name, the others as a number."""
    same = render(layout(), frame.assign(label="a"))
    assert "may be that of a, a (" in same.notes[-1] and len(same.frame) == 2
    of_b = frame[frame["arm"] == "b"]
    many = pd.concat([frame, *(of_b.assign(arm=f"b{i}", label=f"b{i}") for i in range(9))])
    assert "may be that of a, b, b0, b1, b2, b3 and 5 more (" in render(layout(), many).notes[-1]


def test_blind_guesses_and_false_steps_are_in_it_where_they_are_known(frame):
    assert "blind" not in set(frame["arm"]) and "false working (%)" not in render(layout(), frame).frame
    known = {pair: one.assign(chance=0.5, false_working=[0, 0, 0, 1]) for pair, one in on_x(COUNTS).items()}
    found = of_league(known, {"s": 1})
    of = found[found["at"] == "common"].set_index(["arm", "measure"])["value"]
    assert dict(of["blind"]) == {"pass_1": 50, "pass_k": pytest.approx(100 * (1 - 0.5**4))}
    assert of["a", "false_working"] == of["b", "false_working"] == pytest.approx(100 / 8)
    shown = render(layout(), found).frame
    last = shown.iloc[-1]
    assert (last["Method"], last["@1"], last["rank"], last["entropy"]) == ("Blind guess (exact)", "50.0", "", "")
    assert last["false working (%)"] == "" and "12.5 [12.5, 12.5]" in set(shown["false working (%)"])


def test_a_method_out_of_reach_has_no_rank_there_and_comes_last():
    counts = {**COUNTS, "b1": [0, 0, 1, 0], "b2": [0, 1, 0, 0]}
    frame = of_league(on_x(counts), {"s": 1})
    of = frame.set_index(["at", "arm", "measure"])["value"]
    assert of["equal", "b"].isna().all() and of["equal", "a", "rank"] == 1 and of["common", "b", "rank"] == 2
    assert pd.isna(of["common", "b", "distinct"]), "no problem has two correct samples"
    shown = render(layout(), frame)
    assert list(shown.frame["rank"])[1] == "" and "With a pass@1 that a has at no learning rate: b." in shown.notes


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
    other = next(name for name in papers() if name != "methods")
    with pytest.raises(ConfigError, match="--config mine=pacs: `mine` needs the paper methods"):
        make_plan(ROOT, "smoke", [other], mine="pacs")
