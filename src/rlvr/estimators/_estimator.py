"""An estimator with its settings, as trainers, commands, tables and the theory call it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from rlvr.estimators._kind import ESTIMATORS

if TYPE_CHECKING:
    from torch import Tensor

# Squares of larger numbers, times a setting, overflow, and a standard deviation that is infinite makes a weight 0.
LARGEST = {8: 1e120, 4: 1e15}  # by the bytes of a number


def load(name: str) -> Callable[..., Tensor]:
    """The function `advantages` of an estimator."""
    return ESTIMATORS.load(name).advantages


def load_base(name: str, **settings: Any) -> Callable[..., Tensor]:
    """A base estimator with those of `settings` that it has."""
    return partial(load(name), **ESTIMATORS.load(name).own(settings))


def base_masses(p: Any, rollouts: int, *, base: str, **settings: Any) -> tuple[Any, Any]:
    """The masses of a base estimator with those of `settings` that it has."""
    kind = ESTIMATORS.load(base)
    assert kind.masses, f"{base} has no closed form"
    return kind.masses(p, rollouts, **kind.own(settings))


class Estimator:
    """An estimator with its settings, and the state that it carries from step to step.

    `needs` are the names of INPUTS that a call takes beside the rewards. The state is a flat mapping of names to
    numbers (`{}` before the first step and for estimators without one), so that it is saved, restored and printed as it
    is. Raises KeyError for an unknown name, SettingError for a wrong setting, and in a call ValueError for numbers so
    large that weights would come out wrong (LARGEST).
    """

    def __init__(self, name: str, settings: Mapping[str, Any] | None = None):
        self.kind = ESTIMATORS.load(name)
        self.name, self.settings = name, self.kind.resolve(settings or {})
        main, steered = (_defaults(function) for function in (self.kind.advantages, self.kind.controller))
        self._main_settings = {key: value for key, value in self.settings.items() if key in main}
        self._controller_settings = {key: value for key, value in self.settings.items() if key in steered}
        chosen = self.kind.needs(**self.settings) if self.kind.needs else set(self.kind.inputs)
        self.needs = chosen | set(self.kind.controller_inputs)

    @classmethod
    def of_run(cls, estimator: Mapping[str, Any], steps: int) -> Self:
        """A run's estimator. Its setting `total_steps`, if it has one and leaves it open, is the run's steps."""
        settings = dict(estimator)
        made = cls(settings.pop("name"), settings)
        if made.settings.get("total_steps", steps) is None:
            return cls(made.name, {**settings, "total_steps": float(steps)})
        return made

    @property
    def coupled(self) -> bool:
        """Whether the weights are functions of the policy that is being updated, and must be taken anew each time."""
        return "logp_PG" in self.needs

    def advance(self, state: Mapping[str, float], rewards_PG, inputs: Mapping[str, Any]) -> dict[str, float]:
        """The state of this step from that of the one before."""
        if self.kind.controller is None:
            return {}
        own_inputs = {key: inputs[key] for key in self.kind.controller_inputs}
        _refuse_too_large({"rewards_PG": rewards_PG, **own_inputs})
        return self.kind.controller(dict(state), rewards_PG, **own_inputs, **self._controller_settings)

    def advantages(self, rewards_PG, inputs: Mapping[str, Any], state: Mapping[str, float]):
        """The weights (P, G) under a state."""
        own_inputs = {key: inputs[key] for key in self.kind.inputs if key in self.needs}
        _refuse_too_large({"rewards_PG": rewards_PG, **own_inputs})
        own_inputs |= {key: state[key] for key in self.kind.state}
        return self.kind.advantages(rewards_PG, **own_inputs, **self._main_settings)

    def objective(self, rewards_PG, inputs: Mapping[str, Any]) -> float:
        """The mean over prompts of a coupled estimator's own objective."""
        if self.kind.objective is None:
            raise TypeError(f"{self.name} has no objective of its own")
        own_inputs = {key: inputs[key] for key in self.kind.inputs if key in self.needs}
        return float(self.kind.objective(rewards_PG, **own_inputs, **self._main_settings).mean())

    def figures(self, rewards_PG, inputs: Mapping[str, Any]) -> dict[str, float | None]:
        """Numbers of a batch that show whether the mechanism acts; {} for estimators without any."""
        if self.kind.figures is None:
            return {}
        own_inputs = {key: inputs[key] for key in self.kind.inputs if key in self.needs}
        return self.kind.figures(rewards_PG, **own_inputs, **self._main_settings)

    def masses(self, p, rollouts: int, state: Mapping[str, float] | None = None) -> tuple[Any, Any]:
        """The closed form (m_S, m_F) at solve rates p of groups of G `rollouts`; without a state, at `shown_state`."""
        if self.kind.masses is None:
            raise TypeError(f"{self.name} has no closed form")
        state = self.shown_state if state is None else {key: state[key] for key in self.kind.state}
        return self.kind.masses(p, rollouts, **self.settings, **state)

    @property
    def shown_state(self) -> dict[str, float]:
        """The state at which tables show the masses: the defaults that `masses` has for it."""
        return _defaults(self.kind.masses)

    def refuse_negative(self, rewards_PG) -> None:
        """Raises ValueError where a mean reward is taken for a solve rate, and a reward is negative."""
        remedy = "give 0 and 1 in place of -1 and 1, and keep what a length penalty leaves at 0 or above"
        self.kind.refuse_negative(float(rewards_PG.min()), remedy)

    def step(self, rewards_PG, inputs: Mapping[str, Any], state: Mapping[str, float]):
        """One training step: its weights and its state."""
        state = self.advance(state, rewards_PG, inputs)
        return self.advantages(rewards_PG, inputs, state), state


def _defaults(function: Callable[..., Any] | None) -> dict[str, Any]:
    """The keyword arguments of a function that have defaults, with these."""
    return dict(getattr(function, "__kwdefaults__", None) or {})


def _refuse_too_large(numbers: Mapping[str, Any]) -> None:
    """Raises ValueError, naming what is larger than its precision can square. NaN passes: it is seen in the weights."""
    for name, value in numbers.items():
        largest = float(abs(value)) if isinstance(value, int | float) else float(value.abs().max())
        limit = LARGEST[8] if isinstance(value, int | float) else LARGEST.get(value.element_size(), math.inf)
        if largest > limit:
            raise ValueError(
                f"{name.removesuffix('_PG')}: the numbers given are too large ({largest:g}, over {limit:g})"
            )
