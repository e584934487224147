"""Shared pieces: a tiny policy, a tiny run, and the smoke chain, made once."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# As in the stages: two workers, each with a thread of torch per core, wait for one another most of their time.
os.environ["OMP_NUM_THREADS"] = "1"
# On a busy machine an example may take any time.
settings.register_profile("any speed", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")
# Processes started here can be interrupted, also where a shell in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)


LONG = ("workflow", "commands", "training", "verifiers")  # folders
# Tests with one of these marks take long, or need what other tests do not: they run only where -m names one of theirs.
APART = {"slow", "long", "vllm", "cluster", "verl", "trl", "loggers", "site"}


def pytest_collection_modifyitems(config, items):
    """Leaves out tests that are apart. (A default -m in pyproject.toml would be lost where a user gives another.)"""
    named = set(re.findall(r"\w+", config.option.markexpr))
    marks = [APART & {mark.name for mark in item.iter_markers()} for item in items]
    left_out = [item for item, own in zip(items, marks, strict=True) if own and not own & named]
    items[:] = [item for item, own in zip(items, marks, strict=True) if not own or own & named]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    # Long files come first, so that no worker is still at one of them when the others are done.
    items.sort(key=lambda item: item.path.parent.name not in LONG)


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """matplotlib keeps each figure until it is closed, and warns of more than 20."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


ROOT = Path(__file__).resolve().parents[1]
PLANS = TemporaryDirectory()


def spec_file(content) -> Path:
    """The file of a specification, or of a dumped one, as a rule's parameter names it."""
    from rlvr.config.paths import Paths
    from rlvr.workflow import spec_files

    plain = content if isinstance(content, dict) else content.model_dump(mode="json")
    return Path(spec_files.spec_file(plain, Paths(PLANS.name, "smoke"), write=True))


def run_module(module: str, *arguments: str, check: bool = True, **options) -> subprocess.CompletedProcess:
    """Run a module of the package as a rule does: its own process, one thread."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, **options
    )
    assert not check or done.returncode == 0, done.stderr[-3000:]
    return done


def snakemake(
    *arguments: str, check: bool = True, timeout: float = 900, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess:
    # Several work in this folder at once, and Snakemake removes its note of unfinished jobs, folder and all, after the
    # last: another that is just reading it fails. A file in it keeps the folder.
    unfinished = ROOT / ".snakemake" / "incomplete"
    unfinished.mkdir(parents=True, exist_ok=True)
    (unfinished / "keep").touch()
    command = [sys.executable, "-m", "snakemake", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout, env=env)
    assert not check or done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done


def copied(folder: Path, *names: str) -> Path:
    """A folder with copies of files and folders of the checkout."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def whole_copy(folder: Path) -> Path:
    """A copy of the checkout, without what is hidden or was made."""
    made = ("results", "data", "build", "site", "no-cache")
    names = [path.name for path in ROOT.iterdir() if not path.name.startswith(".") and path.name not in made]
    return copied(folder, *names)


def program(folder: Path, name: str, text: str) -> Path:
    """A program of the shell in a folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def until(condition: Callable[[], Any], what: Any = "", seconds: float = 600.0, pause: float = 0.05) -> Any:
    """The first true value of a condition. Fails with `what` where there is none in time."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not in {seconds} s: {what() if callable(what) else what}"
        time.sleep(pause)
    return found


def commands_of(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command and each group below a group of typer, with its words: a new one is tested too."""
    for name, command in getattr(group, "commands", {}).items():
        yield (*words, name), command
        yield from commands_of(command, (*words, name))


def without_timing(path: Path) -> list[dict]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "timing"} for row in rows]


@pytest.fixture(scope="session")
def plan():
    from rlvr.planning.expansion import make_plan

    return make_plan(ROOT, "smoke", ["ace"])


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """A real Slurm of two nodes, each with one CPU for jobs."""
    from support.slurm_cluster import Slurm, missing

    assert not missing(), f"{missing()} are missing: apt-get install slurmctld slurmd slurm-client munge"
    with Slurm(tmp_path_factory.mktemp("slurm"), nodes=2, cpus=1) as started:
        yield started


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """Its config/cluster.yaml.

    Jobs have minutes to spare: a run that a test holds for a while takes its steps for as long, and would end early.
    """
    one = {"runtime": 30, "longest": 90, "mem_mb": 2000, "cpus": 1}
    kinds = {
        "cpu": {"partition": "cpu", **one},
        "short": {"partition": "cpu", **one, "runtime": 1, "longest": 1},  # a group asks for the sum, below MaxTime
        "gpu": {"partition": "gpu", **one, "gpus": 1, "gpu_type": "h100"},
    }
    path = tmp_path_factory.mktemp("site") / "cluster.yaml"
    path.write_text(json.dumps({"account": None, "kinds": kinds}))
    return path


@pytest.fixture
def policy():
    """A randomly initialised tiny Qwen2 with its tokenizer."""
    return tiny("qwen2")


def tiny(architecture: str):
    from rlvr.planning.papers import read_sources
    from rlvr.policies.sources.scratch import scratch_policy

    sources = read_sources(ROOT, "smoke", [])
    return scratch_policy(sources.models[f"{architecture}-tiny"])


@pytest.fixture(scope="session")
def workbench(tmp_path_factory, plan):
    """Data, model and a short SFT of the smoke scale, made by the stages' own commands: once for all workers."""
    spec = next(spec for name, spec in plan.runs.items() if "-grpo-lr0.0002-seed1" in name and "qwen2" in name)
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "workbench"
    made = Workbench(folder, spec, folder / "sft" / "manifest.json", plan.execution)
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return made if made.base.exists() else Workbench.made(folder, spec, plan.execution)


class Workbench:
    """Where a run's inputs stand, and how to start one."""

    def __init__(self, folder: Path, spec, base: Path, execution):
        self.folder, self.spec, self.base, self.execution = folder, spec, base, execution

    @classmethod
    def made(cls, folder: Path, spec, execution) -> Workbench:
        """The inputs of a run, by the stages' own commands."""
        base = spec.base
        for data in (spec.data, spec.validation, base.sft_data):
            run_module("rlvr.data.prepare", "--spec", str(spec_file(data)), "--out", str(folder / data.name))
        model = folder / "model" / "manifest.json"
        run_module("rlvr.policies.build", "--spec", str(spec_file(base.model)), "--out", str(model))
        made = cls(folder, spec, folder / "sft" / "manifest.json", execution)
        run_module("rlvr.training.sft", *made.sft_command(folder / "sft"))
        return made

    def sft_command(self, out: Path) -> list[str]:
        base = self.spec.base
        return [
            *("--spec", str(spec_file(base)), "--model", str(self.folder / "model" / "manifest.json")),
            *("--demonstrations", str(self.folder / base.sft_data.name / "demonstrations.jsonl")),
            *("--out", str(out / "manifest.json"), "--state", str(out / "state")),
        ]

    def command(self, spec, out: Path, save_every: int = 1, save_minutes: float = 20, **others) -> list[str]:
        saves = {"save_every": save_every, "save_minutes": save_minutes, **others}
        execution = self.execution.model_copy(update=saves)
        return [
            *("--spec", str(spec_file(spec)), "--execution", str(spec_file(execution)), "--base", str(self.base)),
            *("--problems", str(self.folder / spec.data.name / "problems.jsonl")),
            *("--validation", str(self.folder / spec.validation.name / "problems.jsonl")),
            *("--out", str(out / "manifest.json"), "--state", str(out / "state")),
        ]

    def train(self, spec, out: Path, check: bool = True, **options) -> subprocess.CompletedProcess:
        return run_module("rlvr.training.rl", *self.command(spec, out, **options), check=check)


@pytest.fixture(scope="module")
def own(workbench, tmp_path_factory) -> tuple[Path, str, str]:
    """A copy of the workflow, a saved tiny policy, and a file of problems of one's own."""
    from support.checkout import Checkout

    from rlvr.records import Problem, read_records

    root = tmp_path_factory.mktemp("own")
    Checkout(root)
    found = read_records(workbench.folder / workbench.spec.data.name / "problems.jsonl", Problem)
    rows = [{"prompt": problem.prompt, "answer": problem.gold, "level": problem.level} for problem in found]
    (root / "my.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return root, str(workbench.base.parent / "policy"), str(root / "my.jsonl")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, where the test works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def offline(monkeypatch):
    """No hub can be reached."""
    import huggingface_hub

    def unreachable(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", unreachable)


@pytest.fixture
def another_zygote():
    """A zygote that starts with what the test has changed, and ends with it."""
    from rlvr.verifiers import sandbox

    sandbox.close()
    yield
    sandbox.close()
