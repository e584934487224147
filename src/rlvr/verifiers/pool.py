"""Judgements in workers that can be killed: a time limit and a memory limit each, and the others go on."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import TimeoutError
from dataclasses import dataclass
from functools import cached_property

from pebble import ProcessExpired, ProcessPool

from rlvr.verifiers import Judgement, Quick, VerifierError, hook, load, nothing

SECONDS = 5.0  # of a judgement, where its verifier says nothing else
AHEAD = 64  # judgements handed out before the first is awaited, a worker


@dataclass(frozen=True)
class Verdict:
    status: str
    extracted: str | None
    seconds: float  # in the worker; 0 where it was decided at once


class Pool:
    """Workers for one verifier; a context manager, safe to call from any thread.

    What `quick` decides needs no worker, and no worker starts before one is needed. A judgement over `seconds`
    (default: the verifier's own limit) is `timeout`, one over `memory_mb` of address space, or that takes its worker
    down, `out_of_memory`; its worker is replaced, and no other verdict changes. Equal questions are asked once. Raises
    VerifierError where this machine lacks what the verifier needs, and for a gold that cannot be read.
    """

    def __init__(self, verifier: str, *, workers: int = 1, seconds: float | None = None, memory_mb: int = 2048):
        hook(verifier, "check", nothing)()
        self.verifier, self.workers = verifier, workers
        self.seconds = seconds or hook(verifier, "SECONDS", SECONDS)
        self._quick: Quick = hook(verifier, "quick", nothing)
        self.memory_mb = memory_mb

    @cached_property
    def _pool(self) -> ProcessPool:
        return ProcessPool(
            max_workers=self.workers,
            context=multiprocessing.get_context("forkserver"),  # no threads or locks of the caller come along
            initializer=_start,
            initargs=(self.verifier, self.memory_mb),
        )

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers, where any were started."""
        if "_pool" in self.__dict__:
            self._pool.stop()
            self._pool.join()
            del self._pool

    def judge(self, questions: Iterable[tuple[str, str]]) -> Iterator[Verdict]:
        """Verdicts of (text, gold), in their order."""
        known: dict[tuple[str, str], Verdict] = {}
        waiting: deque = deque()  # (question, verdict, or None and the future that brings it)
        asked: dict[tuple[str, str], object] = {}
        for question in questions:
            decided = known.get(question) or self._at_once(question)
            future = None
            if decided is None:
                future = asked.get(question)
                if future is None:
                    future = self._pool.schedule(_judge, args=(self.verifier, *question), timeout=self.seconds)
                    asked[question] = future
            waiting.append((question, decided, future))
            while len(waiting) > AHEAD * self.workers:
                yield self._settle(waiting.popleft(), known, asked)
        while waiting:
            yield self._settle(waiting.popleft(), known, asked)

    def _at_once(self, question: tuple[str, str]) -> Verdict | None:
        decided = self._quick(*question)
        return None if decided is None else Verdict(*decided, 0.0)

    def _settle(self, entry, known, asked) -> Verdict:
        question, decided, future = entry
        if decided is not None:
            return decided
        if question not in known:
            known[question] = _outcome(future, self.seconds)
            asked.pop(question, None)
        return known[question]


def _outcome(future, limit: float) -> Verdict:
    try:
        (status, extracted), seconds = future.result()
    except TimeoutError:
        return Verdict("timeout", None, limit)
    except (MemoryError, ProcessExpired):
        return Verdict("out_of_memory", None, 0.0)
    return Verdict(status, extracted, round(seconds, 6))


def _start(verifier: str, memory_mb: int) -> None:
    if hook(verifier, "MEMORY_MB", memory_mb) is not None:
        # Beside what the worker has at its start: it imports the caller's main module, which may have brought torch.
        with open("/proc/self/statm") as file:
            begun = int(file.read().split()[0]) * resource.getpagesize()
        limit = begun + (memory_mb << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hook(verifier, "prepare", nothing)()


def _judge(verifier: str, text: str, gold: str) -> tuple[Judgement, float]:
    began = time.perf_counter()
    try:
        judgement = load(verifier)(text, gold)
    except (MemoryError, ImportError, VerifierError):  # a broken installation is no verdict on an answer
        raise
    except Exception:  # a parser that fails on an answer has not read it
        judgement = ("unparsable", None)
    return judgement, time.perf_counter() - began
