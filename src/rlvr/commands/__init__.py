"""`rlvr`: what the package can do for someone with data of their own, a command a file. Lines in, lines out."""

from __future__ import annotations

import typer

from rlvr.commands import data, state
from rlvr.commands.consistency import consistency
from rlvr.commands.diversity import diversity
from rlvr.commands.grade import grade
from rlvr.commands.passk import passk
from rlvr.commands.plan import plan
from rlvr.commands.verl_config import verl_config
from rlvr.commands.weigh import weigh

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Policy weights, evaluation, grading, data sets, costs. The workflow itself is run by snakemake.",
)


@app.callback()
def _rlvr() -> None:
    pass


app.command()(weigh)
app.command()(passk)
app.command()(grade)
app.command()(consistency)
app.command()(diversity)
app.command()(plan)
app.command("verl-config")(verl_config)
app.add_typer(data.app, name="data")
app.add_typer(state.app, name="state")


def main() -> None:
    app()
