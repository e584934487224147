"""A run that logs to the real packages: TensorBoard, trackio, W&B offline. `make test-loggers` installs them.

One run logs to all three, is killed between two checkpoints, and goes on to its end.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT, without_timing
from support.runs_by_hand import changed

from rlvr.config import identity
from rlvr.config.registries import LOGGERS
from rlvr.files import read_lines

pytestmark = pytest.mark.loggers

KINDS = LOGGERS.names()
STEPS = 60
# Runs a module, and notes each address outside this machine that Python looks up or connects to.
GUARDED = """
import runpy, sys
notes = open(sys.argv.pop(1), "a", buffering=1)
def note(event, arguments):
    if event == "socket.getaddrinfo" or (event == "socket.connect" and isinstance(arguments[1], tuple)):
        notes.write(f"{event} {arguments[1:] if event.endswith('connect') else arguments[:2]}\\n")
sys.addaudithook(note)
sys.argv[0] = sys.argv.pop(1)
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


# ---- reading a log by its own package ----


def scalars_of_tensorboard(folder: Path, run: str, name: str) -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)] if name in events.Tags()["scalars"] else []


def scalars_of_trackio(folder: Path, run: str, name: str) -> list[tuple[int, float]]:
    os.environ["TRACKIO_DIR"] = str(folder / "trackio")  # read once; all tests have one folder
    from trackio.sqlite_storage import SQLiteStorage

    return [(entry["step"], entry[name]) for entry in SQLiteStorage.get_logs("rlvr", run) if name in entry]


def scalars_of_wandb(folder: Path, run: str, name: str) -> list[tuple[int, float]]:
    from wandb.proto.wandb_internal_pb2 import Record

    (file,) = folder.glob(f"wandb/offline-run-*-{run}/run-{run}.wandb")
    points = []
    for content in records(file.read_bytes()):
        record = Record()
        record.ParseFromString(content)
        items = {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
        if name in items:
            points.append((json.loads(items["step"]), json.loads(items[name])))
    return points


def records(log: bytes, block: int = 32768):
    """The records of LevelDB's log format, in which W&B writes, after its own header of 7 bytes."""
    place, parts = 7, []
    while place + 7 <= len(log):
        if block - place % block < 7:
            place += block - place % block
            continue
        _, length, kind = struct.unpack("<IHB", log[place : place + 7])
        parts.append(log[place + 7 : place + 7 + length])
        place += 7 + length
        if len(parts[-1]) < length:
            return  # not written to its end yet
        if kind in (1, 4):  # whole, or the last part
            yield b"".join(parts)
            parts = []


SCALARS = {"tensorboard": scalars_of_tensorboard, "trackio": scalars_of_trackio, "wandb": scalars_of_wandb}


# ---- the run ----


class Proxy(threading.Thread):
    """Where every process is told that the way out is; it counts who comes."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket, self.calls = socket.create_server(("127.0.0.1", 0)), []
        self.address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def run(self):
        while True:
            connection, _ = self.socket.accept()
            self.calls.append(connection.recv(200))
            connection.close()


class Logged:
    """The finished run, and what each log held while its first process went on."""

    def __init__(self, workbench, spec, folder: Path):
        self.folder, self.run, self.proxy = folder, identity.run_id(spec), Proxy()
        self.notes = folder / "notes"
        self.notes.touch()
        self.proxy.start()
        words = workbench.command(spec, folder, save_every=7, loggers=[*KINDS])
        command = [sys.executable, "-c", GUARDED, str(self.notes), "rlvr.training.rl", *words]
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), self.proxy.address)
        environment = {
            **os.environ,
            **proxies,
            "WANDB_BASE_URL": self.proxy.address,
            "HF_TOKEN": "hf_x",
            "NO_PROXY": "",
        }
        environment |= {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "WANDB_API_KEY": "x" * 40}
        self.seen: dict[str, list[tuple[int, float]]] = {}
        process = subprocess.Popen(command, cwd=ROOT, env=environment)
        while process.poll() is None and not (len(self.seen) == len(KINDS) and min(map(len, self.seen.values())) > 2):
            time.sleep(0.2)
            live = folder / "state" / "live" / "metrics.jsonl"
            if live.exists() and len(list(read_lines(live))) > 10:
                self.seen = {kind: self.scalars(kind, "metrics/pass_rate") for kind in KINDS}
        self.went_on = process.poll() is None
        process.kill()
        process.wait()
        subprocess.run(command, cwd=ROOT, env=environment, check=True)

    def scalars(self, kind: str, name: str) -> list[tuple[int, float]]:
        return SCALARS[kind](self.folder, self.run, name)


@pytest.fixture(scope="module")
def spec(workbench):
    return changed(workbench.spec, rl={"steps": STEPS}, probe={"every": 20, "dense_steps": 1})


@pytest.fixture(scope="module")
def logged(workbench, spec, tmp_path_factory):
    return Logged(workbench, spec, tmp_path_factory.mktemp("logged"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_log_grows_while_a_run_goes_on(logged, kind):
    assert logged.went_on
    steps = [step for step, _ in logged.seen[kind]]
    assert steps == list(range(1, len(steps) + 1)) and 2 < len(steps) < STEPS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["metrics/pass_rate", "metrics/entropy", "metrics/timing/step", "probe/pass_rate"])
def test_a_log_has_each_step_once_after_a_kill(logged, kind, name):
    file, *keys = name.split("/")
    expected = []
    for row in read_lines(logged.folder / f"{file}.jsonl"):
        value = row
        for key in keys:
            value = value[key]
        expected.append((row["step"], value))
    points = logged.scalars(kind, name)
    assert [step for step, _ in points] == [step for step, _ in expected]
    assert [value for _, value in points] == pytest.approx([value for _, value in expected], rel=1e-6)


def test_loggers_change_no_number(workbench, spec, logged, tmp_path):
    workbench.train(spec, tmp_path, save_every=7)
    assert without_timing(tmp_path / "metrics.jsonl") == without_timing(logged.folder / "metrics.jsonl")
    for name in ("probe.jsonl", f"policy-step{STEPS}/model.safetensors"):
        assert (tmp_path / name).read_bytes() == (logged.folder / name).read_bytes()


def test_no_logger_asks_the_network(logged):
    """Neither Python (by its audit events) nor W&B's own process (by the proxy and the address of its server)."""
    assert logged.proxy.calls == []
    assert logged.notes.read_text() == ""


def test_an_open_tensorboard_shows_no_step_twice(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from rlvr.training import loggers

    (first,) = loggers.begin(["tensorboard"], tmp_path, {})
    for step in (1, 2, 3):
        first.log(step, {"x": step})
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("x")] == [1, 2, 3]
    time.sleep(1.1)  # the names of event files have whole seconds
    (second,) = loggers.begin(["tensorboard"], tmp_path, {})
    for step in (1, 2, 3, 4):
        second.log(step, {"x": step})
    second.close()
    events.Reload()
    assert [event.step for event in events.Scalars("x")] == [1, 2, 3, 4]
