"""Snakemake's jobs on Kubernetes, by kubectl, for its plug-in cluster-generic: `submit`, `status`.

    python -m rlvr.workflow.kubernetes submit --image IMAGE --claim CLAIM --mount PATH JOBSCRIPT
    python -m rlvr.workflow.kubernetes status NAME

`submit` makes a Job of one pod and prints its name. All pods mount the volume of one claim at the same path, which has
the checkout, so that files are shared as on a cluster. Snakemake's own plug-in for Kubernetes (0.5.1) cannot be used:
it takes each file from a storage provider, and a run's state and locks would stay in its pod.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from rlvr.config.schedulers import JOB_END
from rlvr.config.schedulers.kubernetes import JOB

OF_THE_HUB = ("HF_HOME", "HF_ENDPOINT")  # variables that jobs inherit; a login is a file in HF_HOME
GPU, GPU_TYPE = "nvidia.com/gpu", "nvidia.com/gpu.product"  # a resource, and a label of nodes, by NVIDIA's operator


def properties(script: str) -> dict[str, Any]:
    """What Snakemake writes about a job into its script. Raises ValueError where a script has none."""
    found = re.search(r"^# properties = (.*)$", script, re.MULTILINE)
    if found is None:
        raise ValueError("the script of the job has no line `# properties = ...`, as Snakemake writes it")
    return json.loads(found[1])


def manifest(job: dict[str, Any], script: Path, folder: Path, *, image: str, claim: str, mount: str) -> dict[str, Any]:
    """The Job that runs a script in a folder of the shared volume, with the resources that the job asks for."""
    asked = job["resources"]
    seconds, gpus = 60 * int(asked["runtime"]), int(asked.get("gpu", 0))
    amounts = {"cpu": str(asked.get("cpus_per_task", job.get("threads", 1)))}
    amounts |= {"memory": f"{asked['mem_mb']}Mi"} if "mem_mb" in asked else {}
    key, _, value = asked["kubernetes_label"].partition("=")
    labels = {key: value} if value else {}
    labels |= {GPU_TYPE: asked["kubernetes_gpu"]} if "kubernetes_gpu" in asked else {}
    container = {
        "name": "job",
        "image": image,
        "workingDir": str(folder),
        # The limit counts from the pod's start, which is when the shell starts.
        "command": ["/bin/sh", "-c", f"{JOB_END}=$(($(date +%s) + {seconds})) exec /bin/sh {shlex.quote(str(script))}"],
        "env": [
            {"name": JOB, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            *({"name": name, "value": os.environ[name]} for name in OF_THE_HUB if name in os.environ),
        ],
        "resources": {"requests": amounts, "limits": {GPU: str(gpus)} if gpus else {}},
        "volumeMounts": [{"name": "shared", "mountPath": mount}, {"name": "memory", "mountPath": "/dev/shm"}],
    }
    pod = {
        "restartPolicy": "Never",  # Snakemake's own retries ask for more time and memory
        "activeDeadlineSeconds": seconds,
        "nodeSelector": labels,
        "containers": [container],
        "volumes": [
            {"name": "shared", "persistentVolumeClaim": {"claimName": claim}},
            {
                "name": "memory",
                "emptyDir": {"medium": "Memory"},
            },  # by default a container has 64 MB; verl and NCCL need more
        ],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "rlvr-", "labels": {"app": "rlvr", "rule": str(job.get("rule", "group"))}},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    }


def state(answer: str) -> str:
    """Snakemake's word for `succeeded,failed` of a Job; an empty answer is that of a Job which was deleted."""
    succeeded, _, failed = answer.partition(",")
    return "success" if succeeded not in ("", "0") else "failed" if failed not in ("", "0") or not answer else "running"


def submit(options: argparse.Namespace) -> str:
    script, folder = options.script.resolve(), Path.cwd()
    if not folder.is_relative_to(options.mount):
        sys.exit(f"{folder} is not below {options.mount}, where pods see the shared volume; start Snakemake there")
    home = os.environ.get("HF_HOME")
    if home and not Path(home).is_relative_to(options.mount):
        sys.exit(f"HF_HOME={home} is not below {options.mount}: the pod that fetches a model would keep it to itself")
    job = properties(script.read_text())
    made = manifest(job, script, folder, image=options.image, claim=options.claim, mount=options.mount)
    command = ["kubectl", "create", "--filename", "-", "--output", "jsonpath={.metadata.name}"]
    done = subprocess.run(command, input=json.dumps(made), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"kubectl refused the job of {job.get('rule', 'a group')}: {done.stderr.strip()}")
    return done.stdout.strip()


def status(options: argparse.Namespace) -> str:
    fields = "jsonpath={.status.succeeded},{.status.failed}"
    command = ["kubectl", "get", "job", options.name, "--ignore-not-found", "--output", fields]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:  # no answer says nothing about the job, which may run for hours yet
        print(done.stderr.strip(), file=sys.stderr)
        return "running"
    return state(done.stdout.strip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True)
    one = actions.add_parser("submit")
    one.add_argument("--image", required=True, help="container with the environment of the checkout")
    one.add_argument("--claim", required=True, help="PersistentVolumeClaim that many nodes may write")
    one.add_argument("--mount", required=True, help="path of its volume, the same everywhere")
    one.add_argument("script", type=Path)
    one.set_defaults(action=submit)
    other = actions.add_parser("status")
    other.add_argument("name")
    other.set_defaults(action=status)
    options = parser.parse_args()
    print(options.action(options))


if __name__ == "__main__":
    main()
