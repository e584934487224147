"""Estimators' names, inputs and settings, read from their sources: checking a configuration imports no torch."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from rlvr.words import nearest

_FOLDER = Path(__file__).parent
_KINDS: dict[str, type] = {"float": float, "int": int, "bool": bool, "str": str}
Base = Literal["grpo", "dr_grpo", "rloo"]  # estimators that others build on
Std = Literal["biased", "unbiased"]  # over G, or over G - 1
_CHOICES = {"Base": get_args(Base), "Std": get_args(Std)}
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
class Signature:
    """An estimator's inputs, state and settings. `formula` is the closed form of its masses, empty if it has none."""

    needs: tuple[str, ...]
    state: tuple[str, ...]
    controller_needs: tuple[str, ...]
    settings: dict[str, Setting]
    controlled: bool
    summary: str
    formula: str
    later: tuple[str, ...]
    exact: dict[str, Any]
    base_where: dict[str, Any]
    critic: bool
    rate: bool

    @property
    def source(self) -> str:
        """Paper and place, from the summary's first parentheses."""
        return self.summary.partition("(")[2].partition(")")[0]


@cache
def names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.py") if not path.stem.startswith("_")))


@cache
def signature(name: str) -> Signature:
    """The signature in an estimator's source. Raises KeyError for an unknown name."""
    if name not in names():
        raise KeyError(name)
    tree = ast.parse((_FOLDER / f"{name}.py").read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    main, controller = functions["advantages"], functions.get("controller")
    settings = {**_settings(main), **(_settings(controller) if controller else {})}
    return Signature(
        needs=tuple(_needs(main, "Tensor")) + _optional_tensors(main),
        state=tuple(_needs(main, "float")),
        controller_needs=tuple(_needs(controller, "Tensor") + _needs(controller, "float")) if controller else (),
        settings=settings,
        controlled=controller is not None,
        summary=_first_paragraph(main),
        formula=_first_paragraph(functions["masses"]) if "masses" in functions else "",
        later=_assigned(tree, "LATER", ()),
        exact=_assigned(tree, "EXACT", {"epsilon": 0.0} if "epsilon" in settings else {}),
        base_where=_assigned(tree, "BASE_WHERE", {}),
        critic=_assigned(tree, "CRITIC", False),
        rate=_assigned(tree, "RATE", False),
    )


def _first_paragraph(function: ast.FunctionDef) -> str:
    return " ".join((ast.get_docstring(function) or "").partition("\n\n")[0].split())


def _arguments(function: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr | None]]:
    return list(zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True))


def _needs(function: ast.FunctionDef, annotation: str) -> list[str]:
    return [a.arg for a, default in _arguments(function) if default is None and _annotation(a) == annotation]


def _optional_tensors(function: ast.FunctionDef) -> tuple[str, ...]:
    """Tensors that only some settings need, according to the module's `needs`."""
    return tuple(a.arg for a, _ in _arguments(function) if _annotation(a) == "Tensor | None")


def _assigned(tree: ast.Module, name: str, default: Any) -> Any:
    """The literal that a module assigns to a name."""
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    return next((ast.literal_eval(node.value) for node in assigned if ast.unparse(node.targets[0]) == name), default)


def _annotation(argument: ast.arg) -> str:
    return ast.unparse(argument.annotation) if argument.annotation else ""


def _settings(function: ast.FunctionDef) -> dict[str, Setting]:
    settings = {}
    for argument, default in _arguments(function):
        if default is not None and _annotation(argument) != "Tensor | None":
            value, annotation = ast.literal_eval(default), _annotation(argument)
            choices = _choices(argument.annotation)
            kind = type(choices[0]) if choices else _KINDS.get(annotation.partition(" |")[0], type(value))
            settings[argument.arg] = Setting(value, kind, annotation.endswith("| None"), choices)
    return settings


def _choices(annotation: ast.expr | None) -> tuple[Any, ...] | None:
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Literal":
        inner = annotation.slice
        return tuple(ast.literal_eval(e) for e in (inner.elts if isinstance(inner, ast.Tuple) else [inner]))
    return _CHOICES.get(ast.unparse(annotation)) if annotation else None


def resolve(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of an estimator, with defaults. Raises SettingError for an unknown setting or a wrong value."""
    defined = signature(name).settings
    for key in settings:
        if key not in defined:
            raise SettingError(key, f"{name} has no such setting{nearest(key, defined)}")
    return {key: setting.check(key, settings.get(key, setting.default)) for key, setting in defined.items()}


def refuse_negative(name: str, least: float, remedy: str) -> None:
    """Raises ValueError where a method takes a group's mean reward for its solve rate (RATE), and one is negative."""
    if least < 0 and signature(name).rate:
        raise ValueError(f"{name} takes a group's mean reward for its solve rate, and a reward is {least:g}: {remedy}")


def reduced(name: str, settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and settings of an estimator, or of its base where the settings reduce it to that (`BASE_WHERE`)."""
    where = signature(name).base_where
    if not where or any(settings[key] != value for key, value in where.items()):
        return name, dict(settings)
    return settings["base"], own(settings["base"], settings)


def own(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The subset of `settings` that an estimator has."""
    return {key: settings[key] for key in signature(name).settings if key in settings}
