"""The cluster profile on a real Slurm of one node: `make test-cluster`."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
import yaml
from conftest import ROOT, snakemake, without_timing
from slurm_node import SlurmNode, missing

from rlvr.records import read_json

pytestmark = pytest.mark.cluster
CPUS = 2
CLUSTER = {
    "account": None,
    "kinds": {
        "cpu": {"partition": "cpu", "runtime": 20, "mem_mb": 2000, "cpus": 1},
        "short": {"partition": "cpu", "runtime": 1, "mem_mb": 2000, "cpus": 1},
        "gpu": {"partition": "gpu", "runtime": 20, "mem_mb": 2000, "cpus": 1, "gpus": 1, "gpu_type": "h100"},
    },
}


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    assert not missing(), f"{missing()} are missing: apt-get install slurmctld slurmd slurm-client munge"
    with SlurmNode(tmp_path_factory.mktemp("slurm"), CPUS) as started:
        yield started


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("site") / "cluster.yaml"
    path.write_text(yaml.safe_dump(CLUSTER))
    return path


def on_slurm(node: SlurmNode, cluster: Path, results: Path, *more: str, target: str) -> list[str]:
    return [
        *(sys.executable, "-m", "snakemake", "--profile", "slurm", "--slurm-init-seconds-before-status-checks", "3"),
        *("--latency-wait", "10", "--slurm-logdir", str(results / "logs" / "slurm"), *more),
        *("--config", "scale=smoke", f"results={results}", f"cluster={cluster}", "--", target),
    ]


class Trouble(threading.Thread):
    """Kills one training process after its first checkpoint, then has another's job preempted."""

    def __init__(self, node: SlurmNode, results: Path):
        super().__init__(daemon=True)
        self.node, self.results = node, results
        self.killed, self.preempted, self.over = "", "", threading.Event()

    def run(self) -> None:
        while not self.over.is_set() and not (self.killed and self.preempted):
            if not self.killed:
                self._kill()
            elif not self.preempted:
                self._preempt()
            time.sleep(0.02)
        while not self.over.wait(0.5):  # a requeued job waits two minutes: not here
            for job in self.node.jobs():
                if job["State"] == "PENDING" and job["RestartCnt"] != "0":
                    self.node.run("scontrol", "update", f"JobId={job['JobID']}", "StartTime=now", check=False)

    def _kill(self) -> None:
        for checkpoint in self.results.glob("runs/*/state/step-*"):
            run = checkpoint.parent.parent.name
            for process in psutil.process_iter(["cmdline"]):
                words = process.info["cmdline"] or []
                if "rlvr.training.rl" in words and any(f"/{run}/" in word for word in words) and "-m" in words:
                    process.kill()
                    self.killed = run
                    return

    def _preempt(self) -> None:
        for job in self.node.jobs():
            if job["State"] == "RUNNING" and "rule_rl" in job["Comment"] and self.killed not in job["Comment"]:
                self.node.run("sbatch", "-p", "urgent", "-c", str(CPUS), "-o", "/dev/null", "--wrap", "sleep 2")
                self.preempted = job["JobID"]
                return


def same_files(left: Path, right: Path, pattern: str) -> int:
    names = sorted(path.relative_to(left) for path in left.glob(pattern))
    assert names == sorted(path.relative_to(right) for path in right.glob(pattern))
    for name in names:
        assert (left / name).read_bytes() == (right / name).read_bytes(), name
    return len(names)


def test_the_chain_runs_on_slurm_through_a_kill_and_a_preemption(node, cluster, tmp_path):
    here, there = tmp_path / "local", tmp_path / "slurm"
    trouble = Trouble(node, there)
    trouble.start()
    command = on_slurm(node, cluster, there, "--jobs", str(CPUS), target=f"{there}/papers/ace/tables/core.md")
    done = subprocess.run(command, cwd=ROOT, env=node.environment, capture_output=True, text=True, timeout=1500)
    trouble.over.set()
    trouble.join()
    assert done.returncode == 0, done.stderr[-5000:]

    jobs = node.jobs()
    assert {job["Partition"] for job in jobs} == {"cpu", "urgent"}
    restarts = {job["JobID"]: int(job["RestartCnt"]) for job in jobs}
    assert trouble.preempted and restarts[trouble.preempted] >= 1
    assert trouble.killed and read_json(there / "runs" / trouble.killed / "manifest.json")["resumed_from"] >= 1
    short = [job for job in jobs if "short" in job["Comment"]]
    assert 1 <= len(short) < 10  # grading and scoring of 18 evaluations share jobs

    target = f"{here}/papers/ace/tables/core.md"
    snakemake("--profile", "workflow/profiles/smoke", "--config", "scale=smoke", f"results={here}", "--", target)
    assert same_files(here, there, "papers/ace/statistics/*.csv") == 1
    assert same_files(here, there, "papers/ace/tables/core.*") == 3
    assert same_files(here, there, "runs/*/policy-step*/model.safetensors") == 8
    assert same_files(here, there, "evaluations/*/*/completions.jsonl.gz") >= 8
    for path in here.glob("runs/*/metrics.jsonl"):
        assert without_timing(path) == without_timing(there / path.relative_to(here))
