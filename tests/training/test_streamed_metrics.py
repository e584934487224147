"""A run's rows on disk while it goes on: complete, in order, once each, and gone when the run is published."""

import os
import signal
from itertools import pairwise

import pytest
from conftest import without_timing
from support.runs_by_hand import changed
from test_training import start, wait_for_step

from rlvr.config import identity
from rlvr.files import read_json, read_lines
from rlvr.training import loggers, streamed_metrics
from rlvr.training.streamed_metrics import Live


@pytest.fixture
def spec(workbench):
    return changed(workbench.spec, rl={"steps": 8}, probe={"every": 4, "dense_steps": 1})


def rows_of(state, kind="metrics"):
    return list(read_lines(state / "live" / f"{kind}.jsonl"))


def plain(rows):
    return [{key: value for key, value in row.items() if key not in ("timing", "at")} for row in rows]


def test_metrics_are_on_disk_while_a_run_goes_on_and_a_kill_changes_nothing(workbench, spec, tmp_path):
    process = start(workbench, spec, tmp_path, save_every=3)
    wait_for_step(process, 5)
    os.kill(process.pid, signal.SIGSTOP)  # what is there now was there while it ran
    rows, probes = rows_of(tmp_path / "state"), rows_of(tmp_path / "state", "probe")
    assert [row["step"] for row in rows] == list(range(1, len(rows) + 1)) and len(rows) >= 5
    assert [row["step"] for row in probes][:3] == [0, 1, 4]
    assert all(left["at"] < right["at"] for left, right in pairwise(rows))
    assert not (tmp_path / "metrics.jsonl").exists()
    head = read_json(tmp_path / "state" / "live" / "run.json")
    assert (head["run"], head["seed"], head["steps"]) == (identity.run_id(spec), spec.seed, 8)
    process.kill()
    process.wait()
    workbench.train(spec, tmp_path, save_every=3)
    assert not (tmp_path / "state" / "live").exists()
    published = without_timing(tmp_path / "metrics.jsonl")
    assert plain(rows) == published[: len(rows)]
    assert plain(probes) == plain(read_lines(tmp_path / "probe.jsonl"))[: len(probes)]


def test_a_process_that_resumes_begins_with_its_checkpoints_rows(tmp_path, spec):
    streamed_metrics.prepare(tmp_path, spec)
    rows = {"metrics": [{"step": 1}], "probe": [{"step": 0}, {"step": 1}]}
    with Live(tmp_path) as first:
        first.update({"metrics": [], "probe": []})
        first.update(rows)
        first.update({**rows, "metrics": [{"step": 1}, {"step": 2}]})
    assert [row["step"] for row in rows_of(tmp_path)] == [1, 2] and all("at" in row for row in rows_of(tmp_path))
    with open(tmp_path / "live" / "metrics.jsonl", "a") as file:
        file.write('{"step": 3, "half a')  # by a kill
    with Live(tmp_path) as second:
        second.update(rows)
        assert rows_of(tmp_path) == [{"step": 1}]  # without a time: it was not this process that took the step
        second.update({**rows, "metrics": [{"step": 1}, {"step": 2}]})
    assert [row["step"] for row in rows_of(tmp_path)] == [1, 2]
    assert [row["step"] for row in rows_of(tmp_path, "probe")] == [0, 1]


def test_a_loggers_figures_are_the_numbers_of_a_row():
    row = {"step": 3, "pass_rate": 0.5, "entropy_decision": None, "solve_rates": [1, 2], "timing": {"step": 2}}
    assert loggers.figures("metrics", row) == {"metrics/pass_rate": 0.5, "metrics/timing/step": 2.0}


def test_a_logger_without_its_package_is_refused(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"execution\.loggers: trackio is not installed .*pip install trackio"):
        loggers.check(["trackio"])
