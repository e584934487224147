"""The verdicts on its statements. A change of one is a change of what we say about the paper: it is made here too."""

from support.ledger import verdicts

CONDITIONAL = """
chen constant_weights_groups constant_weights_stale constant_weights_tokens delta_and_rank enrichment
fade_masses failure_modes median mix mode_variance projection resampling
"""
FAILS = """
advantage_ratio entropy_change ha_dw log_mean_exp log_mean_exp_limits mean_advantage moving_average
quantile_rule softmax_limits uncorrelated_residuals update_quality
"""


def test_the_verdicts_are_these():
    found = verdicts("fade")
    assert (found["holds under a condition"], found["fails"]) == (set(CONDITIONAL.split()), set(FAILS.split()))
    assert len(found["holds"]) >= 3
