"""Claims about the parameters of the shifted power law of pass@k."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from support.claims_by_hand import plain

from rlvr.config.layers import ConfigError
from rlvr.items.contrast import ContrastSpec, Evidence
from rlvr.papers.fade import law_claims
from rlvr.papers.fade.figures import pass_at_k_laws
from rlvr.papers.fade.scaling import shifted_power
from rlvr.planning.expansion import make_plan

KS = [1, 2, 5, 10, 20, 50, 100]


def scores(monkeypatch, slopes: dict[str, float]) -> dict:
    """Score frames whose pass@k is exactly the law with a = 2, c = 1 and each policy's b."""
    monkeypatch.setattr(
        law_claims, "pass_at", lambda k: lambda frame: shifted_power(np.full(1, k), 2, frame["b"][0], 1)
    )
    return {(policy, "x"): pd.DataFrame({"problem": ["p"], "b": [b]}) for policy, b in slopes.items()}


def term(weight: float, arm: str, policies: list[str]) -> dict:
    head = {"weight": weight, "arm": arm, "label": arm, "k": None, "levels": None, "evaluation": "x"}
    return {**head, "learning_rate": None, "policies": policies}


def test_a_base_policy_without_seeds_stands_beside_each_seed(monkeypatch):
    slopes = {"base": 0.9, "mean1": 0.7, "mean2": 0.6, "mean3": 0.8}
    terms = [term(1, "base", ["base"]), term(-1, "mean", ["mean1", "mean2", "mean3"])]
    (contrast,) = plain().contrasts
    contrast = ContrastSpec.model_validate({**contrast.model_dump(), "terms": terms})
    claim = plain().model_copy(update={"measure": "b", "options": {"k": KS}})
    (found,) = law_claims.estimates([contrast], claim, Evidence(scores(monkeypatch, slopes)))
    assert (found.value, found.seeds) == (pytest.approx(0.2, abs=1e-4), 3)
    assert found.high - found.value == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-3), "Student's t over three seeds"


@pytest.mark.parametrize("measure", ["power_excess", "exponential_excess", "exponential_error"])
def test_laws_beside_each_other(measure):
    """Against scipy's own fits of a curve that is exactly the shifted power law, with k0 = 3: no other law fits it."""
    ks = np.array(KS, float)
    curve = shifted_power(ks, 2, 0.7, 3)
    laws = {"power": lambda k, a, b: np.exp(-a * k**-b), "exponential": lambda k, a, b: 1 - a * np.exp(-b * k)}
    law = laws[measure.split("_")[0]]
    fitted = law(ks, *optimize.curve_fit(law, ks, curve, p0=(0.9, 0.05))[0])
    found = law_claims.MEASURES[measure](ks, curve)
    if measure == "exponential_error":
        assert found == pytest.approx(np.log10(((fitted - curve) ** 2).mean() / 1e-8), abs=0.01), "beside no error"
    else:
        assert found == pytest.approx(fitted[0] - curve[0], abs=1e-4)


def test_equal_errors_of_two_laws_are_no_difference():
    error = law_claims.MEASURES["exponential_error"]
    assert error(np.array(KS, float), np.zeros(len(KS))) == pytest.approx(0, abs=0.05)


def test_a_claim_about_laws_is_checked():
    from conftest import ROOT

    plan = make_plan(ROOT, "smoke", ["fade"])
    planned = plan.papers["fade"]
    item, config = planned.figures["core_laws"], planned.paper.figures["core_laws"]
    (claim,) = (one for one in planned.paper.claims if one.name == "slope_is_lost")
    law_claims.check(claim, item, config, plan, "x")
    for change, message in (
        ({"measure": "d"}, "unknown measure"),
        ({"measure": None}, "laws need one of a, b, c"),
        ({"predicate": "sooner"}, "needs k or hard levels"),
    ):
        with pytest.raises(ConfigError, match=message):
            law_claims.check(claim.model_copy(update=change), item, config, plan, "x")
    by_level = config.model_copy(update={"by_level": True})
    with pytest.raises(ConfigError, match="one law per level"):
        law_claims.check(claim, item, by_level, plan, "x")
    assert isinstance(config, pass_at_k_laws.Config) and config.laws == ["shifted power law"]
