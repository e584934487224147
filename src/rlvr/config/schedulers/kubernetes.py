"""Kubernetes, by `rlvr.workflow.kubernetes`. A partition is a node's label KEY=VALUE, or `any`."""

import os
from typing import Any

from rlvr.config.layers import ConfigError
from rlvr.config.registries import SchedulerKind

JOB = "RLVR_KUBERNETES_JOB"  # environment variable of a job's container


def resources(request: dict[str, Any], nodes: int, gpus_per_node: int) -> dict[str, Any]:
    """A job's resources. Raises ConfigError for what a pod lacks."""
    if nodes > 1:
        raise ConfigError("config/cluster.yaml: nodes: scheduler kubernetes gives each job one pod; set `nodes: 1`")
    for key in ("account", "qos", "constraint"):
        if request[key]:
            raise ConfigError(f"config/cluster.yaml: {key}: scheduler kubernetes has none; set it to null")
    if "=" not in (label := request["partition"]) and label != "any":
        raise ConfigError(f"config/cluster.yaml: partition: {label!r} is no label of nodes, KEY=VALUE, nor `any`")
    return {
        "kubernetes_label": label,
        "kubernetes_gpu": request["gpu_type"] if request["gpus"] else None,
        "cpus_per_task": request["cpus"],
        "gpu": request["gpus"] or None,
    }


def job() -> str | None:
    return os.environ.get(JOB)


def job_end() -> float | None:
    """None: the container's `JOB_END` (rlvr.config.schedulers) says it, as `rlvr.workflow.kubernetes` sets it."""
    return None


SCHEDULER = SchedulerKind(resources, job, job_end)
