"""Numbers of a batch that show whether a mechanism acts, by hand from the papers' formulas."""

import math

import pytest
import torch

from rlvr.estimators import Estimator


def test_ace_factor_over_errors_by_hand():
    """ACE Eq. 7's examples: c = 2, 0, -3 scale errors by 3.13, 1.69, 1.05; all-wrong groups have no weight."""
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0] * 4], dtype=torch.float64)
    shifts = torch.tensor([[5.0, 2.0, 0.0, -3.0], [9.0] * 4], dtype=torch.float64)
    given = {"log_ratio_PG": shifts, "lengths_PG": torch.full((2, 4), 100.0).double()}
    factors = [1 + math.log1p(math.exp(c)) for c in (2.0, 0.0, -3.0)]
    mean = sum(factors) / 3
    std = math.sqrt(sum((factor - mean) ** 2 for factor in factors) / 3)
    found = Estimator("ace", {"aggregation": "sum"}).figures(rewards, given)
    assert found["factor_q50"] == pytest.approx(1 + math.log(2))
    assert found["factor_q90"] == pytest.approx(factors[1] + 0.8 * (factors[0] - factors[1]))
    assert found["factor_spread"] == pytest.approx(std / mean)
    by_length = Estimator("ace", {"aggregation": "mean"}).figures(rewards, given)
    assert by_length["factor_q50"] == pytest.approx(1 + math.log(2)) and by_length["factor_spread"] < 0.01
    assert set(Estimator("ace").figures(torch.ones_like(rewards), given).values()) == {None}


@pytest.mark.parametrize("beta", [1.0, 10.0])
def test_pacs_psi_by_hand(beta):
    """PACS Eq. 6 and 7: r_hat = beta (log pi - log pi_ref), psi is r_hat less the mean of the other two."""
    rewards = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    given = {
        "logp_PG": torch.tensor([[-10.0, -12.0, -11.0]]).double(),
        "logp_ref_PG": torch.tensor([[-13.0, -12.5, -12.0]]).double(),
    }
    proxies = [3.0, 0.5, 1.0]
    psi = sorted(beta * abs(r - (sum(proxies) - r) / 2) for r in proxies)  # 2.25, 1.5, 0.75
    found = Estimator("pacs", {"beta": beta}).figures(rewards, given)
    assert found == {"psi_q50": pytest.approx(psi[1]), "psi_q90": pytest.approx(psi[1] + 0.8 * (psi[2] - psi[1]))}
    at_reference = Estimator("pacs").figures(rewards, {**given, "logp_ref_PG": given["logp_PG"]})
    assert at_reference == {"psi_q50": 0.0, "psi_q90": 0.0}


def test_an_estimator_without_a_mechanism_of_its_own_has_no_figures():
    assert Estimator("grpo").figures(torch.tensor([[1.0, 0.0]]), {}) == {}
