"""`rlvr new-estimator`: the files of an estimator of one's own, to be changed: its formula, its arm, its test."""

from __future__ import annotations

import re

import typer

from rlvr import estimators
from rlvr.commands.checkout import ConfigFolder, NewName, check_name, folder_of
from rlvr.commands.lines import fail
from rlvr.config.paths import Paths

MODULE = '''"""{label}: say here in one line what it does."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Tensor, _groups


def advantages(rewards_PG: Tensor, *, alpha: float = 1.0) -> Tensor:
    """{label} (paper, equation): A_i = (1 - mean r)^alpha (r_i - mean r).

    Rewards are one row per prompt, one column per rollout; the weight multiplies grad log pi of the whole response.
    Other inputs (log pi, lengths) are listed in `rlvr.estimators.INPUTS`: name one as a parameter, and it is given.
    """
    if alpha < 0:
        raise ValueError(f"alpha must not be negative: {{alpha}}")
    return _groups.centred(rewards_PG) * (1 - _groups.mean(rewards_PG)).clamp(min=0) ** alpha


def masses(p: Tensor, rollouts: int, *, alpha: float) -> tuple[Tensor, Tensor]:
    """m_S = m_F = p q^(1 + alpha)"""
    mass = p * (1 - p) ** (1 + alpha)
    return mass, mass


ESTIMATOR = EstimatorKind(advantages, masses)
'''
TEST = '''"""{label} by hand."""

import torch

from rlvr.estimators import Estimator


def test_{name}_by_hand():
    """One of four correct, alpha = 1: (1 - 1/4) (r - 1/4)."""
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    weights = Estimator("{name}", {{"alpha": 1.0}}).advantages(rewards, {{}}, {{}})
    torch.testing.assert_close(weights, torch.tensor([[9 / 16, -3 / 16, -3 / 16, -3 / 16]], dtype=torch.float64))
'''
ARM = "  {name}: {{label: {label}, settings: {{estimator: {{name: {name}}}}}}}\n"
ARMS = "\narms:\n"  # of config/papers/methods/paper.yaml


def new_estimator(name: NewName, config_folder: ConfigFolder = None) -> None:
    """Write an estimator of your own to start from: its file, its arm in config/papers/methods/paper.yaml, its test.

    The formula in it is an example that trains. Change it, and `snakemake league --config mine=NAME` ranks it.

    Example: rlvr new-estimator my_weight
    """
    root = folder_of(config_folder).parent
    module, test = root / f"src/rlvr/estimators/{name}.py", root / f"tests/estimators/test_{name}.py"
    methods = root / "config/papers/methods/paper.yaml"
    check_name(name)
    if name in estimators.names() or module.exists():
        fail(f"{name!r} exists already: {module}")
    if not methods.exists() or not module.parent.is_dir():
        fail(f"{root} is no checkout with the paper methods, or lacks src/rlvr/estimators")
    text = methods.read_text()
    if ARMS not in text or re.search(rf"^  {name}:", text, re.MULTILINE):
        fail(f"{methods} has no list of arms, or an arm {name!r} already")
    label, paths = name.replace("_", " "), Paths("results", "laptop")
    module.write_text(MODULE.format(name=name, label=label))
    test.write_text(TEST.format(name=name, label=label))
    methods.write_text(text.replace(ARMS, ARMS + ARM.format(name=name, label=label), 1))
    for path in (module, test, methods):
        typer.echo(path.relative_to(root))
    typer.echo(f"next: change the formula, run `pytest {test.relative_to(root)} tests/estimators`,")
    _, table, _ = paths.table("methods", "mine")
    typer.echo(f"then `snakemake league --config mine={name}`: it ends with the rank, from {table}")
    typer.echo(f"and {paths.page('mine')}")
