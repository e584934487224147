"""The ledger's verdicts, and the analytic tables and figures against hand calculation and scipy."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from rlvr import estimators
from rlvr.theory import analytic, fade, ledger
from rlvr.theory.statement import conditional, fails, holds

CONDITIONAL = """
ace.decomposition ace.variance_necessarily agrae.logit_update agrae.sampled_positives fade.chen
fade.delta_and_rank fade.fade_masses fade.failure_modes fade.median fade.mix fade.mode_variance
fade.projection fade.resampling lens.consistency lens.difficulty_range lens.policy_preference
pacs.effective_advantage pacs.first_step pacs.vanishing
"""
FAILS = """
ace.exploratory ace.quality_improves agrae.negative_dominant_positives agrae.negative_dominant_unsampled
agrae.unsampled_probabilities fade.advantage_ratio fade.enrichment fade.entropy_change fade.ha_dw
fade.log_mean_exp fade.log_mean_exp_limits fade.mean_advantage fade.moving_average fade.quantile_rule
fade.softmax_limits fade.uncorrelated_residuals fade.update_quality lens.derivative_line pacs.diverse_minimum
pacs.gibbs_form pacs.minimised_sign pacs.printed_derivative pacs.rloo_variance
"""


@pytest.fixture(scope="module")
def book() -> pd.DataFrame:
    return ledger.run(ledger.statements())


def test_every_paper_has_statements_and_each_its_own_name(book):
    assert len(book) >= 35 and book["check"].is_unique
    assert set(book["paper"]) == {"ACE", "FADE", "LENS", "A-GRAE", "PACS"} and (book.groupby("paper").size() >= 8).all()
    assert (book[["place", "statement", "checked_by"]].map(len) > 3).all().all()


def test_the_verdicts_are_these(book):
    """A change of a verdict is a change of what we say about a paper: it is made here too."""
    verdicts = book.set_index("check")["verdict"]
    assert set(verdicts[verdicts == "holds under a condition"].index) == set(CONDITIONAL.split())
    assert set(verdicts[verdicts == "fails"].index) == set(FAILS.split())
    assert (verdicts == "holds").sum() == len(book) - len(CONDITIONAL.split()) - len(FAILS.split())


def test_what_fails_has_a_counterexample_and_what_is_conditional_its_condition(book):
    judged = book[book["verdict"] != "holds"]
    assert (judged["condition_or_counterexample"].str.len() > 3).all() and (judged["deviation"] > 1e-9).all()
    exact = book[(book["verdict"] == "holds") & ~book["check"].isin(["fade.delta_method", "fade.sweet_spot"])]
    assert (exact["deviation"] < 6e-3).all()  # the widest: numbers that are printed to two digits


def test_findings_are_judged_by_their_deviation():
    assert holds(1e-12).verdict == "holds" and holds(1e-3).verdict == "fails"
    assert conditional(1e-12, 0.2, "x").verdict == "holds under a condition"
    assert conditional(1e-12, 1e-12, "x").verdict == "holds" and conditional(0.1, 0.2, "x").verdict == "fails"
    assert fails(0.3, "x").verdict == "fails" and fails(0.0, "x").verdict == "holds"


def test_the_ledger_reads_well(book):
    text = ledger.markdown(book)
    assert text.count("\n**") == len(book) and "A-GRAE" in text and " nan" not in text


# ---- tables ----


def cell(frame: pd.DataFrame, method: str, column: str) -> str:
    found = frame[frame["method"].str.split(" ").str[0] == method]
    assert len(found) == 1
    return found[column].iloc[0]


def test_table1_has_every_method_with_a_closed_form():
    frame = analytic.fade_table1()
    assert len(frame) == sum(bool(estimators.signature(name).formula) for name in estimators.names()) >= 30
    assert cell(frame, "grpo", "m_S(0.25)") == f"{math.sqrt(3) / 4:.4f}" == cell(frame, "grpo", "m_F(0.25)")
    assert (
        cell(frame, "power_alpha", "m_S(0.75)") == f"{0.75 / 16:.4f}" and cell(frame, "max_rl", "m_F(0.75)") == "0.2500"
    )
    assert cell(frame, "asym_grpo", "signs") == "biased" and cell(frame, "skew_r", "signs") == "balanced"
    assert cell(frame, "power_alpha", "peak of m_S") == "0.3125"  # of the grid of sixteenths; 1/3 is the mode


def test_table2_equalises_the_largest_step():
    frame = analytic.fade_table2()
    assert cell(frame, "grpo", "max |A|") == f"{math.sqrt(15):.4f}" and cell(frame, "dr_grpo", "max |A|") == "0.9375"
    for row in frame.to_dict("records"):
        rate, largest = float(row["lr, Qwen2.5-7B (1e-7)"]), float(row["max |A|"])
        assert rate * largest == pytest.approx(1e-7 * 0.9375, rel=6e-3 if largest > 0.05 else 2e-2)


def test_table7_by_hand():
    frame = analytic.fade_table7()
    assert cell(frame, "dr_grpo", "rho(0.3)") == f"{0.3 / 0.7:.4f}" and cell(frame, "dr_grpo", "rho(0.5)") == "1.0000"
    assert cell(frame, "asym_grpo", "rho(0.3)") == f"{0.5 * 0.3 / 0.7:.4f}"
    assert cell(frame, "w_reinforce", "rho(0.3)") == f"{0.1 * 0.09 / 0.49:.4f}"
    assert cell(frame, "asym_power_alpha", "rho(0.3)") == f"{0.3 * 0.49 * 0.3 / (0.3 * 0.7 * 0.7):.4f}"
    assert cell(frame, "fade", "A_S/A_F(0.3)") == f"{0.5 * 0.7 / 0.3:.4f}"
    assert "pass_at_k_loo" not in set(frame["method"])


def test_table8_is_the_papers_rule():
    frame = analytic.fade_table8().set_index("p")["s(p) / s(0.5)"]
    assert frame["0.25"] == "2.2500" and frame["0.5"] == "1.0000"


def test_the_variance_of_figure7_is_the_binomials():
    for p, alpha in ((0.2, 1.0), (0.25, 3.0), (0.6, 2.0)):
        scale = (1 + alpha) ** (1 + alpha) / (4 * alpha**alpha)
        law = stats.binom(16, p)
        weight = lambda k, a=alpha, s=scale: s * (k / 16) * (1 - k / 16) ** a  # noqa: E731
        exact = law.expect(lambda k, w=weight: w(k) ** 2) - law.expect(weight) ** 2
        assert fade.exact_variance(p, alpha, 16) == pytest.approx(exact, rel=1e-9)
    assert fade.delta_variance(0.25, 3.0, 16) == 0 and fade.exact_variance(0.25, 3.0, 16) == pytest.approx(
        1.7e-3, abs=5e-5
    )


@pytest.mark.parametrize("name", [name for name in analytic.CONTENTS if "table" not in name])
def test_figures_are_curves_with_names(name):
    frame = analytic.CONTENTS[name]()
    assert {"panel", "label", "style", "x", "y", "x_label", "y_label"} == set(frame.columns)
    assert np.isfinite(frame[["x", "y"]].to_numpy()).all() and frame["label"].str.len().min() > 0


def test_figure2_shows_what_the_estimators_do():
    frame = analytic.fade_figure2()
    grpo = frame[(frame["label"] == "GRPO")]
    np.testing.assert_allclose(grpo["y"], np.sqrt(grpo["x"] * (1 - grpo["x"])), rtol=1e-12)
    peaks = frame[frame["panel"].str.startswith("difficulty")].groupby("label")["y"].max()
    assert (peaks <= 0.25 + 1e-12).all() and (peaks > 0.2499).all()


def test_agrae_figure6_is_theorem_2():
    frame = analytic.agrae_figure6()
    grpo = frame[frame["label"] == "GRPO"]
    np.testing.assert_allclose(grpo["y"], 2 * np.sqrt(grpo["x"] * (1 - grpo["x"])), rtol=1e-12)


def test_lens_figure4_is_the_integral_of_its_derivative():
    """z w(z) has the derivative z / (1 - z) (LENS, B.2)."""
    frame = analytic.lens_figure4()
    z = torch.tensor(frame["x"].to_numpy())
    product = z * torch.tensor(frame["y"].to_numpy())
    slope = (product[2:] - product[:-2]) / (z[2:] - z[:-2])
    torch.testing.assert_close(slope[:300], (z / (1 - z))[1:-1][:300], rtol=1e-3, atol=1e-3)
