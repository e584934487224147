"""Estimators: the weight that each rollout of a group gets in the policy gradient.

One module an estimator; its file name is its name in configuration. A module defines

    advantages(rewards_PG, *, <tensors it needs>, <settings with defaults>) -> advantages_PG

a pure function over P prompts and G rollouts each. Keyword arguments annotated `Tensor` are what it needs
beside the rewards (`log_ratio_PG`, `lengths_PG`); keyword arguments with defaults are its settings. The
signature is the only registry: configuration is checked against it without importing torch.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Setting:
    """A keyword-only knob: its default, and its choices where the annotation is a Literal."""

    default: Any
    kind: type
    choices: tuple[Any, ...] | None


@dataclass(frozen=True)
class Signature:
    needs: tuple[str, ...]
    settings: dict[str, Setting]


def names() -> list[str]:
    return sorted(path.stem for path in _FOLDER.glob("*.py") if path.stem != "__init__")


@cache
def signature(name: str) -> Signature:
    """What `advantages` of an estimator takes, read from its source. Raises KeyError for an unknown name."""
    if name not in names():
        raise KeyError(name)
    tree = ast.parse((_FOLDER / f"{name}.py").read_text())
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "advantages")
    needs, settings = [], {}
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is None:
            needs.append(argument.arg)
        else:
            value = ast.literal_eval(default)
            settings[argument.arg] = Setting(value, type(value), _choices(argument.annotation))
    return Signature(tuple(needs), settings)


def _choices(annotation: ast.expr | None) -> tuple[Any, ...] | None:
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, ast.Name):
        if annotation.value.id != "Literal":
            return None
        inner = annotation.slice
        return tuple(ast.literal_eval(e) for e in (inner.elts if isinstance(inner, ast.Tuple) else [inner]))
    return None


def needs(name: str, settings: dict[str, Any]) -> set[str]:
    """The tensors that an estimator needs, its base estimator's included."""
    wanted = set(signature(name).needs)
    base = {**{k: s.default for k, s in signature(name).settings.items()}, **settings}.get("base")
    return wanted | (set(signature(base).needs) if base else set())


def load(name: str) -> Callable[..., Any]:
    return importlib.import_module(f"rlvr.estimators.{name}").advantages


def load_base(name: str, **settings: Any) -> Callable[..., Any]:
    """A base estimator with those of `settings` that it has."""
    known = signature(name).settings
    own = {key: value for key, value in settings.items() if key in known}
    function = load(name)
    return lambda rewards_PG, **tensors: function(rewards_PG, **tensors, **own)
