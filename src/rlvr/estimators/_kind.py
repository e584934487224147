"""What an estimator is made of. Its settings and inputs are the parameters of its functions; nothing repeats them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from rlvr.registry import Registry
from rlvr.suggest import nearest

if TYPE_CHECKING:
    from torch import Tensor

Base = Literal["grpo", "dr_grpo", "rloo"]  # estimators that others build on
Std = Literal["biased", "unbiased"]  # over G, or over G - 1
LARGEST_SETTING = 1e15


class SettingError(ValueError):
    """An unknown setting of an estimator, or a wrong value of one."""

    def __init__(self, key: str, message: str):
        super().__init__(f"{key}: {message}")
        self.key, self.message = key, message


@dataclass(frozen=True)
class Setting:
    """A keyword argument with a default; `optional` if it may be null, with `choices` if it is a Literal."""

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
class EstimatorKind:
    """An estimator: its functions, as `rlvr.estimators` describes them, and what holds for it.

    `rate`: it takes a group's mean reward for its solve rate, so a reward of -1 is refused. `critic`: it weighs rewards
    as they are, so a value model may be beside it. `later`: settings that came after runs were made; in no identity
    while they have their default. `exact`: settings for which the paper gives the closed form, if not {"epsilon": 0.0}.
    `base_where`: settings that make it its base estimator; configuration then names the base. `figures`:
    numbers of a batch that show whether its mechanism acts, for the rows of metrics.
    """

    advantages: Callable[..., Tensor]
    masses: Callable[..., tuple[Tensor, Tensor]] | None = None
    controller: Callable[..., dict[str, float]] | None = None
    objective: Callable[..., Tensor] | None = None
    needs: Callable[..., set[str]] | None = None
    figures: Callable[..., dict[str, float | None]] | None = None
    rate: bool = False
    critic: bool = False
    later: tuple[str, ...] = ()
    exact: Mapping[str, Any] | None = None
    base_where: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of INPUTS that some settings need."""
        return tuple(name for name, annotation, _ in _parameters(self.advantages) if annotation.startswith("Tensor"))

    @cached_property
    def state(self) -> tuple[str, ...]:
        """The values of the controller's state that the weights depend on."""
        parameters = _parameters(self.advantages)
        return tuple(name for name, annotation, setting in parameters if setting is None and annotation == "float")

    @cached_property
    def controller_inputs(self) -> tuple[str, ...]:
        """The names of INPUTS that the controller needs."""
        return tuple(name for name, _, setting in _parameters(self.controller) if setting is None)

    @cached_property
    def settings(self) -> dict[str, Setting]:
        parameters = [*_parameters(self.advantages), *_parameters(self.controller)]
        return {name: setting for name, _, setting in parameters if setting is not None}

    @property
    def exact_settings(self) -> dict[str, Any]:
        """The settings for which the paper gives the closed form."""
        if self.exact is None:
            return {"epsilon": 0.0} if "epsilon" in self.settings else {}
        return dict(self.exact)

    @property
    def name(self) -> str:
        return self.advantages.__module__.rpartition(".")[2]

    @property
    def summary(self) -> str:
        return _first_paragraph(self.advantages)

    @property
    def formula(self) -> str:
        """The closed form of its masses, empty if it has none."""
        return _first_paragraph(self.masses) if self.masses else ""

    @property
    def source(self) -> str:
        """Paper and place, from the summary's first parentheses."""
        return self.summary.partition("(")[2].partition(")")[0]

    def own(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The subset of `settings` that it has."""
        return {key: settings[key] for key in self.settings if key in settings}

    def resolve(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """All its settings, with defaults. Raises SettingError for an unknown setting or a wrong value."""
        for key in settings:
            if key not in self.settings:
                raise SettingError(key, f"{self.name} has no such setting{nearest(key, self.settings)}")
        return {key: setting.check(key, settings.get(key, setting.default)) for key, setting in self.settings.items()}

    def refuse_negative(self, least: float, remedy: str) -> None:
        """Raises ValueError where it takes a group's mean reward for its solve rate, and a reward is negative."""
        if least < 0 and self.rate:
            raise ValueError(
                f"{self.name} takes a group's mean reward for its solve rate, and a reward is {least:g}: {remedy}"
            )


ESTIMATORS = Registry[EstimatorKind]("estimators", "ESTIMATOR")


def resolve(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of an estimator, with defaults. Raises KeyError for an unknown name, SettingError as `Setting`."""
    return ESTIMATORS.load(name).resolve(settings)


def reduced(name: str, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and settings of an estimator, or of its base where the settings reduce it to that (`base_where`)."""
    where = ESTIMATORS.load(name).base_where
    if not where or any(settings[key] != value for key, value in where.items()):
        return name, dict(settings)
    return settings["base"], ESTIMATORS.load(settings["base"]).own(settings)


def _first_paragraph(function: Callable[..., Any]) -> str:
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())


def _parameters(function: Callable[..., Any] | None) -> list[tuple[str, str, Setting | None]]:
    """Each keyword argument's name, annotation, and the setting that it is: None for an input and for a state."""
    if function is None:
        return []
    arguments = [a for a in inspect.signature(function).parameters.values() if a.kind is a.KEYWORD_ONLY]
    return [(a.name, _annotation(a), _setting(a, vars(inspect.getmodule(function)))) for a in arguments]


def _annotation(argument: inspect.Parameter) -> str:
    """The annotation as text, which it is where a module postpones annotations."""
    given = argument.annotation
    text = given if isinstance(given, str) else inspect.formatannotation(given)
    return text.removeprefix("torch.")


def _setting(argument: inspect.Parameter, namespace: dict[str, Any]) -> Setting | None:
    if argument.default is argument.empty or _annotation(argument) == "Tensor | None":
        return None
    given = argument.annotation
    annotation = eval(given, namespace) if isinstance(given, str) else given
    if get_origin(annotation) is Literal:
        choices = get_args(annotation)
        return Setting(argument.default, type(choices[0]), False, choices)
    if isinstance(annotation, UnionType):
        return Setting(argument.default, get_args(annotation)[0], type(None) in get_args(annotation), None)
    kind = type(argument.default) if annotation is argument.empty else annotation
    return Setting(argument.default, kind, False, None)
