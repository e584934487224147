"""Progress for people (a bar where there is a terminal) and for logs (JSON lines where there is none)."""

from __future__ import annotations

import json
import signal
import sys
from types import TracebackType
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

TO_BE_CONTINUED = 75  # exit code (EX_TEMPFAIL) of a job that saved on SIGTERM


class Bar:
    """`with Bar("rl", total, start) as bar: bar.advance(loss=0.1)`."""

    def __init__(self, name: str, total: int, start: int = 0):
        self.name, self.total, self.done = name, total, start
        self.progress: Progress | None = None
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self.progress = Progress(*columns, TextColumn("{task.fields[note]}"), transient=True)
            self.task = self.progress.add_task(name, total=total, completed=start, note="")

    def __enter__(self) -> Bar:
        if self.progress:
            self.progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None):
        if self.progress:
            self.progress.stop()

    def advance(self, amount: int = 1, **figures: Any) -> None:
        self.done += amount
        shown = {k: round(v, 4) if isinstance(v, float) else v for k, v in figures.items()}
        if self.progress:
            note = " ".join(f"{name} {value}" for name, value in shown.items())
            self.progress.update(self.task, advance=amount, note=note)
        else:
            print(json.dumps({"stage": self.name, "step": self.done, "of": self.total, **shown}), flush=True)


class StopRequest:
    """Notes SIGTERM (preemption, time limit), so that training can save at the end of its step."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, *_: Any) -> None:
        self.asked = True
