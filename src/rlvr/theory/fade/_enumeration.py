"""A small policy, and masses by enumeration: what several sections check with."""

from rlvr.estimators import Estimator, signature
from rlvr.theory._policy import LOGITS, RIGHT, by_successes, class_masses, scores

PI = LOGITS.softmax(0)
P = float(PI @ RIGHT)
SCORE_S = (PI * RIGHT) @ scores(PI) / P
SCORE_F = (PI * (1 - RIGHT)) @ scores(PI) / (1 - P)


def masses_of(name: str, rollouts: int = 16, state: dict[str, float] | None = None, **settings):
    """(p, m_S, m_F) of an estimator by enumeration, k = 0 to G successes."""
    rewards = by_successes(rollouts)
    weights = Estimator(name, {**signature(name).exact, **settings}).advantages(rewards, {}, state or {})
    return rewards.mean(1), *class_masses(weights, rewards)
