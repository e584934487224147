"""A gap between the engine's and the trainer's log-probabilities: small, worth a warning, or another policy."""

import math

import pytest
import yaml
from conftest import ROOT

from rlvr.training import alarms
from rlvr.training.backends.verl.off_policy import OffPolicy, check_gap


def test_a_gap_of_rounding_says_nothing(capsys):
    for gap in (None, 0.0, 0.02, 0.05):
        check_gap(gap, 3, warning=0.05, limit=0.5)
    assert not capsys.readouterr().out


def test_a_larger_gap_warns_and_another_policy_stops(capsys):
    check_gap(0.06, 3, warning=0.05, limit=0.5)
    said = capsys.readouterr().out
    assert said.startswith("warning: step 3: the rollout engine's log-probabilities differ from the trainer's by 0.060")
    for gap in (0.51, math.inf, math.nan):
        with pytest.raises(OffPolicy, match=r"execution.logprob_gap_limit .* allows 0.5: the rollouts are not this"):
            check_gap(gap, 3, warning=0.05, limit=0.5)


def test_a_step_and_the_alarm_over_steps_have_one_bound():
    execution = yaml.safe_load((ROOT / "config/defaults.yaml").read_text())["execution"]
    assert execution["logprob_gap_warning"] == alarms.GAP < execution["logprob_gap_limit"]
