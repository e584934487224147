"""Progress: a bar on a terminal, JSON lines in a log; and when to save and stop."""

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rlvr.config.schedulers import job_end

TO_BE_CONTINUED = 75  # exit code (EX_TEMPFAIL) of a job that saved and stopped before its end
TO_SAVE = 60.0  # seconds allowed for saving


class Bar:
    """`with Bar("rl", total, start) as bar: bar.advance(loss=0.1)`."""

    def __init__(self, name: str, total: int, start: int = 0):
        self.name, self.total, self.done = name, total, start
        self.progress: Progress | None = None
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self.progress = Progress(*columns, TextColumn("{task.fields[note]}"), transient=True)
            self.task = self.progress.add_task(name, total=total, completed=start, note="")

    def __enter__(self) -> Self:
        if self.progress:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.progress:
            self.progress.stop()

    def advance(self, amount: int = 1, **figures: Any) -> None:
        self.done += amount
        values = {k: round(v, 4) if isinstance(v, float) else v for k, v in figures.items()}
        if self.progress:
            note = " ".join(f"{name} {value}" for name, value in values.items())
            self.progress.update(self.task, advance=amount, note=note)
        else:
            print(json.dumps({"stage": self.name, "step": self.done, "of": self.total, **values}), flush=True)


class Deadline:
    """Whether the job ends too soon for two more steps, each as long as the longest so far, and a minute to save."""

    def __init__(self) -> None:
        self.end, self._longest, self._last = job_end(), 0.0, time.time()

    def after_step(self) -> bool:
        """Call once after each step: it also times them."""
        now = time.time()
        self._longest, self._last = max(self._longest, now - self._last), now
        near = self.end is not None and now + 2 * self._longest + TO_SAVE > self.end
        if near and self.end is not None:
            print(f"the job ends in {self.end - now:.0f} s", flush=True)
        return near


class Saves:
    """When to save: at every so many steps, and when so many minutes have passed since the last time."""

    def __init__(self, every: int, minutes: float) -> None:
        self.every, self._seconds, self._last = every, 60 * minutes, time.monotonic()

    def due(self, step: int) -> bool:
        """Whether to save after this step; call `made` after each save."""
        return step % self.every == 0 or self.late()

    def late(self) -> bool:
        return time.monotonic() - self._last >= self._seconds

    def made(self) -> None:
        self._last = time.monotonic()


class Stopped(BaseException):
    """A request to stop. Like KeyboardInterrupt no Exception, so that nothing takes it for a failure of its own."""


class StopRequest:
    """Whether to save and stop: on SIGTERM (preemption), or near the end of the job."""

    def __init__(self) -> None:
        self.requested, self._deadline, self._at_once = False, Deadline(), False
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, *_: Any) -> None:
        self.requested = True
        if self._at_once:
            self._at_once = False  # a second signal must not interrupt the save
            raise Stopped

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Work that a request interrupts with Stopped: it changes nothing that is saved, and can be repeated."""
        self._at_once = True
        try:
            if self.requested:
                raise Stopped
            yield
        finally:
            self._at_once = False
        if self.requested:  # where a library has swallowed the exception, the work may be half done
            raise Stopped

    def after_step(self) -> bool:
        """Call once after each step: it also times them."""
        self.requested = self._deadline.after_step() or self.requested
        return self.requested
