"""Every method, by its name alone, through the real chain at smoke scale. Its own target: make test-methods."""

import json

import pandas as pd
import pytest
from conftest import ROOT, snakemake

from rlvr import estimators
from rlvr.config.paths import Paths
from rlvr.planning.expansion import make_plan

pytestmark = pytest.mark.long


def test_every_method_goes_through_the_chain(tmp_path):
    plan, paths = make_plan(ROOT, "smoke", ["methods"]), Paths(str(tmp_path), "smoke")
    evaluation = next(iter(plan.evaluations))
    runs = {spec.estimator["name"]: run for run, spec in plan.runs.items() if spec.seed == 1}
    assert set(runs) == set(estimators.names())
    targets = [paths.scores(run, evaluation) for run in runs.values()]
    config = ("--config", "scale=smoke", "papers=methods", f"results={tmp_path}")
    snakemake("--profile", "workflow/profiles/smoke", "--cores", "2", "--nolock", *config, "--", *targets, timeout=3000)
    for name, run in runs.items():
        scores = pd.read_csv(paths.scores(run, evaluation))
        assert len(scores) and (scores["correct"] <= scores["n"]).all(), name
        rows = [json.loads(line) for line in (tmp_path / "runs" / run / "metrics.jsonl").read_text().splitlines()]
        assert len(rows) == plan.runs[run].steps
        assert set(rows[-1].get("estimator", {})) >= set(estimators.kind(name).state), name
