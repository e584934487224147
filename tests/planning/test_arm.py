"""One arm alone: what it is compared with, on which benchmarks and k, and its numbers by hand."""

import json

import pandas as pd
import pytest
from conftest import ROOT
from support.layouts_by_hand import having, typed

from rlvr.config.layouts import ScoresLayout
from rlvr.planning.expansion import make_plan
from rlvr.planning.single_arms import baseline_of, items_of_arm
from rlvr.planning.single_arms import of_arm as layout_of_arm
from rlvr.statistics.arm import counts_of_arm, of_arm

PAPERS = ["ace", "lens", "agrae", "methods"]


@pytest.fixture(scope="module", params=["smoke", "gpu", "paper"])
def planned(request):
    return make_plan(ROOT, request.param, PAPERS)


def test_every_arm_is_shown_where_its_paper_shows_it(planned):
    """Its runs and evaluations are those of the plan, and the compared arm has the same evaluations and seeds."""
    checked = 0
    for paper, made in planned.papers.items():
        for arm, pairs in made.arms.items():
            own = set()
            for item in items_of_arm(planned, paper, arm):
                first, others = item.cells[0], item.cells[1:]
                own |= {(policy, name) for policy, _ in first.policies for name in item.evaluations[first.model]}
                assert first.row.arm == arm and [cell.row.arm for cell in others] in ([], [baseline_of(made, arm)])
                for other in others:
                    assert [seed for _, seed in other.policies] == [seed for _, seed in first.policies]
                samples = [planned.evaluations[name].sampling.samples for name in item.evaluations[first.model]]
                assert item.content.k and max(item.content.k) <= min(samples)
                checked += len(others)
            assert own == set(pairs), (paper, arm)
    assert checked > 50


def test_it_is_compared_with_what_its_tables_compare_with():
    plan = make_plan(ROOT, "smoke", PAPERS)
    ace, lens = plan.papers["ace"], plan.papers["lens"]
    assert baseline_of(ace, "ace_grpo") == "grpo" and baseline_of(ace, "ace_grpo-alpha-2.0") == "ace_grpo-alpha-0.0"
    assert baseline_of(lens, "lens_numina") == "grpo_numina"
    assert baseline_of(ace, "grpo-lr-1.3") == next(iter(ace.paper.arms)) == "grpo", "in no table that compares"
    assert baseline_of(ace, "grpo") is None and baseline_of(ace, "base") is None


def scored(policy: str, evaluation: str, correct: list[int], n: int = 4) -> pd.DataFrame:
    rows = {"problem": [f"p{i}" for i in range(len(correct))], "level": "x", "n": n, "correct": correct}
    return pd.DataFrame({"policy": policy, "evaluation": evaluation, **rows})


def layout(*, compare: str | None = "grpo", seeds=(1, 2)) -> list[ScoresLayout]:
    head = {"model": "m", "stand_in": "tiny", "learning_rate": 0.1, "published_model": "m", "seeds": list(seeds)}
    arms = {"mine": "ab", **({compare: "cd"} if compare else {})}
    cells = [{**head, "arm": arm, "policies": list(policies)[: len(seeds)]} for arm, policies in arms.items()]
    panel = {"name": "bench", "stand_in": "set", "evaluations": {"m": "e"}}
    settings = {"resamples": 300, "seed": 7}
    return [typed(ScoresLayout, panels=[panel], k=[1, 2], compare_with=compare, cells=cells, statistics=settings)]


COUNTS = {"a": [4, 2], "b": [0, 2], "c": [2, 2], "d": [0, 0]}
SCORES = {(policy, "e"): scored(policy, "e", correct) for policy, correct in COUNTS.items()}


def test_numbers_by_hand():
    made = of_arm(layout(), SCORES)
    assert made["seed"].tolist() == [1, 2, "all"] * 2 and made["k"].tolist() == [1] * 3 + [2] * 3
    # pass@1: (1 + 1/2) / 2, (0 + 1/2) / 2; against 1/2 and 0. pass@2 of 2 of 4: 1 - C(2,2) / C(4,2) = 5/6.
    assert made["value"].tolist() == pytest.approx([75, 25, 50, 100 * 11 / 12, 100 * 5 / 12, 100 * 2 / 3])
    assert made["difference"].tolist() == pytest.approx([25, 25, 25, 100 / 12, 100 * 5 / 12, 25])
    over = made[made["seed"] == "all"]
    assert (over["value_low"] <= over["value"]).all() and (over["value"] <= over["value_high"]).all()
    assert over["difference_p"].notna().all() and over["policies"].tolist() == ["a b", "a b"]
    assert made[made["seed"] != "all"]["value_low"].isna().all(), "an interval of one run is not given"
    assert (made["n"] == 4).all() and (made["problems"] == 2).all() and made["seeds"].tolist() == [1, 1, 2] * 2


def test_of_nothing_to_compare_with_there_is_no_difference_and_a_base_policy_has_one_row_for_each_k():
    made = of_arm(layout(compare=None), SCORES)
    assert made["difference"].isna().all() and made["compare_with"].isna().all() and made["value"].notna().all()
    (part,) = layout(compare=None, seeds=(None,))
    made = of_arm([having(part, cells=[{**dict(part.cells[0]), "arm": "base"}])], SCORES)
    assert made["seed"].tolist() == ["all", "all"] and made["seeds"].tolist() == [0, 0]


def test_counts_are_of_the_arm_itself():
    made = counts_of_arm(layout(), SCORES)
    assert made["policy"].tolist() == ["a", "a", "b", "b"] and made["correct"].tolist() == [4, 2, 0, 2]


def test_the_layout_is_plain_data():
    plan = make_plan(ROOT, "smoke", ["ace"])
    made = layout_of_arm(plan, "ace", "ace_grpo")
    assert json.loads(json.dumps(made)) == made and str(ROOT) not in json.dumps(made)


@pytest.mark.parametrize(
    ("arm", "columns", "values"), [("blind", {"chance": 0.5}, [50, 75]), ("lookup", {"lookup": 2}, [0, 100])]
)
def test_blind_guesses_and_lookups_have_a_row_where_their_scores_are_known(arm, columns, values):
    made = of_arm(layout(), {pair: frame.assign(**columns) for pair, frame in SCORES.items()})
    rows = made[made["arm"] == arm]
    assert rows["k"].tolist() == [1, 2] and rows["value"].tolist() == pytest.approx(values)
    assert set(rows["seed"]) == {"all"} and set(rows["seeds"]) == {0} and rows["compare_with"].isna().all()
    own = made[made["arm"] == "mine"].reset_index(drop=True)
    pd.testing.assert_frame_equal(own, of_arm(layout(), SCORES), check_dtype=False)


def test_an_arm_with_fewer_seeds_is_compared_over_its_own():
    (part,) = layout()
    own, baseline = part.cells
    part = having(part, cells=[{**dict(own), "policies": ["a"], "seeds": [1]}, baseline])
    over = of_arm([part], SCORES).query("seed == 'all'")
    assert over["difference"].tolist() == pytest.approx([25, 100 / 12]), "against c, not c and d"
