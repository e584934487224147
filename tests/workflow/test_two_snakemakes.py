"""Two Snakemakes in one folder, and what is left when one is killed. On Slurm: test_cluster_faults.py."""

import os
import signal
from contextlib import contextmanager

import psutil
import pytest
from support.checkout import Checkout
from support.runs_by_hand import same_results

from rlvr.files import read_json

STEPS = 60
PROFILE = "--profile workflow/profiles/smoke --"


@pytest.fixture(scope="module")
def checkout(workbench, tmp_path_factory):
    return Checkout(tmp_path_factory.mktemp("locks") / "site", workbench, steps=STEPS)


@pytest.fixture(scope="module")
def undisturbed(checkout, workbench, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    workbench.train(checkout.plan.runs[checkout.run()], out)
    return out


@contextmanager
def working(checkout: Checkout, manifest: str, results: str):
    """A Snakemake whose run has saved its first step and is held there; yields both processes."""
    command = checkout.command(PROFILE, manifest, config=(f"results={results}",))
    with open(os.devnull, "w") as nowhere:
        first = psutil.Popen(command, cwd=checkout.folder, stdout=nowhere, stderr=nowhere)
    trainer = None
    try:
        (trainer,) = checkout.hold(manifest)
        yield first, trainer
    finally:
        for process in (first, trainer):
            if process is not None and process.is_running():
                process.kill()


def log(checkout: Checkout, results: str) -> str:
    return (checkout.folder / results / "logs" / "runs" / f"{checkout.run()}.log").read_text()


def in_use_by(trainer: psutil.Process) -> str:
    return f"in use by another process (host {os.uname().nodename}, process {trainer.pid}"


@pytest.mark.slow
def test_a_second_snakemake_on_the_same_files_is_refused(checkout, undisturbed):
    manifest = checkout.manifest()
    checkout.lay("elsewhere")
    with working(checkout, manifest, "results") as (first, trainer):
        second = checkout.snakemake(PROFILE, manifest)
        assert second.returncode == 1 and "--unlock" not in second.stderr
        assert f"Snakemake process {first.pid} on {os.uname().nodename}, started " in second.stderr
        assert "makes files that this command needs: wait until it ends" in second.stderr
        # Another results folder shares no file, and works at the same time ...
        other = checkout.manifest(results="elsewhere")
        assert checkout.snakemake(PROFILE, other, config=("results=elsewhere",)).returncode == 0
        # ... but Snakemake removes all locks at its end. Then the run's lease refuses who comes late.
        late = checkout.snakemake(PROFILE, manifest)
        assert late.returncode == 1 and "makes files that this command needs" not in late.stderr
        assert in_use_by(trainer) in log(checkout, "results")
        trainer.resume()
        assert first.wait(600) == 0
    for results in ("results", "elsewhere"):
        out = checkout.folder / checkout.manifest(results=results)
        same_results(out.parent, undisturbed, steps=STEPS)
        assert read_json(out)["resumed_from"] == 0


@pytest.mark.slow
def test_when_snakemake_alone_is_killed_its_run_saves_and_the_same_command_goes_on(checkout, undisturbed):
    checkout.lay("killed")
    config, manifest = ("results=killed",), checkout.manifest(results="killed")
    out = checkout.folder / manifest
    with working(checkout, manifest, "killed") as (first, trainer):
        first.kill()
        assert first.wait(600) == -signal.SIGKILL and trainer.is_running()
        # The run is held there, and cannot end yet: the lock of the dead goes, and the run's lease refuses.
        again = checkout.snakemake(PROFILE, manifest, config=config)
        assert again.returncode == 1 and f"removed the lock of Snakemake process {first.pid}" in again.stderr
        assert in_use_by(trainer) in log(checkout, "killed")
        trainer.resume()
        gone, _ = psutil.wait_procs([trainer], timeout=120)
        assert gone and not out.exists(), "it ends with its caller, before its last step"
    done = checkout.snakemake(PROFILE, manifest, config=config)
    assert done.returncode == 0 and "1 of 1 steps (100%) done" in done.stderr
    assert 0 < read_json(out)["resumed_from"] < STEPS
    same_results(out.parent, undisturbed, steps=STEPS)
    assert "Nothing to be done" in checkout.snakemake(PROFILE, manifest, config=config).stderr
