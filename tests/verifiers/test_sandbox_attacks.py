"""Attacks on the machine, measured by the kernel's own counters."""

import threading
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from support.attacks import ATTACKS, COUNTERS, LIMITS, SLACK, running
from support.programs import needs_bubblewrap

from rlvr.verifiers import sandbox, system_calls

pytestmark = needs_bubblewrap


def counters() -> dict[str, float]:
    rows = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return {name: int(rows[name].split()[0]) / 1024 for name in COUNTERS}


@contextmanager
def growth():
    """How much more the kernel held than before, at most: MiB by counter, while the block ran."""
    before, done = counters(), threading.Event()
    most = dict.fromkeys(COUNTERS, 0.0)

    def sample():
        while not done.wait(0.02):
            for name, value in counters().items():
                most[name] = max(most[name], value - before[name])

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield most
    finally:
        done.set()
        sampler.join()


def cpu_seconds() -> float:
    """What this thread's zygote and all of its tests have used so far."""
    process = sandbox._zygote().process
    (zygote,) = psutil.Process(process.pid).children()
    times = zygote.cpu_times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_attacks_take_nothing_that_no_limit_counts(attack):
    sandbox.run("print(1)", b"")
    zygote = sandbox._zygote()
    for _ in range(
        2
    ):  # the counters are the whole machine's: what another program took in the first is not there twice
        used, began = cpu_seconds(), time.monotonic()
        with growth() as most:
            outcome = sandbox.run(ATTACKS[attack], b"3 4\n", LIMITS)
        assert b"inside" not in outcome.output, outcome.output[:300]
        if sum(most.values()) < LIMITS.memory_mb + SLACK:
            break
    assert sum(most.values()) < LIMITS.memory_mb + SLACK, most
    assert cpu_seconds() - used < LIMITS.seconds + 1.0
    assert time.monotonic() - began < sandbox.LONGEST * LIMITS.clock
    assert sandbox._zygote() is zygote and not running()
    assert sandbox.run("print(sum(map(int, input().split())))", b"3 4\n", LIMITS) == sandbox.Outcome(b"7\n", "", 0, "")


# What each of these gets where no filter is: so it is the filter that stops them, and the attacks are real.
STOPPED_BY_THE_FILTER = (
    *("extended attributes", "shared memory that no process shows", "the same of /dev/zero and of files in memory"),
    *("pages given to pipes", "locks", "objects of the kernel", "timers and queued signals", "core dumps"),
    *("children that are reaped without being counted", "the disks' own time", "a better place in the scheduler"),
    *("full pipes, larger ones", "its init's limits", "namespaces", "rights", "the other tables of system calls"),
    *("system calls of 32 bits", "locks on files of the system"),
)


def test_the_filter_is_what_stops_them(monkeypatch, another_zygote):
    allow = system_calls._step(system_calls.RETURN, system_calls.ALLOW)
    monkeypatch.setattr(system_calls, "filter_program", lambda: allow)
    limits = sandbox.Limits(seconds=0.5)
    outcomes = {name: sandbox.run(ATTACKS[name], b"", limits) for name in STOPPED_BY_THE_FILTER}
    assert [name for name, outcome in outcomes.items() if b"inside" not in outcome.output] == []
    assert not running()


@pytest.mark.parametrize(
    ("attack", "stopped"),
    [
        ("page tables: one page in each two megabytes", "memory"),
        ("children that are reaped without being counted", "time"),
        ("children whose parent is gone", "time"),
        ("sleeping for ever", "time"),
        ("waiting for ever in the kernel", "time"),
        ("signals to its group, its session and all", "memory"),  # killed, as by the kernel
    ],
)
def test_a_limit_ends_them(attack, stopped):
    assert sandbox.run(ATTACKS[attack], b"", LIMITS).stopped == stopped
