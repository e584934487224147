"""Statistics, figures and tables of what happens over training, from rows made by hand."""

import functools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from support.layouts_by_hand import having, typed

from rlvr.config.layouts import CellsLayout, Looks
from rlvr.config.load import ConfigError
from rlvr.config.measures import MEASURES, UnknownMeasure, curve
from rlvr.figures.masses import closed_form, has_closed_form
from rlvr.items import FIGURE_KINDS
from rlvr.items.layout import of as layout_of
from rlvr.planning.expansion import make_plan
from rlvr.statistics.collapse import judge
from rlvr.statistics.run_rows import Runs, running_mean
from rlvr.tables.collapse import CollapseLayout

LOADED = dict(FIGURE_KINDS.all())
KINDS = {name: kind.statistics for name, kind in LOADED.items() if kind.statistics}
RULE = {"window": 0.1, "factor": 1.5, "share": 0.1}
STEPS = 40
ARMS = [
    *("grpo", "dapo", "a_grae", "lens", "positive_dominant", "negative_dominant", "hard_focused", "easy_focused"),
    *("w_reinforce", "mine"),
]


def layout(kind: str, arms=("grpo", "lens"), models=("m",), seeds=3, of=None, **more) -> CellsLayout:
    """Of a figure of this kind, or of the type `of`."""
    of = of or LOADED[kind].layout
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


def made(content: CellsLayout, groups: int = 8, prompts: int = 64) -> Runs:
    """Runs that learn, each at its own pace; the first of an arm forgets at its end."""
    generator, runs = np.random.default_rng(0), Runs()
    for place, cell in enumerate(content.cells):
        for seed, run in enumerate(cell.policies):
            metrics, probe = [], []
            for step in range(1, STEPS + 1):
                skill = 0.15 + 0.6 * step / STEPS * (1 + 0.08 * (place % 10)) / 1.6
                if seed == 0 and place % 2 and step > 0.8 * STEPS:
                    skill -= 0.045 * (step - 0.8 * STEPS)
                rates = generator.beta(0.2 + 3 * skill, 3.2 - 3 * skill, prompts)
                counts = np.bincount(generator.binomial(groups, rates), minlength=groups + 1)
                p = np.arange(groups + 1) / groups
                mass = [m if n else None for m, n in zip(np.sqrt(p * (1 - p)), counts, strict=True)]
                metrics.append(
                    {
                        **{"step": step, "solve_rates": counts.tolist(), "prompts_drawn": prompts},
                        **{"unsolved": int(counts[0]), "correct": int(counts @ np.arange(groups + 1))},
                        **{"positive_mass_by_correct": mass, "negative_mass_by_correct": mass},
                        **{"entropy": 1.2 - 0.6 * skill + float(generator.normal(0, 0.05))},
                    }
                )
            for step in (0, 1, 10, 20, 30, 40):
                rate = 0.3 + step / 100 + float(generator.normal(0, 0.02)) + 0.01 * place
                by_level = {"pass_rate_by_level": {"3": rate, "5": rate / 2}, "problems_by_level": {"3": 16, "5": 8}}
                probe.append({"step": step, "pass_rate": rate, "oef": None if step == 0 else 1 - rate, **by_level})
            runs[run] = {"metrics": metrics, "probe": probe}
    return runs


def measured(*names: str, smooth: int | None = None) -> dict:
    from dataclasses import asdict

    return {"measures": [asdict(curve(name, smooth)) for name in names], "smooth": smooth}


def by_hand(**rows) -> Runs:
    return Runs({run: {"probe": probe, "metrics": metrics} for run, (probe, metrics) in rows.items()})


# ---- measures and their curves ----


def test_a_plain_name_is_of_the_probes_where_they_have_it():
    assert [curve(name).rows for name in ("entropy", "probe.entropy", "metrics.entropy", "unsolved", "greedy")] == [
        *("probe", "probe", "metrics", "metrics", "probe"),
    ]
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
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "δ of the controller",
        "entropy, all tokens (nats)\ntraining batches",
    ]


def test_a_running_mean_is_of_what_is_there():
    nan = math.nan
    assert running_mean([1.0, 2.0, 6.0], 2) == [1.0, 1.5, 4.0] and running_mean([3.0, 5.0], 1) == [3.0, 5.0]
    assert running_mean([nan, 2.0, nan, 4.0], 2)[1:] == [2.0, 2.0, 4.0] and math.isnan(running_mean([nan], 3)[0])


def test_solve_rates_are_binned_by_hand():
    """G = 4: none, 1/4, 1/2, 3/4, all; G = 2 has no number in (0, 1/4] or (1/2, 1)."""
    content = layout("solve_rates", ["grpo"], seeds=2)
    rows = [[{"step": 1, "solve_rates": counts}] for counts in ([4, 2, 1, 1, 0], [0, 0, 0, 0, 8])]
    table = KINDS["solve_rates"](content, by_hand(**{f"m-grpo-{i}": ([], row) for i, row in enumerate(rows)}))
    assert dict(zip(table["bin"], table["value"], strict=True)) == {
        **{"0": 0.25, "(0, 1/4]": 0.125, "(1/4, 1/2]": 0.0625, "(1/2, 1)": 0.0625, "1": 0.5},
    }
    pair = {f"m-grpo-{i}": ([], [{"step": 1, "solve_rates": [1, 2, 1]}]) for i in range(2)}
    table = KINDS["solve_rates"](content, by_hand(**pair))
    assert dict(zip(table["bin"], table["value"], strict=True)) == {"0": 0.25, "(1/4, 1/2]": 0.5, "1": 0.25}


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
    assert realised["value"].to_dict() == {
        **{("positive", 0.0): 0.0, ("positive", 0.5): 3.0, ("negative", 0.0): 1.0, ("negative", 0.5): 2.0},
    }
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


# ---- runs that collapse ----


@pytest.mark.parametrize(
    ("series", "collapsed"),
    [
        ([0.5] * 5 + [0.2] * 10 + [0.5] * 5, True),  # down and up again
        ([0.8] * 10 + [0.2] * 10, False),  # down
        ([0.2] * 20, False),
        ([0.2] * 18 + [0.3] * 2, False),  # above by share, and by the factor exactly, which is not above it
        ([0.2] * 18 + [0.31] * 2, True),
        ([0.04] * 18 + [0.13] * 2, False),  # three times as many, and fewer than a tenth of the prompts more
        ([0.4] * 18 + [0.55] * 2, False),  # by 0.15 of the prompts, and not by half
        ([0.0] * 18 + [0.1] * 2, True),
        ([0.5, 0.2] + [0.5] * 18, False),  # one good step is no mean of two: 0.35 before, 0.5 at the end
        ([0.5, 0.1, 0.1] + [0.5] * 17, True),
        ([0.1], False),  # nothing before
        ([0.1, 0.9], True),  # the window is one step at least
    ],
)
def test_a_collapse_by_hand(series, collapsed):
    assert judge(np.array(series), **RULE).collapsed == collapsed


@functools.cache
def rule_of(scale: str) -> dict:
    return layout_of(make_plan(ROOT, scale, ["agrae"]), "agrae", "collapse").collapse.model_dump()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("before", "after", "collapsed"), [(40, 100, True), (60, 100, True), (50, 55, False)])
def test_the_papers_collapse_is_one_by_the_papers_rule(before, after, collapsed, seed):
    """A-GRAE App. D.3: from step 78 of 140 on an upward trend with large oscillations, to over 110 of 1,024 prompts."""
    step = np.arange(140)
    late = np.clip((step - 78) / 61, 0, 1)
    level = before + (115 - before) * np.exp(-step / 12) + (after - before) * late
    swing = 0.2 * (after - before) * late * np.sin(1.3 * step)
    unsolved = np.random.default_rng(seed).binomial(1024, (level + swing) / 1024)
    assert (unsolved[78:].max() > 110) == collapsed
    assert judge(unsolved / 1024, **rule_of("paper")).collapsed == collapsed


@pytest.mark.parametrize(("scale", "prompts", "steps"), [("paper", 1024, 140), ("gpu", 64, 100)])
@pytest.mark.parametrize("share", [0.02, 0.06, 0.1, 0.2, 0.4])
def test_chance_alone_is_no_collapse(scale, prompts, steps, share):
    draws = np.random.default_rng(0).binomial(prompts, share, (40, steps)) / prompts
    rule = rule_of(scale)
    assert not any(judge(unsolved, **rule).collapsed for unsolved in draws)


def test_a_collapse_is_seen_in_shares_alone():
    assert judge(np.array([0.5] * 10 + [0.2] * 8 + [0.6] * 2), **RULE).last == pytest.approx(0.6)
    for wrong in ([], [0.5, 1.5]):
        with pytest.raises(ValueError, match="shares in"):
            judge(np.array(wrong), **RULE)


def collapsing(ups: dict[str, list[bool]]) -> tuple[CollapseLayout, Runs]:
    rule = {**RULE, "window": 0.25}
    content = layout("collapse", list(ups), seeds=10, of=CollapseLayout, compare_with=next(iter(ups)), collapse=rule)
    series = {True: [30, 10, 10, 30], False: [30, 20, 10, 10]}
    metrics = {up: [{"step": i + 1, "unsolved": u, "prompts_drawn": 60} for i, u in enumerate(series[up])]
               for up in series}  # fmt: skip
    named = {f"m-{arm}-{i}": ([], metrics[up]) for arm, seeds in ups.items() for i, up in enumerate(seeds)}
    return content, by_hand(**named)


def test_the_table_of_collapses():
    """A-GRAE's Figure 9, 3 of 10 against 0 of 10: Clopper-Pearson [0.067, 0.652] and [0, 0.308], Fisher's p = 0.211."""
    from rlvr.tables.collapse import render, statistics

    content, runs = collapsing({"grpo": [True] * 3 + [False] * 7, "a_grae": [False] * 10})
    table = statistics(content, runs)
    assert table["collapsed"].to_list() == [3, 0] and table["runs"].to_list() == [10, 10]
    assert table["value_low"].to_list() == pytest.approx([0.0667, 0.0], abs=1e-4)
    assert table["value_high"].to_list() == pytest.approx([0.6525, 0.3085], abs=1e-4)
    assert math.isnan(table["p"][0]) and table["p"][1] == pytest.approx(0.2105, abs=1e-4)
    rendered = render(content, table)
    assert rendered.frame.to_numpy().tolist() == [
        ["m → m-tiny", "GRPO", "10", "3", "30 [7, 65]", ""],
        ["", "A_GRAE", "10", "0", "0 [0, 31]", "0.211"],
    ]
    assert rendered.notes[0].endswith("is above 1.5 times the smallest such mean before, and above it by at least 0.1.")


# ---- pictures ----

PICTURES = {
    "over_steps": layout(
        "over_steps", ARMS, ["m"], **measured("hard_pass_rate", "metrics.entropy", "unsolved", smooth=5)
    ),
    "over_steps_of_a_sweep": layout(
        "over_steps", ["grpo", *(f"mine-beta-{b}" for b in (0.1, 1.0, 10.0, 100.0))], **measured("oef", "correct")
    ),
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


def test_a_published_number_names_an_arm_of_the_figure():
    config = {"title": "", "kind": "over_steps", "models": ["m"], "arms": ["grpo"], "measures": ["unsolved"]}
    with pytest.raises(ValueError, match=r"published.0.arm: no arm 'gpro' in this figure; did you mean 'grpo'"):
        LOADED["over_steps"].config(**config, published=[{"arm": "gpro", "at": 0, "value": 0.1}])
    with pytest.raises(ValueError, match=r"less than or equal to 1"):
        LOADED["over_steps"].config(**config, published=[{"arm": "grpo", "at": 50, "value": 0.1}])


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_every_kind(name, tmp_path):
    from rlvr.items.figure import main

    content = PICTURES[name]
    table, png = tmp_path / "statistics.csv", tmp_path / f"{name}.png"
    KINDS[content.kind](content, made(content)).to_csv(table, index=False)
    assert {"label", "model", "arm", "policies", "seeds", "measure"} <= set(pd.read_csv(table))  # of the report
    spec = tmp_path / "spec.json"
    spec.write_text(content.model_dump_json())
    main(spec, [table], [png, png.with_suffix(".pdf")])
    first = png.read_bytes()
    assert first.startswith(b"\x89PNG") and png.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
    main(spec, [table], [png])
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
    from rlvr.figures._looks import looks, named

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
    import shutil

    import yaml

    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config" / "papers" / "ace" / "paper.yaml"
    for name in ("claims.yaml", "notes.md", "scales.yaml"):
        path.with_name(name).unlink()
    content = yaml.safe_load(path.read_text()) | {"first": {}, "core": {}}

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
