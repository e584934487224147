"""Analytic tables and figures of FADE against hand calculation."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rlvr import estimators
from rlvr.papers.fade.theory.variance import delta_variance, exact_variance
from rlvr.theory.closed_forms import CLOSED_FORMS


def frame(content: str) -> pd.DataFrame:
    return CLOSED_FORMS.load(content)()


def cells(content: str) -> pd.DataFrame:
    """A table by method, named without its settings."""
    table = frame(content)
    table.index = pd.Index(table["method"].str.split(" ").str[0])
    assert table.index.is_unique
    return table


def test_table1_has_every_method_with_a_closed_form():
    table = cells("fade_table1")
    assert len(table) == sum(bool(estimators.kind(name).formula) for name in estimators.names()) >= 30
    assert table.loc["grpo", "m_S(0.25)"] == f"{math.sqrt(3) / 4:.4f}" == table.loc["grpo", "m_F(0.25)"]
    assert table.loc["power_alpha", "m_S(0.75)"] == f"{0.75 / 16:.4f}"
    assert table.loc["max_rl", "m_F(0.75)"] == "0.2500"
    assert table.loc["asym_grpo", "signs"] == "biased" and table.loc["skew_r", "signs"] == "balanced"
    assert table.loc["power_alpha", "peak of m_S"] == "0.3125"  # of the grid of sixteenths; 1/3 is the mode


def test_table2_equalises_the_largest_step():
    table = cells("fade_table2")
    assert table["max |A|"][["grpo", "dr_grpo"]].tolist() == [f"{math.sqrt(15):.4f}", "0.9375"]
    rates, largest = table["lr, Qwen2.5-7B (1e-7)"].astype(float), table["max |A|"].astype(float)
    off = (rates * largest / (1e-7 * 0.9375) - 1).abs()
    assert (off <= np.where(largest > 0.05, 6e-3, 2e-2)).all()


def test_tables_7_and_8_by_hand():
    table = cells("fade_table7")
    rho = table["rho(0.3)"].to_dict()
    assert rho["dr_grpo"] == f"{0.3 / 0.7:.4f}" and rho["asym_grpo"] == f"{0.5 * 0.3 / 0.7:.4f}"
    assert rho["w_reinforce"] == f"{0.1 * 0.09 / 0.49:.4f}"
    assert rho["asym_power_alpha"] == f"{0.3 * 0.49 * 0.3 / (0.3 * 0.7 * 0.7):.4f}"
    assert table.loc["dr_grpo", "rho(0.5)"] == "1.0000" and "pass_at_k_loo" not in rho
    assert table.loc["fade", "A_S/A_F(0.3)"] == f"{0.5 * 0.7 / 0.3:.4f}"
    signal = frame("fade_table8").set_index("p")["s(p) / s(0.5)"]
    assert signal["0.25"] == "2.2500" and signal["0.5"] == "1.0000"


def test_the_variance_of_figure7_is_the_binomials():
    for p, alpha in ((0.2, 1.0), (0.25, 3.0), (0.6, 2.0)):
        scale = (1 + alpha) ** (1 + alpha) / (4 * alpha**alpha)
        law = stats.binom(16, p)

        def weight(k, a=alpha, s=scale):
            return s * (k / 16) * (1 - k / 16) ** a

        exact = law.expect(lambda k, w=weight: w(k) ** 2) - law.expect(weight) ** 2
        assert exact_variance(p, alpha, 16) == pytest.approx(exact, rel=1e-9)
    assert delta_variance(0.25, 3.0, 16) == 0 and exact_variance(0.25, 3.0, 16) == pytest.approx(1.7e-3, abs=5e-5)


def test_figure2_shows_what_the_estimators_do():
    table = frame("fade_figure2")
    grpo = table[(table["label"] == "GRPO")]
    np.testing.assert_allclose(grpo["y"], np.sqrt(grpo["x"] * (1 - grpo["x"])), rtol=1e-12)
    peaks = table[table["panel"].str.startswith("difficulty")].groupby("label")["y"].max()
    assert (peaks <= 0.25 + 1e-12).all() and (peaks > 0.2499).all()
