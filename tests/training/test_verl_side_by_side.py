"""verl's jobs on one node (`make test-verl`): each starts its own Ray, whatever else is there, with its own weights."""

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from conftest import ROOT
from support.verl_without_gpu import RL, environment
from test_orphans import orphans, until

from rlvr.planning.expansion import make_plan
from rlvr.training.backends.verl import own_ray
from rlvr.training.backends.verl.overrides import RECEIVER, Places, overrides
from rlvr.training.lock_file import LEASE, lease

TRIALS = 20
START = """
import sys
from pathlib import Path
from rlvr.training.backends.verl import rl
from rlvr.training.backends.verl.state import RunFolder

rl.TRAINER = sys.argv[2]
rl.train(RunFolder(Path(sys.argv[1])), Path(sys.argv[1], "lines").read_text().splitlines(), hung_minutes=20)
"""
LOOKS = """
import json, os, subprocess, time
import ray
from rlvr.training.backends.verl import run_training

@ray.remote
class Runner:
    def run(self, config):
        names = "RLVR_NODE_FOLDER TMPDIR RAY_ADDRESS RAY_AUTH_TOKEN VLLM_USE_FLASHINFER_SAMPLER".split()
        found = {name: os.environ.get(name) for name in names}
        found["job"] = ray.get_runtime_context().get_job_id()
        found["mode"] = os.stat(os.environ["RLVR_NODE_FOLDER"]).st_mode
        found["session"] = ray._private.worker._global_node.get_session_dir_path()
        with open(os.environ["SAYS"], "a") as file:
            print(json.dumps(found), file=file)
        time.sleep(float(os.environ.get("STAYS", 0)))

run_training.Runner = Runner
run_training.main()
"""
SENDS = """
import asyncio, json, os, time
from pathlib import Path
import ray, torch
from verl.utils.config import omega_conf_to_dataclass
from verl_on_cpu import rollout
from rlvr.training.backends.verl import own_ray, run_training

def content(trial):
    return {f"layer-{i}": torch.full((50_000,), float(os.environ["JOB"]) * 1000 + trial) for i in range(40)}

class Engine(rollout.Server):
    def __init__(self, replica, own_names):
        os.environ |= {"VERL_REPLICA_RANK": str(replica), "VERL_RAY_JOB_ID": ray.get_runtime_context().get_job_id()}
        if not own_names:
            del os.environ[own_ray.FOLDER]

    def load(self, weights):
        self.weights = weights

    def wrong(self, trial):
        return sum(not torch.equal(value, self.weights[name]) for name, value in content(trial).items())

class Trainer:
    def __init__(self, config, own_names):
        self.adapter = rollout.ServerAdapter(omega_conf_to_dataclass(config.actor_rollout_ref.rollout), None, None)
        if own_names:
            self.adapter.zmq_handle = own_ray.in_own_folder(self.adapter.zmq_handle)

    async def send(self, trial):
        await self.adapter.update_weights(iter(content(trial).items()))

@ray.remote
class Runner:
    def run(self, config):
        own_names = os.environ["NAMES"] == "own"
        engine = ray.remote(Engine).options(name="vllm_server_0_0", max_concurrency=4).remote(0, own_names)
        rank = {"env_vars": {"RANK": "0", "RAY_LOCAL_WORLD_SIZE": "1"}}
        trainer = ray.remote(Trainer).options(runtime_env=rank).remote(config, own_names)
        ray.get([engine.wake_up.remote(), trainer.__ray_ready__.remote()])
        here, job = Path(os.environ["MEETING"]), ray.get_runtime_context().get_job_id()
        for trial in range(int(os.environ["TRIALS"])):
            (here / f"{trial}-{os.environ['JOB']}").touch()
            while len(list(here.glob(f"{trial}-*"))) < 2 and not (here / "over").exists():
                time.sleep(0.001)
            if (here / "over").exists():
                return
            try:
                ray.get(trainer.send.remote(trial), timeout=20)
                result = f"{ray.get(engine.wrong.remote(trial), timeout=20)} wrong"
            except ray.exceptions.RayError as error:
                result = type(error).__name__  # GetTimeoutError: it waits for ever
            with open(os.environ["SAYS"], "a") as file:
                print(json.dumps([trial, job, result]), file=file)
            if result != "0 wrong":
                (here / "over").touch()

run_training.Runner = Runner
run_training.main()
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """The overrides of a run of ACE, as on a GPU but for what a CPU needs."""
    plan = make_plan(ROOT, "smoke", ["ace"])
    name, spec = next((name, spec) for name, spec in plan.runs.items() if "qwen2" in name)
    execution = plan.executions[name].model_copy(update={"attention": "sdpa"})
    places = Places.of(tmp_path_factory.mktemp("state"), "model")
    here = ["actor_rollout_ref.rollout.name=vllm", "trainer.resume_mode=disable"]
    here.append("actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=1")  # several a transfer
    return [*overrides(spec, places, execution), *RL, *here]


def start(folder: Path, program: str, lines: list[str], **variables: str) -> subprocess.Popen:
    """A job: the stage's `rl.train`, whose child is this program."""
    folder.mkdir(exist_ok=True)
    (folder / "lines").write_text("\n".join(lines))
    (folder / "start.py").write_text(START)
    (folder / "program_of_test.py").write_text(program)
    given = {**environment(), "SAYS": str(folder / "says"), **variables}
    given["PYTHONPATH"] += f":{folder}"
    given.pop("RAY_AUTH_TOKEN", None)
    command = [sys.executable, str(folder / "start.py"), str(folder), "program_of_test"]
    with open(folder / "log", "w") as log:
        return subprocess.Popen(command, env=given, cwd=folder, stdout=log, stderr=log)


def said(folder: Path) -> list:
    path = folder / "says"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def ended(process: subprocess.Popen, folder: Path, seconds: float = 600) -> int:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise AssertionError((folder / "log").read_text(errors="replace")[-3000:]) from None
    finally:
        process.kill()


def hostile(folder: Path) -> dict[str, str]:
    """A login shell's Ray, a temporary folder of more than 60 characters with another Ray's note, a new home."""
    long = folder / ("x" * 60)
    (long / "ray").mkdir(parents=True)
    (long / "ray" / "ray_current_cluster").write_text("127.0.0.1:6379")
    (folder / "home").mkdir()
    return {"RAY_ADDRESS": "127.0.0.1:1", "TMPDIR": str(long), "HOME": str(folder / "home")}


@pytest.mark.verl
def test_ray_starts_as_the_runs_own(lines, tmp_path):
    variables = hostile(tmp_path)
    process = start(tmp_path / "job", LOOKS, lines, **variables)
    assert ended(process, tmp_path / "job") == 0, (tmp_path / "job" / "log").read_text()[-3000:]
    (found,) = said(tmp_path / "job")
    folder = Path(found["RLVR_NODE_FOLDER"])
    assert folder.parent == own_ray.PLACE and found["TMPDIR"] == str(folder)
    assert Path(found["session"]).parent == folder / "ray" and stat.S_IMODE(found["mode"]) == 0o700
    assert found["job"] == "01000000" and found["RAY_ADDRESS"] is None and len(found["RAY_AUTH_TOKEN"]) == 64
    assert found["VLLM_USE_FLASHINFER_SAMPLER"] == "0"
    assert not (tmp_path / "home" / ".ray").exists() and not folder.exists()


@pytest.mark.verl
@pytest.mark.parametrize("name", ["RAY_ADDRESS", "ray_current_cluster", "TMPDIR"])
def test_ray_as_verl_starts_it_would_not(name, tmp_path):
    """Each of the three stops it: the reason for an address, a folder and its place."""
    variables = hostile(tmp_path)
    if name != "RAY_ADDRESS":
        del variables["RAY_ADDRESS"]
    if name != "ray_current_cluster":
        (Path(variables["TMPDIR"]) / "ray" / "ray_current_cluster").unlink()
    program = "import ray; ray.init(num_cpus=1, include_dashboard=False)"
    process = subprocess.run([sys.executable, "-c", program], env={**environment(), **variables}, capture_output=True)
    why = "AF_UNIX path length" if name == "TMPDIR" else "num_cpus and num_gpus must not be provided"
    assert process.returncode and why in process.stderr.decode()


@pytest.mark.verl
def test_the_users_choice_of_a_sampler_wins_and_a_kill_leaves_nothing(lines, tmp_path):
    process = start(tmp_path, LOOKS, lines, VLLM_USE_FLASHINFER_SAMPLER="1", STAYS="1000")
    (found,) = until(lambda: said(tmp_path) or process.poll() is not None, 300)
    assert found["VLLM_USE_FLASHINFER_SAMPLER"] == "1"
    family = {psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)}
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert orphans(family) == []
    until(lambda: not Path(found["RLVR_NODE_FOLDER"]).exists())


def side_by_side(folder: Path, lines: list[str], names: str) -> list[list[str]]:
    """What two jobs, which send at the same moments, say of each trial; one that is not right is the last."""
    (folder / "meeting").mkdir(parents=True)
    shared = {"MEETING": str(folder / "meeting"), "TRIALS": str(TRIALS), "NAMES": names}
    jobs = {folder / job: start(folder / job, SENDS, lines, JOB=job, **shared) for job in "12"}
    try:
        for place, job in jobs.items():
            ended(job, place)
    finally:
        for job in jobs.values():
            job.kill()
    results = [result for place in jobs for result in said(place)]
    assert results and {job for _, job, _ in results} == {"01000000"}, (folder / "1" / "log").read_text()[-3000:]
    return [[result for t, _, result in results if t == trial] for trial in range(TRIALS)]


@pytest.mark.verl
def test_vllms_workers_are_given_a_receiver_of_verls_kind():
    program = "from verl_on_cpu.rollout import Receiver; print(Receiver.__module__, Receiver.__qualname__, sep='.')"
    program += "; print([base.__name__ for base in Receiver.__bases__])"
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, text=True)
    assert done.stdout.splitlines()[-2:] == [RECEIVER, "['vLLMColocateWorkerExtension']"], done.stderr


@pytest.mark.verl
def test_two_jobs_on_one_node_load_their_own_weights(lines, tmp_path):
    right = side_by_side(tmp_path, lines, "own").count(["0 wrong", "0 wrong"])
    print(f"right weights in {right} of {TRIALS} trials of two jobs")
    assert right == TRIALS


@pytest.mark.verl
@pytest.mark.long
def test_by_verls_own_names_they_would_not(lines, tmp_path):
    results = side_by_side(tmp_path, lines, "verl")
    print(f"by verl's own names: {results}")
    assert results.count(["0 wrong", "0 wrong"]) < TRIALS


def test_folders_of_runs_that_were_killed_are_removed(monkeypatch, tmp_path):
    """Those without a holder; not one that is in use, nor a new one, nor a folder of somebody else."""
    monkeypatch.setattr(own_ray, "PLACE", tmp_path)
    for name in ("TMPDIR", own_ray.FOLDER):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    names = ("dead", "new", "living", "other")
    dead, new, living, other = (tmp_path / f"{own_ray.PREFIX}{name}" for name in names)
    for folder in (dead, new):
        with lease(folder):
            pass
    os.utime(dead / LEASE, (0, 0))
    other.mkdir()
    with lease(living), own_ray.own_folder() as folder:
        assert os.environ["TMPDIR"] == os.environ[own_ray.FOLDER] == str(folder)
        os.utime(living / LEASE, (0, 0))
        own_ray._remove_abandoned()
        assert set(tmp_path.iterdir()) == {new, living, other, folder}
    assert set(tmp_path.iterdir()) == {new, living, other}


def test_a_socket_is_in_the_runs_folder_where_there_is_one(monkeypatch):
    socket = "ipc:///tmp/rl-colocate-zmq-01000000-replica-0-rank-0.sock"
    monkeypatch.delenv(own_ray.FOLDER, raising=False)
    assert own_ray.in_own_folder(socket) == socket
    monkeypatch.setenv(own_ray.FOLDER, "/tmp/mine")
    assert own_ray.in_own_folder(socket) == "ipc:///tmp/mine/rl-colocate-zmq-01000000-replica-0-rank-0.sock"
