"""The profile for Kubernetes: the real plug-in submits by a `kubectl` that records Jobs and runs their containers."""

import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, program
from support.checkout import Checkout

from rlvr.config import schedulers
from rlvr.config.cluster import read_cluster
from rlvr.config.load import ConfigError
from rlvr.training.progress import job_end
from rlvr.workflow import kubernetes

KUBECTL = """
import json, os, subprocess, sys
from pathlib import Path
folder, words = Path(os.environ["CLUSTER"]), sys.argv[1:]
if words[0] == "create":
    job = json.load(sys.stdin)
    name = f"{job['metadata']['generateName']}{len(list(folder.glob('*.json')))}"
    (folder / f"{name}.json").write_text(json.dumps(job))
    container = job["spec"]["template"]["spec"]["containers"][0]
    env = {**os.environ, container["env"][0]["name"]: name}
    with (folder / f"{name}.log").open("w") as log:
        done = subprocess.run(container["command"], cwd=container["workingDir"], env=env, stdout=log, stderr=log)
    (folder / f"{name}.state").write_text(",1" if done.returncode else "1,")
    print(name, end="")
elif words[:2] == ["get", "job"]:
    state = folder / f"{words[2]}.state"
    print(state.read_text() if state.exists() else "", end="")
else:
    sys.exit(f"unexpected: {words}")
"""
JOB = {
    "rule": "rl",
    "threads": 1,
    "resources": {"runtime": 90, "mem_mb": 64000, "cpus_per_task": 8, "gpu": 2}
    | {"kubernetes_label": "pool=gpus", "kubernetes_gpu": "NVIDIA-H100-80GB-HBM3"},
}


@pytest.fixture
def cluster(tmp_path):
    """The environment with this kubectl."""
    for name in ("bin", "jobs"):
        (tmp_path / name).mkdir()
    (tmp_path / "kubectl.py").write_text(KUBECTL)
    program(tmp_path / "bin", "kubectl", f'exec {sys.executable} {tmp_path / "kubectl.py"} "$@"\n')
    path = [str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {**os.environ, "CLUSTER": str(tmp_path / "jobs"), "PATH": ":".join(path)}


def site(folder, **changes):
    kind = {"partition": "any", "runtime": 5, "mem_mb": 2000, "cpus": 2}
    gpu = {**kind, "partition": "pool=gpus", "gpus": 1, "gpu_type": "NVIDIA-H100-80GB-HBM3"}
    content = {"scheduler": "kubernetes", "account": None, "kinds": {"cpu": kind, "short": kind, "gpu": gpu}}
    path = folder / "cluster.yaml"
    path.write_text(json.dumps(content | changes))
    return path


@pytest.mark.slow
def test_jobs_run_through_the_plug_in_with_what_the_site_asks_for(cluster, tmp_path):
    checkout = Checkout(tmp_path / "site")
    (checkout.folder / "kubernetes").symlink_to("workflow/profiles/kubernetes")
    profile = checkout.folder / "workflow/profiles/kubernetes/config.yaml"
    profile.write_text(profile.read_text().replace("--mount /work", f"--mount {tmp_path}"))
    config = (f"cluster={site(tmp_path)}",)
    model = f"results/models/{next(iter(checkout.plan.models))}/manifest.json"
    words = "--profile kubernetes --retries 0 --latency-wait 10"
    assert checkout.snakemake(f"{words} -n --", model, config=config, env=cluster).returncode == 0
    assert not list((tmp_path / "jobs").iterdir())
    done = checkout.snakemake(f"{words} --", model, config=config, env=cluster)
    assert done.returncode == 0 and (checkout.folder / model).exists(), done.stderr[-3000:]
    (job,) = (json.loads(path.read_text()) for path in (tmp_path / "jobs").glob("*.json"))
    pod = job["spec"]["template"]["spec"]
    assert (pod["activeDeadlineSeconds"], pod["nodeSelector"], job["metadata"]["labels"]["rule"]) == (300, {}, "model")
    assert pod["containers"][0]["resources"] == {"requests": {"cpu": "2", "memory": "2000Mi"}, "limits": {}}


def test_a_job_asks_for_gpus_on_their_nodes_and_knows_its_volumes():
    made = kubernetes.manifest(JOB, Path("/work/a b.sh"), Path("/work"), image="rlvr:1", claim="shared", mount="/work")
    pod = made["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["resources"] == {"requests": {"cpu": "8", "memory": "64000Mi"}, "limits": {"nvidia.com/gpu": "2"}}
    assert pod["nodeSelector"] == {"pool": "gpus", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert (
        mounted
        == {"shared": "/work", "memory": "/dev/shm"}
        == {one["name"]: mounted[one["name"]] for one in pod["volumes"]}
    )
    assert made["spec"]["backoffLimit"] == 0 and pod["restartPolicy"] == "Never"


def test_the_end_is_counted_from_the_start_of_the_container(tmp_path, monkeypatch):
    script = tmp_path / "a job's.sh"
    script.write_text("echo $RLVR_JOB_END > end\n")
    made = kubernetes.manifest(JOB, script, tmp_path, image="rlvr:1", claim="shared", mount="/work")
    command, began = made["spec"]["template"]["spec"]["containers"][0]["command"], time.time()
    subprocess.run(command, cwd=tmp_path, check=True)
    for name in ("SLURM_JOB_ID", "SLURM_JOB_END_TIME", "LSB_JOBID"):
        monkeypatch.delenv(name, raising=False)
    assert schedulers.job() is None and job_end() is None
    monkeypatch.setenv("RLVR_KUBERNETES_JOB", "rlvr-0")
    monkeypatch.setenv("RLVR_JOB_END", (tmp_path / "end").read_text())
    end = job_end()
    assert schedulers.job() == "rlvr-0" and end is not None and abs(end - began - 5400) < 60


@pytest.mark.parametrize(
    ("answer", "word"), [("1,", "success"), (",1", "failed"), (",", "running"), ("0,0", "running"), ("", "failed")]
)
def test_a_deleted_job_has_failed_and_a_silent_cluster_says_nothing(answer, word, tmp_path, monkeypatch, capsys):
    assert kubernetes.state(answer) == word
    program(tmp_path, "kubectl", "echo 'connection refused' >&2; exit 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert kubernetes.status(Namespace(name="rlvr-0")) == "running" and "refused" in capsys.readouterr().err


def test_a_checkout_that_pods_do_not_see_is_refused(tmp_path, monkeypatch):
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\n# properties = {json.dumps(JOB)}\ntrue\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="is not below /work, where pods see the shared volume"):
        kubernetes.submit(Namespace(script=script, image="rlvr:1", claim="shared", mount="/work"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rules": {"rl": {"nodes": 2, "gpus": 2}}}, "nodes: scheduler kubernetes gives each job one pod"),
        ({"account": "lab"}, "account: scheduler kubernetes has none"),
        ({"rules": {"rl": {"partition": "gpu"}}}, "partition: 'gpu' is no label of nodes"),
    ],
)
def test_what_a_pod_lacks_is_refused_when_the_file_is_read(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        read_cluster(site(tmp_path, **changes), tmp_path, ["rl"]).resources("rl", "gpu")


def test_profiles_of_clusters_group_and_retry_alike():
    files = {name: ROOT / f"workflow/profiles/{name}/config.yaml" for name in ("slurm", "kubernetes")}
    profiles = {name: yaml.safe_load(file.read_text()) for name, file in files.items()}
    own = ("executor", "slurm-", "cluster-generic-")
    slurm, other = ({k: v for k, v in p.items() if not k.startswith(own)} for p in profiles.values())
    assert slurm == other and (ROOT / profiles["kubernetes"]["cluster-generic-cancel-cmd"]).stat().st_mode & 0o100


def test_pods_have_the_hubs_folder_if_it_is_on_the_volume(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", "/work/hub")
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    made = kubernetes.manifest(JOB, Path("/work/a.sh"), Path("/work"), image="rlvr:1", claim="shared", mount="/work")
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert [one for one in container["env"] if "value" in one] == [{"name": "HF_HOME", "value": "/work/hub"}]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"HF_HOME=/work/hub is not below .*would keep it to itself"):
        kubernetes.submit(Namespace(script=tmp_path / "a.sh", image="rlvr:1", claim="shared", mount=str(tmp_path)))
