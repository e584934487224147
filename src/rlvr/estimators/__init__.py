"""Estimators: the weight that each rollout of a group gets in the policy gradient.

One module per estimator; its file name is its name in configuration and on the command line. It defines
`ESTIMATOR = EstimatorKind(advantages, masses, ...)` of these functions. Only the first is necessary:

    advantages(rewards_PG, *, <inputs it needs>, <settings with defaults>) -> advantages_PG
    masses(p, rollouts, *, <state with defaults>, <settings>) -> (m_S, m_F)    closed form for binary rewards
    controller(state, rewards_PG, *, <inputs it needs>, <settings>) -> state   a step's from the one before; {} at first
    objective(rewards_PG, *, <inputs and settings>) -> objective_P             where the weights need `logp_PG`
    needs(*, <settings>) -> names of inputs                                    where some settings need fewer
    figures(rewards_PG, *, <inputs and settings>) -> {name: number}            of a batch, for the rows of metrics

`advantages` is a pure function over P prompts and G rollouts each. Keyword arguments without default are what it needs
beside the rewards: those annotated `Tensor` are names of INPUTS, one number per rollout (`log_ratio_PG`, `lengths_PG`,
...), those annotated `float` are values of its controller's state. Keyword arguments with defaults are its settings,
and are written only there. `Base` and `Std` are the choices that several estimators share. `masses`, `objective`,
`needs` and `figures` are called with every setting: each names those that it uses, and takes the rest as `**_`.

Configuration is checked against these signatures, which needs no torch: modules take `torch`, `F` (torch.nn.functional)
and `Tensor` from here, as names that import it at their first use, and postpone annotations.

Masses are m_S = mean of A over the group where the rollout is correct, m_F = minus that where it is wrong, each
over all G rollouts, so that the expected update is m_S grad_S - m_F grad_F (FADE, Eq. 3).
"""

from rlvr.estimators._estimator import Estimator, base_masses, load, load_base
from rlvr.estimators._inputs import INPUTS, inputs_at_reference, inputs_of_step
from rlvr.estimators._kind import ESTIMATORS, Base, EstimatorKind, Setting, SettingError, Std, reduced, resolve
from rlvr.estimators._torch import F, Tensor, torch

kind, names = ESTIMATORS.load, ESTIMATORS.names

__all__ = ["ESTIMATORS", "INPUTS", "Base", "Estimator", "EstimatorKind", "F", "Setting", "SettingError", "Std"]
__all__ += ["Tensor", "base_masses", "inputs_at_reference", "inputs_of_step", "kind", "load", "load_base", "names"]
__all__ += ["reduced", "resolve", "torch"]
