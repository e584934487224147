"""What goes wrong on a cluster: Snakemake killed, a node lost, a job cut at its limit, a job that fails."""

import re
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from conftest import until
from support.checkout import Checkout
from support.runs_by_hand import same_results

from rlvr.files import read_json

pytestmark = pytest.mark.cluster
STEPS = 60
SECONDS = 600  # for anything, on a busy machine
PROFILE = "--profile slurm --slurm-init-seconds-before-status-checks 3 --latency-wait 10"


@pytest.fixture(scope="module")
def checkout(workbench, tmp_path_factory):
    return Checkout(tmp_path_factory.mktemp("faults") / "site", workbench, steps=STEPS)


@pytest.fixture(scope="module")
def undisturbed(checkout, workbench, tmp_path_factory):
    """Some of the runs, trained here, by their number."""
    folder = tmp_path_factory.mktemp("undisturbed")
    for number in (0, 1, 2):
        workbench.train(checkout.plan.runs[checkout.run(number)], folder / str(number))
    return folder


@pytest.fixture
def submitted(checkout, slurm, site):
    """`submitted(...)` starts Snakemake on the cluster; it is gone when the test is over."""
    started = []

    def start(*arguments: str) -> psutil.Popen:
        command = checkout.command(PROFILE, *arguments, config=(f"cluster={site}",))
        with open(checkout.folder / f"snakemake-{len(started)}.log", "w") as log:
            options = {"cwd": checkout.folder, "env": slurm.environment, "stdout": log, "stderr": log}
            started.append(psutil.Popen(command, **options))
        return started[-1]

    yield start
    for process in started:
        if process.is_running():
            process.kill()


def said(checkout: Checkout, number: int = 0) -> str:
    """What a Snakemake printed."""
    return (checkout.folder / f"snakemake-{number}.log").read_text()


def jobs_of(slurm, run: str) -> list[dict[str, str]]:
    """The Slurm jobs of a run, oldest first."""
    return sorted((job for job in slurm.jobs() if run in job["Comment"]), key=lambda job: int(job["JobID"]))


def test_a_killed_snakemake_is_started_again_while_its_job_trains(checkout, undisturbed, submitted, slurm, site):
    manifest, run = checkout.manifest(0), checkout.run(0)
    first = submitted("--", manifest)
    (trainer,) = checkout.hold(manifest)
    first.kill()
    assert first.wait(60) == -signal.SIGKILL and trainer.is_running()
    unlock = checkout.snakemake(PROFILE, "--unlock --", manifest, config=(f"cluster={site}",), env=slurm.environment)
    assert unlock.returncode == 0
    second = submitted("--", manifest)
    log = checkout.folder / f"results/logs/runs/{run}.log"
    lease = rf"in use by another process \(host \S+, process {trainer.pid}, job \d+\); waiting for it"
    until(lambda: log.exists() and re.search(lease, log.read_text()), "the second job waits for the first")
    trainer.resume()
    assert second.wait(SECONDS) == 0, said(checkout, 1)
    assert [job["State"] for job in jobs_of(slurm, run)] == ["COMPLETED", "COMPLETED"]
    # What the first job trained, the second published from the last checkpoint; it trained nothing.
    assert read_json(checkout.folder / manifest)["resumed_from"] == 0
    same_results((checkout.folder / manifest).parent, undisturbed / "0", steps=STEPS)


def test_a_lost_node_and_a_job_cut_at_its_limit(checkout, undisturbed, submitted, slurm):
    """Two runs side by side, each on a node. One node dies; the other run does not end in time and is killed."""
    lost, cut = checkout.run(1), checkout.run(2)
    snakemake = submitted("--jobs 2 --retries 1 --", checkout.manifest(1), checkout.manifest(2))
    checkout.hold(checkout.manifest(1), checkout.manifest(2))
    (on_lost,), (late,) = jobs_of(slurm, lost), jobs_of(slurm, cut)
    slurm.run("scontrol", "update", f"JobId={late['JobID']}", "EndTime=now+1")  # read twice a minute
    slurm.lose(on_lost["NodeList"])
    until(lambda: jobs_of(slurm, lost)[0]["State"] == "PENDING", "the lost node's job is requeued")
    slurm.run("scontrol", "update", f"JobId={on_lost['JobID']}", "StartTime=now")  # a requeued job waits two minutes
    until(lambda: jobs_of(slurm, lost)[0]["State"] == "RUNNING", "it starts on the other node")
    slurm.start(on_lost["NodeList"])
    assert snakemake.wait(SECONDS) == 0, said(checkout)

    found = [(job["JobID"], job["State"], job["RestartCnt"], job["NodeList"]) for job in jobs_of(slurm, lost)]
    assert found == [(on_lost["JobID"], "COMPLETED", "1", late["NodeList"])]
    first, second = jobs_of(slurm, cut)
    assert (first["State"], second["State"]) == ("TIMEOUT", "COMPLETED")
    assert (late["TimeLimit"], second["TimeLimit"]) == ("30:00", "1:00:00")  # as the fixture `site` says
    for number in (1, 2):
        out = checkout.folder / checkout.manifest(number)
        assert 1 <= read_json(out)["resumed_from"] < STEPS
        same_results(out.parent, undisturbed / str(number), steps=STEPS)


def test_the_error_message_names_both_logs(checkout, submitted, slurm):
    run = checkout.run(3)
    state = checkout.folder / "results" / "runs" / run / "state"
    state.mkdir(parents=True)
    (state / "fingerprint.json").write_text("{")
    snakemake = submitted("--retries 0 --", checkout.manifest(3))
    assert snakemake.wait(SECONDS) == 1
    text = said(checkout)
    (stage,) = set(re.findall(rf"\S*results/logs/runs/{run}\.log", text))
    (job,) = jobs_of(slurm, run)
    (slurms,) = set(re.findall(rf"[^\s']*/logs/slurm/[^\s']*/{job['JobID']}\.log", text))
    assert "not valid JSON" in (checkout.folder / stage).read_text()
    assert "Error in rule rl" in (checkout.folder / slurms).read_text()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"partition": "cpu"', '"partition": "no-cpu"', "the partition 'no-cpu', which 1 rl job"),
        ('"runtime": 30, "longest": 90', '"runtime": 99999, "longest": 99999', "99999 minutes in the partition 'cpu'"),
    ],
)
def test_what_the_partitions_would_refuse_ends_before_any_job(checkout, slurm, site, tmp_path, old, new, says):
    own = tmp_path / "cluster.yaml"
    own.write_text(Path(site).read_text().replace(old, new))
    command = checkout.command(PROFILE, "--", checkout.manifest(4), config=(f"cluster={own}",))
    before = len(slurm.jobs())
    done = subprocess.run(command, cwd=checkout.folder, env=slurm.environment, capture_output=True, text=True)
    assert done.returncode == 1 and f"missing: {says}" in done.stdout + done.stderr, done.stderr
    assert "no job was started" in done.stderr and len(slurm.jobs()) == before
