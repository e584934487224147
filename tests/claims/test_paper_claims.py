"""The claims of the papers' files: their own numbers put to them, and mistakes in a claim."""

import csv
import re
from decimal import Decimal

import pandas as pd
import pytest
import yaml
from conftest import ROOT
from support.own_config import copied, refused

from rlvr.claims.contrasts import PAPER, layout, needs
from rlvr.claims.evaluate import FAILS, HOLDS, SILENT, published
from rlvr.config.schema.items import Claim
from rlvr.planning.expansion import make_plan
from rlvr.statistics.references import Reference

pytestmark = pytest.mark.broad

PAPERS = ["ace", "lens", "agrae", "fade"]
METHODS = {"grpo": "GRPO", "dapo": "DAPO", "dr_grpo": "Dr.GRPO"}  # A-GRAE's arms, and their names in its tables


@pytest.fixture(scope="module")
def at_paper_scale():
    return make_plan(ROOT, "paper", PAPERS)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_claims_something_with_its_place(at_paper_scale, paper):
    made = at_paper_scale.papers[paper].paper
    assert len(made.claims) >= 15 and all(claim.says and claim.place for claim in made.claims)
    laid = [one for one in layout(at_paper_scale, paper) if one.effort == PAPER]
    assert [one.claim for one in laid] == [claim.name for claim in made.claims]
    assert all(contrast.terms for one in laid for contrast in one.contrasts), "at paper scale all can be run"
    predicates = {one.predicate for name in PAPERS for one in layout(at_paper_scale, name)}
    assert predicates == set(Claim.model_fields["predicate"].annotation.__args__)  # type: ignore[union-attr]


@pytest.mark.parametrize("paper", sorted(path.parent.name for path in ROOT.glob("config/papers/*/claims.yaml")))
def test_a_margin_or_control_of_ours_is_not_counted_as_the_papers(paper):
    """`of` agrees with the claim's place, which says what is ours. Parts of training are a choice of measure."""
    for claim in flat(yaml.safe_load((ROOT / f"config/papers/{paper}/claims.yaml").read_text())["claims"]):
        place, of = claim["place"], claim.get("of", "paper")
        if "not in the paper" in place:
            assert of == "control", claim["name"]
        if re.search(r"\b(points?|half|quarter|shares?) (is|are) ours|\(ours;", place):
            assert of in ("margin", "control"), claim["name"]
        assert of == "paper" or re.search(r"ours|not in the paper", place), claim["name"]


def test_a_scale_that_makes_less_runs_fewer_contrasts():
    plan = make_plan(ROOT, "laptop", ["lens"])
    laid = {(one.claim, one.effort): one for one in layout(plan, "lens")}
    run = [bool(contrast.terms) for contrast in laid["all_k", PAPER].contrasts]
    assert sum(run) == 5 and len(run) == 10, "one model of two, at five k"
    assert not any(contrast.terms for contrast in laid["all_k_numina", PAPER].contrasts)
    found = needs(list(laid.values()))
    pairs, runs = found.scores, found.runs
    asked = plan.papers["lens"]
    items = [asked.item(name) for name in (*asked.paper.core.tables, *asked.paper.core.figures)]
    assert set(pairs) <= {pair for one in items for pair in one.scored()}
    assert set(runs) <= {run for one in items for run in one.policies()}


def verdicts_of_published(plan, paper: str) -> dict[str, dict]:
    def table(one):
        return Reference(pd.read_csv(ROOT / "config/papers" / one.reference)) if one.reference else None

    return {one.claim: published(one, table(one)) for one in layout(plan, paper) if one.effort == PAPER}


def those_that(found: dict[str, dict], verdict: str) -> dict[str, str]:
    """The claims with a verdict, and in how many cells of their table they hold."""
    return {name: one["published_cells"] for name, one in found.items() if one["published"] == verdict}


def reference(file: str, model: str = "") -> dict[tuple[str, str, int], Decimal]:
    """(benchmark, method, k) -> value as it is printed, of a published table."""
    with (ROOT / "config/papers" / file).open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["model"] == model or not model]
    return {(row["benchmark"], row["method"], int(row["k"])): Decimal(row["value"]) for row in rows}


def count(values, pairs) -> tuple[str, int]:
    """Of every benchmark and k: the cells in which each left is above its right, by hand, and how many are ties."""
    gaps = [values[b, left, k] - values[b, right, k] for b, m, k in values if m == pairs[0][0] for left, right in pairs]
    return f"{sum(gap > 0 for gap in gaps)} of {len(gaps)}", sum(gap == 0 for gap in gaps)


def test_claims_of_ace_in_its_own_tables(at_paper_scale):
    found = verdicts_of_published(at_paper_scale, "ace")
    fails = set(those_that(found, FAILS))
    of_harder_set = ("gain_size", "gain_size_dapo", "all_k", "all_k_dapo", "boundary", "grpo_below_base")
    of_harder_set += ("boundary_dapo", "best_overall")
    alone = {"boundary", "boundary_dapo", "best_overall"}
    assert fails == alone | {f"{name}_harder_set" for name in of_harder_set}
    of_curves = {claim.name for claim in at_paper_scale.papers["ace"].paper.claims if claim.measure}
    assert set(those_that(found, SILENT)) == {"larger_k_gain_sum", *of_curves}
    for name in fails - {"grpo_below_base_harder_set"}:
        exceptions = found[name]["published_exceptions"].split("; ")
        assert all(part.startswith("llama-3.1-8b-instruct, ") for part in exceptions), name
    table4 = reference("ace/reference/table4.csv")
    values = [table4["MATH-500", f"ACE-GRPO alpha={alpha}", 32] for alpha in ("0.0", "0.1", "0.5", "1.0", "2.0", "5.0")]
    assert max(values) == values[3] and found["alpha_peak"]["published_cells"] == "5 of 5"
    below = found["grpo_below_base_harder_set"]
    assert below["published_cells"] == "3 of 6" and "Base − GRPO @32 = -7.0" in below["published_exceptions"]
    llama = reference("ace/reference/table2.csv", "Llama-3.1-8B-Instruct")
    gaps = {k: llama["AIME2025", "ACE-DAPO", k] - llama["AIME2025", "DAPO", k] for k in (1, 2, 4)}
    assert gaps == {1: Decimal("-0.1"), 2: 0, 4: 0}, "below at k = 1, ties at 2 and 4"
    dapo = found["all_k_dapo_harder_set"]
    assert dapo["published_cells"] == "15 of 18"
    parts = dapo["published_exceptions"].split("; ")
    assert [part.partition("DAPO @")[2] for part in parts] == ["1 = -0.1", "2 = +0.0", "4 = +0.0"]
    assert all(part.startswith("llama-3.1-8b-instruct, aime-2025: ") for part in parts)
    assert found["all_k_harder_set"]["published_cells"] == "16 of 18"  # ties of ACE-GRPO and GRPO at 2 and 4
    of_grpo = {k: llama["AIME2025", "ACE-GRPO", k] - llama["AIME2025", "GRPO", k] for k in (1, 2, 4, 8, 16, 32)}
    assert [k for k, gap in of_grpo.items() if gap == 0] == [2, 4]


MIXED = "LENS with only mixed groups"


def test_claims_of_lens_in_its_own_tables(at_paper_scale):
    found = verdicts_of_published(at_paper_scale, "lens")
    values = reference("lens/reference/table2.csv")
    mixed, grpo = ([values["MATH", of, k] for k in (1, 2, 4, 8, 16)] for of in (MIXED, "GRPO baseline"))
    gains = [one - other for one, other in zip(mixed, grpo, strict=True)]
    assert gains == [Decimal(gain) for gain in ("0.54", "0.40", "1.00", "0.46", "0.40")], "the largest is at k = 4"
    mixed = found["mixed_at_1"]
    assert (mixed["published"], mixed["published_cells"]) == (FAILS, "3 of 4")
    assert mixed["published_exceptions"].endswith("@4 against @1 = -0.5")
    cells = {"all_k": "10 of 10", "all_k_numina": "10 of 10", "larger_k_numina": "4 of 4", "pass_16": "2 of 2"}
    cells |= {"mixed_helps": "5 of 5", "negative_helps": "5 of 5", "negative_most": "1 of 1", "both_at_1": "2 of 2"}
    cells |= {"negative_nearly_all": "5 of 5", "negative_groups_early": "1 of 1", "negative_groups_remain": "1 of 1"}
    assert those_that(found, HOLDS) == cells
    assert found["hard_more"]["published"] == SILENT


@pytest.fixture(scope="module")
def of_a_grae(at_paper_scale):
    return verdicts_of_published(at_paper_scale, "agrae")


def test_claims_of_a_grae_in_its_own_tables(of_a_grae):
    found, cells = of_a_grae, {name: one["published_cells"] for name, one in of_a_grae.items()}
    variants = {f"a_grae{variant}_over_others" for variant in ("", "_dapo", "_dr_grpo")}
    parts = {"full_best", "sample_level_second", "sample_level_at_1", "sample_level_as_hard"}
    assert set(those_that(found, FAILS)) == {*variants, *parts}
    exceptions = found["boundary"]["published_exceptions"]
    assert exceptions == "qwen2.5-math-7b, AMC23: GRPO + A-GRAE − Base @256 = -2.5", "one benchmark suffices"
    llama = [name for name in found if name.startswith("llama_")]
    assert len(llama) == 4 and set(llama) <= set(those_that(found, SILENT)), "in figures alone"

    table2, table4, table5, table6 = (reference(f"agrae/reference/table{i}.csv") for i in (2, 4, 5, 6))
    wins = {"grpo": ("40 of 54", 5), "dapo": ("40 of 54", 2), "dr_grpo": ("47 of 54", 2)}
    for arm, method in METHODS.items():
        others = "a_grae_over_others" if arm == "grpo" else f"a_grae_{arm}_over_others"
        pairs = [(f"{method} + A-GRAE", other) for other in ("W-REINFORCE", "GRPO-LEAD")]
        assert count(table2, pairs) == wins[arm] and cells[others] == wins[arm][0]
        assert cells[f"a_grae_over_{arm}"] == "27 of 27"
        assert count(table4, [(f"{method} + A-GRAE", method)]) == ("26 of 27", 1), "100 and 100 at AMC23's pass@256"
        assert cells[f"deepseek_over_{arm}"] == "26 of 26", "where both are 100 there is nothing to compare"
    assert "GRPO-LEAD" not in found["a_grae_over_others"]["published_exceptions"], "all against W-REINFORCE"

    levels = [("GRPO + A-GRAE (full)", f"GRPO + A-GRAE ({level} level)") for level in ("group", "sample")]
    assert count(table5, levels) == ("41 of 54", 0) and cells["full_best"] == "41 of 54"
    group = [part for part in found["full_best"]["published_exceptions"].split("; ") if ", MATH" in part]
    assert [int(part.split("@")[1].split(" ")[0]) for part in group] == [8, 16, 64, 128, 256]

    ddas, hard = "GRPO + DDAS (sample level)", "Hard-Focused"
    gaps = [table6[b, ddas, k] - table6[b, hard, k] for b, m, k in table6 if m == "GRPO"]
    assert sum(gap > -1 for gap in gaps) == 25 and min(gaps) == Decimal("-5.0")
    assert cells["sample_level_as_hard"] == "25 of 27"
    for name, expected in {"sample_level_second": "2 of 3", "sample_level_at_1": "5 of 6"}.items():
        assert cells[name] == expected and "AIME" in found[name]["published_exceptions"]
    assert found["sample_level_at_1"]["published_exceptions"].endswith("Hard-Focused @1 = -0.9")

    assert count(table6, [("Negative-Dominant", "GRPO")]) == ("27 of 27", 0)
    assert cells["negative_over_grpo"] == "27 of 27"
    large = {key: value for key, value in table6.items() if key[2] >= 32}
    assert count(large, [("GRPO", "Positive-Dominant")]) == ("8 of 12", 4), "equal on AMC23, which the text leaves out"
    for b in ("MATH", "AMC23"):
        at_1, at_256 = (table6[b, "GRPO", k] - table6[b, "Base Model", k] for k in (1, 256))
        assert at_1 > 0 > at_256
    of_few = {"positive_at_large_k": "8 of 8", "positive_below_base": "8 of 8"}
    of_few |= {"order_at_large_k": "4 of 4", "grpo_below_base": "4 of 4"}
    assert {name: cells[name] for name in of_few} == of_few


def test_claims_of_a_grae_on_pictures_in_its_own_table(of_a_grae):
    found, values = of_a_grae, reference("agrae/reference/table3.csv")
    tasks = {"geometry": ("Geo3K", "MathVision", "MathVerse"), "medical": ("MRI300", "CT300", "Xray300")}
    for task, (inside, *outside) in tasks.items():
        for arm, method in METHODS.items():
            for where, benchmarks in {"in": [inside], "out_of": outside}.items():
                gaps = [values[b, f"{method} + A-GRAE", 1] - values[b, method, 1] for b in benchmarks]
                one = found[f"{task}_{where}_domain_{arm}"]
                assert (one["published"], one["published_cells"]) == (HOLDS, f"{len(gaps)} of {len(gaps)}")
                assert min(gaps) > 0
        assert found[f"{task}_over_base"]["published_cells"] == "3 of 3"
        assert found[f"{task}_best"]["published_cells"] == "15 of 15"
    of_pictures = [name for name in found if name.split("_")[0] in tasks]
    assert len(of_pictures) == 16


# ---- mistakes ----


@pytest.fixture
def copy(tmp_path):
    return copied(tmp_path)


def flat(claims):
    """The claims of a file, each as an entry of its own."""
    for entry in claims:
        for name, own in entry.pop("each", {entry.get("name"): {}}).items():
            yield {**entry, "name": name, **own}


def change(path, name, changes):
    """Changes keys of a claim in its file; None removes one."""
    claims = list(flat(yaml.safe_load(path.read_text())["claims"]))
    changed = [claim | changes if claim["name"] == name else claim for claim in claims]
    left = [{key: value for key, value in claim.items() if value is not None} for claim in changed]
    path.write_text(yaml.safe_dump({"claims": left}))


def compared(left="lens", right="grpo", **more):
    return {"left": left, "right": right, **more}


CHECKPOINTS = {"figure": "figure5", "measure": "probe.pass_rate", "each_checkpoint": True}
NUMINA = compared("lens_mixed_numina", "grpo_numina")


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("all_k", {"greater": compared("lenz")},
         r"config/papers/lens/claims.yaml: claims.all_k \(over table1\): unknown arm 'lenz'; .*'lens'"),
        ("all_k", {"greater": compared("lens_numina")}, r"claims.all_k \(over table1\): unknown arm 'lens_numina'"),
        ("all_k", {"over": "tabel1"}, r"claims.all_k.over: unknown table or figure 'tabel1'; did you mean 'table1'"),
        ("all_k", {"over": "core_matched"}, r"claims.all_k.over: unknown table or figure 'core_matched'"),
        ("all_k", {"over": "figure4"}, r"claims.all_k.over: figure4 has no cells"),
        ("all_k", {"over": {"figure": "table1"}}, r"claims.0.over.figure: table1 is none of the figures"),
        ("all_k", {"over": {"k": [1]}}, r"claims.0.over.table: needs the name of a `table` or of a `figure`"),
        ("all_k", {"over": {"table": "table1", "kk": [1]}}, r"claims.0.over.kk: unknown key; did you mean 'k'"),
        ("all_k", {"over": {"table": "table1", "models": ["qwen2.5-3"]}},
         r"claims.all_k.models: unknown model 'qwen2.5-3'; did you mean 'qwen2.5-3b'"),
        ("all_k", {"over": {"table": "table1", "benchmarks": ["math-tets"]}},
         r"claims.all_k.benchmarks: unknown benchmark 'math-tets'; .*'math-test'"),
        ("all_k", {"over": {"table": "table1", "k": [1, 3]}}, r"claims.all_k.k: table1 has no k = 3"),
        ("all_k", {"over": {"table": "table1", "measure": "probe.pass_rate"}},
         r"claims.all_k.measure: remove this key: table1 is a table of pass@k"),
        ("curve", {"over": {**CHECKPOINTS, "measure": "probe.pas_rate"}},
         r"claims.curve.measure: unknown measure .*'probe.pass_rate'"),
        ("curve", {"over": "figure5"}, r"claims.curve.measure: curves need one of probe.pass_rate"),
        ("curve", {"greater": None, "harder": compared()}, r"claims.curve.predicate: 'harder' needs k or hard levels"),
        ("curve", {"over": "masses"}, r"claims.curve.over: masses has no pass@k and no measure"),
        ("hard_more", {"over": {"table": "core_hard", "k": [1]}},
         r"claims.hard_more.predicate: 'harder' needs a table of all levels"),
        ("curve", {"name": "all_k"}, r"config/papers/lens/claims.yaml: claims.all_k: another claim has this name too"),
        ("all_k", {"ordering": ["lens", "grpo"]}, r"claims.0: a claim needs one of .* \(got greater, ordering\)"),
        ("all_k", {"greater": None}, r"claims.0: a claim needs one of greater, .* \(got none\)"),
        ("all_k", {"left": "lens"}, r"claims.0.left: unknown key; did you mean 'less'"),
        ("all_k", {"greater": {"left": "lens"}}, r"claims.0.greater: needs `left` and `right`, or `weights`"),
        ("all_k", {"greater": compared(["lens", "grpo"])},
         r"claims.0.greater.left: must be one arm \(got lens, grpo\)"),
        ("all_k", {"greater": None, "less": compared(right=["lens", "grpo"])},
         r"claims.0.less.right: must be one arm \(got lens, grpo\)"),
        ("all_k", {"greater": "lens"}, r"claims.0.greater: must be a mapping with left and right, or with weights"),
        ("all_k", {"greater": None, "ordering": "lens"}, r"claims.0.ordering: must be a list of arms, the best first"),
        ("all_k", {"greater": None, "rises": ["lens"]},
         r"claims.0: rises needs `since`|claims.0.rises: must be the name"),
        ("all_k", {"greater": None, "falls": "lens"}, r"claims.0: falls needs `since` in `over`"),
        ("mixed_at_1", {"over": {"table": "table2", "k": [16]}}, r"claims.10: slope needs two `k` or more"),
        ("mixed_at_1", {"over": {"table": "table2", "k": [16, 1]}}, r"claims.10: slope needs two `k` or more"),
        ("mixed_at_1", {"over": {"table": "table2", "k": [1, 4, 4]}}, r"claims.10: slope needs two `k` or more"),
        ("mixed_at_1", {"shrinks": None, "crossing": NUMINA}, r"claims.10: crossing needs two `k`, the first and the"),
        ("mixed_at_1", {"over": {"table": "table2", "k": [1, 16], "since": [0.0, 0.0]}},
         r"claims.mixed_at_1.since: remove this key: table2 is a table of scores"),
        ("mixed_at_1", {"over": {"table": "table2", "k": [1, 16], "each_checkpoint": True}},
         r"claims.mixed_at_1.each_checkpoint: remove this key: table2 is"),
        ("curve", {"over": {**CHECKPOINTS, "during": [0.9, 0.1]}},
         r"claims.12.during: a part of the steps ends after its start"),
        ("curve", {"over": {**CHECKPOINTS, "since": [0.0, 0.1]}},
         r"claims.12.during: .* begins after `since` has ended"),
        ("curve", {"over": {**CHECKPOINTS, "since": [0.0, 1.1]}},
         r"claims.12.over.since.1: Input should be less than or equal to 1"),
        ("curve", {"over": {**CHECKPOINTS, "each_checkpoint": 50}},
         r"claims.12.over.each_checkpoint: Input should be a valid boolean"),
        ("curve", {"greater": None, "within": compared()},
         r"claims.curve.each_checkpoint: use the predicate greater or ordering; 'within' is of a mean"),
        ("negative_groups_remain",
         {"over": {"figure": "figure2", "measure": "metrics.all_wrong", "each_checkpoint": True}},
         r"claims.negative_groups_remain.each_checkpoint: 'metrics.all_wrong' is of training batches"),
        ("all_k", {"greater": None, "graeter": compared()}, r"claims.0.graeter: unknown key; did you mean 'greater'"),
        ("all_k", {"greater": None, "not_below": compared()}, r"claims.0: not_below needs a threshold"),
        ("stable", {"not_above": None, "not_below": {"weights": {"lens": 1.0}, "threshold": 0.5}},
         r"claims.stable.weights: use left and right, .* or one arm with"),
        ("stable", {"not_above": {"weights": {"lens": 1.0}, "threshold": 2.0}},
         r"claims.stable.threshold: a share of runs is at most 1"),
        ("collapse", {"greater": None, "harder": compared("negative_dominant", "ass")},
         r"collapse.predicate: 'harder' needs k"),
        ("collapse", {"greater": {"weights": {"ass": 2.0}}},
         r"claims.collapse.weights: use left and right, since shares"),
        ("collapse", {"greater": compared("negative_dominant", "as")},
         r"claims.collapse \(over collapse\): unknown arm 'as'; did you mean 'ass'"),
        ("all_k", {"greater": compared(treshold=1)}, r"claims.0.greater.treshold: unknown key; .*'threshold'"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_claim_is_named_with_its_place_and_the_nearest_name(copy, name, changes, message):
    paper = "agrae" if name == "collapse" else "lens"
    change(copy / f"config/papers/{paper}/claims.yaml", name, changes)
    refused(copy, message, paper)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"figure": {"up_to_step": 1}}, "figure5 ends at step 1, before the first"),
        ({"arm": {"probe": {"every": 1}}}, r"probe.every differs .* figure5: \[1, 2\]"),
    ],
)
def test_checkpoints_need_one_grid_of_probes_that_the_figure_shows(copy, changes, message):
    path = copy / "config/papers/lens/paper.yaml"
    content = yaml.safe_load(path.read_text())
    content["figures"]["figure5"].update(changes.get("figure", {}))
    content["arms"]["lens"]["settings"].update(changes.get("arm", {}))
    path.write_text(yaml.safe_dump(content))
    refused(copy, f"claims.curve.each_checkpoint: {message}", "lens")


def test_claims_about_curves_read_the_figures_steps_its_grid_of_probes_and_its_hard_levels(at_paper_scale):
    of_ace, of_lens = ({one.claim: one.options for one in layout(at_paper_scale, paper)} for paper in ("ace", "lens"))
    assert of_ace["entropy"]["up_to_step"] == 20 and of_ace["entropy"]["every"] is None
    assert of_ace["fewer_overconfident"]["every"] == 25, "sec. 5.3: every 25 training steps"
    assert of_ace["entropy_falls"]["since"] == [0.0, 0.1]
    assert of_lens["curve_hard"]["every"] == 50 and of_lens["curve_hard"]["hard_levels"]
    assert of_lens["curve"]["hard_levels"] == []


def test_harder_needs_sets_that_have_hard_levels(copy):
    path = copy / "config/papers/agrae/claims.yaml"
    content = yaml.safe_load(path.read_text())
    made = {"name": "h", "says": "S", "place": "P", "harder": compared("a_grae")}
    content["claims"].append({**made, "over": "table2"})
    path.write_text(yaml.safe_dump(content))
    message = r"claims.h.predicate: 'harder' needs about.hard_levels of aime-2025, amc-23"
    refused(copy, message, "agrae", scale="paper")
    content["claims"][-1]["over"] = {"table": "table2", "benchmarks": ["math-test"]}
    path.write_text(yaml.safe_dump(content))
    assert layout(make_plan(copy, "paper", ["agrae"]), "agrae")[-1].claim == "h"
