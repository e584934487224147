"""Claims at equal pass@1: by hand, and what of a paper's claims has a meaning there."""

import numpy as np
import pytest
from conftest import ROOT
from support.claims_by_hand import PROBLEMS, each_contrast, frame, plain

from rlvr.claims.contrasts import EQUAL, PAPER, layout
from rlvr.claims.evaluate import evaluate
from rlvr.claims.verdicts import CONTRADICTED, NOT_COMPARABLE
from rlvr.config.layouts import Rate
from rlvr.items.contrast import ClaimSpec, Evidence
from rlvr.planning.expansion import make_plan

# ---- equal pass@1 ----


def at_equal_pass_1(ks=(2,)) -> ClaimSpec:
    """left − right where each has the pass@1 of right at its own rate; left was trained at two rates."""
    start = Rate(learning_rate=0.0, policies=("base1",))
    left, bolder, right = (
        Rate(learning_rate=rate, policies=tuple(f"{arm}{s}" for s in (1, 2, 3)))
        for arm, rate in (("left", 1e-5), ("bolder", 2e-5), ("right", 1e-5))
    )
    rates = ((start, left, bolder), (start, right))

    def change(contrast):
        terms = zip(contrast.terms, rates, strict=True)
        of_rates = tuple(term.model_copy(update={"rates": own}) for term, own in terms)
        return {"at": right.policies, "at_label": "right", "terms": of_rates}

    return each_contrast(plain(ks).model_copy(update={"effort": EQUAL}), change)


def constant(arm: str, correct, seeds=(1, 2, 3)) -> dict:
    return {(f"{arm}{s}", "x"): frame(f"{arm}{s}", correct) for s in seeds}


def test_a_claim_at_equal_pass_1_by_hand():
    """Pass@1 of left is 3/4 at its first rate, of right 1/2, of the base 1/4: left stands half way there."""
    ones = np.ones(PROBLEMS, int)
    scores = constant("base", ones, (1,)) | constant("right", 2 * ones) | constant("left", 3 * ones)
    scores |= constant("bolder", 4 * ones)
    (row,) = evaluate(at_equal_pass_1(), Evidence(scores))
    assert row["estimate"] == pytest.approx(100 * ((1 / 2 + 1) / 2 - 5 / 6))
    assert "bolder1" in row["policies"] and row["verdict"] == CONTRADICTED
    low = scores | constant("left", ones) | constant("bolder", ones)
    (row,) = evaluate(at_equal_pass_1(), Evidence(low))
    assert (row["verdict"], row["reason"]) == (NOT_COMPARABLE, "no learning rate of left has the pass@1 of right")


def test_what_has_no_meaning_at_equal_pass_1_is_left_out():
    laid = {(one.claim, one.effort): one for one in layout(make_plan(ROOT, "smoke", ["agrae"]), "agrae")}
    assert ("entropy_order", EQUAL) not in laid and ("collapse", EQUAL) not in laid, "they are over no such table"
    both = [laid["a_grae_over_others", effort].contrasts for effort in (PAPER, EQUAL)]
    ks = [{term.k for contrast in part for term in contrast.terms} for part in both]
    assert ks[0] - ks[1] == {1}, "methods are equal there"
    assert all(contrast.at for contrast in both[1]) and not any(contrast.at for contrast in both[0])
    assert [{len(term.rates) for contrast in part for term in contrast.terms} for part in both] == [{1}, {5}]
    for (_, effort), one in laid.items():
        arms = {term.arm for contrast in one.contrasts for term in contrast.terms}
        assert effort == PAPER or "base" not in arms, "the base policy has one pass@1"
        assert effort == PAPER or one.predicate != "crossing"


def test_at_paper_scale_equal_pass_1_is_asked_for_apart():
    laid = layout(make_plan(ROOT, "paper", ["agrae"]), "agrae")
    assert {one.effort for one in laid if any(contrast.terms for contrast in one.contrasts)} == {PAPER}


def test_a_claim_at_equal_pass_1_takes_the_rates_that_the_scale_runs():
    """ACE's Table 1 has four rates in its sweep; the laptop's core runs three of them, and the base policies."""
    laid = {(one.claim, one.effort): one for one in layout(make_plan(ROOT, "laptop", ["ace"]), "ace")}
    contrasts_ = [contrast for contrast in laid["larger_k_gain", EQUAL].contrasts if contrast.terms]
    assert [contrast.stand_in for contrast in contrasts_] == ["qwen2-chain"], "of the three families one"
    rates = [[rate.learning_rate for rate in term.rates] for term in contrasts_[0].terms]
    assert rates == [pytest.approx([0, 1.75e-5, 5e-5, 1e-4])] * 2
    assert not any(contrast.terms for contrast in laid["softplus", EQUAL].contrasts), "ReLU is in no core table"
