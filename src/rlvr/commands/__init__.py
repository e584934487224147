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


COMMANDS = (  # in the order of the help
    *(train, evaluate, weigh, passk, grade, consistency, diversity, plan, power),
    *(watch, show, compare, export, recompute, new_estimator, new_paper, verl_config),
)
for command in COMMANDS:
    app.command(epilog=EPILOG if command is weigh else None)(command)
app.add_typer(data.app, name="data")
app.add_typer(models.app, name="models")
app.add_typer(state.app, name="state")


def main() -> None:
    app()
