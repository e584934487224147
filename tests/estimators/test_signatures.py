"""Settings are checked against the signatures of estimators."""

import pytest
from support.members import R8, inputs, weigh

from rlvr import estimators
from rlvr.estimators import INPUTS, Estimator


def test_wrong_settings_are_named():
    with pytest.raises(estimators.SettingError, match="alpha_x: fade has no such setting; did you mean 'alpha_max'"):
        Estimator("fade", {"alpha_x": 1})
    with pytest.raises(estimators.SettingError, match="modulation: 'softmax' is not one of its values"):
        Estimator("ace", {"modulation": "softmax"})
    with pytest.raises(estimators.SettingError, match="alpha: must be of type float"):
        Estimator("ace", {"alpha": "much"})
    with pytest.raises(estimators.SettingError, match="alpha: must be finite"):
        Estimator("ace", {"alpha": float("nan")})
    assert Estimator("fade", {"target_entropy": 1}).settings["target_entropy"] == 1.0
    with pytest.raises(KeyError):
        Estimator("grop")


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("ace", {"alpha": -1.0}), ("lens", {"alpha": -1.0}), ("a_grae", {"alpha": 0.0}), ("asym_grpo", {"delta": 0.0}),
        ("power_alpha", {"alpha": 0.0}), ("asym_power_alpha", {"alpha_f": -1.0}), ("pass_at_k", {"k": 9}),
        ("pass_mix", {"k": 0}), ("quantile", {"tau": 0.0}), ("log_mean_exp", {"beta": 0.0}),
        ("positive_dominant", {"beta": 0.0}), ("hard_focused", {"gamma": -1.0}), ("easy_focused", {"gamma": 0.0}),
        ("grpo", {"epsilon": -1.0}), ("ha_dw", {"lam": 0.0}), ("pacs", {"beta": -1.0}), ("mc_grpo", {"epsilon": 0.0}),
    ],
)  # fmt: skip
def test_impossible_values_are_refused(name, settings):
    with pytest.raises(ValueError):
        weigh(name, R8, inputs(R8), **settings)


def test_a_kind_is_read_from_the_signatures():
    ace = estimators.kind("ace")
    assert ace.inputs == ("log_ratio_PG", "lengths_PG")
    assert ace.settings["alpha"].default == 1.0
    assert ace.settings["modulation"].choices == ("softplus", "relu")
    assert ace.source == "ACE, Def. 2, Eq. 5-6"
    assert Estimator("grpo").needs == set() and Estimator("fade").needs == {"entropy"}
    assert estimators.kind("fade").state == ("alpha", "delta")
    assert ace.base_where == {"alpha": 0.0} and ace.exact_settings == {"epsilon": 0.0}
    assert estimators.kind("mc_grpo").exact_settings == estimators.kind("dr_grpo").exact_settings == {}
    assert Estimator("fade").shown_state == {"alpha": 2.0, "delta": 0.5}
    assert Estimator("pacs").coupled and not Estimator("ace").coupled


@pytest.mark.parametrize("name", estimators.names())
def test_every_estimator_says_what_it_is(name):
    kind = estimators.kind(name)
    assert kind.summary.endswith(".") and "A" in kind.summary and kind.source, name
    assert not kind.formula or "m_S" in kind.formula
    assert {*kind.inputs, *kind.controller_inputs} <= set(INPUTS)
