"""Estimators: the weight that each rollout of a group gets in the policy gradient.

One module an estimator; its file name is its name in configuration and on the command line. A module defines

    advantages(rewards_PG, *, <what it needs>, <settings with defaults>) -> advantages_PG

a pure function over P prompts and G rollouts each. Keyword arguments without default are what it needs beside
the rewards: those annotated `Tensor` are one number a rollout (`log_ratio_PG`, `lengths_PG`, ...), those annotated
`float` are values of its controller's state. Keyword arguments with defaults are its settings. A module may define

    controller(state, rewards_PG, *, <what it needs>, <settings>) -> state   a step's from the one before; {} at first
    masses(p, groups, *, <settings>) -> (m_S, m_F)                           closed form for binary rewards
    objective(rewards_PG, *, <as advantages>) -> objective_P                 where the weights need `logp_PG`
    needs(*, <settings>) -> names of tensors                                 where some settings need fewer
    CRITIC = True                 a value model may stand beside it: it weighs rewards as they are
    LATER = ("<setting>", ...)    settings that came after runs were made: in no identity while they have their default

The signatures are the only registry: configuration is checked against them without importing torch.

Masses are m_S = mean of A over the group where the rollout is correct, m_F = minus that where it is wrong, each
over all G rollouts, so that the expected update is m_S grad_S - m_F grad_F (FADE, Eq. 3).
"""

from __future__ import annotations

import ast
import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_KINDS: dict[str, type] = {"float": float, "int": int, "bool": bool, "str": str}

# Squares of larger numbers, times a setting, overflow, and a standard deviation that is infinite makes a weight 0.
LARGEST = {8: 1e120, 4: 1e15}  # by the bytes of a number
LARGEST_SETTING = 1e15


class SettingError(ValueError):
    """A setting that an estimator does not have, or not with this value."""

    def __init__(self, key: str, message: str):
        super().__init__(f"{key}: {message}")
        self.key, self.message = key, message


@dataclass(frozen=True)
class Setting:
    """A keyword-only knob: its default, its type, whether it may be null, and its choices if it is a Literal."""

    default: Any
    kind: type
    optional: bool
    choices: tuple[Any, ...] | None

    def check(self, key: str, value: Any) -> Any:
        """The value in the setting's type. Raises SettingError."""
        if self.choices is not None and value not in self.choices:
            raise SettingError(key, f"{value!r} is not one of its values{nearest(value, self.choices)}")
        if value is None and self.optional:
            return None
        if self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if not isinstance(value, self.kind) or (self.kind is not bool and isinstance(value, bool)):
            raise SettingError(key, f"must be of type {self.kind.__name__} (got {value!r})")
        if isinstance(value, float) and not abs(value) <= LARGEST_SETTING:
            raise SettingError(key, f"must be finite, at most {LARGEST_SETTING:g} in size (got {value!r})")
        return value


@dataclass(frozen=True)
class Signature:
    """What an estimator takes: tensors and state values it needs, its settings, and what it is in a line."""

    needs: tuple[str, ...]
    state: tuple[str, ...]
    controller_needs: tuple[str, ...]
    settings: dict[str, Setting]
    controlled: bool
    later: tuple[str, ...]
    critic: bool
    summary: str

    @property
    def source(self) -> str:
        """Paper and place, from the summary's first parentheses."""
        return self.summary.partition("(")[2].partition(")")[0]


@cache
def names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.py") if not path.stem.startswith("_")))


def nearest(wrong: Any, valid: Any) -> str:
    """`; did you mean 'x'?` where a name is close, else the valid names."""
    valid = sorted(map(str, valid))
    close = get_close_matches(str(wrong), valid, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(valid) or 'none'}"


@cache
def signature(name: str) -> Signature:
    """What an estimator takes, read from its source. Raises KeyError for an unknown name."""
    if name not in names():
        raise KeyError(name)
    tree = ast.parse((_FOLDER / f"{name}.py").read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    main, controller = functions["advantages"], functions.get("controller")
    settings = {**_settings(main), **(_settings(controller) if controller else {})}
    summary = " ".join((ast.get_docstring(main) or "").partition("\n\n")[0].split())
    return Signature(
        tuple(_needs(main, "Tensor")) + _optional_tensors(main),
        tuple(_needs(main, "float")),
        tuple(_needs(controller, "Tensor") + _needs(controller, "float")) if controller else (),
        settings,
        controller is not None,
        _constant(tree, "LATER", ()),
        _constant(tree, "CRITIC", False),
        summary,
    )


def _arguments(function: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr | None]]:
    return list(zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True))


def _needs(function: ast.FunctionDef, annotation: str) -> list[str]:
    return [
        argument.arg
        for argument, default in _arguments(function)
        if default is None and _written(argument) == annotation
    ]


def _optional_tensors(function: ast.FunctionDef) -> tuple[str, ...]:
    """Tensors that some settings do without; the module's `needs` says which."""
    return tuple(a.arg for a, _ in _arguments(function) if _written(a) == "Tensor | None")


def _constant(tree: ast.Module, name: str, default: Any) -> Any:
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    return next((ast.literal_eval(node.value) for node in assigned if ast.unparse(node.targets[0]) == name), default)


def _written(argument: ast.arg) -> str:
    return ast.unparse(argument.annotation) if argument.annotation else ""


def _settings(function: ast.FunctionDef) -> dict[str, Setting]:
    found = {}
    for argument, default in _arguments(function):
        if default is not None and _written(argument) != "Tensor | None":
            value, written = ast.literal_eval(default), _written(argument)
            choices = _choices(argument.annotation)
            kind = type(choices[0]) if choices else _KINDS.get(written.partition(" |")[0], type(value))
            found[argument.arg] = Setting(value, kind, written.endswith("| None"), choices)
    return found


def _choices(annotation: ast.expr | None) -> tuple[Any, ...] | None:
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Literal":
        inner = annotation.slice
        return tuple(ast.literal_eval(e) for e in (inner.elts if isinstance(inner, ast.Tuple) else [inner]))
    return None


def resolve(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of an estimator, defaults filled in. Raises SettingError for one that it does not have."""
    known = signature(name).settings
    for key in settings:
        if key not in known:
            raise SettingError(key, f"{name} has no such setting{nearest(key, known)}")
    return {key: setting.check(key, settings.get(key, setting.default)) for key, setting in known.items()}


def load(name: str) -> Callable[..., Any]:
    return importlib.import_module(f"rlvr.estimators.{name}").advantages


def load_base(name: str, **settings: Any) -> Callable[..., Any]:
    """A base estimator with those of `settings` that it has."""
    known = signature(name).settings
    own = {key: value for key, value in settings.items() if key in known}
    function = load(name)
    return lambda rewards_PG, **tensors: function(rewards_PG, **tensors, **own)


def base_masses(name: str, p: Any, groups: int, **settings: Any) -> tuple[Any, Any]:
    """The masses of a base estimator with those of `settings` that it has."""
    known = signature(name).settings
    own = {key: value for key, value in settings.items() if key in known}
    return importlib.import_module(f"rlvr.estimators.{name}").masses(p, groups, **own)


def masses(name: str) -> Callable[..., Any] | None:
    """The closed form of an estimator's masses, if it has one; the docstring's first line is the formula."""
    return getattr(importlib.import_module(f"rlvr.estimators.{name}"), "masses", None)


class Estimator:
    """An estimator with its settings, and the state that it carries from step to step.

    `needs` names what a call must be given beside the rewards: tensors (P, G), and `entropy`, a number. The state
    is a flat mapping of names to numbers (`{}` before the first step and for estimators without one), so that it
    is saved, restored and printed as it is. Raises KeyError for an unknown name, SettingError for a wrong setting, and
    in a call ValueError for numbers so large that weights would come out wrong (LARGEST).
    """

    def __init__(self, name: str, settings: Mapping[str, Any] | None = None):
        self.name, self.settings = name, resolve(name, settings or {})
        self.signature = signature(name)
        module = importlib.import_module(f"rlvr.estimators.{name}")
        self._advantages, self._controller = module.advantages, getattr(module, "controller", None)
        self._objective = getattr(module, "objective", None)
        main, steered = module.advantages.__kwdefaults__ or {}, getattr(self._controller, "__kwdefaults__", None) or {}
        self._main_settings = {key: value for key, value in self.settings.items() if key in main}
        self._controller_settings = {key: value for key, value in self.settings.items() if key in steered}
        chosen = module.needs(**self.settings) if hasattr(module, "needs") else set(self.signature.needs)
        self.needs = chosen | set(self.signature.controller_needs)

    @property
    def coupled(self) -> bool:
        """Whether the weights are functions of the policy that is being updated, and must be taken anew each time."""
        return "logp_PG" in self.needs

    def advance(self, state: Mapping[str, float], rewards_PG, given: Mapping[str, Any]) -> dict[str, float]:
        """The state of this step from that of the one before."""
        if self._controller is None:
            return {}
        inputs = {key: given[key] for key in self.signature.controller_needs}
        _refuse_too_large({"rewards_PG": rewards_PG, **inputs})
        return self._controller(dict(state), rewards_PG, **inputs, **self._controller_settings)

    def advantages(self, rewards_PG, given: Mapping[str, Any], state: Mapping[str, float]):
        """The weights (P, G) under a state."""
        inputs = {key: given[key] for key in self.signature.needs if key in self.needs}
        _refuse_too_large({"rewards_PG": rewards_PG, **inputs})
        inputs |= {key: state[key] for key in self.signature.state}
        return self._advantages(rewards_PG, **inputs, **self._main_settings)

    def objective(self, rewards_PG, given: Mapping[str, Any]) -> float:
        """The mean over prompts of a coupled estimator's own objective."""
        if self._objective is None:
            raise TypeError(f"{self.name} has no objective of its own")
        inputs = {key: given[key] for key in self.signature.needs}
        return float(self._objective(rewards_PG, **inputs, **self._main_settings).mean())

    def step(self, rewards_PG, given: Mapping[str, Any], state: Mapping[str, float]):
        """One training step: its weights and its state."""
        state = self.advance(state, rewards_PG, given)
        return self.advantages(rewards_PG, given, state), state


def _refuse_too_large(numbers: Mapping[str, Any]) -> None:
    """Raises ValueError, naming what is larger than its precision can square. NaN passes: it is seen in the weights."""
    for name, value in numbers.items():
        largest = float(abs(value)) if isinstance(value, int | float) else float(value.abs().max())
        limit = LARGEST[8] if isinstance(value, int | float) else LARGEST.get(value.element_size(), math.inf)
        if largest > limit:
            raise ValueError(
                f"{name.removesuffix('_PG')}: the numbers given are too large ({largest:g}, over {limit:g})"
            )
