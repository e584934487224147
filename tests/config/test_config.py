"""Configuration: every file loads, and identity follows what changes numbers."""

import json

import pytest
import yaml
from conftest import ROOT
from support.own_config import copied, edit, refused

from rlvr.config import identity, paper_folders
from rlvr.config.load import Layer, merge, resolve_estimator
from rlvr.config.schema.specs import RunSpec
from rlvr.items.layout import of as layout_of
from rlvr.planning.expansion import make_plan

FAST = ("smoke", "laptop", "pretrained", "paper")  # scales; the others in make test-slow
SCALES = [
    pytest.param(path.stem, marks=[] if path.stem in FAST else pytest.mark.slow)
    for path in sorted((ROOT / "config" / "scale").glob("*.yaml"))
]
PAPERS = paper_folders.names(ROOT / "config")
ACE = "papers/ace/paper.yaml"


@pytest.fixture
def copy(tmp_path):
    return copied(tmp_path)


@pytest.mark.broad
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_plans_at_every_scale(paper, scale):
    plan = make_plan(ROOT, scale, [paper])
    assert plan.papers[paper].all_items() and bool(plan.runs) == bool(plan.papers[paper].paper.arms)
    for run, spec in plan.runs.items():
        assert identity.run_id(spec) == run
        assert asks_for_what_there_is(spec), run


def asks_for_what_there_is(spec: RunSpec) -> bool:
    """Whether shares of mixtures, and probes, need no more problems than a published set has different ones."""
    asked = [(share.skip + (share.problems or 1), share.data.most) for share in getattr(spec.data, "shares", [])]
    asked.append((spec.probe.problems, getattr(spec.validation, "most", spec.validation.problems)))
    return all(most is None or number <= most for number, most in asked)


@pytest.mark.broad
@pytest.mark.parametrize("scale", SCALES)
def test_a_stage_reads_back_its_specification(scale):
    """Types are strict, in JSON too: lists become tuples again, and nothing else changes."""
    plan = make_plan(ROOT, scale, PAPERS)
    for specs in (plan.policies, plan.runs, plan.evaluations):
        for spec in specs.values():
            text = json.dumps(identity.what_is_made(spec.model_dump(mode="json")))
            read = type(spec).model_validate_json(text)
            assert identity.digest(read) == identity.digest(spec)
            assert identity.what_is_made(read.model_dump()) == identity.what_is_made(spec.model_dump())


def test_every_method_is_in_the_comparison():
    from rlvr import estimators

    plan = make_plan(ROOT, "smoke", ["methods"])
    assert {spec.estimator["name"] for spec in plan.runs.values()} == set(estimators.names())
    arms = [cell.row.arm for cell in plan.papers["methods"].item("methods").cells]
    assert arms == ["base", *plan.papers["methods"].paper.arms]


def test_a_pattern_in_a_sweep_is_the_arms_that_it_matches(copy):
    edit(copy, ACE, "like: [grpo, ace_grpo-alpha-0.0]", 'like: ["*"]')
    arms = make_plan(copy, "smoke", ["ace"]).papers["ace"].paper.sweeps["lr"].like
    assert arms[-6:] == [f"ace_grpo-alpha-{value}" for value in (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)]
    edit(copy, ACE, 'like: ["*"]', 'like: ["*", "ace_grpo*"]')
    more = make_plan(copy, "smoke", ["ace"]).papers["ace"].paper.sweeps["lr"].like
    assert set(more) == set(arms) and len(more) == len(arms), "each once"


def test_a_sweep_may_set_a_whole_number_and_multiply_one(copy):
    edit(copy, ACE, "sweeps:\n", """sweeps:
  steps: {like: [grpo], times: rl.steps, values: [0.5, 1.0]}
  group: {like: [grpo], set: rollout.samples_per_prompt, values: [4, 8]}
""")  # fmt: skip
    assert make_plan(copy, "smoke", ["ace"]).runs
    edit(copy, ACE, "values: [0.5, 1.0]}", "values: [0.3, 1.0]}")
    refused(copy, r"ace/paper.yaml: sweeps: rl.steps x 0.3 = 0.6: .*integer", "ace")


@pytest.mark.parametrize(
    "order", ["prompts_per_step, prompts_per_minibatch", "prompts_per_minibatch, prompts_per_step"]
)
def test_factors_of_an_arm_are_checked_together(copy, order):
    """Three times the minibatch is more than a step has, until the step is three times as large too."""
    times = ", ".join(f"rl.{name}: 3" for name in order.split(", "))
    edit(
        copy,
        ACE,
        "  grpo: {label: GRPO, ",
        f"  small: {{like: grpo, label: Small, times: {{{times}}}}}\n  grpo: {{label: GRPO, ",
    )
    edit(copy, ACE, "rows: [dapo, ace_dapo, ace_dapo_below_mean]", "rows: [dapo, ace_dapo, ace_dapo_below_mean, small]")
    runs = make_plan(copy, "smoke", ["ace"]).runs.values()
    assert {run.rl.prompts_per_step for run in runs} == {6, 12, 18}, "12: twice the prompts, a control"


def test_adding_one_value_to_a_sweep_plans_one_family_of_new_runs(copy):
    before = make_plan(copy, "paper", ["ace"]).runs
    edit(copy, ACE, "values: [0.0, 0.1, 0.5, 1.0, 2.0, 5.0]", "values: [0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0]")
    after = make_plan(copy, "paper", ["ace"]).runs
    new = set(after) - set(before)
    assert set(before) < set(after) and len(new) == 5, "five seeds"
    assert all("alpha3.0" in run for run in new)


def test_tables_that_ask_for_the_same_run_share_it(plan):
    def runs(table, arm):
        return next(cell.policies for cell in plan.papers["ace"].tables[table].cells if cell.row.arm == arm)

    assert len({runs(table, "grpo") for table in ("table1", "table3", "readings", "core")}) == 1
    assert runs("table4", "ace_grpo-alpha-0.0") == runs("table1", "grpo"), "alpha = 0 is the base estimator"
    assert runs("table4", "ace_grpo-alpha-1.0") == runs("table1", "ace_grpo")


def test_identity_is_of_values_not_of_spelling(copy):
    before = set(make_plan(copy, "smoke", ["ace"]).runs)
    edit(copy, "scale/smoke.yaml", "learning_rate: 2.0e-4", "learning_rate: 0.0002")
    edit(copy, ACE, "estimator: {name: ace, alpha: 1.0}", "estimator: {name: ace, alpha: 1}")
    edit(copy, "scale/smoke.yaml", "execution: {save_every: 1,", "execution: {save_every: 2,")
    assert set(make_plan(copy, "smoke", ["ace"]).runs) == before


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [("rl", "weight_decay", 0.5), ("loss", "clip_high", 0.3), ("rollout", "temperature", 0.9),
     ("reward", "overlong_buffer", 0.3)],
)  # fmt: skip
def test_every_section_is_in_the_identity(plan, section, key, value):
    run, spec = next(iter(plan.runs.items()))
    other = spec.model_copy(update={section: getattr(spec, section).model_copy(update={key: value})})
    assert identity.run_id(other) != run
    assert identity.run_id(spec.model_copy(update={"seed": 99})) != run


def test_paper_scale_holds_the_published_settings():
    plan = make_plan(ROOT, "paper", ["ace"])
    spec = next(s for n, s in plan.runs.items() if n.startswith("qwen2.5-math-7b-grpo-lr1e-05-seed1"))
    assert (spec.rl.prompts_per_step, spec.rl.prompts_per_minibatch, spec.rl.learning_rate) == (2048, 1024, 1e-5)
    assert (spec.rollout.samples_per_prompt, spec.rollout.max_response_tokens) == (8, 3000)
    assert spec.loss.kl_coefficient == 0.001
    assert spec.base.model.repo == "Qwen/Qwen2.5-Math-7B" and spec.base.sft is None
    assert spec.steps == 10 * spec.data.problems // 2048
    evaluation = next(e for e in plan.evaluations.values() if e.data.name == "math-500")
    assert (evaluation.sampling.samples, evaluation.sampling.temperature, evaluation.sampling.top_p) == (128, 0.7, 0.95)


def test_another_estimators_settings_do_not_leak():
    layers = [
        Layer("a", "", {"estimator": {"name": "grpo", "std": "unbiased"}}),
        Layer("b", "", {"estimator": {"name": "dr_grpo"}}),
    ]
    assert merge(layers)["estimator"] == {"name": "dr_grpo"}
    assert resolve_estimator(merge(layers)["estimator"], layers) == {"name": "dr_grpo"}


def test_every_knob_stands_once_with_a_comment():
    text = (ROOT / "config" / "defaults.yaml").read_text()
    for section, knobs in yaml.safe_load(text).items():
        for knob in knobs:
            line = next(line for line in text.splitlines() if line.strip().startswith(f"{knob}:"))
            assert "#" in line or section == "estimator", f"{section}.{knob} has no unit or source"


def test_a_checkpoint_rule_is_named_in_the_tables_foot_and_makes_other_runs(copy):
    before = make_plan(copy, "smoke", ["ace"])
    edit(copy, ACE, "{name: grpo}}", "{name: grpo}, selection: {rule: best_validation}}")
    plan = make_plan(copy, "smoke", ["ace"])
    changed, unchanged = (layout_of(made, "ace", "table1") for made in (plan, before))
    assert not unchanged.selected
    assert changed.selected == {"GRPO": "operators-validation-smoke (4 problems x 4 samples)"}
    assert set(plan.runs) - set(before.runs) and set(plan.runs) & set(before.runs)
