"""`rlvr watch`: what runs at this moment, from what is on disk."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from rlvr.commands.lines import fail
from rlvr.stage_options import Results


def watch(
    results: Results = Path("results"),
    once: Annotated[
        bool, typer.Option("--once", help="Print one view and end, as where the output is a pipe.")
    ] = False,
    interval: Annotated[float, typer.Option(help="Seconds between two views.", min=0.2)] = 2.0,
) -> None:
    """Show the jobs of a running Snakemake, and each RL run: step, time left, curves of pass rate and entropy.

    It reads the results folder and Snakemake's log beside it, so jobs of a cluster show too. A run without a process,
    or without a new step for minutes, is said to be stopped or silent. Ctrl-C ends it, and leaves the last view.

    Example: rlvr watch --results results
    """
    from rich.live import Live

    from rlvr.show.console import console
    from rlvr.watch.view import Watched

    if not results.is_dir():
        fail(f"--results: {results} is no folder")
    out, watched = console(), Watched(results)
    if once or not sys.stdout.isatty():
        out.print(watched.view())
        return
    # A signal is noted rather than raised: raised while the screen changes, it would leave it half changed. (Not in a
    # threading.Event, whose lock the interrupted thread may hold.)
    asked_to_end: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: asked_to_end.append(number))
    view = watched.view()
    # A screen of its own: on the common one, lines that a narrower window wraps would stay for good.
    with Live(view, console=out, auto_refresh=False, screen=True, vertical_overflow="crop") as shown:
        while not asked_to_end:
            until = time.monotonic() + interval
            while not asked_to_end and time.monotonic() < until:
                time.sleep(0.05)
            view = watched.view()
            shown.update(view, refresh=True)
    out.print(view)
