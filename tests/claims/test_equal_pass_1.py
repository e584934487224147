"""Claims at equal pass@1: by hand, and what of a paper's claims has a meaning there."""

import numpy as np
import pytest
from conftest import ROOT
from support.claims_by_hand import PROBLEMS, each_contrast, frame, plain

from rlvr.claims.contrasts import EQUAL, PAPER, _between_methods, layout
from rlvr.claims.evaluate import evaluate
from rlvr.claims.verdicts import CONTRADICTED, NOT_COMPARABLE
from rlvr.config.layouts import Rate
from rlvr.items.contrast import ClaimSpec, Contrast, Evidence, Term
from rlvr.planning.expansion import make_plan

# ---- equal pass@1 ----


def at_equal_pass_1(ks=(2,), arms=("left", "right"), baseline="right") -> ClaimSpec:
    """left − right, against the curve of right at three rates: the policies slow, right and fast."""
    curve = tuple(
        Rate(learning_rate=rate, policies=tuple(f"{arm}{s}" for s in (1, 2, 3)))
        for arm, rate in (("slow", 1e-5), ("right", 4e-5), ("fast", 9e-5))
    )
    one = plain(ks, arms).model_copy(update={"effort": EQUAL})
    return each_contrast(one, lambda contrast: {"curve": curve, "baseline": baseline})


def constant(arm: str, correct, seeds=(1, 2, 3)) -> dict:
    return {(f"{arm}{s}", "x"): frame(f"{arm}{s}", correct) for s in seeds}


ONES = np.ones(PROBLEMS, int)
CURVE = constant("slow", ONES) | constant("right", 2 * ONES) | constant("fast", 3 * ONES)  # pass@1 1/4, 1/2, 3/4
HALF = np.where(np.arange(PROBLEMS) % 2, 1, 3)  # pass@1 1/2, pass@2 3/4, where the baseline's is 5/6


def test_a_claim_at_equal_pass_1_by_hand():
    (row,) = evaluate(at_equal_pass_1(), Evidence(CURVE | constant("left", HALF)))
    assert row["estimate"] == pytest.approx(100 * (3 / 4 - 5 / 6)) and row["verdict"] == CONTRADICTED
    assert {"left1", "slow1", "fast3"} < set(row["policies"].split())
    (row,) = evaluate(at_equal_pass_1(), Evidence(CURVE | constant("left", 4 * ONES)))
    reason = "left: its pass@1 is 100.0 %, and the baseline's 25.0 to 75.0 % over its learning rates"
    assert (row["verdict"], row["reason"]) == (NOT_COMPARABLE, reason)


def test_two_methods_are_compared_by_their_distances_from_the_baselines_curve():
    """Each at its own pass@1: 1/2 and 3/4; `other` is on the curve."""
    scores = CURVE | constant("left", HALF) | constant("other", 3 * ONES)
    (row,) = evaluate(at_equal_pass_1(arms=("left", "other")), Evidence(scores))
    assert row["estimate"] == pytest.approx(100 * (3 / 4 - 5 / 6))
    (row,) = evaluate(at_equal_pass_1(arms=("other", "left")), Evidence(scores))
    assert row["estimate"] == pytest.approx(100 * (5 / 6 - 3 / 4))


def test_what_has_no_meaning_at_equal_pass_1_is_left_out():
    laid = {(one.claim, one.effort): one for one in layout(make_plan(ROOT, "smoke", ["agrae"]), "agrae")}
    assert ("entropy_order", EQUAL) not in laid and ("collapse", EQUAL) not in laid, "they are over no such table"
    both = [laid["a_grae_over_others", effort].contrasts for effort in (PAPER, EQUAL)]
    ks = [{term.k for contrast in part for term in contrast.terms} for part in both]
    assert ks[0] - ks[1] == {1}, "methods are equal there"
    assert all(contrast.baseline == "grpo" for contrast in both[1]) and not any(contrast.curve for contrast in both[0])
    assert {len(contrast.curve) for contrast in both[1]} == {7}
    for (_, effort), one in laid.items():
        arms = {term.arm for contrast in one.contrasts for term in contrast.terms}
        assert effort == PAPER or "base" not in arms, "the base policy has one pass@1"
        assert effort == PAPER or one.predicate != "crossing"


def test_at_paper_scale_equal_pass_1_is_asked_for_apart():
    laid = layout(make_plan(ROOT, "paper", ["agrae"]), "agrae")
    assert {one.effort for one in laid if any(contrast.terms for contrast in one.contrasts)} == {PAPER}


def test_a_claim_at_equal_pass_1_takes_the_models_that_the_scale_runs():
    laid = {(one.claim, one.effort): one for one in layout(make_plan(ROOT, "laptop", ["ace"]), "ace")}
    contrasts_ = [contrast for contrast in laid["larger_k_gain", EQUAL].contrasts if contrast.terms]
    assert [contrast.stand_in for contrast in contrasts_] == ["qwen2-chain"], "of the three families one"
    own = next(term.learning_rate for term in contrasts_[0].terms if term.arm == "grpo")
    knots = [rate.learning_rate for rate in contrasts_[0].curve]
    assert knots == pytest.approx([own * times for times in (0.35, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)], rel=1e-3)
    assert not any(contrast.terms for contrast in laid["softplus", EQUAL].contrasts), "ReLU is in no core table"


def test_only_differences_between_methods_have_a_meaning_there():
    """A slope of one method over k is no difference from the baseline."""
    of_one = Contrast("", "M", "b", (Term(1.0, "a", 32), Term(-1.0, "a", 2)))
    of_two = Contrast("", "M", "b", (Term(1.0, "a", 32), Term(-1.0, "b", 32), Term(-1.0, "a", 2), Term(1.0, "b", 2)))
    assert _between_methods(of_two) and not _between_methods(of_one)
