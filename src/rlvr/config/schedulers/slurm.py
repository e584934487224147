"""Slurm, by snakemake-executor-plugin-slurm."""

import os
import shutil
import subprocess
from datetime import datetime
from typing import Any

from rlvr.config.registries import SchedulerKind


def resources(request: dict[str, Any], nodes: int, gpus_per_node: int) -> dict[str, Any]:
    """A job's resources. Without `nodes` Slurm may give GPUs on several nodes, where the job's step cannot start."""
    named = {
        "slurm_partition": request["partition"],
        "slurm_account": request["account"],
        "qos": request["qos"],
        "constraint": request["constraint"],
        "cpus_per_task": request["cpus"],
        "gpu": request["gpus"] or None,
        "gpu_model": request["gpu_type"] if request["gpus"] else None,
        "nodes": nodes,
    }
    if nodes > 1:  # one task per node, else sbatch gives one node; GPUs per node, else srun asks one node for all
        each = ":".join(filter(None, [named.pop("gpu_model"), str(gpus_per_node)]))
        named |= {"tasks": nodes, "slurm_extra": f"--gpus-per-node={each}" if named.pop("gpu") else None}
    return named


def job() -> str | None:
    return os.environ.get("SLURM_JOB_ID")


def job_end() -> float | None:
    if end := os.environ.get("SLURM_JOB_END_TIME"):  # newer Slurm
        return float(end)
    own = job()
    if own is None or shutil.which("squeue") is None:
        return None
    command = ["squeue", "--noheader", "--job", own, "--format", "%e"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return datetime.fromisoformat(done.stdout.strip()).timestamp()
    except (ValueError, OSError, subprocess.TimeoutExpired):  # no limit ("N/A"), or no answer
        return None


SCHEDULER = SchedulerKind(resources, job, job_end)
