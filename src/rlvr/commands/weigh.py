"""`rlvr weigh`: the weights that a method gives the rollouts of a training step."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlvr import estimators
from rlvr.commands.lines import Input, LineError, fail, number, parse, present, read
from rlvr.estimators import INPUTS, Estimator, SettingError
from rlvr.suggest import nearest, shown

if TYPE_CHECKING:
    from torch import Tensor

FIELDS = {field: entry for entry in INPUTS.values() for field in entry.fields if len(entry.fields) == 1}
KNOWN_FIELDS = ("step", "rewards", *FIELDS)
EPILOG = f"Fields: {'; '.join(f'{field}: {entry.meaning}' for field, entry in FIELDS.items())}."


@dataclass
class Line:
    """One line: a training step."""

    step: int
    rewards_PG: Tensor
    inputs: dict[str, Any]


def weigh(
    name: Annotated[str, typer.Argument(help="The method, as in `--list`.", show_default=False)] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method; may be repeated.")
    ] = None,
    group_mass: Annotated[bool, typer.Option("--group-mass", help="Add m_S and m_F of every group.")] = False,
    show: Annotated[bool, typer.Option("--list", help="List every method, its settings and its source.")] = False,
    file: Input = None,
) -> None:
    """Print the weight that a method gives each rollout, one JSON line per training step.

    In: {"step": 0, "rewards": [[...G...], ...P...], "logp": [[...]], "entropy": 0.8}, with the fields that `--list`
    names for the method; logp is log pi of the whole response, in nats. Out: {"step": 0, "weights": [[...]],
    "state": {...}}. The order of steps matters: some methods have a state.

    Example: rlvr weigh power_alpha --set alpha=2.0 --input steps.jsonl
    """
    if show:
        typer.echo("\n\n".join(describe(method) for method in estimators.names()))
        return
    try:
        estimator = Estimator(name, parse_settings(name, settings or []))
    except SettingError as error:
        fail(f"--set {error}")
    output, state = [], {}
    lines = read(file)
    if not lines:
        fail('no steps: expected lines like {"step": 0, "rewards": [[1, 0], [0, 0]]}')
    for place, line in lines:
        try:
            step = read_step(line, estimator, len(output))
            estimator.refuse_negative(step.rewards_PG)
            weights_PG, state = estimator.step(step.rewards_PG, step.inputs, state)
            _finite(weights_PG)
        except (ValueError, ArithmeticError) as error:
            fail(f"line {place}: {error}")
        row: dict[str, Any] = {"step": step.step, "weights": weights_PG.tolist(), "state": state}
        if group_mass:
            row |= masses(step.rewards_PG, weights_PG)
        output.append(json.dumps(row, allow_nan=False))
    for line in output:  # only after every line has been checked
        typer.echo(line)


def _finite(weights_PG: Tensor) -> None:
    bad = (~weights_PG.isfinite()).nonzero()
    if len(bad):
        p, g = bad[0].tolist()
        raise LineError(f"weights[{p}][{g}]", f"is {float(weights_PG[p, g])}: the input numbers are too large")


def masses(rewards_PG: Tensor, weights_PG: Tensor) -> dict[str, list[float]]:
    """m_S and m_F of each group: means over all its rollouts of A where correct, of -A where wrong (FADE, Eq. 3)."""
    right_PG = (rewards_PG > 0).to(weights_PG.dtype)
    return {
        "m_S": (weights_PG * right_PG).mean(dim=1).tolist(),
        "m_F": (0 - weights_PG * (1 - right_PG)).mean(dim=1).tolist(),
    }


def parse_settings(name: str, settings: list[str]) -> dict[str, Any]:
    """KEY=VALUE words in the types of the method's settings. Raises SettingError; exits for an unknown method."""
    if not name:
        fail("name a method; see `rlvr weigh --list`")
    if name not in estimators.names():
        fail(f"unknown method {name!r}{nearest(name, estimators.names())}")
    valid, parsed = estimators.kind(name).settings, {}
    for word in settings:
        key, equals, value = word.partition("=")
        if not equals:
            raise SettingError(word, "must be KEY=VALUE")
        if key not in valid:
            raise SettingError(key, f"{name} has no such setting{nearest(key, valid)}")
        if key in parsed:
            raise SettingError(key, "is given twice")
        parsed[key] = _typed(key, value, valid[key])
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


def read_step(line: str, estimator: Estimator, place: int) -> Line:
    """A line as float64 tensors. Raises LineError, which names the field."""
    import torch

    content = parse(line)
    step = content.get("step", place)
    if not isinstance(step, int) or isinstance(step, bool):
        raise LineError("step", f"must be an integer (got {shown(step)})")
    rewards = _matrix(content, "rewards", None)
    shape, needs = (len(rewards), len(rewards[0])), sorted(estimator.needs)
    values = {field: _value(content, field, shape) for field in _fields_of(needs)}
    inputs = {need: INPUTS[need].of_fields(*(values[field] for field in INPUTS[need].fields)) for need in needs}
    return Line(step, torch.tensor(rewards, dtype=torch.float64), inputs)


def _fields_of(needs: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(field for need in needs for field in INPUTS[need].fields))


def _value(content: dict[str, Any], field: str, shape: tuple[int, int]) -> Any:
    """A field as a number, or as a float64 tensor."""
    import torch

    if FIELDS[field].number:
        return number(present(content, field, KNOWN_FIELDS), field)
    rows = _matrix(content, field, shape)
    if FIELDS[field].positive and min(map(min, rows)) <= 0:
        raise LineError(field, "must be positive")
    return torch.tensor(rows, dtype=torch.float64)


def _matrix(content: dict[str, Any], field: str, shape: tuple[int, int] | None) -> list[list[float]]:
    rows = present(content, field, KNOWN_FIELDS)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        raise LineError(field, "must be a list of groups, each a list of numbers, none empty")
    prompts, width = shape or (len(rows), len(rows[0]))
    if len(rows) != prompts:
        raise LineError(field, f"has {len(rows)} groups, rewards have {prompts}")
    for p, row in enumerate(rows):
        if len(row) != width:
            raise LineError(f"{field}[{p}]", f"has {len(row)} rollouts, the first group of rewards has {width}")
    return [[number(value, f"{field}[{p}][{g}]") for g, value in enumerate(row)] for p, row in enumerate(rows)]


def describe(name: str) -> str:
    """A method in a few lines: its summary, inputs and settings."""
    kind = estimators.kind(name)
    needs = _fields_of((*kind.inputs, *kind.controller_inputs))
    lines = [f"{name}: {kind.summary}", f"  needs  {', '.join(['rewards', *needs])}"]
    for key, setting in kind.settings.items():
        default = json.dumps(setting.default).strip('"')
        others = f"  ({', '.join(map(str, setting.choices))})" if setting.choices else f"  {setting.kind.__name__}"
        lines.append(f"  --set  {key}={default}{others}")
    return "\n".join(lines)
