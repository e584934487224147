"""A kind of table, a kind of figure and a paper are each a file of their own: put into a copy, they run to the end."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import whole_copy

pytestmark = [pytest.mark.chain, pytest.mark.slow]

TABLE = '''"""The share of problems that no sample of a policy solves (a test)."""

from __future__ import annotations

import pandas as pd

from rlvr.config.layouts import ScoresLayout
from rlvr.config.plan import Item
from rlvr.items import TableKind
from rlvr.items.rendered import Rendered, scale_line
from rlvr.items.scope import Scope
from rlvr.statistics.run_rows import cell_columns
from rlvr.statistics.scores import Scores
from rlvr.tables import _scored
from rlvr.tables._methods import BenchmarksTable


class Config(BenchmarksTable):
    pass


def expand(name: str, config: Config, scope: Scope) -> Item:
    return _scored.expand(name, config, scope, k=[])


def statistics(layout: ScoresLayout, scores: Scores) -> pd.DataFrame:
    (evaluation,) = layout.panels[0].evaluations.values()
    rows = []
    for cell in layout.cells:
        frames = [scores[policy, evaluation] for policy in cell.policies]
        unsolved = [float((frame["correct"] == 0).mean()) for frame in frames]
        rows.append({**cell_columns(cell), "seeds": len(frames), "value": sum(unsolved) / len(unsolved)})
    return pd.DataFrame(rows)


def render(layout: ScoresLayout, statistics: pd.DataFrame) -> Rendered:
    frame = statistics[["label", "value"]].astype(str).set_axis(["Method", "unsolved"], axis=1)
    return Rendered(layout.title, scale_line(layout), frame, ["Unsolved: no sample is correct."])


TABLE = TableKind(
    config=Config,
    layout=ScoresLayout,
    expand=expand,
    statistics=statistics,
    reads=("scores",),
    render=render,
)
'''

FIGURE = '''"""The reward of each run over its steps, a line per run (a test)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rlvr.figures import _training
from rlvr.statistics.run_rows import RunRows, cell_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def statistics(layout: _training.TrainingLayout, runs: RunRows) -> pd.DataFrame:
    rows = []
    for cell in layout.cells:
        for run in cell.policies:
            columns = {**cell_columns(cell, [run]), "seeds": 1}
            rows += [{**columns, "step": row["step"], "value": row["reward"]} for row in runs[run]["metrics"]]
    return pd.DataFrame(rows)


def draw(layout: _training.TrainingLayout, frames: list[pd.DataFrame]) -> Figure:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    for run, rows in frames[0].groupby("policies"):
        axes.plot(rows["step"], rows["value"], label=run)
    return figure


FIGURE = _training.TrainingKind(statistics=statistics, draw=draw, caption="A line per run.")
'''

PAPER = """
name: cubes
short: Cubes
title: A paper for a test
authors: nobody
year: 2026
data: dapo-math-17k
sft_data: operators-sft
validation_data: aime-2024
benchmarks: [math-500]
seeds: [1]

models: {qwen2.5-math-7b: {settings: {probe: {problems: 4}}}}
arms:
  grpo: {label: GRPO, settings: {estimator: {name: grpo}}}

tables:
  table1:
    title: Unsolved problems (Cubes Table 1)
    kind: unsolved
    benchmark: math-500
    models: [qwen2.5-math-7b]
    every_arm: true
  table2:
    title: Pass@k (Cubes Table 2)
    benchmark: math-500
    models: [qwen2.5-math-7b]
    k: [1, 4]
    reference: table2.csv
    rows: [{arm: base, published: null}, grpo]
figures:
  figure1: {title: Rewards (Cubes Figure 1), kind: rewards, models: [qwen2.5-math-7b], arms: [grpo]}
"""
REFERENCE = "paper,table,model,method,benchmark,k,value,ci\ncubes,2,qwen2.5-math-7b,GRPO,math-500,1,50.5,\n"

ADDED = {
    "src/rlvr/tables/unsolved.py": TABLE,
    "src/rlvr/figures/rewards.py": FIGURE,
    "config/papers/cubes/paper.yaml": PAPER,
    "config/papers/cubes/reference/table2.csv": REFERENCE,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What the paper's own target makes in a copy of the checkout, with these files added and none changed."""
    copy = whole_copy(tmp_path_factory.mktemp("copy") / "project")
    for path, text in ADDED.items():
        assert not (copy / path).exists()
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text)
    out = tmp_path_factory.mktemp("results")
    command = ("-m", "snakemake", "--profile", "workflow/profiles/smoke", "--cores", "2")
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command, "--config", "scale=smoke", f"results={out}", "--", "paper_cubes"],
        **{"cwd": copy, "env": environment, "capture_output": True, "text": True, "timeout": 900},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return out


def test_a_kind_of_table_is_set(results):
    folder = results / "papers/smoke/cubes"
    numbers = pd.read_csv(folder / "statistics/table1.csv")
    assert numbers["label"].to_list() == ["Base", "GRPO"] and numbers["value"].between(0, 1).all()
    scores = pd.concat([pd.read_csv(path) for path in (results / "evaluations").glob("*/*/scores.csv")])
    shares = {str(policy): float((rows["correct"] == 0).mean()) for policy, rows in scores.groupby("policy")}
    of_methods = [np.mean([shares[policy] for policy in policies.split()]) for policies in numbers["policies"]]
    assert numbers["value"].to_list() == pytest.approx(of_methods, rel=1e-5)
    assert "Unsolved: no sample is correct." in (folder / "tables/table1.md").read_text()


def test_a_kind_of_figure_is_drawn(results):
    folder = results / "papers/smoke/cubes"
    assert pd.read_csv(folder / "statistics/figure1.csv")["step"].to_list() == [1, 2, 1, 2], "two seeds"
    assert (folder / "figures/figure1.png").read_bytes().startswith(b"\x89PNG")


def test_a_paper_has_its_page_with_published_values(results):
    table = pd.read_csv(results / "papers/smoke/cubes/statistics/table2.csv")
    assert table["published"].dropna().to_list() == [50.5]
    page = (results / "report/smoke/cubes.html").read_text()
    assert all(words in page for words in ("Unsolved: no sample is correct.", "Rewards (Cubes Figure 1)", "50.5"))
