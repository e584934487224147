"""Locks that a killed Snakemake leaves are removed by the next; those of one that lives are respected."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import pytest
from support.checkout import Checkout
from support.runs_by_hand import same_results

from rlvr.workflow import locks
from rlvr.workflow.locks import Owner, holds, own, refusal, release

STEPS = 30
PROFILE = "--profile workflow/profiles/smoke --"
MINE = "0.input.lock", "0.output.lock"


@pytest.fixture
def folder(tmp_path) -> Path:
    """A .snakemake with the locks of one Snakemake."""
    lock(tmp_path, *MINE)
    return tmp_path


def lock(folder: Path, *names: str) -> None:
    (folder / "locks").mkdir(exist_ok=True)
    for name in names:
        (folder / "locks" / name).write_text("results/a\n")


def left(folder: Path) -> set[str]:
    return {path.name for path in (folder / "locks").iterdir()}


@pytest.fixture
def note(folder):
    """Writes the note of an owner; a living one holds it until it dies."""
    held = {}

    def written(owner: Owner, name: str = "owner", *, alive: bool = True) -> Path:
        path = folder / "owners" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(asdict(owner)))
        if alive and name not in held:
            held[name] = path.open()
            fcntl.flock(held[name], fcntl.LOCK_EX)
        return path

    yield written
    for file in held.values():
        file.close()


def owner_of(files: tuple[str, ...] | None = MINE) -> Owner:
    return Owner(*locks._here(), 17, "2026-01-01 00:00:00", files)


OWNING = """
import sys, time; from pathlib import Path; from rlvr.workflow.locks import own, holds
note = own(Path(sys.argv[1])); holds(note, sys.argv[2:]); print(note, flush=True); time.sleep(600)
"""


def test_a_lock_is_removed_once_its_owner_is_killed(folder):
    command = [sys.executable, "-c", OWNING, str(folder), *MINE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        path = Path(owner.stdout.readline().strip())
        (line,) = release(folder)
        assert "is respected" in line and f"process {owner.pid} on {os.uname().nodename}" in line
        assert left(folder) == set(MINE) and path.exists()
        owner.kill()
        while psutil.Process(owner.pid).status() != psutil.STATUS_ZOMBIE:  # not waited for yet: dead all the same
            pass
        (line,) = release(folder)
    assert line.startswith(f"removed the lock of Snakemake process {owner.pid}")
    assert left(folder) == set() and not path.exists() and release(folder) == []


@pytest.mark.parametrize("other", [{"host": "elsewhere"}, {"machine": "another of this name"}])
def test_an_owner_elsewhere_is_respected(folder, note, other):
    note(replace(owner_of(), **other), alive=False)
    assert "may still run" in release(folder)[0] and left(folder) == set(MINE)


def test_who_makes_the_files_is_named_and_a_lock_is_removed_by_hand_only_of_another_host(folder, note):
    ours = {"results/b"}, {"results/a"}
    assert refusal(folder, *ours) is None  # locks without an owner are Snakemake's to refuse
    note(owner_of())
    said = refusal(folder, *ours)
    assert said is not None and said.startswith(f"Snakemake process 17 on {os.uname().nodename}, started ")
    assert "makes files that this command needs: wait until it ends" in said
    assert "rlvr watch" in said and "unlock" not in said
    note(replace(owner_of(), host="login2"))
    said = refusal(folder, *ours)
    assert said is not None and "if it no longer runs on login2, `snakemake --unlock` removes its lock" in said
    note(owner_of(("9.output.lock",)))
    assert refusal(folder, *ours) is None


def test_only_an_owner_whose_files_the_command_needs_is_named(folder, note):
    """Two commands work side by side; a third wants the files of one."""
    for number, kind in ((1, "input"), (1, "output"), (2, "input")):
        (folder / "locks" / f"{number}.{kind}.lock").write_text(f"results/of-{number}\n")
    note(owner_of(("1.input.lock", "1.output.lock")))
    note(replace(owner_of(("2.input.lock",)), host="login2", process=18), "other")
    assert "login2" not in (refusal(folder, {"results/of-1"}, {"results/x"}) or "")
    assert "makes files that this command needs" in (refusal(folder, {"results/of-1"}, {"results/x"}) or "")
    said = refusal(folder, set(), {"results/of-2"}) or ""
    assert "login2" in said and "reads files that this command makes" in said and "process 17" not in said
    assert refusal(folder, {"results/of-2"}, {"results/x"}) is None  # both read it


def test_of_two_owners_only_the_dead_ones_locks_go(folder, note):
    lock(folder, "1.input.lock", "1.output.lock")
    note(owner_of(), "dead", alive=False)
    note(owner_of(("1.input.lock", "1.output.lock")), "alive")
    removed, kept = release(folder)
    assert removed.startswith("removed") and kept.startswith("a lock of")
    assert left(folder) == {"1.input.lock", "1.output.lock"}


def test_a_name_that_a_living_owner_took_again_is_its_own(folder, note):
    """Snakemake removes all locks at its end, those of a dead one too; the next takes the same numbers."""
    note(owner_of(), "dead", alive=False)
    note(owner_of(), "alive")
    (line,) = release(folder)
    assert line.startswith("a lock of") and left(folder) == set(MINE)


def test_a_lock_that_is_younger_than_the_dead_ones_note_is_another_ones(folder, note):
    """Of a workflow that writes no owner."""
    path = note(owner_of(), alive=False)
    os.utime(path, (1, 1))
    assert release(folder) == [] and left(folder) == set(MINE)


def test_while_an_owner_has_not_noted_its_locks_none_is_removed(folder, note):
    """It may have taken any name; and one that was killed before it noted its own has them where nobody else works."""
    note(owner_of(None), "dead", alive=False)
    for path in (folder / "locks").iterdir():
        os.utime(path)
    alive = note(owner_of(None), "alive")
    assert release(folder) == [] and left(folder) == set(MINE)
    alive.unlink()
    assert release(folder)[0].startswith("removed") and left(folder) == set()


def test_a_snakemake_that_writes_no_owner_keeps_its_lock(folder, note):
    site = folder.parent
    path = note(owner_of(None), alive=False)
    lock(folder, *MINE)
    (site / "snakemake").write_text("import time; time.sleep(600)")
    other = subprocess.Popen([sys.executable, str(site / "snakemake")], cwd=site)
    while not Path(f"/proc/{other.pid}/cmdline").read_bytes():
        pass  # the kernel sets it a moment after the start
    try:
        assert release(folder) == [] and left(folder) == set(MINE)
    finally:
        other.kill()
        other.wait()
    assert path.exists() and release(folder)[0].startswith("removed")


def test_a_lock_without_any_owner_is_left_to_its_user(folder, note):
    assert release(folder) == [] and left(folder) == set(MINE)
    note(owner_of(), alive=False)
    (folder / "owners" / "broken.json").write_text("{")  # cut off: its owner may live
    assert release(folder) == [] and left(folder) == set(MINE)


def test_a_note_is_there_while_its_process_is(tmp_path):
    code = (
        "import sys; from pathlib import Path; from rlvr.workflow.locks import own, holds; "
        "note = own(Path(sys.argv[1])); holds(note, ['0.input.lock']); print(note.read_text(), note)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    content, _, path = done.stdout.strip().rpartition(" ")
    assert json.loads(content)["files"] == ["0.input.lock"] and not Path(path).exists()
    held = own(tmp_path)
    holds(held, MINE)
    assert json.loads(held.read_text())["process"] == os.getpid() and release(tmp_path) == []


def test_after_sigkill_to_the_whole_group_the_same_command_goes_on(workbench, tmp_path):
    """As a power cut: Snakemake and its jobs are gone at once, and what they wrote is there."""
    checkout = Checkout(tmp_path / "site", workbench, steps=STEPS)
    undisturbed = tmp_path / "undisturbed"
    workbench.train(checkout.plan.runs[checkout.run()], undisturbed)
    manifest = checkout.manifest()
    command = checkout.command(PROFILE, manifest)
    with open(os.devnull, "w") as nowhere:
        first = subprocess.Popen(command, cwd=checkout.folder, stdout=nowhere, stderr=nowhere, start_new_session=True)
    (trainer,) = checkout.hold(manifest)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait(60)
    psutil.wait_procs([trainer], timeout=60)
    assert list((checkout.folder / ".snakemake" / "locks").iterdir())
    again = checkout.snakemake(PROFILE, manifest)
    assert again.returncode == 0, again.stderr
    assert f"removed the lock of Snakemake process {first.pid}" in again.stderr
    out = checkout.folder / Path(manifest).parent
    same_results(out, undisturbed, steps=STEPS)
    assert json.loads((out / "manifest.json").read_text())["resumed_from"] > 0
    assert "Nothing to be done" in checkout.snakemake(PROFILE, manifest).stderr
    assert not list((checkout.folder / ".snakemake" / "owners").glob("*.json"))
