"""LSF, by snakemake-executor-plugin-lsf, which gives each job one host. Only Slurm has `qos` and `constraint`."""

import os
import shlex
import subprocess
import time
from typing import Any

from rlvr.config.layers import ConfigError
from rlvr.config.registries import SchedulerKind


def resources(request: dict[str, Any], nodes: int, gpus_per_node: int) -> dict[str, Any]:
    """A job's resources. Raises ConfigError for what this scheduler or its plug-in lacks."""
    if nodes > 1:
        raise ConfigError("config/cluster.yaml: nodes: scheduler lsf gives each job one host; set `nodes: 1`")
    for key in ("qos", "constraint"):
        if request[key]:
            raise ConfigError(f"config/cluster.yaml: {key}: scheduler lsf has none; set it to null")
    gpus = f"num={gpus_per_node}" + (f":gmodel={request['gpu_type']}" if request["gpu_type"] else "")
    return {
        "lsf_queue": request["partition"],
        "lsf_project": request["account"],
        "cpus_per_task": request["cpus"],
        "gpu": request["gpus"] or None,  # for Snakemake's own limit, --resources gpu=N
        "lsf_extra": f"-gpu {shlex.quote(gpus)}" if request["gpus"] else None,
    }


def job() -> str | None:
    return os.environ.get("LSB_JOBID")


def job_end() -> float | None:
    own = job()
    if own is None:
        return None
    command = ["bjobs", "-noheader", "-o", "time_left", own]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        hours, minutes = done.stdout.split()[0].split(":")  # "4:30 L"
        return time.time() + 3600 * int(hours) + 60 * int(minutes)
    except (ValueError, IndexError, OSError, subprocess.TimeoutExpired):  # no limit ("-"), or no answer
        return None


SCHEDULER = SchedulerKind(resources, job, job_end)
