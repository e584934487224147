"""A full disk, for real: a small tmpfs holds what a run writes."""

import os
import subprocess

import pytest
from conftest import run_module
from support.checkout import Checkout
from support.runs_by_hand import changed, same_results

from rlvr.files import read_json
from rlvr.provenance import timestamp

pytestmark = pytest.mark.slow


@pytest.fixture
def disk(tmp_path):
    """`disk(kibibytes)` mounts a file system of that size, or makes the mounted one that large."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def sized(kibibytes: int):
        remount = "remount," if folder.is_mount() else ""
        mount = ["mount", "-t", "tmpfs", "-o", f"{remount}size={kibibytes}k", "tmpfs", str(folder)]
        done = subprocess.run(mount, capture_output=True, text=True, timeout=60)
        if done.returncode and "CI" not in os.environ:
            pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
        return folder

    yield sized
    if folder.is_mount():
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=60)


@pytest.fixture(scope="module")
def spec(workbench):
    return changed(workbench.spec, rl={"steps": 5})


@pytest.fixture(scope="module")
def undisturbed(workbench, spec, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    workbench.train(spec, out)
    return out


def train(command: list[str]) -> subprocess.CompletedProcess:
    return run_module("rlvr.training.rl", *command, check=False, timeout=120)


def says_so(done: subprocess.CompletedProcess, folder) -> None:
    assert done.returncode == 1 and "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "is full" in line]
    assert line.startswith(f"{folder} is full, or its quota used up: ") and "MiB free" in line


def leftovers(folder) -> list:
    return list(folder.rglob("*.tmp"))


def test_a_checkpoint_without_room_costs_one_step(workbench, spec, undisturbed, disk):
    """Two checkpoints of 1.4 MiB fit, a third does not."""
    out = disk(3700) / "run"
    done = workbench.train(spec, out, check=False)
    says_so(done, out.parent)
    assert [path.name for path in sorted((out / "state").glob("step-*"))] == ["step-000001", "step-000002"]
    assert not leftovers(out) and not (out / "manifest.json").exists()
    disk(16000)
    workbench.train(spec, out)
    same_results(out, undisturbed, steps=5)
    assert read_json(out / "manifest.json")["resumed_from"] == 2


def test_a_policy_without_room_is_published_later_and_nothing_is_trained_again(workbench, spec, undisturbed, disk):
    """The checkpoints stand on another disk than the outputs."""
    out, state = disk(300) / "run", undisturbed.parent / "state"
    command = [*workbench.command(spec, out, save_every=100), "--state", str(state)]
    says_so(train(command), out.parent)
    assert not leftovers(out) and not (out / "manifest.json").exists()
    trained = timestamp(read_json(state / "step-000005" / "state.json")["history"]["saved"])
    disk(16000)
    assert train(command).returncode == 0
    same_results(out, undisturbed, steps=5)
    manifest = read_json(out / "manifest.json")
    assert (manifest["resumed_from"], manifest["provenance"]["finished"]) == (0, trained)


def test_the_workflow_goes_on_when_there_is_room(workbench, undisturbed, disk):
    """Snakemake's own notes stand on the full disk too."""
    checkout = Checkout(disk(6000) / "site", workbench, steps=5)
    out, log = checkout.folder / checkout.manifest(), checkout.folder / f"results/logs/runs/{checkout.run()}.log"
    command = ("--profile workflow/profiles/smoke --", checkout.manifest())
    done = checkout.snakemake(*command)
    assert done.returncode == 1 and str(log.relative_to(checkout.folder)) in done.stderr
    assert f"{checkout.folder.parent} is full" in log.read_text()
    assert not leftovers(checkout.folder) and not list(out.parent.glob("*.json*"))
    disk(16000)
    assert checkout.snakemake(*command).returncode == 0
    same_results(out.parent, undisturbed, steps=5)
    assert read_json(out)["resumed_from"] >= 1
