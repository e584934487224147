"""The claims of the papers' files: their own numbers put to them, and mistakes in a claim."""

import csv
import shutil
from decimal import Decimal

import pandas as pd
import pytest
import yaml
from conftest import ROOT

from rlvr.claims.contrasts import PAPER, layout, needs
from rlvr.claims.evaluate import FAILS, HOLDS, SILENT, published
from rlvr.config.load import ConfigError
from rlvr.config.schema.items import Claim
from rlvr.planning.expansion import make_plan

PAPERS = ["ace", "lens", "agrae"]


@pytest.fixture(scope="module")
def at_paper_scale():
    return make_plan(ROOT, "paper", PAPERS)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_claims_something_with_its_place(at_paper_scale, paper):
    made = at_paper_scale.papers[paper].paper
    assert len(made.claims) >= 8 and all(claim.says and claim.place for claim in made.claims)
    laid = [one for one in layout(at_paper_scale, paper) if one["effort"] == PAPER]
    assert [one["claim"] for one in laid] == [claim.name for claim in made.claims]
    assert all(contrast["terms"] for one in laid for contrast in one["contrasts"]), "at paper scale all can be run"
    predicates = {one["predicate"] for name in PAPERS for one in layout(at_paper_scale, name)}
    assert predicates == set(Claim.model_fields["predicate"].annotation.__args__)  # type: ignore[union-attr]


def test_a_scale_that_makes_less_runs_fewer_contrasts():
    plan = make_plan(ROOT, "laptop", ["lens"])
    laid = {(one["claim"], one["effort"]): one for one in layout(plan, "lens")}
    run = [bool(contrast["terms"]) for contrast in laid["all_k", PAPER]["contrasts"]]
    assert sum(run) == 5 and len(run) == 10, "one model of two, at five k"
    assert not any(contrast["terms"] for contrast in laid["all_k_numina", PAPER]["contrasts"])
    pairs, runs = needs(list(laid.values()))
    asked = plan.papers["lens"]
    items = [asked.item(name) for name in (*asked.paper.core.tables, *asked.paper.core.figures)]
    assert set(pairs) <= {pair for one in items for pair in one.scored()}
    assert set(runs) <= {run for one in items for run in one.policies()}


def verdicts_of_published(plan, paper: str) -> dict[str, dict]:
    return {
        one["claim"]: published(
            one, pd.read_csv(ROOT / "config/reference" / one["reference"]) if one["reference"] else None
        )
        for one in layout(plan, paper)
        if one["effort"] == PAPER
    }


def reference(file: str, model: str = "") -> dict[tuple[str, str, int], Decimal]:
    """(benchmark, method, k) -> value as it is printed, of a file in config/reference."""
    with (ROOT / "config/reference" / file).open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["model"] == model or not model]
    return {(row["benchmark"], row["method"], int(row["k"])): Decimal(row["value"]) for row in rows}


def count(values, pairs) -> tuple[str, int]:
    """Of every benchmark and k: the cells in which each left is above its right, by hand, and how many are ties."""
    gaps = [values[b, left, k] - values[b, right, k] for b, m, k in values if m == pairs[0][0] for left, right in pairs]
    return f"{sum(gap > 0 for gap in gaps)} of {len(gaps)}", sum(gap == 0 for gap in gaps)


def test_claims_of_ace_in_its_own_tables(at_paper_scale):
    found = verdicts_of_published(at_paper_scale, "ace")
    for name in ("larger_k_gain", "larger_k_gain_dapo", "all_k", "all_k_dapo", "gain_grows", "alpha_peak", "softplus"):
        assert found[name]["published"] == HOLDS, name
    assert found["larger_k_gain_sum"]["published"] == SILENT and found["entropy"]["published"] == SILENT
    llama = reference("ace_table2.csv", "Llama-3.1-8B-Instruct")
    gaps = {k: llama["AIME2025", "ACE-DAPO", k] - llama["AIME2025", "DAPO", k] for k in (1, 2, 4)}
    assert gaps == {1: Decimal("-0.1"), 2: 0, 4: 0}, "below at k = 1, ties at 2 and 4"
    dapo = found["all_k_dapo_harder_set"]
    assert (dapo["published"], dapo["published_cells"]) == (FAILS, "15 of 18")
    parts = dapo["published_exceptions"].split("; ")
    assert [part.partition("DAPO @")[2] for part in parts] == ["1 = -0.1", "2 = +0.0", "4 = +0.0"]
    assert all(part.startswith("llama-3.1-8b-instruct, aime-2025: ") for part in parts)
    assert found["all_k_harder_set"]["published_cells"] == "16 of 18"  # ties of ACE-GRPO and GRPO at 2 and 4
    assert {k for k in (1, 2, 4, 8, 16, 32) if llama["AIME2025", "ACE-GRPO", k] == llama["AIME2025", "GRPO", k]} == {
        2,
        4,
    }


def test_claims_of_lens_in_its_own_tables(at_paper_scale):
    found = verdicts_of_published(at_paper_scale, "lens")
    for model in ("Llama-3.1-8B-Instruct", "Qwen-2.5-3B-Base"):
        values = reference("lens_table3.csv", model)
        gains = {k: values["MATH", "LENS (Ours)", k] - values["MATH", "GRPO baseline", k] for k in (1, 16)}
        assert gains[16] < gains[1], "the gain shrinks"
    grows = found["larger_k_numina"]
    assert (grows["published"], grows["published_cells"]) == (FAILS, "0 of 2")
    assert "Qwen-2.5-3B-Base, MATH: LENS − GRPO, @16 against @1 = -1.4" in grows["published_exceptions"]
    values = reference("lens_table2.csv")
    gains = [
        values["MATH", "LENS with only mixed groups", k] - values["MATH", "GRPO baseline", k] for k in (1, 2, 4, 8, 16)
    ]
    assert gains == [Decimal(gain) for gain in ("0.54", "0.40", "1.00", "0.46", "0.40")], "the largest is at k = 4"
    assert (found["mixed_at_1"]["published"], found["mixed_at_1"]["published_cells"]) == (FAILS, "0 of 1")
    for name, cells in {"all_k": "10 of 10", "all_k_numina": "10 of 10", "negative_most": "1 of 1"}.items():
        assert (found[name]["published"], found[name]["published_cells"]) == (HOLDS, cells)
    assert found["hard_more"]["published"] == SILENT


def test_claims_of_a_grae_in_its_own_tables(at_paper_scale):
    found = verdicts_of_published(at_paper_scale, "agrae")
    table2, table5, table6 = (reference(f"agrae_table{i}.csv") for i in (2, 5, 6))
    full = "GRPO + A-GRAE"
    cells, ties = count(table2, [(full, "W-REINFORCE"), (full, "GRPO-LEAD")])
    others = found["a_grae_over_others"]
    assert (others["published"], others["published_cells"]) == (FAILS, cells) and (cells, ties) == ("40 of 54", 5)
    assert "GRPO-LEAD" not in others["published_exceptions"], "all against W-REINFORCE"
    parts = [(f"{full} (full)", f"{full} ({level} level)") for level in ("group", "sample")]
    cells, ties = count(table5, parts)
    best = found["full_best"]
    assert (best["published"], best["published_cells"]) == (FAILS, cells) and (cells, ties) == ("41 of 54", 0)
    group = [part for part in best["published_exceptions"].split("; ") if ", MATH" in part]
    assert [int(part.split("@")[1].split(" ")[0]) for part in group] == [8, 16, 64, 128, 256]
    second = found["sample_level_second"]
    assert (second["published"], second["published_cells"]) == (FAILS, "2 of 3") and "AIME" in second[
        "published_exceptions"
    ]
    cells, ties = count(table6, [("Negative-Dominant", "GRPO")])
    assert (found["negative_over_grpo"]["published_cells"], cells, ties) == ("27 of 27", "27 of 27", 0)
    large = {key: value for key, value in table6.items() if key[2] >= 32}
    assert count(large, [("GRPO", "Positive-Dominant")]) == ("8 of 12", 4), "equal on AMC23"
    assert found["positive_at_large_k"]["published_cells"] == "8 of 12"
    assert found["order_at_large_k"]["published_cells"] == "5 of 6"
    for base, cells in {"grpo": "27 of 27", "dapo": "27 of 27", "dr_grpo": "27 of 27"}.items():
        assert (found[f"a_grae_over_{base}"]["published"], found[f"a_grae_over_{base}"]["published_cells"]) == (
            HOLDS,
            cells,
        )
    for b in ("MATH", "AMC23"):
        assert (
            table6[b, "GRPO", 1] > table6[b, "Base Model", 1] and table6[b, "GRPO", 256] < table6[b, "Base Model", 256]
        )
    assert (found["grpo_below_base"]["published"], found["grpo_below_base"]["published_cells"]) == (HOLDS, "4 of 4")


# ---- mistakes ----


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (
            "all_k",
            {"left": "lenz"},
            r"config/papers/lens.yaml: claims.all_k \(over table1\): unknown arm 'lenz'; .*'lens'",
        ),
        ("all_k", {"right": ["gpro"]}, r"claims.all_k \(over table1\): unknown arm 'gpro'; did you mean 'grpo'"),
        ("all_k", {"left": "lens_numina"}, r"claims.all_k \(over table1\): unknown arm 'lens_numina'"),
        ("all_k", {"over": "tabel1"}, r"claims.all_k.over: unknown table or figure 'tabel1'; did you mean 'table1'"),
        ("all_k", {"over": "core_matched"}, r"claims.all_k.over: unknown table or figure 'core_matched'"),
        ("all_k", {"over": "figure4"}, r"claims.all_k.over: figure4 has no cells"),
        (
            "all_k",
            {"models": ["qwen2.5-3"]},
            r"claims.all_k.models: unknown model 'qwen2.5-3'; did you mean 'qwen2.5-3b'",
        ),
        (
            "all_k",
            {"benchmarks": ["math-tets"]},
            r"claims.all_k.benchmarks: unknown benchmark 'math-tets'; .*'math-test'",
        ),
        ("all_k", {"k": [1, 3]}, r"claims.all_k.k: table1 has no k = 3"),
        (
            "all_k",
            {"measure": "probe.pass_rate"},
            r"claims.all_k.measure: remove this key: table1 is a table of pass@k",
        ),
        ("curve", {"measure": "probe.pas_rate"}, r"claims.curve.measure: unknown measure .*'probe.pass_rate'"),
        ("curve", {"measure": None}, r"claims.curve.measure: curves need one of probe.pass_rate"),
        ("curve", {"predicate": "harder"}, r"claims.curve.predicate: 'harder' needs k or hard levels"),
        ("curve", {"over": "masses", "measure": None}, r"claims.curve.over: masses has no pass@k and no measure"),
        ("hard_more", {"over": "core_hard"}, r"claims.hard_more.predicate: 'harder' needs a table of all levels"),
        ("curve", {"name": "all_k"}, r"config/papers/lens.yaml: claims.all_k: another claim has this name too"),
        ("all_k", {"arms": ["lens", "grpo"]}, r"claims.0: ordering needs `arms`; others need `left`"),
        ("larger_k_numina", {"k": [16]}, r"claims.4: slope needs two `k`, the first and the last"),
        ("larger_k_numina", {"k": [16, 1]}, r"claims.4: slope needs two `k`"),
        ("all_k", {"predicate": "graeter"}, r"claims.0.predicate: Input should be 'greater'"),
        ("all_k", {"treshold": 1}, r"claims.0.treshold: unknown key; did you mean 'threshold'"),
    ],
)
def test_a_mistake_in_a_claim_is_named_with_its_place_and_the_nearest_name(copy, name, changes, message):
    path = copy / "config/papers/lens.yaml"
    content = yaml.safe_load(path.read_text())
    next(claim for claim in content["claims"] if claim["name"] == name).update(changes)
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=message):
        make_plan(copy, "smoke", ["lens"])


def test_harder_needs_sets_that_have_hard_levels(copy):
    path = copy / "config/papers/agrae.yaml"
    content = yaml.safe_load(path.read_text())
    made = {"name": "h", "says": "S", "place": "P", "over": "table2", "predicate": "harder", "left": "a_grae"}
    content["claims"].append({**made, "right": ["grpo"]})
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=r"claims.h.predicate: 'harder' needs about.hard_levels of aime-2025, amc-23"):
        make_plan(copy, "paper", ["agrae"])
    content["claims"][-1]["benchmarks"] = ["math-test"]
    path.write_text(yaml.safe_dump(content))
    assert layout(make_plan(copy, "paper", ["agrae"]), "agrae")[-1]["claim"] == "h"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"predicate": "harder"}, r"claims.collapse.predicate: 'harder' needs k"),
        (
            {"left": None, "right": [], "weights": {"ass": 2.0}},
            r"claims.collapse.weights: use left and right: shares",
        ),
        ({"right": ["as"]}, r"claims.collapse \(over collapse\): unknown arm 'as'; did you mean 'ass'"),
    ],
)
def test_mistakes_in_a_claim_about_collapses(copy, changes, message):
    path = copy / "config/papers/agrae.yaml"
    content = yaml.safe_load(path.read_text())
    next(one for one in content["claims"] if one["name"] == "collapse").update(changes)
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=message):
        make_plan(copy, "smoke", ["agrae"])
