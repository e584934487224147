"""`rlvr`: commands for other people's data, one file per command. Lines in, lines out."""

from typing import Annotated

import typer

import rlvr
from rlvr.commands import data, models, state
from rlvr.commands.compare import compare
from rlvr.commands.consistency import consistency
from rlvr.commands.diversity import diversity
from rlvr.commands.entry import Commands
from rlvr.commands.evaluate import evaluate
from rlvr.commands.export import export
from rlvr.commands.grade import grade
from rlvr.commands.new_estimator import new_estimator
from rlvr.commands.new_paper import new_paper
from rlvr.commands.passk import passk
from rlvr.commands.plan import plan
from rlvr.commands.power import power
from rlvr.commands.recompute import recompute
from rlvr.commands.show import show
from rlvr.commands.train import train
from rlvr.commands.verl_config import verl_config
from rlvr.commands.watch import watch
from rlvr.commands.weigh import EPILOG, weigh

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Policy weights, evaluation, grading, data sets, costs. The workflow runs by snakemake.",
    epilog="Each command's help has an example: rlvr passk --help. `rlvr --install-completion` has the shell complete "
    "commands and options.",
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(rlvr.__version__)
        raise typer.Exit()


@app.callback()
def _rlvr(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


OF_PROJECT = "Results and plans of this project"
GROUPS = {  # as the help shows them
    "A model and problems of yours": (train, evaluate),
    "Files of yours: weights, verdicts, scores": (weigh, grade, passk, diversity, consistency, power),
    "Runs: now, their rollouts, their differences": (watch, show, compare),
    "A method or a paper of yours": (new_estimator, new_paper),
    OF_PROJECT: (plan, recompute, export, verl_config),
}
for group, commands in GROUPS.items():
    for command in commands:
        app.command(epilog=EPILOG if command is weigh else None, rich_help_panel=group)(command)
for name, module in (("data", data), ("models", models), ("state", state)):
    app.add_typer(module.app, name=name, rich_help_panel=OF_PROJECT)


def main() -> None:
    app()
