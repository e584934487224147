"""Checkpoints: whole or absent, checked, leased."""

import json
import os
import subprocess
import sys

import pytest
import torch
from conftest import ROOT

from rlvr.files import read_json
from rlvr.training import lock_file
from rlvr.training.checkpoint import Checkpoints, Snapshot


def snapshot(step: int) -> Snapshot:
    tensors = {"model": {"w": torch.full((50,), float(step))}, "optimizer": {"state": {}, "param_groups": []}}
    return Snapshot(step, tensors, {"position": 7 * step}, {"metrics": [{"step": i} for i in range(1, step + 1)]})


@pytest.fixture
def saved(tmp_path):
    checkpoints = Checkpoints(tmp_path, {"run": "x"}, keep=3)
    with checkpoints.lease():
        for step in (10, 20, 30, 40):
            checkpoints.save(snapshot(step))
    return checkpoints


def test_the_newest_is_restored_whole_and_the_oldest_removed(saved, tmp_path):
    found = saved.latest()
    assert (found.step, found.state, len(found.rows["metrics"])) == (40, {"position": 280}, 40)
    assert torch.equal(found.tensors["model"]["w"], torch.full((50,), 40.0))
    assert sorted(p.name for p in tmp_path.glob("step-*")) == ["step-000020", "step-000030", "step-000040"]


@pytest.mark.parametrize("harm", ["truncate", "flip", "remove", "no sums"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(saved, tmp_path, capsys, harm):
    newest = tmp_path / "step-000040"
    tensors = newest / "tensors.pt"
    if harm == "truncate":
        os.truncate(tensors, tensors.stat().st_size // 2)
    elif harm == "flip":
        content = bytearray(tensors.read_bytes())
        content[len(content) // 2] ^= 1
        tensors.write_bytes(content)
    elif harm == "remove":
        (newest / "metrics.jsonl").unlink()
    else:
        (newest / "SHA256SUMS").write_text("{")
    assert saved.latest().step == 30
    assert "step-000040 is damaged" in capsys.readouterr().err


def test_what_a_kill_left_half_written_is_ignored(saved, tmp_path):
    half = tmp_path / ".step-000050.123.tmp"
    half.mkdir()
    (half / "tensors.pt").write_bytes(b"half")
    assert saved.latest().step == 40
    assert not half.exists()


def test_another_runs_checkpoints_are_not_used(saved, tmp_path, capsys):
    with (same := Checkpoints(tmp_path, {"run": "x"})).lease():
        assert same.latest().step == 40
    with (other := Checkpoints(tmp_path, {"run": "y"})).lease():
        assert other.latest() is None
    assert "another run" in capsys.readouterr().err


def test_another_runs_checkpoints_stay_while_it_holds_them(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(lock_file, "PATIENCE", 0.0)
    other = Checkpoints(tmp_path, {"run": "y"})
    with saved.lease(), pytest.raises(SystemExit, match="in use by another process"), other.lease():
        pass
    assert saved.latest().step == 40 and read_json(tmp_path / "fingerprint.json") == {"run": "x"}


HUB = {"files": None, "hub": {"repo": "a/b", "revision": "1"}, "template": "{problem}"}
FOLDER = {"files": {"model.safetensors": "12"}, "hub": None, "template": "{problem}"}


def test_a_base_of_the_hub_at_another_revision_is_another_run(tmp_path):
    for number, base in enumerate([HUB, {**HUB, "hub": {"repo": "a/b", "revision": "2"}}, {**HUB, "template": "?"}]):
        with (checkpoints := Checkpoints(tmp_path, {"run": "x", "base": base})).lease():
            assert checkpoints.latest() is None
            checkpoints.save(snapshot(10 + number))


def test_checkpoints_from_before_templates_were_in_the_mark_are_still_of_their_run(tmp_path):
    with (before := Checkpoints(tmp_path, {"run": "x", "base": str(FOLDER["files"])})).lease():
        before.save(snapshot(10))
    with (now := Checkpoints(tmp_path, {"run": "x", "base": FOLDER})).lease():
        assert now.latest().step == 10
    assert read_json(tmp_path / "fingerprint.json")["base"] == FOLDER


@pytest.fixture
def second(tmp_path):
    """Starts a process that takes the lease, or gives up after some seconds; environment variables may be added."""
    code = (
        "import sys; from pathlib import Path; from rlvr.training import lock_file\n"
        "from rlvr.training.checkpoint import Checkpoints\n"
        "lock_file.PATIENCE = float(sys.argv[1])\n"
        f"with Checkpoints(Path({json.dumps(str(tmp_path))}), {{'run': 'x'}}).lease(): print('mine')"
    )

    def started(patience: float = lock_file.PATIENCE, **variables: str) -> subprocess.Popen:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [sys.executable, "-c", code, str(patience)]
        return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **variables}, **pipes)

    return started


def test_a_second_process_waits_for_one_that_is_ending(saved, second):
    """As a run does whose Snakemake was killed: it saves first."""
    with saved.lease():
        waiting = second()
        assert waiting.stdout.readline().endswith("; waiting for it\n")
    assert waiting.communicate(timeout=30)[0] == "mine\n"


def test_a_second_process_is_refused(saved, second):
    with saved.lease():
        refused = second(patience=1.0)
        error = refused.communicate(timeout=60)[1]
        assert refused.returncode == 1 and f"in use by another process (host {os.uname().nodename}" in error
        assert f"process {os.getpid()}, job none" in error
        waiting = second(patience=0.0, SLURM_JOB_ID="7")
        assert waiting.stdout.readline().endswith("; waiting for it\n")  # as a Slurm job
        assert waiting.poll() is None
    assert waiting.communicate(timeout=60)[0] == second().communicate(timeout=60)[0] == "mine\n"
