"""`rlvr weigh`: what a method does to the rollouts of a training step."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from rlvr import estimators
from rlvr.estimators import Estimator, SettingError, nearest

if TYPE_CHECKING:
    from torch import Tensor

# A line's fields and what they become; log_ratio is made of two.
TENSORS = {
    "lengths": "lengths_PG",
    "logp": "logp_PG",
    "logp_ref": "logp_ref_PG",
    "logp_old": "logp_old_PG",
}
FIELDS_OF = {
    **{value: (key,) for key, value in TENSORS.items()},
    "log_ratio_PG": ("logp", "logp_ref"),
    "entropy": ("entropy",),
}


class LineError(ValueError):
    """What is wrong with a field of a line; `field` is empty where it is the line as a whole."""

    def __init__(self, field: str, message: str):
        super().__init__(f"{field}: {message}" if field else message)


@dataclass
class Step:
    """A line: one training step."""

    step: int
    rewards_PG: Tensor
    given: dict[str, Any]


def weigh(
    name: Annotated[str, typer.Argument(help="The method, as in `--list`.", show_default=False)] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method; may be repeated.")
    ] = None,
    group_mass: Annotated[bool, typer.Option("--group-mass", help="Add m_S and m_F of every group.")] = False,
    show: Annotated[bool, typer.Option("--list", help="Show every method, its settings and its source.")] = False,
    file: Annotated[Path | None, typer.Option("--input", help="Read this file, not standard input.")] = None,
) -> None:
    """Print the weight that a method gives each rollout, a JSON line a training step.

    In: {"step": 0, "rewards": [[...G...], ...P...], "lengths": [[...]], "logp": [[...]], "logp_ref": [[...]],
    "logp_old": [[...]], "entropy": 0.8}. Only what the method needs must be there; logp is log pi of the whole
    response, in nats. Out: {"step": 0, "weights": [[...]], "state": {...}}. Steps are taken in order, since some
    methods carry a state.
    """
    if show:
        typer.echo("\n\n".join(describe(one) for one in estimators.names()))
        return
    try:
        estimator = Estimator(name, parse_settings(name, settings or []))
    except SettingError as error:
        _fail(f"--set {error}")
    lines = (file.read_text() if file else sys.stdin.read()).splitlines()
    written, state = [], {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            step = read_step(line, estimator, len(written))
            weights_PG, state = estimator.step(step.rewards_PG, step.given, state)
        except ValueError as error:
            _fail(f"line {number}: {error}")
        made: dict[str, Any] = {"step": step.step, "weights": weights_PG.tolist(), "state": state}
        if group_mass:
            made |= masses(step.rewards_PG, weights_PG)
        written.append(json.dumps(made, allow_nan=False))
    for line in written:  # only once every line is known to be good
        typer.echo(line)


def masses(rewards_PG: Tensor, weights_PG: Tensor) -> dict[str, list[float]]:
    """m_S and m_F of each group: means over all its rollouts of A where correct, of -A where wrong (FADE, Eq. 3)."""
    right_PG = (rewards_PG > 0.5).to(weights_PG.dtype)
    return {
        "m_S": (weights_PG * right_PG).mean(dim=1).tolist(),
        "m_F": (0 - weights_PG * (1 - right_PG)).mean(dim=1).tolist(),
    }


def parse_settings(name: str, settings: list[str]) -> dict[str, Any]:
    """KEY=VALUE words in the types of the method's settings. Raises SettingError; exits for an unknown method."""
    if name not in estimators.names():
        _fail(f"unknown method {name!r}{nearest(name, estimators.names())}" if name else "name a method; see --list")
    known, parsed = estimators.signature(name).settings, {}
    for word in settings:
        key, equals, value = word.partition("=")
        if not equals:
            raise SettingError(word, "must be KEY=VALUE")
        if key not in known:
            raise SettingError(key, f"{name} has no such setting{nearest(key, known)}")
        if key in parsed:
            raise SettingError(key, "is given twice")
        parsed[key] = _typed(key, value, known[key])
    return parsed


def _typed(key: str, value: str, setting: estimators.Setting) -> Any:
    if setting.optional and value in ("null", "none"):
        return None
    if setting.kind is bool and value in ("true", "false"):
        return value == "true"
    if setting.kind in (int, float):
        try:
            number = setting.kind(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise SettingError(key, f"must be a finite number of type {setting.kind.__name__} (got {value!r})")
        return number
    return setting.check(key, value)


def read_step(line: str, estimator: Estimator, place: int) -> Step:
    """A line as tensors in float64. Raises LineError, naming the field."""
    import torch

    try:
        content = json.loads(line)
    except json.JSONDecodeError as error:
        raise LineError("", f"not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise LineError("", "must be a JSON object")
    step = content.get("step", place)
    if not isinstance(step, int) or isinstance(step, bool):
        raise LineError("step", f"must be an integer (got {step!r})")
    fields = list(dict.fromkeys(field for need in sorted(estimator.needs) for field in FIELDS_OF[need]))
    rewards = _matrix(content, "rewards", None)
    shape, given = (len(rewards), len(rewards[0])), {}
    for field in fields:
        if field == "entropy":
            given["entropy"] = _number(_present(content, field), field)
            continue
        rows = _matrix(content, field, shape)
        if field == "lengths" and min(map(min, rows)) <= 0:
            raise LineError(field, "must be positive")
        given[TENSORS[field]] = torch.tensor(rows, dtype=torch.float64)
    if "log_ratio_PG" in estimator.needs:
        given["log_ratio_PG"] = given["logp_PG"] - given["logp_ref_PG"]
    return Step(step, torch.tensor(rewards, dtype=torch.float64), given)


def _present(content: dict[str, Any], field: str) -> Any:
    if field not in content:
        others = [key for key in content if key not in (*TENSORS, "rewards", "entropy", "step")]
        close = nearest(field, others) if others else ""
        raise LineError(field, "is missing" + (close if close.startswith("; did") else ""))
    return content[field]


def _matrix(content: dict[str, Any], field: str, shape: tuple[int, int] | None) -> list[list[float]]:
    rows = _present(content, field)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        raise LineError(field, "must be a list of groups, each a list of numbers, none empty")
    prompts, width = shape or (len(rows), len(rows[0]))
    if len(rows) != prompts:
        raise LineError(field, f"has {len(rows)} groups, rewards have {prompts}")
    for p, row in enumerate(rows):
        if len(row) != width:
            raise LineError(f"{field}[{p}]", f"has {len(row)} rollouts, the first group of rewards has {width}")
        for g, value in enumerate(row):
            _number(value, f"{field}[{p}][{g}]")
    return rows


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise LineError(place, f"must be a finite number (got {value!r})")
    return float(value)


def describe(name: str) -> str:
    """A method in a few lines: what it is, what it needs, its settings."""
    signature = estimators.signature(name)
    needs = dict.fromkeys(f for need in (*signature.needs, *signature.controller_needs) for f in FIELDS_OF[need])
    lines = [f"{name}: {signature.summary}", f"  needs  {', '.join(['rewards', *needs])}"]
    for key, setting in signature.settings.items():
        default = json.dumps(setting.default).strip('"')
        others = f"  ({', '.join(map(str, setting.choices))})" if setting.choices else f"  {setting.kind.__name__}"
        lines.append(f"  --set  {key}={default}{others}")
    return "\n".join(lines)


def _fail(message: str) -> NoReturn:
    typer.echo(f"rlvr weigh: {message}", err=True)
    raise typer.Exit(2)
