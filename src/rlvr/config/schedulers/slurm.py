"""Slurm, by snakemake-executor-plugin-slurm."""

import math
import os
import re
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


def limits() -> dict[str, float]:
    """The time limit of each partition in minutes, infinite where it has none; empty where `sinfo` does not answer."""
    command = ["sinfo", "--all", "--noheader", "--format", "%R %l"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    lines = (line.split() for line in done.stdout.splitlines())
    return {words[0]: minutes(words[1]) for words in lines if len(words) == 2} if done.returncode == 0 else {}


def minutes(limit: str) -> float:
    """Slurm's [days-][hours:]minutes:seconds in minutes; other words, such as `infinite`, are no limit."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", limit)
    days, hours, whole, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0, 0)
    return days * 1440 + hours * 60 + whole + seconds / 60 if found else math.inf


SCHEDULER = SchedulerKind(resources, job, job_end, limits)
