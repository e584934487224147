"""Judgements in workers with limits on time and memory; killing one worker does not affect the others."""

import multiprocessing
import resource
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import TimeoutError
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

from pebble import ProcessExpired, ProcessPool

from rlvr.child_processes import die_with_caller
from rlvr.verifiers import VerifierError, kind, load, without_box
from rlvr.verifiers.memory import Memory

SECONDS = 5.0  # per judgement, unless its verifier has a limit of its own
AHEAD = 64  # judgements handed out before the first is awaited, per worker
AT_ONCE = 512  # questions that an isolated verifier in the caller's process sees together
REMEMBERED = 64 << 20  # bytes of the questions of one call and their verdicts
FEWEST_ERRORS = 10  # below it no share of errors fails a stage: one odd answer in a small set must not


Box = Literal["required", "preferred"]


class TooManyErrors(RuntimeError):
    """The verifier fails so often that its verdicts are worthless; the message says how."""


@dataclass(frozen=True)
class Verdict:
    status: str
    extracted: str | None
    seconds: float  # in the worker; 0 for a verdict without a worker
    reason: str | None = None  # of an `error`: the exception and its place in the code

    def texts(self) -> tuple[str | None, ...]:
        return self.extracted, self.reason


class Errors:
    """Counts a stage's judgements and those that ended in an exception of the verifier; prints the first exception."""

    def __init__(self, verifier: str, share: float):
        self.verifier, self.share, self._lock = verifier, share, Lock()
        self.judged, self.count, self.first = 0, 0, ""

    def note(self, verdict: Verdict) -> None:
        failed = verdict.status == "error"
        with self._lock:
            self.judged, self.count = self.judged + 1, self.count + failed
            if not failed or self.first:
                return
            self.first = verdict.reason or "without a reason"
        print(f"warning: the verifier {self.verifier!r} failed: {self.first}", file=sys.stderr, flush=True)

    def resume(self, statuses: Iterable[dict[str, int]]) -> None:
        """Count the judgements of earlier processes of the same run."""
        for counts in statuses:
            self.judged, self.count = self.judged + sum(counts.values()), self.count + counts.get("error", 0)

    def check(self, of: int = 0) -> None:
        """Raise TooManyErrors for at least FEWEST_ERRORS errors that exceed the allowed share.

        The share is of all judgements so far, or of the `of` judgements in total.
        """
        if self.count < FEWEST_ERRORS or self.count <= self.share * max(self.judged, of):
            return
        raise TooManyErrors(
            f"the verifier {self.verifier!r} failed in {self.count} of {self.judged} judgements"
            f"{f' ({of} in all)' if of > self.judged else ''}, more than the share of {self.share:g} that "
            "execution.verifier_errors (config/defaults.yaml) allows; the first: "
            f"{self.first or 'in an earlier process of this run, see its log'}. Repair its cause and run the stage "
            "again; if odd answers cause it, raise that share"
        )


Question = tuple[Any, str]  # the part of a completion that the verifier reads, and the gold


@dataclass(frozen=True)
class Pending:
    question: Question
    future: Any


class Pool:
    """Workers for one verifier; a context manager, safe to call from any thread.

    `quick` decides without a worker; workers start when first needed. The only worker of an isolated verifier is the
    caller's process. The status is `timeout` over `seconds` (default: the verifier's own limit), `out_of_memory` over
    `memory_mb` of address space or if the worker dies, and `error` for an exception. A lost worker is replaced; no
    other verdict changes. Equal questions are judged once. Raises VerifierError if this machine lacks what the
    verifier needs, and for a gold that it cannot read. `errors` counts over all calls; its `check` fails if more than
    the share `verifier_errors` fail. With `box: required` a response without a box is `unparsable`, for the verifiers
    that would read it. Workers end with this process.
    """

    def __init__(
        self,
        verifier: str,
        *,
        workers: int = 1,
        seconds: float | None = None,
        memory_mb: int = 2048,
        verifier_errors: float = 1.0,
        box: Box = "preferred",
    ):
        self._kind = kind(verifier)
        self._needs_box = box == "required" and self._kind.boxed_version is not None
        self._kind.check()
        self.verifier, self.workers = verifier, workers
        self.seconds = seconds or self._kind.seconds
        self.memory_mb = memory_mb
        self._here = workers == 1 and seconds is None and self._kind.isolated
        if self._here:
            self._kind.prepare()
        self.errors = Errors(verifier, verifier_errors)

    @cached_property
    def _pool(self) -> ProcessPool:
        return ProcessPool(
            max_workers=self.workers,
            context=multiprocessing.get_context("forkserver"),  # inherits no threads or locks of the caller
            initializer=_start,
            initargs=(self.verifier, self.memory_mb),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers, if any have started, and what an isolated verifier has started in this process."""
        if self._here:
            self._kind.close()
        if "_pool" in self.__dict__:
            self._pool.stop()
            self._pool.join()
            del self._pool

    def judge(self, questions: Iterable[tuple[str, str]]) -> Iterator[Verdict]:
        """Verdicts of (text, gold), in their order."""
        for verdict in self._judge(questions):
            self.errors.note(verdict)
            yield verdict

    def itself(self, golds: Iterable[str]) -> Iterator[str]:
        """How each gold compares with itself: what the verifier's `itself` says, or the status that stopped it.

        `invalid` for a gold that the verifier cannot read. Nothing if its golds are no answers (tests, a target).
        """
        if self._kind.itself is None:
            return
        pending: deque[Any] = deque()
        for gold in golds:
            pending.append(self._pool.schedule(_itself, args=(self.verifier, gold), timeout=self.seconds))
            while len(pending) > AHEAD * self.workers:
                yield _outcome(pending.popleft(), self.seconds).status
        while pending:
            yield _outcome(pending.popleft(), self.seconds).status

    def _judge(self, questions: Iterable[tuple[str, str]]) -> Iterator[Verdict]:
        verdicts: Memory[Question, Verdict] = Memory(REMEMBERED)
        waiting: deque[Verdict | Pending] = deque()
        pending: dict[Question, Pending] = {}
        for text, gold in self._prepared(questions):
            waiting.append(self._at_once(text, gold) or self._ask(text, gold, verdicts, pending))
            while len(waiting) > AHEAD * self.workers:
                yield self._settle(waiting.popleft(), verdicts, pending)
        while waiting:
            yield self._settle(waiting.popleft(), verdicts, pending)

    def _prepared(self, questions: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """The questions; an isolated verifier in the caller's process first sees the next AT_ONCE of them."""
        if not self._here:
            yield from questions
            return
        source = iter(questions)
        while batch := list(islice(source, AT_ONCE)):
            self._kind.ahead(batch)
            yield from batch

    def _at_once(self, text: str, gold: str) -> Verdict | None:
        if self._needs_box and without_box(text):
            return Verdict("unparsable", None, 0.0)
        try:
            decided = self._kind.quick(text, gold)
        except (MemoryError, ImportError, VerifierError):
            raise
        except Exception as error:
            return Verdict("error", None, 0.0, reason(error))
        return None if decided is None else Verdict(*decided, 0.0)

    def _ask(self, text: str, gold: str, verdicts: Memory, pending: dict[Question, Pending]) -> Verdict | Pending:
        """The verdict of a question that was answered before, or is answered in this process; else its judgement."""
        question = (self._kind.reads(text), gold)  # not the whole text: the texts of a run may take gigabytes
        if (verdict := verdicts.get(question)) is not None:
            return verdict
        if self._here:
            verdict = _judge(self.verifier, text, gold)
            verdicts.put(question, verdict)
            return verdict
        if question not in pending:
            future = self._pool.schedule(_judge, args=(self.verifier, text, gold), timeout=self.seconds)
            pending[question] = Pending(question, future)
        return pending[question]

    def _settle(self, entry: Verdict | Pending, verdicts: Memory, pending: dict[Question, Pending]) -> Verdict:
        if isinstance(entry, Verdict):
            return entry
        verdict = _outcome(entry.future, self.seconds)
        verdicts.put(entry.question, verdict)
        pending.pop(entry.question, None)
        return verdict


def _outcome(future: Any, limit: float) -> Verdict:
    try:
        return future.result()
    except TimeoutError:
        return Verdict("timeout", None, limit)
    except (MemoryError, ProcessExpired):
        return Verdict("out_of_memory", None, 0.0)


def _start(verifier: str, memory_mb: int) -> None:
    die_with_caller()
    if not kind(verifier).limits_memory:
        # Added to its use at the start: it imports the caller's main module, which may import torch.
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        limit = used + (memory_mb << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # the sandbox sets 1
    with suppress(Exception):  # the first judgement reports the fault to its caller
        kind(verifier).prepare()


def _judge(verifier: str, text: str, gold: str) -> Verdict:
    began = time.perf_counter()
    try:
        status, extracted, why = *load(verifier)(text, gold), None
    except (MemoryError, ImportError, VerifierError):  # a broken installation is no verdict on an answer
        raise
    except Exception as error:
        status, extracted, why = "error", None, reason(error)
    return Verdict(status, extracted, round(time.perf_counter() - began, 6), why)


def _itself(verifier: str, gold: str) -> Verdict:
    try:
        kind(verifier).check_gold(gold)
        itself = kind(verifier).itself
        assert itself, f"{verifier} compares no golds: `Pool.itself` asks no worker"
        return Verdict(itself(gold), None, 0.0)
    except VerifierError:
        return Verdict("invalid", None, 0.0)
    except MemoryError:
        raise
    except Exception as error:
        return Verdict("error", None, 0.0, reason(error))


def reason(error: Exception) -> str:
    """An exception's class, its message on one line, and its place in the code."""
    try:
        message = " ".join(str(error).split())[:200]
    except Exception:  # sympy's expressions may fail to print
        message = "(without a message)"
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" ({Path(at.filename).parent.name}/{Path(at.filename).name}:{at.lineno})" for at in last)
    return f"{type(error).__name__}: {message}{place}"
