"""Criteria of mechanism.yaml, by hand on small rows, and their mistakes."""

import math
from functools import cache

import pandas as pd
import pytest
import yaml
from conftest import ROOT
from support.claims_by_hand import noisy, plain
from support.own_config import copied

from rlvr.claims import grid, mechanism_table, mechanisms, table
from rlvr.claims.contrasts import PAPER, layout
from rlvr.claims.evaluate import evaluate, published, summarise
from rlvr.claims.mechanisms import CriterionSpec, bound, judged, measured, of_run, part_of, shape, unmet
from rlvr.claims.verdicts import UNJUDGED
from rlvr.config import paper_folders
from rlvr.config.layers import ConfigError
from rlvr.config.schema.mechanism import Criterion
from rlvr.items.contrast import Evidence
from rlvr.planning.expansion import make_plan


def criterion(**keys) -> Criterion:
    named = {"name": "c", "says": "It acts", "place": "sec. 1", "arms": ["mine"], "measure": "kl"}
    return Criterion.model_validate({**named, **({"at_least": 0.5} if "at_most" not in keys else {}), **keys})


def rows(**columns) -> list[dict]:
    steps = range(len(next(iter(columns.values()))))
    return [{"step": i + 1, **{name: values[i] for name, values in columns.items()}} for i in steps]


def test_parts_are_twentieths_of_the_steps():
    forty, three = rows(kl=[*range(40)]), rows(kl=[0, 1, 2])
    for part, expected in {"start": [0, 1], "all": [*range(40)], "end": [38, 39]}.items():
        assert [row["kl"] for row in part_of(forty, criterion(over=part))] == expected
    assert [row["kl"] for row in part_of(three, criterion(over="end"))] == [2], "at least one"


def test_a_mean_is_over_the_steps_that_have_a_value():
    of = rows(kl=[9.0] * 38 + [None, 0.25])
    assert of_run(of, criterion(), "r") == 0.25
    assert math.isnan(of_run(rows(kl=[None]), criterion(), "r"))
    with pytest.raises(KeyError, match="older than the measure"):
        of_run([{"step": 1}], criterion(), "r")


def test_shares_of_steps_compare_with_a_number_or_another_measure():
    """Entropy 4, 3, 2, 1 against a target of 2.5 in the estimator's state; a step without entropy does not count."""
    of = rows(entropy=[4.0, 3.0, 2.0, 1.0, None], estimator=[{"target": 2.5, "omega": 0.1 * i} for i in range(5)])
    assert of_run(of, criterion(measure="entropy", below="target", over="all"), "r") == 0.5
    assert of_run(of, criterion(measure="entropy", above=1.5, over="all"), "r") == 0.75
    assert of_run(of, criterion(measure="omega", above=0.25, over="all"), "r") == 0.4


def test_a_statistic_may_be_a_share_of_that_at_the_start():
    """Entropy 0.4, 0.4 in the first twentieth of 40 steps, and 0.1, 0.2 in the last."""
    of = rows(entropy=[0.4, 0.4, *[0.3] * 36, 0.1, 0.2])
    assert of_run(of, criterion(measure="entropy", of_start=True), "r") == pytest.approx(0.15 / 0.4)
    assert of_run(of, criterion(measure="entropy", of_start=True, above=0.15), "r") == 0.5, "half of all, of all"
    assert math.isnan(of_run(rows(entropy=[0.0, 1.0]), criterion(measure="entropy", of_start=True), "r"))


def test_the_regime_is_told_and_decides_nothing():
    metrics = {"a": rows(kl=[0.25])}
    frame = pd.DataFrame([row_of(spec(criterion(kind="regime"), runs=("a",)), metrics)])
    assert (frame["kind"][0], frame["met"][0]) == ("regime", "no") and unmet(frame, ["mine"], {"M"}) == []
    text = mechanism_table.markdown(frame)
    assert "Met: 0 of 1 regime rows." in text and "No verdict depends on them" in text
    plan = plan_of("pacs")
    told = [one for one in mechanisms.layout(plan, "pacs") if one.criterion.kind == "regime" and one.runs]
    assert {(one.arm, one.model, len(one.runs)) for one in told} == {("grpo", "qwen3-8b", 12)}


def test_a_constant_times_the_baselines_masses_has_their_shape():
    base = rows(negative_mass_by_correct=[[0.0, 0.2, 0.4, 0.2, 0.0], [0.0, 0.4, None, 0.2, 0.0]])
    one = criterion(measure="negative_mass_by_correct", against="grpo", at=[0.125, 0.875], over="all")
    tripled = rows(negative_mass_by_correct=[[0.0, 0.9, 1.2, 0.6, 0.0]])
    assert shape(tripled, base, one, "r") == pytest.approx(0.0, abs=1e-12)
    # m = (2, 1, 2) against b = (1, 1, 1): the best constant is 5/3, and 2 is 20 % above it at both ends.
    found = shape(
        rows(negative_mass_by_correct=[[0, 2.0, 1.0, 2.0, 0]]),
        rows(negative_mass_by_correct=[[0, 1, 1, 1, 0]]),
        one,
        "r",
    )
    assert found == pytest.approx(0.2)
    nothing = rows(negative_mass_by_correct=[[None] * 5])
    assert math.isnan(shape(nothing, base, one, "r"))


def spec(one: Criterion, runs=("a", "b", "c"), baseline=()) -> CriterionSpec:
    named = {"paper": "p", "short": "P", "arm": "mine", "label": "Mine", "model": "M", "stand_in": "m"}
    return CriterionSpec(**named, runs=runs, baseline=baseline, confidence=0.95, criterion=one)


def row_of(of: CriterionSpec, metrics) -> dict:
    return judged(of, measured(of, metrics), "tiny")


def test_a_criterion_is_met_by_the_mean_over_seeds_with_students_interval():
    metrics = {"a": rows(kl=[0.4]), "b": rows(kl=[0.6]), "c": rows(kl=[0.8])}
    row = row_of(spec(criterion(at_least=0.5)), metrics)
    assert (row["met"], row["seeds"], row["bound"], row["kind"]) == ("yes", 3, "at least 0.5", "criterion")
    assert row["by_seed"] == "0.4 0.6 0.8"
    half = 4.302652729911275 * 0.2 / math.sqrt(3)  # t of two degrees of freedom
    assert (row["measured"], row["low"], row["high"]) == pytest.approx((0.6, 0.6 - half, 0.6 + half))
    assert row_of(spec(criterion(at_least=0.61)), metrics)["met"] == "no"
    assert row_of(spec(criterion(at_most=0.59)), metrics)["met"] == "no"
    assert row_of(spec(criterion(at_least=0.5, at_most=0.7)), metrics)["met"] == "yes"
    assert row_of(spec(criterion(), runs=()), metrics)["met"] == "not run"
    assert row_of(spec(criterion()), dict.fromkeys("abc", rows(kl=[None])))["met"] == "no"
    alone = row_of(spec(criterion(), runs=("b",)), metrics)
    assert alone["met"] == "yes" and math.isnan(alone["low"])


def test_what_is_not_met_is_said_with_its_number():
    metrics = {"a": rows(kl=[0.25])}
    frame = pd.DataFrame([row_of(spec(criterion(), runs=runs), metrics) for runs in (("a",), ())])
    assert unmet(frame, ["mine"], {"M"}) == ["Mine: c is 0.25, needed at least 0.5"]
    assert unmet(frame, ["other"], {"M"}) == unmet(frame, ["mine"], {"N"}) == []
    both = pd.concat([frame, frame.assign(model="N", stand_in="n")])
    assert unmet(both, ["mine"], {"M", "N"}) == [f"Mine ({m}): c is 0.25, needed at least 0.5" for m in "MN"]
    assert (mechanism_table.markdown(frame).count("| Mine"), mechanism_table.markdown(both).count("| Mine")) == (1, 2)
    same = mechanism_table.markdown(pd.concat([frame, frame.assign(model="N")]))
    assert "Met: 0 of 1 criterion rows." in same, "two models with one stand-in have the same runs"
    text = mechanism_table.markdown(frame)
    assert (
        "Met: 0 of 1 criterion rows. Of arms without runs at this scale: 1 more." in text
        and "It acts (sec. 1)." in text
    )
    assert "not run" not in text
    assert bound(criterion(at_least=0.1, at_most=0.9)) == "at least 0.1 and at most 0.9"


def test_not_exercised_overrides_a_reproduced_claim_and_keeps_its_numbers():
    one = plain(arms=("high", "low"))
    found = evaluate(one, Evidence(noisy_scores()))
    before, after = (summarise(one, found, "tiny", unmet) for unmet in ([], ["High: c is 0.2, needed at least 2"]))
    assert before["verdict"] == "same direction" and after["verdict"] == "not exercised"
    assert after["reason"] == "High: c is 0.2, needed at least 2" and math.isnan(after["p"])
    kept = {key: value for key, value in before.items() if key not in ("verdict", "reason", "p")}
    assert {key: after[key] for key in kept} == kept and after["estimate"] > 0
    nothing = [{**row, "verdict": "not run"} for row in found]
    assert summarise(one, nothing, "tiny", ["c"])["verdict"] == "not run"
    frame = table.tested_together(pd.DataFrame([{**before, **published(one, None)}, {**after, **published(one, None)}]))
    text = table.markdown(frame)
    assert "**not exercised**" in text and "High: c is 0.2" in text and "1 of 1 claims are decided" in text
    assert set(UNJUDGED) >= {"not exercised"} and grid.draw(frame)


def noisy_scores():
    return noisy(1, arms=("high", "low"), shift=0.3)


@pytest.mark.parametrize(
    ("paper", "name", "about", "acting"),
    [
        ("ace", "larger_k_gain", "method", ("ace_grpo",)),
        ("ace", "alpha_one", "method", ("ace_grpo",)),  # a swept arm has the criteria of its method
        ("ace", "smaller_gain_over_dapo", "method", ("dapo", "ace_grpo", "ace_dapo")),
        ("ace", "grpo_below_base", "base", ()),
        ("ace", "milder_overconfidence", "mechanism", ("ace_grpo",)),
        ("lens", "still_improves", "method", ("lens",)),  # a pass rate in training
        ("pacs", "entropy", "mechanism", ("pacs",)),
        ("pacs", "diversity", "method", ("pacs",)),
        ("agrae", "negative_over_grpo", "method", ()),
        ("agrae", "entropy_falls", "base", ()),  # a measure of training, of the baseline: its figure names none
        ("fade", "exponential_law_overestimates", "base", ()),
        ("pacs", "entropy_collapse_ppo", "mechanism", ()),
    ],
)
def test_what_a_claim_is_about_follows_from_its_arms(paper, name, about, acting):
    claims = {one.claim: one for one in layout(plan_of(paper), paper) if one.effort == PAPER}
    assert claims[name].about == about and set(claims[name].acting) == set(acting)


@cache
def plan_of(paper: str):
    return make_plan(ROOT, "laptop", [paper])


@pytest.mark.parametrize("paper", [p for p in paper_folders.names(ROOT / "config") if p != "methods"])
def test_each_paper_has_criteria_and_a_scale_has_their_runs(paper):
    plans = [plan_of(paper), make_plan(ROOT, "full-short", [paper])]
    with_runs = set()
    for plan in plans:
        specs = mechanisms.layout(plan, paper)
        with_runs |= {one.criterion.name for one in specs if one.runs}
        assert all(len(one.baseline) == len(one.runs) for one in specs if one.criterion.against and one.runs)
        assert set(mechanisms.needs(specs)) <= set(plan.runs)
    assert with_runs == {one.name for one in plans[0].papers[paper].paper.mechanism}


def test_every_claim_on_a_grae_is_held_to_its_mechanism():
    """In each of its forms: with GRPO, DAPO and Dr.GRPO, on chains and with pictures."""
    claims = layout(make_plan(ROOT, "full-short", ["agrae"]), "agrae")
    forms = {"a_grae", "a_grae_vl", "a_grae_dapo", "a_grae_dr_grpo", "a_grae_dapo_vl", "a_grae_dr_grpo_vl"}
    own = [
        (claim, {term.arm for contrast in claim.contrasts for term in contrast.terms} & forms)
        for claim in claims
        if claim.about == "method"
    ]
    assert all(named <= set(claim.acting) for claim, named in own)
    assert set().union(*(named for _, named in own)) == forms


def test_a_criterion_is_judged_in_each_model_that_its_arm_was_trained_from():
    specs = [one for one in mechanisms.layout(plan_of("ace"), "ace") if one.arm == "ace_grpo_sum"]
    assert {(one.model, len(one.runs)) for one in specs} == {("qwen2.5-math-7b", 12), ("qwen2-path", 12)}
    without = mechanisms.layout(plan_of("ace"), "ace", ["core"])
    assert {one.model for one in without if one.arm == "ace_grpo_sum"} == {"qwen2.5-math-7b"}


def test_pictures_of_both_sets_have_the_criterion():
    specs = mechanisms.layout(make_plan(ROOT, "full-short", ["agrae"]), "agrae")
    found = {one.model for one in specs if one.criterion.name == "omega_crosses_a_half_pictures" and one.runs}
    assert found == {"qwen2.5-vl-3b-instruct", "qwen2.5-vl-3b-medical"}


def test_a_swept_arm_has_criteria_with_the_label_of_its_rows():
    specs = mechanisms.layout(plan_of("lens"), "lens")
    assert {(one.label, len(one.runs)) for one in specs if one.arm == "lens-alpha-16.0"} == {("LENS, α = 16", 12)}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"measure": "overconfidence_sun"}, "0.measure: unknown measure 'overconfidence_sun'; .*'overconfidence_sum'"),
        ({"measure": "greedy"}, "0.measure: unknown measure 'greedy'"),  # of probes alone
        ({"arms": ["lenz"]}, "0.arms: unknown arm 'lenz'; .*'lens'"),
        ({"model": "qwen"}, "0.model: unknown model of the paper 'qwen'"),
        ({"below": "targit"}, "0.below: unknown measure 'targit'; .*'target'"),
        ({"against": "grpoo", "at": [0.5], "measure": "negative_mass_by_correct"}, "0.against: unknown arm 'grpoo'"),
        ({"against": "grpo", "at": [0.5]}, "0.measure: unknown measure 'all_wrong'"),
        ({"against": "grpo"}, "against: a difference in shape needs"),
        ({"above": 0.5, "below": 0.5}, "a criterion has one of"),
        ({"of_start": True, "over": "start"}, "of_start: compares `over: end` or `over: all`"),
        ({"at_least": None}, "a criterion needs `at_least`"),
        ({"ever": "all"}, "0.ever: unknown key; .*'over'"),
        ({"over": "middle"}, "0.over: "),
        ({"name": "negative_groups_at_the_end"}, "1.name: another criterion has the name negative_groups_at_the_end"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path, keys, message):
    path = copied(tmp_path) / "config/papers/lens/mechanism.yaml"
    content = yaml.safe_load(path.read_text())
    content["mechanism"][0] |= keys
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError, match=rf"config/papers/lens/mechanism.yaml: mechanism\.?.*{message}"):
        make_plan(tmp_path, "laptop", ["lens"])


def test_every_paper_asks_its_baseline_for_the_regime_that_is_written_once(tmp_path):
    root = copied(tmp_path)
    criteria = yaml.safe_load((root / "config/regime.yaml").read_text())["regime"]
    names = {one["name"] for one in criteria}
    for name, arm in {"lens": "grpo", "fade": "mean"}.items():
        of = [one for one in make_plan(root, "laptop", [name]).papers[name].paper.mechanism if one.kind == "regime"]
        assert {one.name for one in of} == names and {tuple(one.arms) for one in of} == {(arm,)}
    path = root / "config/papers/lens/mechanism.yaml"
    path.write_text(path.read_text().replace("regime: grpo", "regime: grpp"))
    with pytest.raises(ConfigError, match=r"lens/mechanism.yaml: regime: unknown arm 'grpp'; did you mean 'grpo'"):
        make_plan(root, "laptop", ["lens"])
    for regime, message in [
        ([{**criteria[0], "at_moss": 1}], "regime.0.at_moss: unknown key; .*'at_most'"),
        ([{**criteria[0], "measure": "entropie"}], "regime.0.measure: unknown measure 'entropie'; .*'entropy'"),
        ([{**criteria[0], "kind": "criterion"}], "regime.0.kind: unknown key"),
        (["entropy"], "regime.0: must be a mapping"),
        (None, "regime: "),
    ]:
        (root / "config/regime.yaml").write_text(yaml.safe_dump({"regime": regime}))
        with pytest.raises(ConfigError, match=rf"config/regime.yaml: {message}"):
            make_plan(root, "laptop", ["fade"])


def test_the_page_has_a_table_per_paper_and_says_each_row_once():
    metrics = {"a": rows(kl=[0.25])}
    of_q = spec(criterion(says="It acts too"), runs=("a",)).model_copy(update={"paper": "q", "short": "Q"})
    each = [
        *(spec(criterion(name=name, says=says), runs=("a",)) for name, says in (("d", "One"), ("c", "Two"))),
        spec(criterion(name="c", says="Two"), runs=("a",)).model_copy(update={"arm": "other"}),  # by the same label
        of_q,
    ]
    text = mechanism_table.markdown(pd.DataFrame([row_of(one, metrics) for one in each]))
    of_p, _, of_q = text.partition("## Q at tiny scale")
    assert "## P at tiny scale" in of_p and "Met: 0 of 3 criterion rows." in of_p and "Met: 0 of 1" in of_q
    assert of_p.count("- `d`: One (sec. 1).") == of_p.count("- `c`: Two (sec. 1).") == 1 and "It acts too" in of_q
    assert of_p.index("`d`") < of_p.index("`c`"), "in the order of the file"
    assert of_p.count("| Mine `mine` ") == 2 and of_p.count("| Mine `other` ") == 1 and "| Mine  " in of_q
