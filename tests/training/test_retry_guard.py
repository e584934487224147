"""Failures of a training stage: counted by error and step, and final at the third."""

import signal
import subprocess
import sys

import psutil
import pytest
from conftest import ROOT, run_module
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.files import read_json
from rlvr.training.retry_guard import FAILURES, FIRST_LOG, error_of, same


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "results" / "runs" / "a-run"
    made.mkdir(parents=True)
    return made


def attempt(folder, code: str):
    """One attempt as a rule's shell makes it: the log is new, and the stage writes into it."""
    log = folder.parents[1] / "log"
    with open(log, "w") as out:
        done = subprocess.run(command(folder, log, code), stdout=out, stderr=out, cwd=ROOT)
    return done.returncode, log.read_text()


def command(folder, log, code: str) -> list[str]:
    attempt = [sys.executable, "-m", "rlvr.training.retry_guard", str(folder / "state"), str(log), "--"]
    return [*attempt, sys.executable, "-c", code]


@pytest.fixture
def sleeping(folder):
    """An attempt whose stage is at work."""
    code = "import time; print('up', flush=True); time.sleep(600)"
    process = subprocess.Popen(command(folder, folder / "log", code), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "up\n"
    return process


FAILS = "import os; raise RuntimeError(f'CUDA out of memory at 0x{os.getpid():x}')"


def test_the_third_equal_failure_is_final_and_the_first_log_stays(folder):
    logs = []
    for _ in range(3):
        code, log = attempt(folder, FAILS)
        assert code == 1 and "Traceback" in log
        logs.append(log)
    assert "failed 3 times at step 0 with: RuntimeError: CUDA out of memory" in logs[-1] and "failed" not in logs[1]
    code, log = attempt(folder, "print('this must not run')")
    assert code == 1 and "this must not run" not in log and len(log.splitlines()) == 1
    assert str(folder / FIRST_LOG) in log and "rlvr state retry runs/a-run" in log
    assert (folder / FIRST_LOG).read_text() == logs[0]

    said = CliRunner().invoke(app, ["state", "retry", "runs/a-run", "--results", str(folder.parents[1])])
    assert said.exit_code == 0 and "forgotten" in said.output
    assert attempt(folder, "print('again')") == (0, "again\n")


def test_other_errors_other_steps_and_continuations_are_not_the_same_failure(folder):
    for code in (FAILS, FAILS, "raise SystemExit(75)", "raise ValueError('another')"):
        attempt(folder, code)
    (folder / "state" / "step-000010").mkdir()
    for _ in range(2):
        attempt(folder, FAILS)
    assert [one["step"] for one in read_json(folder / "state" / FAILURES)] == [0, 0, 0, 10, 10]
    assert attempt(folder, "print('it runs')") == (0, "it runs\n")
    assert not (folder / "state" / FAILURES).exists()


def test_a_stage_that_was_asked_to_stop_has_not_failed(folder, sleeping):
    sleeping.terminate()
    assert sleeping.wait() == 128 + signal.SIGTERM and not (folder / "state" / FAILURES).exists()


def test_a_stage_dies_with_its_attempt(sleeping):
    (stage,) = psutil.Process(sleeping.pid).children()
    sleeping.kill()
    sleeping.wait()
    psutil.wait_procs([stage], timeout=60)
    assert not stage.is_running() or stage.status() == psutil.STATUS_ZOMBIE


def test_an_error_is_the_last_exception_that_the_log_names():
    log = "x\n(Runner pid=12) torch.OutOfMemoryError: tried 3.5 GiB\nverl ended; look for the word Error above\n"
    assert error_of(log, 1) == "torch.OutOfMemoryError: tried 3.5 GiB"
    assert same("tried 3.5 GiB at 0x7f") == same("tried 12 GiB at 0x8a")
    assert error_of("", -9) == "killed by SIGKILL" and error_of("only this\n", 1) == "only this"


def test_the_end_of_the_job_reaches_a_container(tmp_path, monkeypatch):
    """Which has no `squeue` to ask; here as Slurm's own variable, which the command does not get."""
    seen = tmp_path / "seen"
    code = f"from rlvr.training.progress import Deadline; open({str(seen)!r}, 'w').write(str(Deadline().end))"
    inside = ["env", "-u", "SLURM_JOB_END_TIME", sys.executable, "-c", code]
    monkeypatch.setenv("SLURM_JOB_END_TIME", "1900000000")
    run_module("rlvr.training.retry_guard", str(tmp_path / "state"), str(tmp_path / "log"), "--", *inside)
    assert seen.read_text() == "1900000000.0"
