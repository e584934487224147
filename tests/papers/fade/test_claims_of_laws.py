"""Claims about the parameters of the shifted power law of pass@k."""

import numpy as np
import pandas as pd
import pytest
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
    rates = [{"learning_rate": None, "policies": policies}]
    return {"weight": weight, "arm": arm, "label": arm, "k": None, "levels": None, "evaluation": "x", "rates": rates}


def test_a_base_policy_without_seeds_stands_beside_each_seed(monkeypatch):
    slopes = {"base": 0.9, "mean1": 0.7, "mean2": 0.6, "mean3": 0.8}
    terms = [term(1, "base", ["base"]), term(-1, "mean", ["mean1", "mean2", "mean3"])]
    (contrast,) = plain().contrasts
    contrast = ContrastSpec.model_validate({**contrast.model_dump(), "terms": terms})
    claim = plain().model_copy(update={"measure": "b", "options": {"k": KS}})
    (found,) = law_claims.estimates([contrast], claim, Evidence(scores(monkeypatch, slopes)))
    assert (found.value, found.seeds) == (pytest.approx(0.2, abs=1e-4), 3)
    assert found.high - found.value == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-3), "Student's t over three seeds"


def test_a_claim_about_laws_is_checked():
    from conftest import ROOT

    plan = make_plan(ROOT, "smoke", ["fade"])
    planned = plan.papers["fade"]
    item, config = planned.figures["core_laws"], planned.paper.figures["core_laws"]
    (claim,) = (one for one in planned.paper.claims if one.name == "slope_is_lost")
    law_claims.check(claim, item, config, plan, "x")
    for change, message in (
        ({"measure": "d"}, "unknown parameter"),
        ({"measure": None}, "laws need one of a, b, c"),
        ({"predicate": "sooner"}, "needs k or hard levels"),
    ):
        with pytest.raises(ConfigError, match=message):
            law_claims.check(claim.model_copy(update=change), item, config, plan, "x")
    by_level = config.model_copy(update={"by_level": True})
    with pytest.raises(ConfigError, match="one law per level"):
        law_claims.check(claim, item, by_level, plan, "x")
    assert isinstance(config, pass_at_k_laws.Config) and config.laws == ["shifted power law"]
