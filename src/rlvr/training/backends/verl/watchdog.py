"""Ends a run that makes no step for too long, after it has said where the run hangs and saved what can be saved.

verl waits for rollouts without a limit (`replay_buffer.py`, `sample`), and a prompt can get lost (verl issue 7155): all
GPUs of the job would wait until its time limit. A thread of the trainer's process watches the trainer, and the stage
watches that thread, since a process may hang as a whole. This module imports no verl and no torch.
"""

import faulthandler
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from rlvr.files import publish, publish_json, read_json

NOTE = "hung.txt"  # in the state folder: where the run hung, with the stacks of the trainer's threads
PATIENCE = "patience.json"  # in the state folder: until when the trainer expects its next sign of life
AT_START = 3.0  # times the least patience: until the first step of a process, which loads and compiles
MEDIANS = 10.0  # times the median step
RECENT = 50  # steps of that median
TO_SAVE = 600.0  # seconds that saving may take
HUNG = 70  # exit code (EX_SOFTWARE) of the trainer's process


class HungError(RuntimeError):
    """A run made no step for too long; the message says where it hung."""


def patience(minutes: float, seconds: Sequence[float]) -> float:
    """Seconds that a run may stay at one place: ten median steps, and `minutes` at least.

    `seconds` are those of its steps so far. Without any it is three times `minutes`.
    """
    least = 60 * minutes
    return max(least, MEDIANS * statistics.median(seconds[-RECENT:])) if seconds else AT_START * least


class Watchdog:
    """Watches one trainer, which calls `at` wherever its work or what can be saved changes.

    `minutes` is `execution.hung_minutes`; `stop` is the file that asks a trainer to stop.
    """

    def __init__(self, folder: Path, stop: Path, minutes: float):
        self._folder, self._stop, self._minutes = folder, stop, minutes
        self._lock, self._saver, self._fired = threading.Lock(), None, False
        self._save: Callable[[], None] | None = None
        self._seconds: Sequence[float] = ()
        self.at("the start")
        threading.Thread(target=self._watch, daemon=True).start()

    def at(self, place: str, save: Callable[[], None] | None = None, seconds: Sequence[float] | None = None) -> None:
        """Say where the trainer is now, what would save its state there, and the seconds of its steps so far.

        It never returns once the run counts as hung: the process is about to end, and its state is being saved.
        """
        with self._lock:
            if not self._fired:
                self._seconds = self._seconds if seconds is None else seconds
                self._place, self._save, self._since = place, save, time.monotonic()
                self._patience = patience(self._minutes, self._seconds)
                publish_json(self._folder / PATIENCE, {"at": place, "until": time.time() + self._patience})
                return
        while threading.current_thread() is not self._saver:
            time.sleep(1)

    def _watch(self) -> None:
        while True:
            with self._lock:
                left = self._since + self._patience - time.monotonic()
                self._fired = left <= 0
            if self._fired:
                break
            time.sleep(min(left, 1))
        try:
            self._end()
        finally:
            os._exit(HUNG)

    def _end(self) -> None:
        why = f"no step for {self._patience / 60:.1f} minutes, at {self._place}"
        publish(self._folder / NOTE, f"{why}\n")
        with open(self._folder / NOTE, "a") as note:
            faulthandler.dump_traceback(note)
        print(f"the run hangs: {why}; its stacks:\n{(self._folder / NOTE).read_text()}", flush=True)
        self._stop.touch()
        if self._save is None:
            print("its state cannot be saved here: the next process continues from the last checkpoint", flush=True)
            return
        self._saver = threading.Thread(target=self._save, daemon=True)
        self._saver.start()
        self._saver.join(TO_SAVE)
        print("saving took too long" if self._saver.is_alive() else "its state was saved, or could not be", flush=True)


def begin(folder: Path) -> None:
    """Forget what an earlier process left in the state folder."""
    for name in (NOTE, PATIENCE):
        (folder / name).unlink(missing_ok=True)


def overdue(folder: Path, started: float, minutes: float) -> str | None:
    """Where a training process hangs whose own watchdog has not ended it; None while it may go on.

    `started`: when it began, in seconds since 1970. It has the time of saving on top of its patience, twice.
    """
    until, place = started + patience(minutes, ()), "the start, before the trainer's process"
    with suppress(FileNotFoundError):
        sign = read_json(folder / PATIENCE)
        until, place = sign["until"], sign["at"]
    return place if time.time() > until + 2 * TO_SAVE else None


def note(folder: Path) -> str | None:
    """Why the last process counted as hung, in one line; None if it did not."""
    path = folder / NOTE
    return path.read_text().splitlines()[0] if path.exists() else None


def stacks_on(number: int) -> None:
    """Print the stacks of all threads of this process when it gets a signal."""
    faulthandler.register(number, file=sys.stderr, all_threads=True)
