"""An engine whose processes end before the stage that uses them."""

import os
import signal

import pytest

from rlvr.records import Problem
from rlvr.sampling.generate import draw
from rlvr.sampling.parts import Parts, parts_of
from rlvr.training.progress import TO_BE_CONTINUED


class Ending:
    """An engine that fails in its first part, as vLLM's does when Slurm ends its processes."""

    name, version = "ending", "1"

    def __init__(self, preempted: bool):
        self.preempted = preempted

    def draw(self, problems, first, last):
        if self.preempted:
            os.kill(os.getpid(), signal.SIGTERM)  # to all processes of the job, and so to the stage
        raise RuntimeError("the engine's process is gone")


@pytest.fixture
def attempt(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    problems = [Problem(id=f"p{n}", prompt="1 + 1 = ", gold="2", level="1") for n in range(2)]
    parts = Parts(tmp_path / "state", {}, parts_of(2, 4, 4))
    yield lambda preempted: draw(lambda: Ending(preempted), problems, [parts])
    signal.signal(signal.SIGTERM, before)


def test_a_preempted_evaluation_is_to_be_continued(attempt, capsys):
    with pytest.raises(SystemExit) as ended:
        attempt(True)
    assert ended.value.code == TO_BE_CONTINUED
    assert "asked to stop, and the engine ended first: the engine's process is gone" in capsys.readouterr().out


def test_any_other_end_of_an_engine_is_an_error(attempt):
    with pytest.raises(RuntimeError, match="the engine's process is gone"):
        attempt(False)
