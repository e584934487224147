"""Statistics, figures and tables of what happens over training, from rows made by hand."""

import math
import shutil
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT
from support.layouts_by_hand import having, typed

from rlvr.config.layouts import CellsLayout, Looks
from rlvr.config.load import ConfigError
from rlvr.config.measures import MEASURES, UnknownMeasure, curve
from rlvr.figures._looks import looks, named
from rlvr.figures.masses import closed_form, has_closed_form
from rlvr.items import FIGURE_KINDS
from rlvr.items import figure as stage
from rlvr.items.layout import of as layout_of
from rlvr.planning.expansion import make_plan
from rlvr.statistics.run_rows import RunRows, running_mean

LOADED = dict(FIGURE_KINDS.all())
KINDS = {name: kind.statistics for name, kind in LOADED.items() if kind.statistics}
RULE = {"window": 0.1, "factor": 1.5, "share": 0.1}
STEPS = 40
ARMS = ["grpo", "dapo", "a_grae", "lens", "positive_dominant", "negative_dominant", "hard_focused", "easy_focused"]
ARMS += ["w_reinforce", "mine"]


def layout(kind: str, arms=("grpo", "lens"), models=("m",), seeds=3, **more) -> CellsLayout:
    """Of a figure of this kind."""
    of = LOADED[kind].layout
    cells = [
        {"model": model, "stand_in": f"{model}-tiny", "arm": arm, "label": arm.upper()}
        | {"policies": [f"{model}-{arm}-{seed}" for seed in range(seeds)]}
        for model in models
        for arm in arms
    ]
    weights = [{"estimator": {"name": "lens" if "lens" in cell["arm"] else "grpo"}, "shaped": False} for cell in cells]
    own = {"collapse": RULE, "hard_levels": [["5"]] * len(cells), "weights": weights, "smooth": None, "measures": []}
    own = {key: value for key, value in own.items() if key in of.model_fields}
    return typed(of, **{"kind": kind, "title": "A title", "scale": "laptop", "cells": cells, **own, **more})


def made(content: CellsLayout) -> RunRows:
    """RunRows whose prompts get easier, each arm's at its own pace."""
    generator, runs = np.random.default_rng(0), RunRows()
    for place, run in enumerate(run for cell in content.cells for run in cell.policies):
        metrics, probe = [], []
        for step in range(1, STEPS + 1):
            counts = np.bincount(generator.binomial(8, generator.beta(1 + step / (20 + place), 2, 64)), minlength=9)
            row = {"step": step, "solve_rates": counts.tolist(), "prompts_drawn": 64, "unsolved": int(counts[0])}
            row |= {
                f"{sign}_mass_by_correct": [0.1 if n else None for n in counts] for sign in ("positive", "negative")
            }
            metrics.append({**row, "correct": int(counts @ np.arange(9)), "entropy": float(generator.random())})
        for step in (0, 1, 10, 20, 30, 40):
            rate = 0.3 + step / 100 + float(generator.normal(0, 0.02))
            by_level = {"pass_rate_by_level": {"3": rate, "5": rate / 2}, "problems_by_level": {"3": 16, "5": 8}}
            probe.append({"step": step, "oef": None if step == 0 else 1 - rate, **by_level})
        runs[run] = {"metrics": metrics, "probe": probe}
    return runs


def measured(*names: str, smooth: int | None = None) -> dict:
    return {"measures": [asdict(curve(name, smooth)) for name in names], "smooth": smooth}


def by_hand(**rows) -> RunRows:
    return RunRows({run: {"probe": probe, "metrics": metrics} for run, (probe, metrics) in rows.items()})


# ---- measures and their curves ----


def test_a_plain_name_is_of_the_probes_where_they_have_it():
    rows_of = {"entropy": "probe", "probe.entropy": "probe", "metrics.entropy": "metrics", "unsolved": "metrics"}
    assert {name: curve(name).rows for name in rows_of} == rows_of
    assert curve("metrics.entropy", 5).label.endswith("\ntraining batches, mean of last 5 steps")
    assert curve("entropy", 5).label == MEASURES["entropy"].label  # held-out measurements are no running means
    for wrong, meant in (("unsolvd", "'unsolved'"), ("probe.unsolved", "'unsolved'"), ("x.entropy", "entropy")):
        with pytest.raises(UnknownMeasure, match=meant):
            curve(wrong)


def test_every_measure_is_in_the_rows_of_a_run():
    """Of the names in docs/training.md, which tests/training/test_training.py holds against a run."""
    text = (ROOT / "docs" / "training.md").read_text()
    assert [name for name in MEASURES if name != "hard_pass_rate" and name not in text] == []


def test_curves_leave_out_what_no_seed_has_and_weigh_levels_by_their_problems():
    probe = [{"step": s, "oef": None if s == 0 else 0.5, "pass_rate_by_level": {"3": 0.5, "4": 1.0, "5": 0.25},
              "problems_by_level": {"3": 9, "4": 1, "5": 3}} for s in (0, 1, 30)]  # fmt: skip
    metrics = [{"step": s, "unsolved": u} for s, u in ((1, 4), (2, 8), (3, 0))]
    content = layout("over_steps", ["grpo"], seeds=2, up_to_step=20, hard_levels=[["4", "5", "6"]])
    content = having(content, **measured("oef", "hard_pass_rate", "unsolved", smooth=2))
    runs = by_hand(**{"m-grpo-0": (probe, metrics), "m-grpo-1": (probe, metrics)})
    table = KINDS["over_steps"](content, runs)
    found = {name: own.set_index("step")["value"].to_dict() for name, own in table.groupby("measure")}
    assert found == {"oef": {1: 0.5}, "hard_pass_rate": {0: 0.4375, 1: 0.4375}, "unsolved": {1: 4.0, 2: 6.0, 3: 4.0}}
    assert table["seeds"].eq(2).all() and table["policies"].eq("m-grpo-0 m-grpo-1").all()
    assert table["by_seed"].iloc[0] == "0.5 0.5"
    with pytest.raises(ValueError, match="held-out problems have the levels"):
        KINDS["over_steps"](having(content, hard_levels=[["6"]]), runs)
    with pytest.raises(KeyError, match="m-grpo-0: no 'correct' at step 1; this run is older"):
        KINDS["over_steps"](having(content, **measured("correct")), runs)


def test_the_state_of_a_controller_is_drawn_of_the_methods_that_have_one():
    content = layout("over_steps", arms=("grpo", "fade"), **measured("delta", "metrics.entropy"))
    runs = made(content)
    for run, rows in runs.items():
        for row in rows["metrics"] if "fade" in run else ():
            row["estimator"] = {"delta": 1 - row["step"] / 100}
    frame = KINDS["over_steps"](content, runs)
    of_delta = frame[frame["measure"] == "delta"]
    assert set(of_delta["arm"]) == {"fade"} and len(of_delta) == STEPS
    assert of_delta["value"].iloc[-1] == pytest.approx(0.6)
    assert set(frame[frame["measure"] == "metrics.entropy"]["arm"]) == {"grpo", "fade"}
    figure = LOADED["over_steps"].draw(content, [frame])
    labels = ["δ of the controller", "entropy, all tokens (nats)\ntraining batches"]
    assert [axes.get_ylabel() for axes in figure.axes] == labels


def test_a_running_mean_is_of_what_is_there():
    nan = math.nan
    assert running_mean([1.0, 2.0, 6.0], 2) == [1.0, 1.5, 4.0] and running_mean([3.0, 5.0], 1) == [3.0, 5.0]
    assert running_mean([nan, 2.0, nan, 4.0], 2)[1:] == [2.0, 2.0, 4.0] and math.isnan(running_mean([nan], 3)[0])


def test_solve_rates_are_binned_by_hand():
    """G = 4: none, 1/4, 1/2, 3/4, all; G = 2 has no number in (0, 1/4] or (1/2, 1)."""

    def binned(*counts: list[int]) -> dict[str, float]:
        rows = {f"m-grpo-{i}": ([], [{"step": 1, "solve_rates": of_run}]) for i, of_run in enumerate(counts)}
        table = KINDS["solve_rates"](layout("solve_rates", ["grpo"], seeds=2), by_hand(**rows))
        return dict(zip(table["bin"], table["value"], strict=True))

    shares = {"0": 0.25, "(0, 1/4]": 0.125, "(1/4, 1/2]": 0.0625, "(1/2, 1)": 0.0625, "1": 0.5}
    assert binned([4, 2, 1, 1, 0], [0, 0, 0, 0, 8]) == shares
    assert binned([1, 2, 1], [1, 2, 1]) == {"0": 0.25, "(1/4, 1/2]": 0.5, "1": 0.25}


# ---- masses ----


def test_masses_are_means_over_steps_and_then_over_seeds():
    content = layout("masses", ["grpo"], seeds=2)
    rows = [
        [{"step": 1, "positive_mass_by_correct": [0.0, 1.0, None], "negative_mass_by_correct": [None, 2.0, None]}],
        [{"step": 1, "positive_mass_by_correct": [0.0, 3.0, None], "negative_mass_by_correct": [None, None, None]},
         {"step": 2, "positive_mass_by_correct": [0.0, 7.0, None], "negative_mass_by_correct": [1.0, None, None]}],
    ]  # fmt: skip
    table = KINDS["masses"](content, by_hand(**{f"m-grpo-{i}": ([], row) for i, row in enumerate(rows)}))
    realised = table[table["form"] == "realised"].set_index(["side", "p"])
    assert realised["value"].loc["positive"].to_dict() == {0.0: 0.0, 0.5: 3.0}
    assert realised["value"].loc["negative"].to_dict() == {0.0: 1.0, 0.5: 2.0}
    assert realised["seeds"].to_list() == [2, 2, 1, 1]
    own = table[table["form"] == "own"]
    assert own["value"].to_list() == pytest.approx([0, 0.5, 0] * 2, abs=1e-5) and own["p"].max() == 1.0


def test_closed_forms_are_for_weights_of_the_solve_rate_alone():
    alone = ["grpo", "dr_grpo", "rloo", "positive_dominant", "hard_focused", "w_reinforce", "pass_at_k", "power_alpha"]
    assert all(has_closed_form({"name": name}, shaped=False) for name in alone)
    others = ["ace", "lens", "pacs", "fade", "a_grae", "ha_dw", "t2t"]
    assert not any(has_closed_form({"name": name}, shaped=False) for name in others)
    assert not has_closed_form({"name": "grpo"}, shaped=True)
    assert closed_form({"name": "w_reinforce", "lam": 0.5}, 4)["positive"] == [0.0, 0.125, 0.25, 0.375, 0.5]


# ---- pictures ----

SWEEP = [f"mine-beta-{b}" for b in (0.1, 1.0, 10.0, 100.0)]
MANY = measured("hard_pass_rate", "metrics.entropy", "unsolved", smooth=5)
PICTURES = {
    "over_steps": layout("over_steps", ARMS, ["m"], **MANY),
    "over_steps_of_a_sweep": layout("over_steps", ["grpo", *SWEEP], **measured("oef", "correct")),
    "solve_rates": layout("solve_rates", ARMS[:6], ["m", "n"]),
    "masses": layout("masses", ["grpo", "lens", "mine"]),
    "collapse": layout("collapse", ARMS[:4], seeds=6),
}
NUMBERS = [{"arm": "grpo", "at": 0.0, "value": 0.45}, {"arm": "grpo", "at": 1.0, "value": 0.8}]


@pytest.mark.parametrize("name", ["over_steps", "collapse"])
def test_the_papers_numbers_are_crosses_at_their_steps(name):
    content = having(PICTURES[name], published=NUMBERS)
    figure = LOADED[name].draw(content, [KINDS[name](content, made(content))])
    crosses = [(line, axes) for axes in figure.axes for line in axes.lines if line.get_marker() == "x"]
    assert [line.get_xydata().tolist() for line, _ in crosses] == [[[0.0, 0.45]], [[STEPS, 0.8]]]
    assert len({axes for _, axes in crosses}) == 1 and crosses[0][1].get_ylim()[1] >= 0.8
    texts = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert texts.count("the paper's number") == 1


def test_a_collapse_is_shown_by_accuracy_too():
    """A line per run at its probes; which runs collapsed is still a matter of unsolved prompts."""
    shares, greedy = [0.5, 0.2, 0.2, 0.9], [(0, 0.3), (2, 0.6), (4, 0.1)]
    metrics = [{"step": step, "prompts_drawn": 10, "unsolved": 10 * share} for step, share in enumerate(shares, 1)]
    probe = [{"step": step, "greedy": value} for step, value in greedy]
    content = layout("collapse", ["grpo"], seeds=1, measure="greedy", collapse={**RULE, "window": 0.25})
    frame = KINDS["collapse"](content, by_hand(**{"m-grpo-0": (probe, metrics)}))
    assert frame[["step", "value"]].to_numpy().tolist() == [list(pair) for pair in greedy]
    assert frame["running_mean"].equals(frame["value"]) and set(frame["measure"]) == {"greedy"}
    assert frame["collapsed"].all()
    figure = LOADED["collapse"].draw(content, [frame])
    assert figure.axes[0].get_ylabel() == "greedy pass rate on\nheld-out problems"
    assert figure.axes[0].lines[-1].get_xydata().tolist() == [list(pair) for pair in greedy]


def test_a_published_number_names_an_arm_of_the_figure():
    config = {"title": "", "kind": "over_steps", "models": ["m"], "arms": ["grpo"], "measures": ["unsolved"]}
    with pytest.raises(ValueError, match=r"published.0.arm: no arm 'gpro' in this figure; did you mean 'grpo'"):
        LOADED["over_steps"].config(**config, published=[{"arm": "gpro", "at": 0, "value": 0.1}])
    with pytest.raises(ValueError, match=r"less than or equal to 1"):
        LOADED["over_steps"].config(**config, published=[{"arm": "grpo", "at": 50, "value": 0.1}])


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_every_kind(name, tmp_path):
    content = PICTURES[name]
    table, png = tmp_path / "statistics.csv", tmp_path / f"{name}.png"
    KINDS[content.kind](content, made(content)).to_csv(table, index=False)
    assert {"label", "model", "arm", "policies", "seeds", "measure"} <= set(pd.read_csv(table))  # of the report
    spec = tmp_path / "spec.json"
    spec.write_text(content.model_dump_json())
    stage.main(spec, [table], [png, png.with_suffix(".pdf")])
    first = png.read_bytes()
    assert first.startswith(b"\x89PNG") and png.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    stage.main(spec, [table], [png])
    assert png.read_bytes() == first


def test_more_than_two_methods_show_their_seeds_in_place_of_bands():
    for arms, lines, bands in ((["grpo", "lens"], 2, 2), (["grpo", "lens", "dapo"], 3 * (1 + 3), 0)):
        content = layout("over_steps", arms, **measured("unsolved"))
        frame = KINDS["over_steps"](content, made(content))
        (axes,) = LOADED["over_steps"].draw(content, [frame]).axes
        assert (len(axes.lines), len(axes.collections)) == (lines, bands)
        means = [line for line in axes.lines if not line.get_label().startswith("_")]
        assert len({line.get_marker() for line in means}) == len(arms)
        (axes,) = LOADED["over_steps"].draw(content, [frame.drop(columns="by_seed")]).axes
        assert len(axes.collections) == len(arms), "statistics of before have intervals alone"


def test_ten_arms_are_told_apart_and_look_the_same_in_every_figure():
    variants = [f"mine-beta-{b}" for b in range(6)]
    colors = dict.fromkeys([*ARMS, "other", "third"]) | {ARMS[0]: "blue", ARMS[1]: "vermilion", "other": "blue"}
    paper = Looks(arms=tuple(colors.items()), methods=dict.fromkeys(variants, "mine"))
    found = looks(ARMS, paper)
    assert len(set(found.values())) == len(ARMS)
    assert looks(["third", "mine"], paper)["mine"] == found["mine"]
    swept = looks(variants, paper)
    assert len(set(swept.values())) == 6 and swept["mine-beta-5"].color == found["mine"].color.lower()
    assert [found[arm] for arm in ARMS[:2]] == [named("blue"), named("vermilion")]
    assert looks(["other"], paper)["other"] == named("blue", "--")  # the second arm with this colour
    every = make_plan(ROOT, "smoke", ["methods"]).papers["methods"].paper.arms
    assert len(set(looks(every, Looks()).values())) >= 30


def test_a_method_has_one_colour_in_all_papers():
    plan = make_plan(ROOT, "smoke", ["ace", "agrae", "lens"])
    pairs = {(n, a.color) for p in plan.papers.values() for n, a in p.paper.arms.items() if a.color is not None}
    assert len(dict(pairs)) == len(pairs) > 15


# ---- in the configuration ----


@pytest.fixture
def paper(tmp_path):
    """ACE's file with other figures and tables."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config" / "papers" / "ace" / "paper.yaml"
    for name in ("claims.yaml", "notes.md", "scales.yaml"):
        path.with_name(name).unlink()
    content = yaml.safe_load(path.read_text()) | {"first": {}, "core": {}, "controls": []}

    def planned(scale="smoke", settings=None, **items):
        figures = {name: {"title": "T", "models": ["qwen2.5-math-7b"], **item} for name, item in items.items()}
        tables = {name: figures.pop(name) for name in items if name.startswith("table")}
        merged = content["settings"] | settings if settings and "settings" in content else settings or {}
        path.write_text(yaml.safe_dump(content | {"figures": figures, "tables": tables, "settings": merged}))
        return make_plan(tmp_path, scale, ["ace"])

    return planned


def test_kinds_in_the_configuration(paper):
    arms = {"arms": ["grpo", "ace_grpo-alpha-2.0"]}
    rows = {"rows": [{"arm": arm, "label": arm} for arm in ("grpo", "ace_grpo")], "compare_with": "grpo"}
    plan = paper(
        **{kind: {"kind": kind, **arms} for kind in ("solve_rates", "masses", "collapse")},
        over={"kind": "over_steps", "measures": ["hard_pass_rate", "metrics.entropy", "unsolved"], "smooth": 3, **arms},
        table={"kind": "collapse", **rows},
        table_of_all={"kind": "collapse", "every_arm": True},
    )
    assert set(plan.papers["ace"].figures) == {"solve_rates", "masses", "collapse", "over"}
    cells = plan.papers["ace"].tables["table_of_all"].cells
    assert [cell.row.arm for cell in cells] == list(plan.papers["ace"].paper.arms)
    over = layout_of(plan, "ace", "over")
    assert over.hard_levels == (("n=2",), ("n=2",)) and [m.rows for m in over.measures] == [
        *("probe", "metrics", "metrics"),
    ]
    assert [cell.label for cell in over.cells] == ["GRPO", "ACE-GRPO, α = 2.0"]
    weights = layout_of(plan, "ace", "masses").weights
    assert [w.estimator["name"] for w in weights] == ["grpo", "ace"]
    table = layout_of(plan, "ace", "table")
    assert (table.compare_label, table.collapse.model_dump()) == ("grpo", RULE | {"share": 0.03})
    assert [arm for arm, _ in layout_of(plan, "ace", "collapse").arms] == list(plan.papers["ace"].paper.arms)


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ({"kind": "over_steps", "arms": ["grpo"], "measures": ["entrpy"]},
         r"figures.figure.measures: unknown measure 'entrpy'; did you mean 'entropy'"),
        ({"kind": "over_steps", "arms": ["grpo"]}, "figures.figure.measures: this key is missing"),
        ({"kind": "masses", "arms": ["grpo"], "measures": ["oef"]}, "figures.figure.measures: unknown key"),
        ({"kind": "collapse", "arms": ["grpo", "base"]}, "the arm 'base' is not trained"),
        ({"kind": "collapse", "arms": ["grpo"], "measure": "greedy"}, "measure: 'greedy' needs probe.greedy: true"),
        ({"kind": "solve_rates"}, "figures.figure.arms: this key is missing"),
        ({"kind": "over_steps", "arms": ["grpo"], "measures": ["greedy"]}, "needs probe.greedy: true"),
        ({"kind": "over_steps", "arms": ["grpo"], "measures": ["delta"]}, "no arm of this figure has it"),
        ({"kind": "over_steps", "arms": ["grpo"], "measures": ["hard_pass_rate"]},
         "needs about.hard_levels of dapo-held-out"),
    ],
)  # fmt: skip
def test_mistakes_are_named(paper, figure, message):
    with pytest.raises(ConfigError, match=message):
        paper(scale="gpu", figure=figure)


def test_greedy_where_it_is_asked_for_and_no_run_is_another_without_it(paper):
    figure = {"kind": "over_steps", "arms": ["grpo"], "measures": ["greedy"]}
    plain = paper(figure={**figure, "measures": ["pass_rate"]})
    assert set(paper(figure=figure, settings={"probe": {"greedy": True}}).runs).isdisjoint(plain.runs)
    assert set(plain.runs) <= set(make_plan(ROOT, "smoke", ["ace"]).runs)
