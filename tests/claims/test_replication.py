"""What exact replications of the papers would decide: no claim that holds in its own table is out of their reach."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from scipy import stats

from rlvr.claims.contrasts import PAPER, layout
from rlvr.claims.evaluate import HOLDS, printed_values, published, rule_of
from rlvr.claims.verdicts import REPRODUCED, together, verdict_of
from rlvr.items.contrast import Estimate
from rlvr.planning.expansion import make_plan
from rlvr.report.replication import Truth, cells, drawn, pass_at, replicate, solve_rates
from rlvr.statistics.references import Reference

PAPERS = ("ace", "fade", "lens", "agrae", "pacs")
REFERENCES = ROOT / "config" / "papers"


@pytest.fixture(scope="module")
def plan():
    return make_plan(ROOT, "paper", list(PAPERS))


@pytest.mark.parametrize("paper", PAPERS)
def test_results_that_are_the_papers_own_to_the_last_digit_reproduce_each_claim_that_holds_there(plan, paper):
    """Intervals of no width at the paper's own numbers: what is not reproduced then, no replication can reproduce."""
    held = 0
    for claim in layout(plan, paper):
        reference = Reference(pd.read_csv(REFERENCES / claim.reference)) if claim.reference else None
        if claim.effort != PAPER or published(claim, reference)["published"] != HOLDS:
            continue
        own = {(one.says, *one.of): value for one, value in printed_values(claim, reference)}
        verdicts = []
        for contrast in claim.contrasts:
            value = own.get((contrast.says, contrast.model, contrast.benchmark))
            if value is None:
                continue  # not printed, or all arms are at 100
            exact = Estimate(value, *[value + d for d in (-1e-9, 1e-9, -1e-9, 1e-9)], 3, 100, "u")
            if claim.size is not None:  # the paper rounds: a size is reproduced by what is rounded to it
                exact = Estimate(
                    value, value - 1e-9, max(value, claim.size), value - 1e-9, max(value, claim.size), 3, 1, "u"
                )
            verdicts.append(verdict_of(exact, rule_of(claim, contrast, value)))
        assert together(verdicts, claim.at_least) == REPRODUCED, (claim.claim, verdicts)
        held += 1
    assert held >= (5 if paper == "fade" else 9)


def test_solve_rates_have_the_printed_curve():
    curve = {1: 28.9, 4: 43.3, 8: 49.8, 16: 55.2, 32: 59.9, 64: 64.0}
    rates_N = solve_rates(curve, 100)
    assert pass_at(rates_N, np.array(list(curve))) == pytest.approx(list(curve.values()), abs=0.1)
    assert ((rates_N > 0) & (rates_N < 1)).all()
    impossible = {1: 60.0, 2: 59.0, 4: 70.0}  # pass@k cannot fall
    assert abs(pass_at(solve_rates(impossible, 100), np.array([1, 2, 4])) - list(impossible.values())).max() > 0.3


def test_draws_have_the_truth_as_their_mean_and_seeds_that_differ():
    rates_N, generator = solve_rates({1: 40.0, 8: 60.0}, 200), np.random.default_rng(1)
    untrained = np.array([drawn(rates_N, 64, False, generator).mean() / 64 for _ in range(300)])
    assert untrained.mean() == pytest.approx(rates_N.mean(), abs=4 * untrained.std() / np.sqrt(300))
    trained = np.array([drawn(rates_N, 64, True, generator).mean() / 64 for _ in range(300)])
    assert 0.005 < trained.std() < 0.011 and untrained.std() < trained.std()
    assert trained.mean() == pytest.approx(rates_N.mean(), abs=0.005)


def held_to_the_rule(frame: pd.DataFrame, draws: int) -> None:
    """At most 5 % of the draws refute what holds, or reproduce what does not; 80 % reproduce it where power allows."""
    most = int(stats.binom.ppf(0.999, draws, 0.05))  # of many claims, at 5 % each
    holds = frame[frame["holds"]]
    assert len(holds) and (holds["refuted"] <= most).all(), holds[["claim", "refuted"]]
    assert (frame["reproduced at the null"] <= most).all(), frame[["claim", "reproduced at the null"]]
    able = holds[holds["power"] >= 0.9]
    assert (able["reproduced"] >= 0.8 * draws - 2).all(), able[["claim", "power", "reproduced"]]
    total = len(holds) * draws
    assert holds["refuted"].sum() <= stats.binom.ppf(0.999, total, 0.05)
    assert frame["reproduced at the null"].sum() <= stats.binom.ppf(0.999, len(frame) * draws, 0.05)


@pytest.mark.broad
def test_replications_of_pacs_reproduce_its_claims_or_leave_them_open(plan):
    truth = Truth(plan, "pacs", REFERENCES)
    names = ["out_of_domain_over_grpo", "out_of_domain_over_base", "hardest_gain_size_ppo", "weights_gain_grows"]
    frame = replicate(truth, range(30), names)
    assert list(frame["claim"]) == names or set(frame["claim"]) == set(names)
    held_to_the_rule(frame, 30)
    assert frame.set_index("claim")["reproduced"]["out_of_domain_over_base"] >= 24


def test_draws_are_of_their_number_alone_and_of_the_claims_arms(plan):
    truth = Truth(plan, "pacs", REFERENCES)
    claim = next(one.claim for one in truth.own if one.claim.claim == "hardest_gain_size")
    some, every = truth.scores(3, cells(claim)), truth.scores(3)
    assert 0 < len(some) < len(every)
    for key, frame in some.items():
        pd.testing.assert_frame_equal(frame, every[key])
    other = truth.scores(4, cells(claim))
    assert any((other[key]["correct"] != frame["correct"]).any() for key, frame in some.items())


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["lens", "pacs", "ace", "agrae"])
def test_replications_of_a_paper(plan, paper):
    """Papers with published tables of pass@k; 100 draws take minutes."""
    truth = Truth(plan, paper, Path(REFERENCES))
    frame = replicate(truth, range(100))
    print(frame.to_string())
    held_to_the_rule(frame, 100)
