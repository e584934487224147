"""Configuration: every file loads, every mistake is named, identity follows what changes numbers."""

import shutil
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from rlvr.config import identity, layouts
from rlvr.config.expansion import make_plan
from rlvr.config.load import ConfigError, Layer, merge, resolve_estimator

SCALES = sorted(path.stem for path in (ROOT / "config" / "scale").glob("*.yaml"))
PAPERS = sorted(path.stem for path in (ROOT / "config" / "papers").glob("*.yaml"))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_plans_at_every_scale(paper, scale):
    plan = make_plan(ROOT, scale, [paper])
    assert plan.papers[paper].all_items() and bool(plan.runs) == bool(plan.papers[paper].paper.arms)
    for run, spec in plan.runs.items():
        assert identity.run_id(spec) == run


@pytest.mark.parametrize("paper", PAPERS)
def test_analytic_contents_exist(paper):
    from rlvr.theory.analytic import CONTENTS

    made = make_plan(ROOT, "smoke", [paper]).papers[paper]
    contents = [made.item(n).content.content for n in made.all_items() if made.item(n).content.kind == "analytic"]
    assert set(contents) <= set(CONTENTS)
    assert paper == "methods" or paper == "ace" or contents


def test_every_method_is_in_the_comparison():
    from rlvr import estimators

    plan = make_plan(ROOT, "smoke", ["methods"])
    assert {spec.estimator["name"] for spec in plan.runs.values()} == set(estimators.names())
    arms = [cell.row.arm for cell in plan.papers["methods"].item("methods").cells]
    assert arms == ["base", *plan.papers["methods"].paper.arms]


@pytest.fixture
def copy(tmp_path) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


def edit(root: Path, file: str, old: str, new: str) -> None:
    path = root / "config" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "defaults.yaml",
            "learning_rate:",
            "learnign_rate:",
            r"config/defaults.yaml: sft.learnign_rate: unknown key; did you mean 'learning_rate'",
        ),
        (
            "papers/ace.yaml",
            "rl: {prompts_per_step: 2048",
            "rl: {promts_per_step: 2048",
            r"config/papers/ace.yaml: models.qwen2.5-math-7b.settings.rl.promts_per_step: unknown key; did you mean 'prompts_per_step'",  # noqa: E501
        ),
        (
            "datasets.yaml",
            "hard_levels: [n=5]",
            'hard_levels: ["5"]',
            r"config/datasets.yaml: operators-validation: about.hard_levels \['5'\]: its levels are n=3, n=4, n=5",
        ),
        (
            "papers/ace.yaml",
            "estimator: {name: rloo}",
            "estimator: {name: rlo}",
            r"config/papers/ace.yaml: arms.rloo.settings.estimator.name: unknown estimator 'rlo'; did you mean 'rloo'",
        ),
        (
            "papers/ace.yaml",
            "estimator: {modulation: relu}",
            "estimator: {modulaton: relu}",
            r"arms.ace_relu.settings.estimator.modulaton: ace has no such setting; did you mean 'modulation'",
        ),
        (
            "papers/ace.yaml",
            "estimator: {modulation: relu}",
            "estimator: {modulation: rilu}",
            r"arms.ace_relu.settings.estimator.modulation: 'rilu' is not one of its values; did you mean 'relu'",
        ),
        (
            "papers/ace.yaml",
            "estimator: {name: ace, alpha: 1.0}",
            "estimator: {name: ace, alpha: one}",
            r"arms.ace_grpo.settings.estimator.alpha: must be of type float \(got 'one'\)",
        ),
        (
            "papers/ace.yaml",
            "{arm: ace_relu,",
            "{arm: ace_rleu,",
            r"config/papers/ace.yaml: tables.table3: unknown arm 'ace_rleu'; did you mean 'ace_relu'",
        ),
        (
            "papers/ace.yaml",
            "benchmark: aime-2025",
            "benchmark: aime-2026",
            r"tables.table2.benchmark: unknown benchmark 'aime-2026'; did you mean 'aime-2025'",
        ),
        (
            "scale/smoke.yaml",
            "evaluation: {samples: 32",
            "evaluation: {samples: 16",
            r"tables.table1.k: k = 32 is larger than n = 16 samples \(config/scale/smoke.yaml: settings.evaluation.samples\)",  # noqa: E501
        ),
        (
            "papers/ace.yaml",
            "compare_with: grpo",
            "compare_with: gpro",
            r"tables.table1.compare_with: not a row: 'gpro'; did you mean 'grpo'",
        ),
        (
            "papers/ace.yaml",
            "reference: ace_table1.csv",
            "reference: ace_tabel1.csv",
            r"tables.table1.reference: no such file: config/reference/ace_tabel1.csv",
        ),
        ("papers/ace.yaml", "like: dapo", "like: ace_dapo", r"arms.ace_dapo: `like` runs in a circle"),
        (
            "papers/ace.yaml",
            "data: dapo-math-17k",
            "data: dapo-math-17",
            r"config/papers/ace.yaml: data: unknown data set 'dapo-math-17'; did you mean 'dapo-math-17k'",
        ),
        (
            "papers/ace.yaml",
            "times: rl.learning_rate",
            "times: rl.learning_rat",
            r"no such setting: 'rl.learning_rat'; did you mean 'rl.learning_rate'",
        ),
        (
            "papers/ace.yaml",
            "figure2:",
            "table1:",
            r"config/papers/ace.yaml: figures.table1: a table has this name too",
        ),
        (
            "scale/smoke.yaml",
            "samples: 32",
            "samples: many",
            r"config/scale/smoke.yaml: settings.evaluation.samples: .*integer.* \(got 'many'\)",
        ),
        (
            "scale/smoke.yaml",
            "prompts_per_minibatch: 3",
            "prompts_per_minibatch: 30",
            r"rl: prompts_per_minibatch is larger than prompts_per_step",
        ),
        (
            "scale/smoke.yaml",
            "seeds: 2",
            "seeds: 2\nseeds: 3",
            r"config/scale/smoke.yaml: not valid YAML: .*'seeds' is given twice",
        ),
        (
            "models.yaml",
            "architecture: qwen3",
            "architecture: qwen4",
            r"config/models.yaml: qwen3-tiny.architecture: .*\(got 'qwen4'\)",
        ),
        (
            "datasets.yaml",
            "part: train, levels",
            "prat: train, levels",
            r"config/datasets.yaml: operators-train.prat: unknown key; did you mean 'part'",
        ),
    ],
)
def test_a_mistake_is_named_with_file_key_and_nearest_name(copy, file, old, new, message):
    edit(copy, file, old, new)
    with pytest.raises(ConfigError, match=message):
        make_plan(copy, "smoke", ["ace"])


def test_a_k_beyond_the_samples_is_named_where_no_scale_leaves_it_out(copy):
    edit(copy, "papers/ace.yaml", "k: [1, 2, 4, 8, 16, 32]", "k: [1, 2, 4, 8, 16, 999]")
    message = r"tables.table1.k: k = 999 is larger than n = 128 samples \(config/defaults.yaml: evaluation.samples\)"
    with pytest.raises(ConfigError, match=message):
        make_plan(copy, "paper", ["ace"])


def test_an_unknown_scale_or_paper_names_the_nearest():
    with pytest.raises(ConfigError, match=r"config/scale/labtop.yaml: no such file; did you mean 'laptop'"):
        make_plan(ROOT, "labtop", ["ace"])
    with pytest.raises(ConfigError, match=r"config/papers/aze.yaml: no such file; did you mean 'ace'"):
        make_plan(ROOT, "smoke", ["aze"])


def test_changing_one_value_of_a_sweep_plans_one_family_of_new_runs(copy):
    before = make_plan(copy, "paper", ["ace"]).runs
    edit(copy, "papers/ace.yaml", "values: [0.0, 0.1, 0.5, 1.0, 2.0, 5.0]", "values: [0.0, 0.1, 0.5, 1.0, 3.0, 5.0]")
    after = make_plan(copy, "paper", ["ace"]).runs
    assert len(set(after) - set(before)) == len(set(before) - set(after)) == 5 * 3, "five seeds, three learning rates"
    assert all("alpha3.0" in run for run in set(after) - set(before))


def test_tables_that_ask_for_the_same_run_share_it(plan):
    tables = plan.papers["ace"].tables
    grpo = {
        name: next(c for c in item.cells if c.row.arm == "grpo").policies
        for name, item in tables.items()
        if name in ("table1", "table3", "readings", "core")
    }
    assert len(set(grpo.values())) == 1
    base = next(c for c in tables["table4"].cells if c.row.arm == "ace_grpo-alpha-0.0").policies
    assert base == grpo["table1"]  # alpha = 0 is the base estimator
    default = next(c for c in tables["table4"].cells if c.row.arm == "ace_grpo-alpha-1.0").policies
    assert default == next(c for c in tables["table1"].cells if c.row.arm == "ace_grpo").policies


def test_identity_is_of_values_not_of_spelling(copy):
    before = set(make_plan(copy, "smoke", ["ace"]).runs)
    edit(copy, "scale/smoke.yaml", "learning_rate: 2.0e-4", "learning_rate: 0.0002")
    edit(copy, "papers/ace.yaml", "estimator: {name: ace, alpha: 1.0}", "estimator: {name: ace, alpha: 1}")
    edit(copy, "scale/smoke.yaml", "execution: {save_every: 1}", "execution: {save_every: 2}")
    assert set(make_plan(copy, "smoke", ["ace"]).runs) == before


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("rl", {"weight_decay": 0.5}),
        ("loss", {"clip_high": 0.3}),
        ("rollout", {"temperature": 0.9}),
        ("reward", {"overlong_buffer": 0.3}),
    ],
)
def test_every_section_is_in_the_identity(plan, section, change):
    run, spec = next(iter(plan.runs.items()))
    other = spec.model_copy(update={section: getattr(spec, section).model_copy(update=change)})
    assert identity.run_id(other) != run
    assert identity.run_id(spec.model_copy(update={"seed": 99})) != run


def test_paper_scale_holds_the_published_settings():
    plan = make_plan(ROOT, "paper", ["ace"])
    spec = next(s for n, s in plan.runs.items() if n.startswith("qwen2.5-math-7b-grpo-lr1e-05-seed1"))
    assert (spec.rl.prompts_per_step, spec.rl.prompts_per_minibatch, spec.rl.learning_rate) == (2048, 1024, 1e-5)
    assert (spec.rollout.samples_per_prompt, spec.rollout.max_response_tokens, spec.loss.kl_coefficient) == (
        8,
        3000,
        0.001,
    )
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
        assert section in text
        for knob in knobs:
            line = next(line for line in text.splitlines() if line.strip().startswith(f"{knob}:"))
            assert "#" in line or section == "estimator", f"{section}.{knob} has no unit or source"


GRPO = "    settings: {estimator: {name: grpo}}"
BEST = "    settings: {estimator: {name: grpo}, selection: {rule: best_validation}}"


def test_a_checkpoint_rule_is_named_in_the_tables_foot_and_makes_other_runs(copy):
    before = make_plan(copy, "smoke", ["ace"])
    edit(copy, "papers/ace.yaml", GRPO, BEST)
    plan = make_plan(copy, "smoke", ["ace"])
    changed, unchanged = (layouts.of_item(made, "ace", "table1") for made in (plan, before))
    assert "selected" not in unchanged
    assert changed["selected"] == {"GRPO": "operators-validation-smoke (4 problems x 4 samples)"}
    assert set(plan.runs) - set(before.runs) and set(plan.runs) & set(before.runs)


def test_a_checkpoint_is_not_picked_on_the_test_set(copy):
    edit(copy, "papers/ace.yaml", GRPO, BEST)
    edit(copy, "papers/ace.yaml", "validation_data: aime-2024", "validation_data: aime-2025")
    message = r"arms.grpo.settings.selection.rule: best_validation would select on 'aime-2025', which is the benchmark"
    with pytest.raises(ConfigError, match=message):
        make_plan(copy, "smoke", ["ace"])
