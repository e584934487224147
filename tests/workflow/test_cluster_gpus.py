"""Jobs of several GPUs on a real Slurm with fake ones: on one node, or the same number on each of some nodes."""

import json
import os
import re
import subprocess

import pytest
from conftest import until
from support.checkout import Checkout
from support.slurm_cluster import Slurm

pytestmark = pytest.mark.cluster
PROFILE = "--profile slurm --slurm-init-seconds-before-status-checks 3 --latency-wait 10 --retries 0"


def site(folder, **model):
    """A config/cluster.yaml whose rule `model` asks for GPUs."""
    kind = {"partition": "gpu", "runtime": 5, "mem_mb": 500, "cpus": 1}
    path = folder / "gpus.yaml"
    path.write_text(json.dumps({"account": None, "kinds": {"cpu": kind, "short": kind}, "rules": {"model": model}}))
    return path


def model_of(checkout):
    return f"results/models/{next(iter(checkout.plan.models))}/manifest.json"


def states(slurm):
    return {job["JobID"]: job["State"] for job in slurm.jobs()}


def test_eight_gpus_wait_for_one_node(tmp_path):
    """Three GPUs are busy on one node and five on the other; eight are free, but on no node."""
    checkout = Checkout(tmp_path / "site")
    with Slurm(tmp_path / "slurm", nodes=2, cpus=8, gpus=8) as slurm:
        for node, gpus in (("n1", 3), ("n2", 5)):
            slurm.run("sbatch", "-p", "gpu", "-w", node, f"--gpus={gpus}", "-o", "/dev/null", "--wrap", "sleep 3600")
        until(lambda: set(states(slurm).values()) == {"RUNNING"}, slurm.jobs)
        busy = {job["NodeList"]: job["JobID"] for job in slurm.jobs()}
        # Without a number of nodes Slurm gives the eight that are free: three on one node and five on the other.
        eight = ("sbatch", "--parsable", "-p", "gpu", "--gpus=8", "-o", "/dev/null", "--wrap", "sleep 3600")
        split = slurm.run(*eight).strip()
        until(lambda: states(slurm)[split] == "RUNNING", slurm.jobs)
        assert [job["NumNodes"] for job in slurm.jobs() if job["JobID"] == split] == ["2"]
        slurm.run("scancel", split)
        until(lambda: states(slurm)[split] == "CANCELLED", slurm.jobs)

        config = (f"cluster={site(tmp_path, gpus=8)}",)
        command = checkout.command(PROFILE, "--", model_of(checkout), config=config)
        with open(tmp_path / "snakemake.log", "w") as log:
            snakemake = subprocess.Popen(command, cwd=checkout.folder, env=slurm.environment, stdout=log, stderr=log)
        try:
            own = until(lambda: [job for job in slurm.jobs() if "rule_model" in job["Comment"]], slurm.jobs)
            reason = ["squeue", "--noheader", "--job", own[0]["JobID"], "--format", "%T %r"]
            until(lambda: slurm.run(*reason).split() == ["PENDING", "Resources"], slurm.jobs)
            slurm.run("scancel", busy["n2"])
            assert snakemake.wait(240) == 0, (tmp_path / "snakemake.log").read_text()[-3000:]
        finally:
            snakemake.kill()
        (job,) = [job for job in slurm.jobs() if "rule_model" in job["Comment"]]
        assert (job["State"], job["NumNodes"], job["NodeList"]) == ("COMPLETED", "1", "n2")


def test_a_check_job_of_each_kind_says_what_its_node_lacks(tmp_path):
    """Nodes with fake GPUs and no driver: the job of the kind `cpu` ends well, that of `gpu` names what to do."""
    kind = {"partition": "cpu", "runtime": 5, "mem_mb": 500, "cpus": 1}
    kinds = {"cpu": kind, "short": kind, "gpu": {**kind, "partition": "gpu", "gpus": 4, "gpu_type": "h100"}}
    (tmp_path / "site.yaml").write_text(json.dumps({"account": None, "kinds": kinds}))
    checkout = Checkout(tmp_path / "site")
    with Slurm(tmp_path / "slurm", nodes=1, cpus=4, gpus=4) as slurm:
        options = {"config": (f"cluster={tmp_path / 'site.yaml'}",), "env": slurm.environment, "timeout": 400}
        done = checkout.snakemake(PROFILE, "--", "check_nodes", **options)
        assert done.returncode == 1 and "missing: nvidia-smi does not answer: the node has no GPU driver" in done.stderr
        made = (checkout.folder / "results/nodes/cpu.txt").read_text()
        assert "ok: glibc" in made and "ok: lock on results" in made and "GPU" not in made
        log = (checkout.folder / "results/logs/nodes/gpu.log").read_text()
        assert "ok: 4 GPUs of 4 asked for on this node" in log
        assert f"ok: compiled kernels in /tmp/rlvr-{os.getuid()}/triton" in log  # not in a home that nodes share
        assert sorted(job["State"] for job in slurm.jobs()) == ["COMPLETED", "COMPLETED", "FAILED"]


def test_eight_gpus_on_nodes_of_four(tmp_path):
    checkout = Checkout(tmp_path / "site")
    with Slurm(tmp_path / "slurm", nodes=2, cpus=4, gpus=4) as slurm:
        options = {"env": slurm.environment, "timeout": 300}
        one = (f"cluster={site(tmp_path, gpus=8)}",)
        refused = checkout.snakemake(PROFILE, "--", model_of(checkout), config=one, **options)
        words = r"1 model job failed: SLURM sbatch failed\..*Requested node configuration is not available.*config"
        assert refused.returncode and re.search(words, refused.stderr), refused.stderr[-2000:]
        assert {job["State"] for job in slurm.jobs()} <= {"FAILED"}
        two = (f"cluster={site(tmp_path, gpus=8, nodes=2, gpu_type='h100')}",)
        done = checkout.snakemake(PROFILE, "--", model_of(checkout), config=two, **options)
        assert done.returncode == 0, done.stderr[-3000:]
        (job,) = [job for job in slurm.jobs() if job["State"] != "FAILED"]
        assert (job["State"], job["NumNodes"], job["NodeList"]) == ("COMPLETED", "2", "n[1-2]")
        record = slurm.run("scontrol", "show", "job", job["JobID"])
        assert "TresPerNode=gres:gpu:h100:4" in record
