"""The profile for LSF as far as its plug-in goes: the real plug-in submits to a `bsub` that records its arguments."""

import json
import os
import shlex
import time
from itertools import pairwise

import pytest
import yaml
from conftest import ROOT, program
from support.checkout import Checkout

from rlvr.config import schedulers
from rlvr.config.cluster import read_cluster
from rlvr.config.load import ConfigError
from rlvr.training.progress import job_end

# What the plug-in asks LSF; `bsub` notes its arguments and runs the job at once, `bjobs` says how the jobs ended.
PROGRAMS = {
    "bsub": """printf '%s\\0' "$@" >> $LSF/calls; printf '\\n' >> $LSF/calls
number=$(( $(cat $LSF/number 2>/dev/null || echo 0) + 1 )); echo $number > $LSF/number
for last; do :; done
if LSB_JOBID=$number sh -c "$last" > $LSF/job-$number.log 2>&1; then state=DONE; else state=EXIT; fi
echo "$number $state" >> $LSF/states; echo "Job <$number> is submitted to queue <q>."
""",
    "bjobs": "cat $LSF/states",
    "badmin": "printf 'mbd\\nLSB_SHAREDIR = %s\\nLSF_CONFDIR = %s\\n' $LSF $LSF",
    "lsclusters": "printf 'CLUSTER_NAME STATUS\\ntest ok\\n'",
}


@pytest.fixture
def lsf(tmp_path):
    """The environment with these programs."""
    (tmp_path / "bin").mkdir()
    for name, body in PROGRAMS.items():
        program(tmp_path / "bin", name, body)
    params = tmp_path / "lsbatch" / "test" / "configdir" / "lsb.params"
    params.parent.mkdir(parents=True)
    params.write_text("DEFAULT_QUEUE = q\n")
    return {**os.environ, "LSF": str(tmp_path), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}


def site(folder, **changes):
    kind = {"partition": "normal", "runtime": 5, "mem_mb": 2000, "cpus": 2}
    kinds = {"cpu": kind, "short": kind, "gpu": {**kind, "partition": "gpus", "gpus": 4, "gpu_type": "H100"}}
    path = folder / "cluster.yaml"
    path.write_text(json.dumps({"scheduler": "lsf", "account": "lab", "kinds": kinds} | changes))
    return path


@pytest.mark.slow
def test_jobs_run_through_the_plug_in_with_what_the_site_asks_for(lsf, tmp_path):
    pytest.importorskip("snakemake_executor_plugin_lsf", reason="make install-test")
    checkout = Checkout(tmp_path / "site")
    (checkout.folder / "lsf").symlink_to("workflow/profiles/lsf")
    config = (f"cluster={site(tmp_path, rules={'model': {'gpus': 4, 'gpu_type': 'H100'}})}",)
    model = f"results/models/{next(iter(checkout.plan.models))}/manifest.json"
    done = checkout.snakemake("--profile lsf --retries 0 --latency-wait 10 --", model, config=config, env=lsf)
    assert done.returncode == 0, done.stderr[-3000:]
    (call,) = (tmp_path / "calls").read_text().splitlines()
    words = call.split("\0")
    options = dict(pairwise(words))
    assert (options["-q"], options["-P"], options["-W"], options["-n"]) == ("normal", "lab", "5", "2")
    assert options["-gpu"] == "num=4:gmodel=H100" and {"rusage[mem=1000.0]", "span[hosts=1]"} <= set(words)


def test_a_job_asks_in_lsfs_names(tmp_path):
    cluster = read_cluster(site(tmp_path), tmp_path, ["rl"])
    asked = cluster.resources("rl", "gpu")
    assert asked["runtime"](None, 1) == 5 and asked["mem_mb"](None, 1) == 2000
    assert (asked["lsf_queue"], asked["lsf_project"]) == ("gpus", "lab")
    assert shlex.split(asked["lsf_extra"]) == ["-gpu", "num=4:gmodel=H100"]
    assert not [name for name in asked if name.startswith("slurm") or name == "nodes"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rules": {"rl": {"nodes": 2}}}, "nodes: scheduler lsf gives each job one host"),
        ({"qos": "high"}, "qos: scheduler lsf has none"),
        ({"scheduler": "lfs"}, "scheduler: unknown scheduler 'lfs'; did you mean 'lsf'"),
    ],
)
def test_what_lsf_lacks_is_refused_when_the_file_is_read(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        read_cluster(site(tmp_path, **changes), tmp_path, ["rl"]).resources("rl", "gpu")


def test_a_job_knows_its_scheduler_and_its_end(lsf, monkeypatch):
    for name in ("SLURM_JOB_ID", "SLURM_JOB_END_TIME"):
        monkeypatch.delenv(name, raising=False)
    assert schedulers.job() is None and job_end() is None
    monkeypatch.setenv("LSB_JOBID", "12")
    monkeypatch.setenv("PATH", lsf["PATH"])
    monkeypatch.setenv("LSF", lsf["LSF"])
    with open(f"{lsf['LSF']}/states", "w") as states:
        states.write("4:30 L\n")

    end = job_end()
    assert schedulers.job() == "12" and end and abs(end - time.time() - 16200) < 60


def test_both_profiles_group_and_retry_alike():
    files = (ROOT / f"workflow/profiles/{name}/config.yaml" for name in ("slurm", "lsf"))
    profiles = [yaml.safe_load(file.read_text()) for file in files]
    slurm, lsf = ({k: v for k, v in p.items() if k != "executor" and not k.startswith("slurm-")} for p in profiles)
    assert slurm == lsf and profiles[1]["executor"] == "lsf"
