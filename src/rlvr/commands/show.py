"""`rlvr show`: what a model wrote, in training or in an evaluation, with verdicts and weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlvr.commands.lines import fail, to_write
from rlvr.commands.weigh import parse_settings
from rlvr.estimators import Estimator, SettingError
from rlvr.files import publish
from rlvr.stage_options import Results

if TYPE_CHECKING:
    from rlvr.show.groups import Shown
    from rlvr.show.lookup import RunOrEvaluation

ON_A_TERMINAL, ON_A_PAGE = 4, 100  # groups, without --limit


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A run, or an evaluation: <policy>/<evaluation>; or the beginning.")
    ],
    step: Annotated[int | None, typer.Option(help="Only this training step.", min=1)] = None,
    prompt: Annotated[str | None, typer.Option(help="Only this problem, by its id.")] = None,
    right: Annotated[bool | None, typer.Option("--right/--wrong", help="Only rollouts that are right, or not.")] = None,
    weigh: Annotated[
        list[str] | None,
        typer.Option(metavar="METHOD[:KEY=VALUE,...]", help="Add the weights of this method; may be repeated."),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write one HTML file instead.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write one row per rollout to a parquet file instead.")] = None,
    inspect: Annotated[
        Path | None, typer.Option(metavar="FILE.eval", help="Write a log for inspect_ai's viewer instead.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help=f"Groups at most. [{ON_A_TERMINAL}; --html: {ON_A_PAGE}; --parquet, --inspect: all]", min=1),
    ] = None,
    results: Results = Path("results"),
) -> None:
    """Show groups of rollouts side by side: text, verdict, weight, confidence shift; false steps of working marked.

    A run shows the training rollouts that it kept (`execution.kept_prompts`), newest step first, an evaluation its
    completions by problem. `--weigh rloo` adds the weights that RLOO would have given them. A method's state
    follows from the groups shown.

    Example: rlvr show RUN --weigh rloo --html show.html
    """
    from rlvr.show import groups as reading
    from rlvr.show.lookup import find

    files = {"--html": html, "--parquet": parquet, "--inspect": inspect}
    for option, path in files.items():
        to_write(option, path)
    if len(given := [option for option, path in files.items() if path]) > 1:
        fail(f"{' and '.join(given)}: give one of them")
    if inspect and inspect.suffix != ".eval":
        fail(f"--inspect: {inspect} must end with .eval; `inspect view` lists no other file")
    methods = {words: _estimator(words) for words in weigh or []}
    most = limit or (None if parquet or inspect else ON_A_PAGE if html else ON_A_TERMINAL)
    named = find(results, name)
    if step is not None and named.kind == "evaluation":
        fail(f"--step: {named.name} is an evaluation, which has no steps")
    groups, task = reading.groups_of(named, results, prompt)
    chosen = reading.selected(groups if step is None else reading.of_step(groups, step), task, right)
    own = named.manifest().get("spec", {}).get("estimator", {}).get("name", "the run")
    try:
        shown = reading.weighed(islice(chosen, most), own, methods)
        if parquet or inspect:
            _write_rows(named, shown, parquet, inspect)
        else:
            _write(named.name, list(shown), chosen, html)
    except ValueError as error:  # numbers that are too large for a method
        fail(str(error))


def _write_rows(named: RunOrEvaluation, shown: Iterable[Shown], parquet: Path | None, inspect: Path | None) -> None:
    """Write a file with one entry per rollout."""
    from rlvr.show import inspect_log, rows

    if parquet:
        typer.echo(f"{parquet}: {rows.write(parquet, shown):,} rollouts")
    if inspect:
        typer.echo(f"{inspect}: {inspect_log.write(inspect, named, shown):,} rollouts")


def _write(name: str, content: list[Shown], more: Iterator[Shown], html: Path | None) -> None:
    """Write what is shown on the terminal or as a page; `more` is what the limit left out."""
    notes = [] if content else [f"{name}: no such rollout"]
    notes += [f"{name} has more: --step, --prompt and --limit choose"] if next(more, None) else []
    if html:
        from rlvr.show import page

        publish(html, page.groups_page(name, content, notes))
        typer.echo(f"{html}: {len(content)} groups")
    else:
        from rlvr.show import terminal

        terminal.show(content, notes)


def _estimator(words: str) -> Estimator:
    """The estimator of `METHOD` or `METHOD:KEY=VALUE,KEY=VALUE`."""
    method, _, settings = words.partition(":")
    try:
        return Estimator(method, parse_settings(method, [word for word in settings.split(",") if word]))
    except SettingError as error:
        fail(f"--weigh {method}: {error}")
