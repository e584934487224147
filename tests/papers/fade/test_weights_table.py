"""The table of changes of weights beside the paper's, with its ranges and the kind of output head."""

import math

from conftest import ROOT
from support.layouts_by_hand import typed

from rlvr.config.layouts import CellsLayout
from rlvr.papers.fade.tables import weights
from rlvr.papers.fade.tables._over_seeds import of_heads
from rlvr.statistics.run_rows import RunRows

MEASURES = {name: 0.5 for name in weights.COLUMNS}


def cell(arm: str, published: str | None) -> dict:
    return {
        **{"model": "Qwen2.5-7B", "stand_in": "tiny", "arm": arm, "published": published},
        "policies": [f"{arm}{seed}" for seed in (1, 2)],
    }


def test_every_published_cell_is_shown_ranges_too():
    names = {"low": "FADE H*=0.5", "asym": "Asym. (static)", "sym": "Sym. (static)"}
    layout = typed(CellsLayout, title="T", scale="laptop", cells=[cell(arm, name) for arm, name in names.items()])
    runs = [run for one in layout.cells for run in one.policies]
    rows = RunRows({run: {"weights": [{"step": step, **MEASURES} for step in (10, 30)]} for run in runs})
    heads = {run: {"head": "its own"} for run in runs}
    frame = weights.statistics(layout, rows, heads, ROOT / "config/papers/fade/reference/figure8.csv")
    shown = frame.dropna(subset="published").set_index(["arm", "part", "measure"])["published"]
    assert len(shown) == 2 * 4 + 4 + 4
    assert shown["asym", weights.LATE, "s1_over_s2"] == "6.96–8.51"
    assert shown["low", weights.EARLY, "s1_over_s2"] == "4.10"
    assert of_heads(frame) == ["Output head: its own (tiny)."]
    text = weights.render(layout, frame).markdown()
    assert "(published 78–96)" in text and "(published ~90)" in text and "Output head: its own" in text
    assert math.isclose(frame["value"].iloc[0], 0.5) and frame["by_seed"].iloc[0] == "0.5 0.5"
