"""The whole chain through the cluster profile on a real Slurm: `make test-cluster`."""

import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from conftest import without_timing
from support.checkout import Checkout
from support.slurm_cluster import Slurm

from rlvr.files import read_json

pytestmark = pytest.mark.cluster


class Trouble(threading.Thread):
    """Kills one training process after its first checkpoint and before its end, then has another's job preempted."""

    def __init__(self, slurm: Slurm, results: Path):
        super().__init__(daemon=True)
        self.slurm, self.results = slurm, results
        self.killed, self.preempted, self.over = "", "", threading.Event()

    def run(self) -> None:
        while not self.over.is_set() and not (self.killed and self.preempted):
            if not self.killed:
                self._kill()
            elif not self.preempted:
                self._preempt()
            time.sleep(0.02)
        while not self.over.wait(0.5):  # a requeued job waits two minutes: not here
            for job in self.slurm.jobs():
                if job["State"] == "PENDING" and job["RestartCnt"] != "0":
                    self.slurm.run("scontrol", "update", f"JobId={job['JobID']}", "StartTime=now", check=False)

    def _kill(self) -> None:
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            # Other tests of this machine train too: only a run of these results.
            states = [self.results.parent / word for word in words if word.endswith("/state")]
            runs = [state.parent for state in states if state.is_relative_to(self.results)]
            if "rlvr.training.rl" in words and "rlvr.training.retry_guard" not in words and runs:
                with suppress(psutil.NoSuchProcess):
                    self._kill_between(process, runs[0])
                return

    def _kill_between(self, process: psutil.Process, run: Path) -> None:
        """After the first checkpoint and before the manifest: a tiny run has some hundredths of a second there."""
        while process.is_running() and not any((run / "state").glob("step-*")):
            time.sleep(0.001)
        process.suspend()
        if (run / "manifest.json").exists():
            process.resume()
        else:
            process.kill()
            self.killed = run.name

    def _preempt(self) -> None:
        for job in self.slurm.jobs():
            if job["State"] == "RUNNING" and "rule_rl" in job["Comment"] and self.killed not in job["Comment"]:
                self.slurm.run("sbatch", "-p", "urgent", "-w", job["NodeList"], "-o", "/dev/null", "--wrap", "sleep 2")
                self.preempted = job["JobID"]
                return


def same_files(left: Path, right: Path, pattern: str) -> int:
    names = sorted(path.relative_to(left) for path in left.glob(pattern))
    assert names == sorted(path.relative_to(right) for path in right.glob(pattern))
    for name in names:
        assert (left / name).read_bytes() == (right / name).read_bytes(), name
    return len(names)


def test_the_chain_runs_on_slurm_through_a_kill_and_a_preemption(slurm, site, tmp_path):
    checkout = Checkout(tmp_path / "site", seeds=1)
    here, there = checkout.folder / "local", checkout.folder / "slurm-made"
    before = {job["JobID"] for job in slurm.jobs()}
    trouble = Trouble(slurm, there)
    trouble.start()
    profile = "--profile slurm --slurm-init-seconds-before-status-checks 3 --latency-wait 10 --"
    config = (f"results={there.name}", f"cluster={site}")
    table = "papers/smoke/ace/tables/start.md"
    options = {"config": config, "env": slurm.environment, "timeout": 1500}
    done = checkout.snakemake(profile, f"{there.name}/{table}", **options)
    trouble.over.set()
    trouble.join()
    assert done.returncode == 0, done.stderr[-5000:]

    jobs = [job for job in slurm.jobs() if job["JobID"] not in before]
    assert {job["Partition"] for job in jobs} == {"cpu", "urgent"}
    restarts = {job["JobID"]: int(job["RestartCnt"]) for job in jobs}
    assert trouble.preempted and restarts[trouble.preempted] >= 1
    assert trouble.killed and read_json(there / "runs" / trouble.killed / "manifest.json")["resumed_from"] >= 1
    short = [job for job in jobs if "short" in job["Comment"] or "late" in job["Comment"]]
    assert 1 <= len(short) < 12  # grading and scoring of 6 evaluations share jobs

    local = ("--profile workflow/profiles/smoke --", f"{here.name}/{table}")
    done = checkout.snakemake(*local, config=(f"results={here.name}",), timeout=900)
    assert done.returncode == 0, done.stderr[-5000:]
    assert same_files(here, there, "papers/smoke/ace/statistics/*.csv") == 1
    assert same_files(here, there, "papers/smoke/ace/tables/start.*") == 3
    assert same_files(here, there, "runs/*/policy-step*/model.safetensors") == 5
    assert same_files(here, there, "evaluations/*/*/completions.jsonl.gz") >= 6
    for path in here.glob("runs/*/metrics.jsonl"):
        assert without_timing(path) == without_timing(there / path.relative_to(here))
