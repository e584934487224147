"""Where numbers came from: whose steps and samples they are, through kills, other commits and publishing again."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest
from conftest import ROOT, copied, program, spec_file, until
from support.runs_by_hand import changed

from rlvr import provenance
from rlvr.config.schema.settings import SLICES, Evaluation
from rlvr.config.schema.specs import EvaluationSpec
from rlvr.files import publish_json, read_json, remove, sha256
from rlvr.provenance import NOT_RECORDED, History, lock_of, same, together, unknown
from rlvr.report import origins
from rlvr.training.backends.verl.state import HISTORY, history_of

pytestmark = pytest.mark.slow

# ---- a checkout whose commits are known ----------------------------------------------------------


class Repository:
    """The package in a git repository of its own, where its processes are started."""

    def __init__(self, folder: Path):
        self.folder = folder
        copied(folder, "src", "envs")
        self._git("init", "-q")
        self._git("add", "-A")

    def commit(self, name: str) -> str:
        """A commit with another text in the package."""
        with open(self.folder / "src/rlvr/provenance.py", "a") as file:
            file.write(f"# {name}\n")
        self._git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-a", "-m", name)
        return self._git("rev-parse", "--short=12", "HEAD")

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def start(self, module: str, *words: str, **options) -> subprocess.Popen:
        paths = {"PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **paths}
        command = [sys.executable, "-m", module, *words]
        return subprocess.Popen(command, cwd=self.folder, env=environment, text=True, **options)

    def run(self, module: str, *words: str) -> None:
        with self.start(module, *words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            said, _ = process.communicate(timeout=300)
        assert process.returncode == 0, said[-3000:]

    def kill_when(self, happened, module: str, *words: str) -> None:
        """Start a process, and end it by SIGKILL once something has happened."""
        with self.start(module, *words, stdout=subprocess.DEVNULL) as process:
            until(lambda: happened() or process.poll() is not None, pause=0.002)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL and happened()


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


def newest(state: Path) -> int:
    return max((int(path.name.removeprefix("step-")) for path in state.glob("step-*")), default=0)


def outputs(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and "state" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def remove_outputs(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name != "state":
            remove(path)


def stages(workbench, out: Path) -> dict[str, list[str]]:
    longer = changed(workbench.spec, rl={"steps": 12}, probe={"every": 4, "dense_steps": 1})
    return {
        "rl": workbench.command(longer, out, save_every=2),
        "sft": [*workbench.sft_command(out), "--save-every", "2"],
    }


@pytest.mark.parametrize("stage", ["rl", "sft"])
def test_a_run_names_the_commits_of_its_steps_and_not_the_one_that_published_it(workbench, repository, tmp_path, stage):
    out, state = tmp_path / "run", tmp_path / "run" / "state"
    command = f"rlvr.training.{stage}", *stages(workbench, out)[stage]
    first = repository.commit("A")
    repository.kill_when(lambda: newest(state) >= 4, *command)
    second, begun = repository.commit("B"), newest(state)
    repository.run(*command)
    made, manifest = outputs(out), read_json(out / "manifest.json")
    found = manifest["provenance"]
    assert found["commit"] == first and [entry["commit"] for entry in found["continued"]] == [second]
    assert found["continued"][0]["from_step"] == manifest["resumed_from"] >= begun >= 4
    assert found["started"] <= found["continued"][0]["started"] <= found["finished"]
    assert found["lock"] == "envs/main.txt" and found["device"] == "cpu" and found["gpus"] == []

    third = repository.commit("C")
    remove_outputs(out)
    repository.run(*command)
    assert outputs(out) == made and third not in (out / "manifest.json").read_text()


def forget(state: Path) -> None:
    """Make each checkpoint one from before histories were kept."""
    for folder in state.glob("step-*"):
        content = read_json(folder / "state.json")
        del content["history"]
        (folder / "state.json").write_text(json.dumps(content))
        sums = read_json(folder / "SHA256SUMS")
        (folder / "SHA256SUMS").write_text(json.dumps({**sums, "state.json": sha256(folder / "state.json")}))


def test_the_origin_of_an_old_checkpoint_is_not_recorded(workbench, repository, tmp_path):
    out, state = tmp_path / "run", tmp_path / "run" / "state"
    command = "rlvr.training.rl", *stages(workbench, out)["rl"]
    repository.commit("A")
    repository.kill_when(lambda: newest(state) >= 2, *command)
    forget(state)
    second = repository.commit("B")
    repository.run(*command)
    found = read_json(out / "manifest.json")["provenance"]
    assert (found["commit"], found["lock_sha256"], found["gpus"]) == (NOT_RECORDED, NOT_RECORDED, [])
    assert [entry["commit"] for entry in found["continued"]] == [second]
    forget(state)
    repository.run(*command)
    found = read_json(out / "manifest.json")["provenance"]
    assert found["commit"] == found["finished"] == NOT_RECORDED and found["continued"] == []


def evaluated(workbench, samples: int) -> list[str]:
    """What is sampled, as options of the stages."""
    data = workbench.spec.validation
    sampling = Evaluation(temperature=0.8, top_p=0.95, samples=samples, max_response_tokens=16, seed=3)
    spec = spec_file(EvaluationSpec(data=data, sampling=sampling))
    return ["--spec", str(spec), "--problems", str(workbench.folder / data.name / "problems.jsonl")]


def test_completions_name_who_drew_their_parts(workbench, repository, tmp_path):
    """Two jobs of slices: the first is killed at commit A and goes on at B, the second draws at B; merged at C."""
    common = [*evaluated(workbench, samples=24), "--state", str(tmp_path / "state")]
    slices = [str(tmp_path / "slices" / f"{number:02d}.jsonl.gz") for number in range(SLICES)]
    drawn = ["rlvr.sampling.generate", *common, "--policy", str(workbench.base), "--rows", "2"]

    def parts() -> int:
        return len(list((tmp_path / "state").rglob("part-*")))

    first = repository.commit("A")
    repository.kill_when(lambda: parts() >= 5, *drawn, *slices[0::2])
    second, before = repository.commit("B"), parts()
    for shard in (0, 1):
        repository.run(*drawn, *slices[shard::2])
    repository.commit("C")
    files = ["--out", str(tmp_path / "completions.jsonl.gz"), "--tokens", str(tmp_path / "tokens.jsonl.gz")]
    repository.run("rlvr.sampling.merge", *common, *files, *slices)
    found = read_json(tmp_path / "origin.json")
    assert [(origin["commit"], origin["parts"]) for origin in found] == [(first, before), (second, 8 * 12 - before)]
    assert found[0]["started"] <= found[1]["started"] and found[0]["packages"]["torch"].startswith("2")


def test_parts_drawn_by_one_job_are_published_again_with_their_origin(workbench, repository, tmp_path):
    command = [
        *("rlvr.sampling.generate", *evaluated(workbench, samples=4)),
        *("--policy", str(workbench.base), "--rows", "8", "--state", str(tmp_path / "out" / "state")),
        *("--out", str(tmp_path / "out" / "c.jsonl.gz"), "--tokens", str(tmp_path / "out" / "t.jsonl.gz")),
    ]
    first = repository.commit("A")
    repository.run(*command)
    made = outputs(tmp_path / "out")
    assert [(o["commit"], o["parts"]) for o in json.loads(made["origin.json"])] == [(first, 4)]
    repository.commit("B")
    remove_outputs(tmp_path / "out")
    repository.run(*command)
    assert outputs(tmp_path / "out") == made
    for origin in (tmp_path / "out" / "state").glob("origin-*"):
        origin.unlink()  # parts from before they were kept
    repository.run(*command)
    (found,) = read_json(tmp_path / "out" / "origin.json")
    assert (found["commit"], found["parts"]) == (NOT_RECORDED, 4)


# ---- histories -----------------------------------------------------------------------------------

A, B = ({**unknown(), "commit": name, "started": started} for name, started in (("a", "1"), ("b", "2")))


def test_a_process_whose_steps_were_lost_is_not_in_the_history():
    kept = History(None, 0, A).saved()
    lost = History(kept, 10, B)
    lost.entered()  # and killed before it saved a step
    again = History(lost.record, 10, A)
    again.saved()
    found = again.published()
    assert found["provenance"]["commit"] == "a" and found["provenance"]["continued"] == []
    assert found["resumed_from"] == 10


def test_verls_history_is_written_before_its_steps_and_finished_after_them(tmp_path):
    publish_json(tmp_path / HISTORY, history_of(tmp_path, 0, A).entered())
    publish_json(tmp_path / HISTORY, history_of(tmp_path, 5, B).entered())
    at = time.time() + 60
    publish_json(tmp_path / HISTORY, history_of(tmp_path, 8, A).over(at))
    found = history_of(tmp_path, 8, {**A, "commit": "c"})
    found.over(at + 1000)  # published again
    manifest = found.published()
    assert manifest["provenance"]["finished"] == provenance.timestamp(at)
    assert [(e["commit"], e["from_step"]) for e in manifest["provenance"]["continued"]] == [("b", 5)]
    assert manifest["resumed_from"] == 5 and 59 < manifest["wall_seconds_last_process"] < 61


def test_origins_that_differ_in_time_alone_are_one():
    entries = [{**B, "parts": 2}, {**A, "parts": 1}, {**B, "started": "0", "parts": 3}]
    assert together(entries) == [{**B, "started": "0", "parts": 5}, {**A, "parts": 1}]
    assert same(A, {**A, "started": "x", "from_step": 3}) and not same(A, {**A, "gpus": [{"name": "x"}]})


# ---- lock files and machines ---------------------------------------------------------------------


def lock(folder: Path, name: str, *pins: str) -> None:
    (folder / name).write_text("# transformers==0.0 in words\n" + "".join(f"{pin}\n" for pin in pins))


def test_the_lock_is_the_one_whose_pins_hold(tmp_path):
    lock(tmp_path, "main.txt", "transformers==5.0", "torch==2.1", "Some_Thing==1.0  # for us")
    lock(tmp_path, "cluster.txt", "transformers==5.0", "torch==2.2+cu130", "some.thing[extra]==1.0", "verl==0.9")
    lock(tmp_path, "test.txt", "pytest==9.0")
    installed = {"transformers": "5.0", "torch": "2.1+cpu", "some-thing": "1.0", "pytest": "9.0"}

    def found(**other):
        made = lock_of({**installed, **other}, tmp_path)
        return made["lock"].split("/")[1], made["lock_differs"]

    assert found() == ("main.txt", 0)
    assert found(verl="0.9", torch="2.2+cu130") == ("cluster.txt", 0)
    assert found(torch="2.3") == ("main.txt", 1), "the additions for tests hold in full, and are no environment"
    assert found(verl="0.9", torch="2.2+cpu") == ("cluster.txt", 1)
    assert lock_of(installed, tmp_path / "none")["lock"] is None


def test_this_environment_is_of_a_lock_and_found_quickly():
    installed = provenance._installed()
    found = lock_of(installed, ROOT / "envs")
    assert (ROOT / found["lock"]).is_file() and found["lock_differs"] <= 10
    assert all(installed[name] == version(name) for name in ("torch", "pyyaml", "math-verify", "typer"))
    began = time.process_time()
    lock_of(provenance._installed(), ROOT / "envs")
    assert time.process_time() - began < 0.2


SMI = """
case "$*" in
*query-gpu*)
    echo '0, GPU-aa, NVIDIA H200, 143771 MiB, 580.65.06'
    echo '1, GPU-bb, NVIDIA H200 NVL, 143771 MiB, 580.65.06' ;;
*) echo '| NVIDIA-SMI 580.65.06   Driver Version: 580.65.06   CUDA Version: 13.0 |' ;;
esac
"""


@pytest.mark.parametrize(
    ("visible", "names"),
    [(None, ["NVIDIA H200", "NVIDIA H200 NVL"]), ("1", ["NVIDIA H200 NVL"]), ("GPU-aa", ["NVIDIA H200"]), ("", [])],
)
def test_gpus_are_those_that_the_process_may_use(tmp_path, monkeypatch, visible, names):
    """What nvidia-smi prints, said again by a script where there is no GPU."""
    program(tmp_path, "nvidia-smi", SMI)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    found = provenance._gpus()
    assert [gpu["name"] for gpu in found["gpus"]] == names
    if names:
        assert (found["driver"], found["driver_cuda"]) == ("580.65.06", "13.0")
        assert found["gpus"][0]["memory"] == "143771 MiB"


def test_no_name_of_the_host_is_recorded():
    assert os.uname().nodename not in [str(value) for value in provenance.collect().values()]


# ---- in a page's words ---------------------------------------------------------------------------

GPU = {"name": "NVIDIA H200", "memory": "143771 MiB"}
ON_GPU = {"gpus": [GPU, GPU], "driver": "580.65.06", "cuda": "13.0", "processor": "a core"}


def test_a_page_says_where_a_run_changed_its_commit_and_its_device():
    on_gpu = {**ON_GPU, "commit": "b", "lock": "envs/cluster.txt", "lock_sha256": "12", "lock_differs": 2}
    first = {"commit": "a", "lock": "envs/main.txt", "lock_sha256": "34", "lock_differs": 0, "gpus": []}
    again = {**on_gpu, "commit": "c", "from_step": 40}
    first |= {"processor": "a core", "continued": [{**on_gpu, "from_step": 20}, again], "finished": "today"}
    manifest = {"provenance": first}
    assert origins.in_order(manifest, origins.commit) == "a; from step 20: b; from step 40: c"
    locks = "envs/main.txt 34; from step 20: envs/cluster.txt 12 (2 pins differ)"
    assert origins.in_order(manifest, origins.lock) == locks
    gpus = "2 x NVIDIA H200 (143771 MiB), driver 580.65.06, CUDA 13.0"
    assert origins.in_order(manifest, origins.device) == f"a core; from step 20: {gpus}"
    on_nodes = {**ON_GPU, "nodes": 4, "gpus_per_node": 2}
    assert origins.device(on_nodes).startswith("4 x 2 GPUs: NVIDIA H200 (143771 MiB), driver")
    assert origins.device({**ON_GPU, "device": "cpu"}) == "a core"


def test_a_page_shows_manifests_of_before_and_unknown_origins():
    before = {"commit": "c0ffee", "lock_sha256": "beef", "processor": "a core", "finished": "2026-11-21T10:00:00Z"}
    shown = [fact(before) for fact in (origins.commit, origins.lock, origins.device)]
    assert shown == ["c0ffee", "beef", "a core"]
    forgotten = [fact(unknown()) for fact in (origins.commit, origins.lock, origins.device)]
    assert forgotten == [NOT_RECORDED] * 3


# ---- what one process makes ----------------------------------------------------------------------


def test_cards_and_models_say_who_made_them(workbench):
    card = read_json(workbench.folder / workbench.spec.data.name / "card.json")["provenance"]
    model = read_json(workbench.folder / "model" / "manifest.json")["provenance"]
    for found in (card, model):
        assert found["commit"] == provenance.commit() and found["lock"] == "envs/main.txt"
        assert found["started"] <= found["finished"] and found["continued"] == []
