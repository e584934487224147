"""At its end Snakemake says which of its runs had nothing to learn from: all first rollouts wrong, or all correct."""

import json
from pathlib import Path

import pytest
import yaml
from support.checkout import Checkout

from rlvr.config.paths import Paths
from rlvr.files import read_lines
from rlvr.workflow.doubts import lines


@pytest.fixture
def written(plan, tmp_path):
    """`written(number, correct, wrong, steps)` writes the rows of a run; returns the paths and its name."""
    paths = Paths(str(tmp_path), "smoke")

    def write(number: int, correct: int, wrong: int, steps: int = 40) -> str:
        run = list(plan.runs)[number]
        file = Path(paths.manifest(plan, run)).with_name("metrics.jsonl")
        file.parent.mkdir(parents=True)
        statuses = {name: count for name, count in (("correct", correct), ("wrong", wrong)) if count}
        rows = [{"step": step, "statuses": statuses} for step in range(1, steps + 1)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return run

    return paths, write


def test_runs_with_equal_rewards_are_one_line_with_their_number(plan, written, tmp_path):
    paths, write = written
    hopeless = [write(number, 0, 16) for number in range(3)]
    easy, fine = write(3, 16, 0), write(4, 1, 15)
    none, all_ = lines(plan, paths, [*hopeless, easy, fine])
    assert none.startswith(f"{hopeless[0]}: none of the first 256 rollouts is correct (256 wrong); likely causes: ")
    assert none.endswith(f"; the same in 2 other runs; to see rollouts: rlvr show {hopeless[0]} --results {tmp_path}")
    assert all_.startswith(f"{easy}: all of the first 256 rollouts are correct") and "other run" not in all_


def test_a_run_of_fewer_rollouts_or_without_rows_is_not_judged(plan, written):
    paths, write = written
    assert lines(plan, paths, [write(0, 0, 16, steps=2), list(plan.runs)[1]]) == []


def test_an_alarm_that_lasted_to_the_end_is_said_of_a_run_that_had_something_to_learn_from(plan, written):
    paths, write = written
    dying, hopeless = write(0, 8, 8), write(1, 0, 16)
    for run in (dying, hopeless):
        file = Path(paths.manifest(plan, run)).with_name("metrics.jsonl")
        rows = [{**row, "entropy": 1.0 if row["step"] <= 20 else 0.01} for row in read_lines(file)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    alarm, none = lines(plan, paths, [dying, hopeless])
    assert alarm.startswith(f"{dying}: entropy fell from 1 to 0.01 nats per token") and "rlvr show" in alarm
    assert none.startswith(f"{hopeless}: none of the first 256 rollouts")


def test_snakemake_says_it_at_its_end_of_a_run_that_it_trained(workbench, tmp_path):
    """Problems whose target no expression meets: no rollout is correct."""
    checkout = Checkout(tmp_path / "site", workbench)
    defaults = checkout.folder / "config" / "defaults.yaml"
    content = yaml.safe_load(defaults.read_text())
    content["execution"]["first_rollouts"] = 4
    defaults.write_text(yaml.safe_dump(content))
    for file in (checkout.folder / "results/data").glob("*/problems.jsonl"):
        rows = [{**row, "gold": row["gold"].rsplit(" ", 1)[0] + " 99999"} for row in read_lines(file)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = checkout.snakemake("--cores 1 --", checkout.manifest())
    assert done.returncode == 0, done.stderr[-2000:]
    (said,) = [line for line in done.stderr.splitlines() if "rollouts is correct" in line]
    assert said.startswith(f"{checkout.run()}: none of the first ") and "--results results" in said
