"""Signs that a run is dying: each planted failure raises its alarm and no other, and a healthy run none."""

import json
import re

import pytest

from rlvr.training.alarms import DIVERGED, ENTROPY_FLOOR, GAP, NO_CONTRAST, WINDOW, alarms
from rlvr.training.streamed_metrics import Live

STEPS = 40


def rows(**late) -> list[dict]:
    """A healthy run's rows of metrics; `late` are the figures of its second half."""
    healthy = {"pass_rate": 0.4, "entropy": 0.3, "all_wrong": 0.3, "all_right": 0.2, "logprob_gap": 0.02}
    return [{"step": step, **healthy, **(late if step > STEPS // 2 else {})} for step in range(1, STEPS + 1)]


def probes(*pass_rates: float) -> list[dict]:
    return [{"step": 10 * i, "pass_rate": rate} for i, rate in enumerate(pass_rates)]


HEALTHY = probes(0.3, 0.35, 0.36, 0.41, 0.4)


@pytest.mark.parametrize(
    ("name", "metrics", "probed", "words"),
    [
        ("groups", rows(all_wrong=0.97, all_right=0.0), HEALTHY, "97 % of the groups .* easier problems"),
        ("groups", rows(all_wrong=0.05, all_right=0.9), HEALTHY, "95 % of the groups .* harder problems"),
        ("entropy", rows(entropy=0.02), HEALTHY, "entropy fell from 0.3 to 0.02 nats"),
        ("validation", rows(pass_rate=0.7), probes(0.3, 0.45, 0.4, 0.3, 0.28), "from 0.40 to 0.70 since step 10.*0.30"),
        ("gap", rows(logprob_gap=0.3), HEALTHY, "sampler and trainer differ by 0.3 nats"),
    ],
)
def test_a_planted_failure_raises_its_alarm_alone(name, metrics, probed, words):
    (found,) = alarms(metrics, probed).items()
    assert found[0] == name
    assert re.search(words, found[1])
    assert alarms(metrics[: STEPS // 2], probed[:3]) == {}, "not before it happens"


@pytest.mark.parametrize(
    ("metrics", "probed"),
    [
        (rows(), HEALTHY),
        (rows(pass_rate=0.9, all_right=0.5, entropy=0.05), probes(0.3, 0.5, 0.7, 0.8, 0.85)),  # it learns
        (rows(), probes(0.3, 0.5, 0.3, 0.35, 0.3)),  # held-out problems fall, and the reward does not rise
        (rows(pass_rate=0.7), probes(0.3, 0.5, 0.4, 0.38, 0.45)),  # one low probe among the last two
        (rows()[: WINDOW - 1], []),
        (rows(entropy=None, logprob_gap=None, all_wrong=None, pass_rate=None), HEALTHY),
        ([{"step": row["step"]} for row in rows()], [{"step": 0}] * 4),
        ([], []),
    ],
)
def test_a_healthy_or_a_new_run_raises_none(metrics, probed):
    assert alarms(metrics, probed) == {}


@pytest.mark.parametrize(
    ("name", "figure", "bound", "worse"),
    [
        ("groups", "all_wrong", NO_CONTRAST - 0.2, 0.01),
        ("entropy", "entropy", 0.3 * ENTROPY_FLOOR, -0.001),
        ("gap", "logprob_gap", GAP, 0.001),
    ],
)
def test_the_bounds_are_the_constants(name, figure, bound, worse):
    assert alarms(rows(**{figure: bound + worse}), HEALTHY).keys() == {name}
    assert alarms(rows(**{figure: bound - worse}), HEALTHY) == {}


def test_the_bound_of_validation_is_of_the_better_of_the_last_two_probes():
    best, rising = 0.5, rows(pass_rate=0.7)
    for last, found in ((best - DIVERGED - 0.01, {"validation"}), (best - DIVERGED + 0.01, set())):
        assert alarms(rising, probes(0.3, best, 0.45, 0.1, last)).keys() == found


def test_one_wild_step_is_no_alarm():
    metrics = rows()
    metrics[-1] = {**metrics[-1], "entropy": 0.0, "all_wrong": 0.8, "logprob_gap": 0.2}
    assert alarms(metrics, HEALTHY) == {}


def test_the_training_log_has_each_alarm_once_as_json(tmp_path, capsys):
    """A log's last line that is no JSON is taken for the error that ended the run."""
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / "run.json").write_text("{}")
    metrics = rows(entropy=0.01)
    with Live(tmp_path) as live:
        for step in range(STEPS + 1):
            live.update({"metrics": metrics[:step], "probe": []})
    (line,) = capsys.readouterr().out.splitlines()
    said = json.loads(line)
    assert said["alarm"].startswith("entropy fell from 0.3 to ") and STEPS // 2 < said["step"] <= STEPS
    kept = (tmp_path / "live" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["step"] for row in kept] == list(range(1, STEPS + 1)) and "alarm" not in "".join(kept)
