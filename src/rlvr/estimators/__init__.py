"""Estimators: the weight that each rollout of a group gets in the policy gradient.

One module per estimator; its file name is its name in configuration and on the command line. A module defines

    advantages(rewards_PG, *, <inputs it needs>, <settings with defaults>) -> advantages_PG

a pure function over P prompts and G rollouts each. Keyword arguments without default are what it needs beside
the rewards: those annotated `Tensor` are names of INPUTS, one number per rollout (`log_ratio_PG`, `lengths_PG`, ...),
those annotated `float` are values of its controller's state. Keyword arguments with defaults are its settings, and are
written here alone. `Base` and `Std` are the choices that several estimators share. A module may define

    controller(state, rewards_PG, *, <inputs it needs>, <settings>) -> state   a step's from the one before; {} at first
    masses(p, rollouts, *, <state with defaults>, <settings>) -> (m_S, m_F)    closed form for binary rewards
    objective(rewards_PG, *, <inputs and settings>) -> objective_P             where the weights need `logp_PG`
    needs(*, <settings>) -> names of inputs                                    where some settings need fewer

    RATE = True                   it takes a group's mean reward for its solve rate: `refuse_negative` forbids -1
    CRITIC = True                 a value model may be beside it: it weighs rewards as they are
    LATER = ("<setting>", ...)    settings that came after runs were made: in no identity while they have their default
    EXACT = {"<setting>": value}  settings at which papers state its closed form, if not {"epsilon": 0.0}
    BASE_WHERE = {"<setting>": value}   settings that make it its base estimator: configuration then names the base

`masses`, `objective` and `needs` are called with every setting: each names those that it uses, and takes the rest as
`**_`. The signatures are the only registry: configuration is checked against them without importing torch.

Masses are m_S = mean of A over the group where the rollout is correct, m_F = minus that where it is wrong, each
over all G rollouts, so that the expected update is m_S grad_S - m_F grad_F (FADE, Eq. 3).
"""

from rlvr.estimators._estimator import Estimator, base_masses, load, load_base
from rlvr.estimators._inputs import INPUTS, inputs_at_reference, inputs_of_step
from rlvr.estimators._registry import (
    Base,
    Setting,
    SettingError,
    Std,
    names,
    reduced,
    refuse_negative,
    resolve,
    signature,
)

__all__ = ["INPUTS", "Base", "Estimator", "Setting", "SettingError", "Std", "inputs_at_reference", "inputs_of_step"]
__all__ += ["base_masses", "load", "load_base", "names", "reduced", "refuse_negative", "resolve", "signature"]
