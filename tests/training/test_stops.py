"""When a process saves and stops, and how it says that a folder cannot be held."""

import errno
import fcntl
import os
import signal
from contextlib import suppress

import pytest

from rlvr.training.lock_file import holder, lease
from rlvr.training.progress import Saves, Stopped, StopRequest


@pytest.fixture
def stop():
    before = signal.getsignal(signal.SIGTERM)
    yield StopRequest()
    signal.signal(signal.SIGTERM, before)


def test_a_signal_interrupts_what_can_be_repeated_and_nothing_else(stop):
    done = []
    with pytest.raises(Stopped), stop.at_once():
        os.kill(os.getpid(), signal.SIGTERM)
        done.append("after the signal")
    os.kill(os.getpid(), signal.SIGTERM)  # as during the save
    assert not done and stop.after_step()


def test_a_signal_during_an_update_waits_for_the_next_work(stop):
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Stopped), stop.at_once():
        raise AssertionError("this work must not begin")


def test_a_library_that_swallows_the_interruption_does_not_get_its_work_used(stop):
    with pytest.raises(Stopped), stop.at_once(), suppress(BaseException):
        os.kill(os.getpid(), signal.SIGTERM)


def test_saves_are_due_by_steps_and_by_minutes():
    by_steps, by_time = Saves(10, minutes=1e6), Saves(10, minutes=1e-9)
    assert [step for step in range(1, 31) if by_steps.due(step)] == [10, 20, 30]
    by_time.made()
    assert by_time.due(3)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK])
def test_a_file_system_without_locks_is_not_taken_for_one_in_use(tmp_path, monkeypatch, number):
    with lease(tmp_path):
        assert "process" in (holder(tmp_path) or "")

    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    for use in (lambda: lease(tmp_path).__enter__(), lambda: holder(tmp_path)):
        with pytest.raises(SystemExit, match=r"cannot lock files .*mount Lustre with `-o flock`"):
            use()
