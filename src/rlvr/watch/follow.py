"""Shows the progress of a Snakemake command, and what it says: `python -m rlvr.watch.follow -- snakemake ...`.

On a terminal it is the view of `rlvr watch`, elsewhere a short line now and then. All that the command prints goes to a
log. What Snakemake says to people (`rlvr.workflow.notices`) is printed too.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from rlvr.child_processes import tied
from rlvr.show.console import console
from rlvr.watch.view import Watched
from rlvr.workflow.notices import FILE, Notices

LOGS = Path("logs", "commands")  # in the results folder
LOOK, VIEW, LINE = 0.1, 2.0, 30.0  # seconds between two looks at the process, views, lines
LAST = 15  # lines of a log that says why the command failed


def follow(command: list[str], results: Path, out: Console) -> int:
    """Runs a command of Snakemake to its end; returns its exit code, 128 + the number of the signal that killed it.

    Ctrl-C reaches the command as well, which ends its jobs. SIGTERM is passed on.
    """
    log = results / LOGS / time.strftime(f"%Y-%m-%dT%H%M%S-{os.getpid()}.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    _say(out, f"full output of {' '.join([os.path.basename(command[0]), *command[1:]])}: {log}")
    with tempfile.TemporaryDirectory() as folder, open(log, "wb") as file:
        notices = Notices(Path(folder, "notices"))
        signal.signal(signal.SIGINT, lambda *_: None)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, FILE: str(notices.path)},
            preexec_fn=tied(),
        )
        signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
        said = (_view if out.is_terminal else _lines)(process, Watched(results), notices, out)
    if process.returncode:
        printed = log.read_text(errors="replace").splitlines()[-LAST:]
        early = [] if said else printed  # it ended before its rules could speak
        _say(out, *early, f"failed; full output: {log}")
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _view(process: subprocess.Popen[bytes], watched: Watched, notices: Notices, out: Console) -> list[str]:
    """Shows the view until the process ends, then prints all notices; returns them."""
    said: list[str] = []
    # On a screen of its own, as in `rlvr watch`.
    with Live(watched.view(), console=out, auto_refresh=False, screen=True, vertical_overflow="crop") as shown:

        def refresh() -> None:
            said.extend(notices.new())
            shown.update(Group(watched.view(), *map(Text, said)), refresh=True)

        _until_it_ends(process, VIEW, refresh)
    said += notices.new()
    _say(out, *said)
    return said


def _lines(process: subprocess.Popen[bytes], watched: Watched, notices: Notices, out: Console) -> list[str]:
    """Prints notices as they come, and a line on the progress at times; returns the notices."""
    said: list[str] = []
    spoken = time.monotonic() - LINE

    def refresh() -> None:
        nonlocal spoken
        new = notices.new()
        said.extend(new)
        if time.monotonic() - spoken >= LINE and (line := watched.line()):
            spoken = time.monotonic()
            new.append(line)
        _say(out, *new)

    _until_it_ends(process, VIEW, refresh)
    last = notices.new()
    _say(out, *last)
    return said + last


def _say(out: Console, *lines: str) -> None:
    """Prints lines; raises BrokenPipeError, for which rich would end this process."""
    for line in lines:
        print(line, file=out.file, flush=True)


def _until_it_ends(process: subprocess.Popen[bytes], seconds: float, refresh: Callable[[], None]) -> None:
    last = time.monotonic()
    while process.poll() is None:
        time.sleep(LOOK)
        if time.monotonic() - last >= seconds:
            with suppress(OSError):  # a file that went meanwhile, or a closed pipe: the command goes on
                refresh()
            last = time.monotonic()


def main(
    command: Annotated[list[str], typer.Argument(help="The command, after `--`.")],
    results: Annotated[Path, typer.Option(help="The results folder of the command.")] = Path("results"),
) -> None:
    """Run a Snakemake command and show its progress."""
    try:
        code = follow(command, results, console())
    except OSError as error:
        sys.exit(f"{error.filename or 'output'}: {error.strerror}")
    sys.exit(code)


if __name__ == "__main__":
    typer.run(main)
