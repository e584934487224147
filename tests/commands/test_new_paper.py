"""`rlvr new-paper`: the paper that it writes is planned at every scale, and ends in a table at equal pass@1."""

import pytest
from conftest import copied, run_module

from rlvr.planning.expansion import make_plan


@pytest.fixture
def copy(tmp_path):
    return copied(tmp_path, "config")


def test_a_new_paper_is_planned_and_has_a_table_at_equal_pass_1(copy):
    done = run_module("rlvr", "new-paper", "two_weights", "--config-folder", str(copy / "config"))
    assert done.stdout.splitlines()[0] == "config/papers/two_weights/paper.yaml"
    for scale in ("smoke", "laptop", "paper"):
        paper = make_plan(copy, scale, ["two_weights"]).papers["two_weights"]
        assert set(paper.tables) == {"main", "main_matched"} and set(paper.figures) == {"main_frontier"}
    plan = make_plan(copy, "smoke", ["two_weights"])
    rates = {(spec.estimator["name"], spec.rl.learning_rate) for spec in plan.runs.values()}
    assert len(rates) == 5 and len(plan.runs) == 10, "a method, a baseline at four rates, two seeds"


def test_wrong_and_taken_names_are_one_line(copy):
    for name, message in (("Two", "use small letters"), ("ace", "exists already")):
        done = run_module("rlvr", "new-paper", name, "--config-folder", str(copy / "config"), check=False)
        assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1
