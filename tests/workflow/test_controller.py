"""Snakemake as a Slurm job that submits itself again."""

import pytest
from conftest import until
from support.checkout import Checkout
from support.runs_by_hand import same_results

from rlvr.files import read_json

pytestmark = pytest.mark.cluster
STEPS = 400  # some seconds of training, in which the signal comes


def test_a_controller_hands_over_and_ends_with_the_work(workbench, slurm, site, tmp_path):
    """It is told that its time ends while a run trains; its successor continues the run and ends; there is no third."""
    checkout = Checkout(tmp_path / "site", workbench, steps=STEPS)
    manifest, run = checkout.manifest(0), checkout.run(0)
    options = f"--slurm-init-seconds-before-status-checks 3 --latency-wait 10 --config scale=smoke cluster={site}"
    before = {job["JobID"] for job in slurm.jobs()}
    submit = f"sbatch --parsable --partition cpu --mem 500 --time 30 --chdir {checkout.folder}"
    script = f"{checkout.folder}/slurm/controller.sh {options} -- {manifest}"
    first = slurm.run(*submit.split(), *script.split()).strip()

    def own():
        return [job for job in slurm.jobs() if job["JobID"] not in before]

    def logs():
        return "\n".join(path.read_text()[-3000:] for path in sorted(checkout.folder.glob("rlvr-controller-*.log")))

    def controllers():
        return {job["JobID"]: job["State"] for job in own() if job["Name"] == "rlvr-controller"}

    state = checkout.folder / "results" / "runs" / run / "state"
    until(lambda: list(state.glob("step-*")) or controllers()[first] not in ("PENDING", "RUNNING"), own)
    assert controllers()[first] == "RUNNING", logs()
    slurm.run("scancel", "--batch", "--signal=USR1", first)
    at_work = {"PENDING", "RUNNING", "COMPLETING"}
    until(lambda: len(controllers()) == 2 and not at_work & set(controllers().values()), own)
    assert (checkout.folder / manifest).exists(), logs()
    assert set(controllers().values()) == {"COMPLETED"}, logs()
    assert "the time of this job ends" in logs() and read_json(checkout.folder / manifest)["resumed_from"] >= 1
    assert sorted(job["State"] for job in own() if run in job["Comment"]) == ["CANCELLED", "COMPLETED"]
    whole = tmp_path / "whole"
    workbench.train(checkout.plan.runs[run], whole)
    same_results((checkout.folder / manifest).parent, whole, steps=STEPS)
