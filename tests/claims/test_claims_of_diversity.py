"""Claims about the diversity of correct responses: the table's own differences, missing values, what is refused."""

import numpy as np
import pandas as pd
import pytest
from support.claims_by_hand import plain

from rlvr.claims import diversity_claims
from rlvr.claims.contrasts import layout, needs
from rlvr.config.layers import ConfigError
from rlvr.config.schema.items import Claim
from rlvr.items.contrast import ContrastSpec, Evidence, NotComparable
from rlvr.planning.expansion import make_plan
from rlvr.statistics.intervals import SeedsAndKnownProblems


def frame(policy: str, values) -> pd.DataFrame:
    rows = {"problem": [f"p{i}" for i in range(len(values))], "n": 8, "distinct": 2, "s_div": values}
    return pd.DataFrame({"policy": policy, "evaluation": "x", **rows})


def contrast(pairs) -> ContrastSpec:
    def term(arm: str, weight: float) -> dict:
        policies = [f"{arm}{seed}" for seed in (1, 2, 3)]
        head = {"weight": weight, "arm": arm, "label": arm, "k": None, "levels": None}
        return {**head, "evaluation": "x", "learning_rate": None, "policies": policies}

    terms = [term(*pair) for pair in pairs]
    (one,) = plain().contrasts
    return ContrastSpec.model_validate({**one.model_dump(), "model": "m", "terms": terms})


def estimate(diversity, *contrasts):
    claim = plain(resamples=500, seed=0).model_copy(update={"measure": "s_div"})
    return diversity_claims.estimates(list(contrasts), claim, Evidence(diversity=diversity))


def drawn() -> dict:
    generator = np.random.default_rng(3)
    problem = generator.normal(0.3, 0.1, 40)
    made = {}
    for arm, shift in (("a", 0.02), ("b", 0.0)):
        for seed in (1, 2, 3):
            values = problem + shift + generator.normal(0, 0.02, 40)
            values[generator.random(40) < 0.2] = np.nan  # problems without two correct responses
            made[f"{arm}{seed}", "x"] = frame(f"{arm}{seed}", values)
    return made


def test_a_difference_is_that_of_the_table():
    """Paired by seed and problem, over the problems that both have; the interval of the table of diversity."""
    diversity = drawn()
    (found,) = estimate(diversity, contrast([("a", 1.0), ("b", -1.0)]))
    ours, base = (np.array([diversity[f"{arm}{s}", "x"]["s_div"] for s in (1, 2, 3)]) for arm in "ab")
    expected = SeedsAndKnownProblems(0.95).of_difference(ours, base)
    assert (found.value, found.low, found.high) == pytest.approx((expected.estimate, expected.low, expected.high))
    assert found.low > 0 and (found.seeds, found.problems) == (3, 40)
    by_hand = np.nanmean(ours - base, axis=1).mean()
    assert found.value == pytest.approx(by_hand)


def test_several_contrasts_have_joint_bounds():
    both = estimate(drawn(), contrast([("a", 1.0), ("b", -1.0)]), contrast([("b", 1.0), ("a", -1.0)]))
    assert both[0].value == pytest.approx(-both[1].value)
    assert all(one.low_of_all <= one.low <= one.high <= one.high_of_all for one in both)


def test_without_a_common_problem_nothing_is_compared():
    values = {"a": [0.1, np.nan], "b": [np.nan, 0.2]}
    diversity = {(f"{arm}{s}", "x"): frame(f"{arm}{s}", values[arm]) for arm in "ab" for s in (1, 2, 3)}
    (found,) = estimate(diversity, contrast([("a", 1.0), ("b", -1.0)]))
    assert isinstance(found, NotComparable) and "s_div" in found.reason


def test_where_solutions_do_not_differ_nothing_is_compared():
    diversity = {key: table.assign(distinct=1) for key, table in drawn().items()}
    (found,) = estimate(diversity, contrast([("a", 1.0), ("b", -1.0)]))
    assert isinstance(found, NotComparable) and found.reason.startswith("0 % of the problems have two")


@pytest.fixture(scope="module")
def pacs(request):
    from conftest import ROOT

    return make_plan(ROOT, "paper", ["pacs"])


def test_pacs_claims_on_table_3_read_diversity_and_are_put_to_its_published_values(pacs):
    laid = {one.claim: one for one in layout(pacs, "pacs")}
    claim = laid["diversity"]
    assert claim.reference == "pacs/reference/table3.csv" and claim.published[0].benchmark == "AIME2024 S_div"
    found = needs([claim])
    assert len(found.diversity) == 12 and not found.scores and not found.runs  # two models, two arms, three seeds


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"measure": None}, "measure: a table of diversity needs one of s_div"),
        ({"measure": "s_dvi"}, "unknown measure 's_dvi'"),
        ({"predicate": "crossing", "k": [1, 4]}, "'crossing' needs k or hard levels"),
        ({"benchmarks": ["math-501"]}, "unknown benchmark 'math-501'"),
    ],
)
def test_what_a_table_of_diversity_has_not_is_said(pacs, changes, wrong):
    planned = pacs.papers["pacs"]
    claim = next(one for one in planned.paper.claims if one.name == "diversity").model_copy(update=changes)
    item = planned.item("table3")
    with pytest.raises(ConfigError, match=wrong):
        diversity_claims.check(
            Claim.model_construct(**dict(claim)), item, planned.paper.tables["table3"], pacs, "claims"
        )
