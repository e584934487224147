"""Ray over two nodes of a real Slurm: `make test-cluster`, where `make test-verl` has made an environment with Ray."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import ROOT, run_module

PYTHON = os.environ.get("RAY_PYTHON", str(ROOT / ".venv-verl" / "bin" / "python"))
LAUNCHER = "rlvr.training.backends.verl.ray_nodes"
COMMAND = """
import os, signal, sys, time, ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

ray.init(log_to_driver=False)
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(True))

@ray.remote
def where():
    assert os.path.samefile(os.environ["RLVR_NODE_FOLDER"], os.environ["TMPDIR"])
    assert os.stat(os.environ["TMPDIR"]).st_mode & 0o777 == 0o700
    return os.environ["SLURMD_NODENAME"], os.environ.get("SLURM_STEP_GPUS", "none")

def on_each():
    strategies = [NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in ray.nodes() if node["Alive"]]
    found = sorted(ray.get([where.options(scheduling_strategy=one).remote() for one in strategies], timeout=60))
    return [" ".join(values) for values in zip(*found)]

nodes, gpus = on_each()
print(f"{sys.argv[1]} works on {nodes} with {int(ray.cluster_resources()['CPU'])} CPUs; GPUs {gpus}", flush=True)
while sys.argv[1] == "long" and not asked:
    time.sleep(0.1)
if asked:
    print("saved on", on_each()[0], flush=True)
    sys.exit(75)
"""


def test_on_one_node_it_becomes_the_command():
    command = (sys.executable, "-c", "import os, sys; print(os.environ.get('RAY_ADDRESS')); sys.exit(75)")
    done = run_module(LAUNCHER, "--", *command, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (75, "None\n")


@pytest.fixture(scope="module")
def python():
    if not Path(PYTHON).exists() and "CI" not in os.environ:
        pytest.skip(f"no environment with Ray: {PYTHON}")
    return PYTHON


@pytest.fixture
def submit(slurm, tmp_path):
    """`submit(script)` runs a script on two nodes; returns the job and the file that it prints to."""
    jobs = []

    def sbatch(script: str) -> tuple[str, Path]:
        out = tmp_path / "job.out"
        (tmp_path / "job.sh").write_text(f"#!/bin/bash\n{script}\n")
        jobs.append(slurm.run("sbatch", "--parsable", "-N2", "-o", str(out), str(tmp_path / "job.sh")).strip())
        return jobs[-1], out

    yield sbatch
    slurm.run("scancel", *jobs)


def launched(name: str, code: Path, python: str) -> str:
    return f"{sys.executable} -m {LAUNCHER} --python {python} -- {python} {code} {name}"


def wait_until(condition, what, timeout: float = 120):
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        assert time.monotonic() < deadline, what() if callable(what) else what
        time.sleep(0.2)
    return found


def ended(slurm, job: str) -> str | None:
    """The exit code of a job that is over."""
    shown = slurm.run("scontrol", "show", "job", job)
    return (
        re.search(r"ExitCode=(\d+)", shown)[1]
        if "EndTime" in shown and not re.search("JobState=(PENDING|RUNNING|COMPLETING)", shown)
        else None
    )


def processes_of(job: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("SLURM_JOB_ID") == job:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.cluster
def test_two_rays_share_two_nodes_and_one_is_asked_to_stop(slurm, submit, python, tmp_path):
    code = tmp_path / "command.py"
    code.write_text(COMMAND)
    before = set(Path("/tmp").glob("ray-*"))
    long, short = (launched(name, code, python) for name in ("long", "short"))
    job, out = submit(f"{long} & long=$!\n{short}\necho short ended with $?\nwait $long")
    wait_until(lambda: out.exists() and "short ended with 0" in out.read_text(), lambda: out.read_text())
    wait_until(lambda: "long works on n1 n2 with 2 CPUs" in out.read_text(), lambda: out.read_text())
    assert "short works on n1 n2 with 2 CPUs" in out.read_text()
    (launcher,) = [p for p in processes_of(job) if p.cmdline()[1:3] == ["-m", LAUNCHER] and p.cmdline()[-1] == "long"]
    launcher.terminate()
    assert wait_until(lambda: ended(slurm, job), lambda: out.read_text()) == "75"
    assert "saved on n1 n2" in out.read_text()
    wait_until(lambda: not processes_of(job), lambda: processes_of(job), timeout=20)
    assert set(Path("/tmp").glob("ray-*")) <= before


SNAKEFILE = """
import sys
from pathlib import Path
from rlvr.config.cluster import read_cluster

rule rl:
    output: "out.txt"
    resources: **read_cluster(Path("cluster.yaml"), Path("."), ["rl"]).resources("rl", "gpu")
    shell:
        "{sys.executable} -m rlvr.training.backends.verl.ray_nodes --python {config[ray]} -- "
        "{config[ray]} command.py rl > {output}"
"""


@pytest.mark.cluster
def test_a_rule_that_asks_for_two_nodes_gets_them(slurm, site, python, tmp_path):
    """config/cluster.yaml -> Snakemake -> sbatch -> srun -> Ray; four GPUs are two of each node."""
    content = json.loads(site.read_text())
    content["kinds"]["gpu"] |= {"nodes": 2, "gpus": 4}
    (tmp_path / "cluster.yaml").write_text(json.dumps(content))
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "command.py").write_text(COMMAND)
    profile = ("--profile", str(ROOT / "slurm"), "--slurm-init-seconds-before-status-checks", "3")
    command = (sys.executable, "-m", "snakemake", *profile, "--retries", "0", "--config", f"ray={python}")
    done = subprocess.run(command, cwd=tmp_path, env=slurm.environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "rl works on n1 n2 with 2 CPUs; GPUs 0,1 0,1" in (tmp_path / "out.txt").read_text()


@pytest.mark.cluster
def test_a_node_without_ray_is_named_by_its_log(slurm, submit, python, tmp_path):
    only_first = tmp_path / "python"
    only_first.write_text(
        f'#!/bin/sh\n[ "$SLURMD_NODENAME" = n1 ] || {{ echo no Ray here; exit 3; }}\nexec {python} "$@"\n'
    )
    only_first.chmod(0o755)
    job, out = submit(f"{sys.executable} -m {LAUNCHER} --python {only_first} -- echo never")
    assert wait_until(lambda: ended(slurm, job), lambda: out.read_text()) == "1"
    assert "Ray did not start on n1, n2" in out.read_text() and "no Ray here" in out.read_text()
    assert "never" not in out.read_text()
    wait_until(lambda: not processes_of(job), lambda: processes_of(job), timeout=20)
