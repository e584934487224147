"""What `rlvr watch` says: of runs by their files and leases, of Snakemakes by their logs; its numbers by hand."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT

from rlvr.files import publish_json, publish_lines
from rlvr.show.sparks import BLOCKS, blocks
from rlvr.training.lock_file import lease
from rlvr.watch.dag import Dag, running
from rlvr.watch.runs import Run, Step, WatchedRuns
from rlvr.watch.view import curve, duration
from rlvr.workflow import locks

LOG = """\
Building DAG of jobs...
Job stats:
job      count
-----  -------
sft          1
rl           3
score        3
total        7

Select jobs to execute...
[Wed Nov 25 01:43:43 2026]
{kind}rule sft:
    output: results/sft/x/manifest.json
    jobid: 7
    wildcards: sft=x
[Wed Nov 25 01:43:50 2026]
Finished jobid: 7 (Rule: sft)
1 of 7 steps (14%) done
[Wed Nov 25 01:43:51 2026]
{kind}rule rl:
    jobid: 2
[Wed Nov 25 01:43:51 2026]
{kind}rule rl:
    jobid: 3
[Wed Nov 25 01:44:02 2026]
Error in rule rl:
    message: None
    jobid: 3
"""


def laid(results: Path, name: str, rows: list[dict], **more) -> Path:
    """An unfinished run's state, as rlvr.training.streamed_metrics leaves it."""
    folder = results / "runs" / name / "state" / "live"
    head = {"run": name, "model": "tiny", "method": "ace", "seed": 3, "learning_rate": 1e-4, "steps": 10}
    publish_json(folder / "run.json", head | more)
    publish_lines(folder / "metrics.jsonl", rows)
    return folder.parent


def row(step: int, at: float | None = None, pass_rate: float = 0.5, entropy: float | None = 1.0) -> dict:
    return {"step": step, "at": at, "pass_rate": pass_rate, "entropy": entropy, "timing": {"step": 4.0}}


def watch(results: Path, *options: str) -> str:
    command = [sys.executable, "-m", "rlvr", "watch", "--results", str(results), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=results.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- numbers by hand ----


def test_a_curve_goes_from_its_lowest_to_its_highest_value():
    assert curve([0.25, None, 0.5, 0.75]) == "0.750 ▁▅█"  # the middle: block round(7/2) = 4 of 0..7
    assert curve([None]) == "" and curve([0.5, 0.5]) == "0.500 ▁▁"
    assert blocks([0, 0, 7, 7], 0, 7, width=2) == BLOCKS[0] + BLOCKS[-1]
    assert blocks([0, 7, 7, 0], 0, 7, width=2) == "▅▅"  # a block is the mean of its values


def test_the_time_left_is_steps_left_times_the_time_between_rows():
    run = Run(Path("r"), {"steps": 10}, [Step(i, 100.0 + 3 * i, 2.0, None, None) for i in range(1, 5)])
    assert run.eta(112.0) == 18.0  # 6 steps of 3 s, from the last row, at 112, on
    assert run.eta(113.0) == 17.0
    assert run.eta(1000.0) == 0.0


def test_the_time_between_two_processes_is_no_step():
    earlier, own = Step(4, None, 2.0, None, None), Step(5, 1000.0, 2.5, None, None)
    assert Run(Path("r"), {"steps": 10}, [earlier]).eta(5000.0) == 12.0  # of the row's own time
    assert Run(Path("r"), {"steps": 10}, [earlier, own]).eta(1000.0) == 5 * 2.25
    assert Run(Path("r"), {}, [own]).eta(1000.0) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (45, "45 s"), (60, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (273600, "3 d 4 h")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


# ---- runs ----


def test_a_finished_a_running_and_a_stopped_run(tmp_path):
    results, now = tmp_path / "results", time.time()
    publish_json(results / "runs" / "tiny-grpo-seed1-a" / "manifest.json", {})
    laid(results, "tiny-lens-seed2-b", [row(1, now - 4000), row(2, now - 3900)])
    state = laid(results, "tiny-ace-seed3-c", [row(i, now - 40 + 10 * i, 0.1 * i, 2 - 0.1 * i) for i in range(1, 5)])
    left = results / "runs" / "tiny-lens-seed2-b" / "state"
    for path in left.glob("live/*"):
        os.utime(path, (now - 3900, now - 3900))
    publish_json(left / "failures.json", [{"step": 2, "error": "OSError: x"}])
    with lease(state):
        text = watch(results, "--once")
    lines = [line.split() for line in text.splitlines()]
    (running,) = (words for words in lines if words[:1] == ["ace"])
    assert running[1:5] == ["tiny", "0.0001", "3", "4/10"]
    assert "0.400 ▁▃▆█" in text and "1.600 █▆▃▁" in text
    (stopped,) = (line for line in text.splitlines() if line.startswith("STOPPED"))
    assert "tiny-lens-seed2-b, step 2 of 10, no checkpoint: no process is at work on it" in stopped
    assert "last sign 1 h 5 min ago" in stopped and "last error: OSError: x" in stopped
    assert "grpo" not in text


def test_a_run_without_a_new_step_for_minutes_is_silent(tmp_path):
    state = laid(tmp_path, "slow", [row(1, 1.0), row(2, 2.0)])
    with lease(state):
        for path in (*state.glob("live/*"), state / "lease"):
            os.utime(path, (time.time() - 400,) * 2)
        runs = WatchedRuns(tmp_path)
        runs.read()
        assert [run.name for run in runs.by_status()["silent"]] == ["slow"]
        publish_lines(state / "live" / "metrics.jsonl", [row(1, 1.0), row(2, 101.0)])  # five steps of 100 s are longer
        os.utime(state / "live" / "metrics.jsonl", (time.time() - 400,) * 2)
        runs.read()
        assert [run.name for run in runs.by_status()["running"]] == ["slow"]


def test_rows_are_read_once_and_anew_after_a_resume(tmp_path):
    state = laid(tmp_path, "r", [row(1)])
    file, run = state / "live" / "metrics.jsonl", Run(tmp_path / "runs" / "r")
    run.read()
    with open(file, "a") as growing:
        growing.write(json.dumps(row(2)) + "\n" + '{"step": 3, ')
    run.read()
    assert [step.step for step in run.rows] == [1, 2]
    with open(file, "a") as growing:
        growing.write('"timing": {}}\n')
    run.read()
    assert [step.step for step in run.rows] == [1, 2, 3]
    publish_lines(file, [row(i) for i in (1, 2)])
    run.read()
    assert [step.step for step in run.rows] == [1, 2]


def test_a_dying_run_has_an_alarm_and_a_healthy_one_none(tmp_path):
    results, now = tmp_path / "results", time.time()
    figures = {"all_wrong": 0.3, "all_right": 0.1, "logprob_gap": 0.0}
    rows = [{**row(i, now - 40 + i), **figures} for i in range(1, 31)]
    healthy = laid(results, "well", rows, steps=40)
    dying = laid(results, "dying", [{**one, "all_wrong": 0.95} if one["step"] > 15 else one for one in rows], steps=40)
    with lease(healthy), lease(dying):
        (alarm,) = (line for line in watch(results, "--once").splitlines() if line.startswith("ALARM"))
        assert "dying, step 30 of 40, no checkpoint: " in alarm
        runs = WatchedRuns(results)
        runs.read()
        assert runs.unfinished["dying"].alarms.keys() == {"groups"}
        # The process begins anew at a checkpoint before the failure, and its probes come.
        publish_lines(dying / "live" / "metrics.jsonl", rows[:15])
        publish_lines(dying / "live" / "probe.jsonl", [{"step": 0, "pass_rate": 0.5}])
        runs.read()
        assert runs.unfinished["dying"].alarms == {}


def test_nothing_runs(tmp_path):
    (tmp_path / "results").mkdir()
    text = watch(tmp_path / "results")  # its output is a pipe, so it ends by itself
    assert "No Snakemake is at work in" in text and "No RL run is at work in" in text


# ---- jobs ----


@pytest.fixture
def snakemake(tmp_path):
    """The folder .snakemake with a log that began just now, and with this process as its owner."""
    folder = tmp_path / ".snakemake"
    name = time.strftime("%Y-%m-%dT%H%M%S.000000.snakemake.log")
    (folder / "log").mkdir(parents=True)
    (folder / "log" / name).write_text(LOG.format(kind="local"))
    note = locks.own(folder)
    yield folder
    note.unlink(missing_ok=True)


@pytest.mark.parametrize("kind", ["local", ""])  # on this machine; on a cluster
def test_jobs_by_rule(tmp_path, kind):
    log = tmp_path / "2026-11-25T014336.198034.snakemake.log"
    log.write_text(LOG.format(kind=kind))
    dag = Dag(log)
    dag.read()
    assert dag.steps == (1, 7)
    counts = {rule: dag.count(rule) for rule in dag.total}
    assert counts == {"sft": (1, 0, 0, 0), "rl": (0, 1, 1, 1), "score": (0, 0, 0, 3)}
    with open(log, "a") as file:  # the failed job is started again, and both end
        file.write(f"Trying to restart job 3.\n{kind}rule rl:\n    jobid: 3\nFinished jobid: 2 (Rule: rl)\n2 of 7 ste")
    dag.read()
    assert dag.count("rl") == (1, 1, 0, 1) and dag.steps == (1, 7)
    with open(log, "a") as file:
        file.write("ps (29%) done\nFinished jobid: 3 (Rule: rl)\n3 of 7 steps (43%) done\nComplete log(s): x\n")
    dag.read()
    assert dag.count("rl") == (2, 0, 0, 1) and dag.steps == (3, 7) and dag.ended


def stamp(clock: str) -> float:
    return time.mktime(time.strptime(f"2026-11-25 {clock}", "%Y-%m-%d %H:%M:%S"))


def test_the_time_left_of_all_jobs_is_their_work_by_the_jobs_at_once(tmp_path):
    log = tmp_path / "2026-11-25T014336.198034.snakemake.log"
    log.write_text("Job stats:\nrl 3\ntotal 3\n")
    dag = Dag(log)
    dag.read()
    assert dag.left(stamp("01:43:50")) is None  # nothing was started
    log.write_text(LOG.format(kind="local"))
    dag = Dag(log)
    dag.read()
    # sft took 7 s. No rl has finished: that at work has taken 12 s, two are to come; scores are unknown. 19 s of work
    # in 20 s.
    assert dag.left(stamp("01:44:03")) == (pytest.approx(2 * 12 / (19 / 20)), True)
    with open(log, "a") as file:
        file.write("[Wed Nov 25 01:44:11 2026]\nFinished jobid: 2 (Rule: rl)\n2 of 7 steps (29%) done\n")
        file.write("[Wed Nov 25 01:44:13 2026]\nrule rl:\n    jobid: 3\n[Wed Nov 25 01:44:13 2026]\n")
        file.write("rule score:\n    jobid: 9\n[Wed Nov 25 01:44:15 2026]\nFinished jobid: 9 (Rule: score)\n")
    dag.read()
    # rl: 20 s each, one of them at work for 10 s, one to come; scores: 2 s each, two to come. 39 s of work in 40 s.
    assert dag.left(stamp("01:44:23")) == (pytest.approx((10 + 20 + 4) / (39 / 40)), False)
    assert dag.left(stamp("01:44:43"))[0] == pytest.approx((0 + 20 + 4) / (59 / 60))  # longer than the mean


def test_a_view_has_the_jobs_of_a_living_snakemake(tmp_path, snakemake):
    results = tmp_path / "results"
    results.mkdir()
    text = watch(results, "--once")
    assert f"Snakemake {os.getpid()} on" in text and "1 of 7 jobs done (14 %), 1 started" in text and "1 failed" in text
    assert re.search(r" at least .+ left, 1 failed", " ".join(text.split()))
    assert "all done: sft 1" in text
    assert [line.split() for line in text.splitlines() if line.strip().startswith("rl ")] == [["rl", "1", "1", "1"]]


def test_a_dead_snakemake_is_not_at_work(tmp_path, snakemake):
    (note,) = (snakemake / "owners").glob("*.json")
    publish_json(note, {**json.loads(note.read_text()), "process": 2**22 + 1})
    assert running(snakemake) == {}
    (tmp_path / "results").mkdir()
    assert "did 1 of 7 jobs" in watch(tmp_path / "results", "--once")
