"""Configuration: every file loads, every mistake is named, identity follows what changes numbers."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from rlvr.config import identity, paper_folders
from rlvr.config.load import ConfigError, Layer, merge, resolve_estimator
from rlvr.config.schema.specs import RunSpec
from rlvr.items.layout import of as layout_of
from rlvr.planning.expansion import make_plan
from rlvr.theory.closed_forms import CLOSED_FORMS

FAST = ("smoke", "laptop", "pretrained", "paper")  # scales; the others in make test-slow
SCALES = [
    pytest.param(path.stem, marks=[] if path.stem in FAST else pytest.mark.slow)
    for path in sorted((ROOT / "config" / "scale").glob("*.yaml"))
]
PAPERS = paper_folders.names(ROOT / "config")
ACE = "papers/ace/paper.yaml"


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
@pytest.mark.parametrize("paper", PAPERS)
def test_analytic_contents_exist(paper):
    made = make_plan(ROOT, "smoke", [paper]).papers[paper]
    contents = [made.item(n).content.content for n in made.all_items() if made.item(n).content.kind == "analytic"]
    assert set(contents) <= set(CLOSED_FORMS.names())
    assert paper == "methods" or paper == "ace" or contents


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
            ACE,
            "rl: {prompts_per_step: 2048",
            "rl: {promts_per_step: 2048",
            r"config/papers/ace/paper.yaml: models.qwen2.5-math-7b.settings.rl.promts_per_step: unknown key; did you mean 'prompts_per_step'",  # noqa: E501
        ),
        (
            "datasets.yaml",
            "hard_levels: [n=5]",
            'hard_levels: ["5"]',
            r"config/datasets.yaml: operators-validation: about.hard_levels \['5'\]: its levels are n=3, n=4, n=5",
        ),
        (
            ACE,
            "estimator: {name: rloo}",
            "estimator: {name: rlo}",
            r"papers/ace/paper.yaml: arms.rloo.settings.estimator.name: unknown estimator 'rlo'; did you mean 'rloo'",
        ),
        (
            ACE,
            "estimator: {modulation: relu}",
            "estimator: {modulaton: relu}",
            r"arms.ace_relu.settings.estimator.modulaton: ace has no such setting; did you mean 'modulation'",
        ),
        (
            ACE,
            "estimator: {modulation: relu}",
            "estimator: {modulation: rilu}",
            r"arms.ace_relu.settings.estimator.modulation: 'rilu' is not one of its values; did you mean 'relu'",
        ),
        (
            ACE,
            "estimator: {name: ace, alpha: 1.0}",
            "estimator: {name: ace, alpha: one}",
            r"arms.ace_grpo.settings.estimator.alpha: must be of type float \(got 'one'\)",
        ),
        (
            ACE,
            "- ace_relu\n",
            "- ace_rleu\n",
            r"config/papers/ace/paper.yaml: tables.table3: unknown arm 'ace_rleu'; did you mean 'ace_relu'",
        ),
        (
            ACE,
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
            ACE,
            "compare_with: grpo",
            "compare_with: gpro",
            r"tables.table1.compare_with: no row has the arm 'gpro'; did you mean 'grpo'",
        ),
        (
            ACE,
            "reference: table1.csv",
            "reference: tabel1.csv",
            r"tables.table1.reference: no such file: config/papers/ace/reference/tabel1.csv",
        ),
        (ACE, "like: dapo", "like: ace_dapo", r"arms.ace_dapo: `like` is circular"),
        (
            ACE,
            "data: dapo-rest ",
            "data: dapo-rst ",
            r"config/papers/ace/paper.yaml: data: unknown data set 'dapo-rst'; did you mean 'dapo-rest'",
        ),
        (
            ACE,
            "times: rl.learning_rate",
            "times: rl.learning_rat",
            r"no such setting: 'rl.learning_rat'; did you mean 'rl.learning_rate'",
        ),
        (
            ACE,
            "figure2:",
            "table1:",
            r"config/papers/ace/paper.yaml: figures.table1: a table has this name too",
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
        *(
            ("models.yaml", old, new, rf"^config/models.yaml: {key}: {message}")
            for old, new, key, message in (
                ("hidden_size: 64", "hidden_size: 63", "qwen2-tiny.hidden_size", r"63 is no multiple of heads \(2\)"),
                ("hidden_size: 64", "hidden_size: 62", "qwen2-tiny.hidden_size", "a head is 31 wide, .* must be even"),
                ("heads: 4, kv_heads: 2", "heads: 4, kv_heads: 3", "qwen2-chain.heads", "4 is no multiple of kv_heads"),
                (
                    "vision: {hidden_size: 64",
                    "vision: {hidden_size: 60",
                    "qwen2.5-vl-tiny.vision.hidden_size",
                    "a head is 30 wide, 60 / 2; must divide by 4",
                ),
            )
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


@pytest.mark.broad
@pytest.mark.parametrize(
    ("paper", "file", "old", "new", "message"),
    [
        (
            "ace", ACE, "rows: [base, grpo,", "rows: [base, {arm: grpo, published: GRPOO},",
            r"tables.table1.rows.1.published: no method 'GRPOO' in config/papers/ace/reference/table1.csv"
            r"; did you mean 'GRPO'",
        ),
        (
            "lens", "papers/lens/paper.yaml", "qwen2.5-3b: Qwen-2.5-3B-Base", "qwen2.5-3b: Qwen-2.5-3B-Bsse",
            r"published_as.qwen2.5-3b\): no model 'Qwen-2.5-3B-Bsse' in .*lens/reference/table1.csv"
            r"; did you mean 'Qwen-2.5-3B-Base'",
        ),
        (
            "ace", ACE, '"ACE-GRPO alpha={value}"', '"ACE-GRPO alfa={value}"',
            r"sweeps.alpha.published: no method 'ACE-GRPO alfa=0.0' in .*ace/reference/table4.csv"
            r"; did you mean 'ACE-GRPO alpha=0.0'",
        ),
        (
            "fade", "papers/fade/paper.yaml", "content: fade_table1\n", "content: fade_table11\n",
            r"fade/paper.yaml: tables.table1.content: unknown content 'fade_table11'; did you mean 'fade_table1'",
        ),
        (
            "ace", ACE, "table5.csv", "table55.csv",
            r"tables.table5.reference: no such file: .*/ace/reference/table55.csv; did you mean 'table5.csv'",
        ),
        (
            "ace", ACE, "    kind: settings\n", "    kind: settings\n    k: [1]\n",
            r"tables.table5.k: unknown key; valid: by_name, kind, models, note, reference, rows, title",
        ),
        (
            "ace", ACE, "kind: across_benchmarks\n", "kind: across_benchmarks\n    measures: [avg]\n",
            r"tables.benchmarks.measures: unknown key",
        ),
        (
            "ace", ACE, "    benchmark: math-500\n", "    benchmark: math-500\n    repeats: 3\n",
            r"tables.table1.repeats: unknown key",
        ),
        (
            "ace", "scale/smoke.yaml", "seeds: 2\n", "seeds: 2\nmodels: {qwen2.5-math-8b: qwen2-tiny}\n",
            r"smoke.yaml: models.qwen2.5-math-8b: unknown model 'qwen2.5-math-8b'; did you mean 'qwen2.5-math-7b'",
        ),
        (
            "ace", "models.yaml", "smoke: qwen2-tiny", "smoek: qwen2-tiny",
            r"models.yaml: qwen2.5-math-7b.stand_in.smoek: unknown scale 'smoek'; did you mean 'smoke'",
        ),
        (
            "ace", "datasets.yaml", "smoke: operators-easy-smoke", "smoke: operator-easy-smoke",
            r"datasets.yaml: math-test.stand_in.smoke: unknown data set 'operator-easy-smoke'; did you mean",
        ),
        (
            "ace", "scale/smoke.yaml", "seeds: 2\n", "seeds: 2\ndata: {math-5000: operators-easy}\n",
            r"smoke.yaml: data.math-5000: unknown data set 'math-5000'; did you mean 'math-500'",
        ),
        (
            "ace", "scale/smoke.yaml", "probe: {problems: 4,", "probe: {problems: 40,",
            r"smoke.yaml: settings.probe.problems: 40 problems are more than the 8 of operators-validation-smoke",
        ),
        (
            "ace", ACE, "settings: {estimator: {name: rloo}}",
            "settings: {estimator: {name: rloo}, evaluation: {temperature: 0.9}}",
            r"ace/paper.yaml: arms.rloo.settings.evaluation: no arm or sweep can change this section",
        ),
        (
            "ace", ACE, "settings: {estimator: {name: rloo}}",
            "settings: {estimator: {name: rloo}, sft: {steps: 1}}", r"arms.rloo.settings.sft: no arm or sweep",
        ),
        (
            "ace", ACE, "settings: {estimator: {name: rloo}}",
            "settings: {estimator: {name: rloo}, collapse: {share: 0.5}}",
             r"arms.rloo.settings.collapse: no arm or sweep can change this section",
        ),
        (
            "ace", ACE, "set: estimator.alpha", "set: statistics.resamples",
            r"ace/paper.yaml: sweeps.alpha.set: no arm or sweep can change this section, only rl, rollout",
        ),
        ("ace", ACE, "name: ace\n", "name: acee\n", r"ace/paper.yaml: name: 'acee' differs from"),
        ("ace", "scale/smoke.yaml", "name: smoke", "name: smokey",
         r"smoke.yaml: name: 'smokey' differs from the file's name 'smoke'"),
        ("ace", ACE, "  table5:", "  table/5:",
         r"ace/paper.yaml: tables.table/5: 'table/5' cannot be a name: "),
    ],
)  # fmt: skip
def test_what_would_be_ignored_or_lost_is_an_error(copy, paper, file, old, new, message):
    edit(copy, file, old, new)
    with pytest.raises(ConfigError, match=message):
        make_plan(copy, "smoke", [paper])


@pytest.mark.broad
@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        # A scale wins over it.
        (ACE, "learning_rate: 1.0e-5", "learning_rate: fast",
         r"ace/paper.yaml: models.qwen2.5-math-7b.settings.rl.learning_rate: .*\(got 'fast'\)"),
        # No table shows it.
        (ACE, "arms:\n", "arms:\n  mine: {settings: {estimator: {name: ace, alpa: 1.0}}}\n",
         r"ace/paper.yaml: arms.mine.settings.estimator.alpa: ace has no such setting; did you mean 'alpha'"),
        (ACE, "arms:\n", "arms:\n  mine: {like: grpoo}\n",
         r"arms.mine.like: unknown arm 'grpoo'; .*'grpo'"),
        (ACE, "arms:\n", "arms:\n  mine: {data: math}\n", r"arms.mine.data: unknown data set 'math'"),
        (ACE, "sweeps:\n", "sweeps:\n  mine: {like: [grpo], set: loss.clip_lo, values: [0.1]}\n",
         r"sweeps.mine.set: no such setting: 'loss.clip_lo'; did you mean 'loss.clip_low'"),
        (ACE, "sweeps:\n", "sweeps:\n  mine: {like: [grpo], set: loss.clip_low, values: [7]}\n",
         r"sweeps.mine.loss.clip_low: .*less than or equal to 1"),
        (ACE, 'like: ["*"]', 'like: ["ace_grpo-alfa-*"]',
         r"sweeps.lr.like: unknown arm 'ace_grpo-alfa-\*'"),
        # It is of a scale that is not planned, or of one that is built upon.
        ("papers/ace/scales.yaml", "full-laptop:", "smoke: {settings: {rl: {steps: two}}}\nfull-laptop:",
         r"papers/ace/scales.yaml: smoke.settings.rl.steps: .*\(got 'two'\)"),
        ("scale/laptop.yaml", "items: core", "items: cores",
         r"laptop.yaml: items: .*\(got 'cores'\); did you mean 'core'"),
        # It is of another type, and could be read as the right one.
        ("scale/smoke.yaml", "seeds: 2", 'seeds: "2"',
         r"smoke.yaml: seeds: .*integer \(got '2'\); write it without quotes"),
        ("scale/smoke.yaml", "seeds: 2", "seeds: true", r"smoke.yaml: seeds: .*integer \(got True\)"),
        ("scale/smoke.yaml", "seeds: 2", "seeds: 2.0", r"smoke.yaml: seeds: .*integer \(got 2.0\)"),
        (ACE, "year: 2026", "year: 2026-01-01", r"ace/paper.yaml: year: .*integer \(got '2026-01-01'\)"),
        (ACE, "short: ACE", "short: 7", r"ace/paper.yaml: short: .*string \(got 7\); write it in quotes"),
        (ACE, "  dapo:\n", "  no:\n", r"ace/paper.yaml: not valid YAML: the key 'no' is not text"),
        # No number, and lists in lists without an end: libyaml's loader recurses until the process ends.
        (ACE, "year: 2026", "year: !!int ''", r"ace/paper.yaml: not valid YAML: '' is no int in .* line \d+"),
        (ACE, "year: 2026", "year: " + "9" * 5000, r"ace/paper.yaml: not valid YAML: '9{20}' is no int"),
        (ACE, "year: 2026", "year: !!bool x", r"ace/paper.yaml: not valid YAML: 'x' is no bool"),
        (ACE, "year: 2026", "year: " + "[" * 100_000, "not valid YAML: nested deeper than 50 levels"),
        (ACE, "year: 2026", "year: " + '{"a": ' * 60, "not valid YAML: nested deeper than 50 levels"),
        # It has two meanings.
        (ACE, "seeds: [1, 2,", "seeds: [1, 1,", r"seeds: each seed is one run; remove the duplicates"),
        (ACE, "arms:\n", "arms:\n  base: {}\n", r"arms.base: an arm cannot have this name"),
        (ACE, "  regime:", "  core_matched:",
         r"tables.core_matched: the table 'core' has an item of this name"),
        # A family that is tested out of domain.
        ("datasets.yaml", "unseen: first", "unseen: frist",
         r"unseen: operator_chain has no 'frist'; did you mean 'first'"),
        ("datasets.yaml", "part: hard, levels: [4], unseen: first", "part: train, levels: [4], unseen: first",
         r"chain-unseen-first.* the part 'train' is learned from"),
        ("datasets.yaml", "seed: 65, lookup: words-train", "seed: 65, lookup: words-trian",
         r"datasets.yaml: .*words-easy.lookup: unknown data set 'words-trian'; did you mean 'words-train'"),
        ("datasets.yaml", "seed: 65, lookup: words-train", "seed: 65, lookup: chain-train",
         r"words-easy.* chain-train has problems of operator_chain, not of word_problem"),
        ("datasets.yaml", "operators-hard: {", "operators-hard: {unseen: first, ",
         r"unseen: operator_fill has no 'first'"),
        # A verifier that would judge something else.
        ("datasets.yaml", "operators-train: {task", "operators-train: {verifier: math, task",
         r"operators-train.verifier: operator_fill is graded by 'operators' \(got 'math'\)"),
        ("datasets.yaml", "  verifier: math\n", "  verifier: operators\n",
         r"verifier: Input should be 'choice', 'code', 'exact' or"),
        # Two mistakes that are one: the line that helps.
        (ACE, "year: 2026", "yaer: 2026",
         r"^config/papers/ace/paper.yaml: yaer: unknown key; did you mean 'year'\?$"),
        ("datasets.yaml", "{task: operator_fill, part: easy, levels: [3", "{tsk: operator_fill, part: easy, levels: [3",
         r"^config/datasets.yaml: operators-easy.tsk: unknown key; did you mean 'task'\?$"),
        ("models.yaml", "prompt: qwen3-plain", "prompt: qwen3-plain\n  task: operator_fill",
         r"^config/models.yaml: qwen3-8b-base.task: unknown key; valid: about, dtype, prompt, repo, revision, source"),
        ("models.yaml", "prompt: qwen3-plain", "promt: qwen3-plain",
         r"^config/models.yaml: qwen3-8b-base.promt: unknown key; did you mean 'prompt'\?$"),
    ],
)  # fmt: skip
def test_a_mistake_that_nothing_uses_today_is_an_error_too(copy, file, old, new, message):
    edit(copy, file, old, new)
    with pytest.raises(ConfigError, match=message):
        make_plan(copy, "full-laptop" if "laptop" in file else "smoke", ["ace"])


def test_a_published_table_that_is_no_such_table_is_an_error(copy):
    path = copy / "config/papers/ace/reference/table1.csv"
    text = path.read_text()
    path.write_text(text.replace(",Base,MATH-500,1,63.0,", ",Base,MATH-500,1", 1))
    with pytest.raises(ConfigError, match=r"ace/reference/table1.csv, line 2: has 6 values, but needs 8"):
        make_plan(copy, "smoke", ["ace"])
    path.write_text(text.replace("benchmark", "bench", 1))
    with pytest.raises(
        ConfigError, match=r"reference/table1.csv: its columns are paper, table, model, method, bench, k"
    ):
        make_plan(copy, "smoke", ["ace"])


def test_a_pattern_in_a_sweep_is_the_arms_that_it_matches(copy):
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
    made = make_plan(copy, "smoke", ["ace"])
    assert made.runs
    edit(copy, ACE, "values: [0.5, 1.0]}", "values: [0.3, 1.0]}")
    with pytest.raises(ConfigError, match=r"ace/paper.yaml: sweeps: rl.steps x 0.3 = 0.6: .*integer"):
        make_plan(copy, "smoke", ["ace"])


def test_a_k_beyond_the_samples_is_named_where_no_scale_leaves_it_out(copy):
    edit(copy, ACE, "k: [1, 2, 4, 8, 16, 32]", "k: [1, 2, 4, 8, 16, 999]")
    message = r"tables.table1.k: k = 999 is larger than n = 128 samples \(config/defaults.yaml: evaluation.samples\)"
    with pytest.raises(ConfigError, match=message):
        make_plan(copy, "paper", ["ace"])


def test_an_unknown_scale_or_paper_names_the_nearest():
    with pytest.raises(ConfigError, match=r"config/scale/labtop.yaml: no such file; did you mean 'laptop'"):
        make_plan(ROOT, "labtop", ["ace"])
    with pytest.raises(ConfigError, match=r"config/papers/aze/paper.yaml: no such file; did you mean 'ace'"):
        make_plan(ROOT, "smoke", ["aze"])


def test_adding_one_value_to_a_sweep_plans_one_family_of_new_runs(copy):
    before = make_plan(copy, "paper", ["ace"]).runs
    edit(
        copy,
        ACE,
        "values: [0.0, 0.1, 0.5, 1.0, 2.0, 5.0]",
        "values: [0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0]",
    )
    after = make_plan(copy, "paper", ["ace"]).runs
    assert set(before) < set(after)
    assert len(set(after) - set(before)) == 5 * 4, "five seeds, four learning rates"
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
    edit(copy, ACE, "estimator: {name: ace, alpha: 1.0}", "estimator: {name: ace, alpha: 1}")
    edit(copy, "scale/smoke.yaml", "execution: {save_every: 1,", "execution: {save_every: 2,")
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


GRPO = "blue, settings: {estimator: {name: grpo}}"
BEST = "blue, settings: {estimator: {name: grpo}, selection: {rule: best_validation}}"


def test_a_checkpoint_rule_is_named_in_the_tables_foot_and_makes_other_runs(copy):
    before = make_plan(copy, "smoke", ["ace"])
    edit(copy, ACE, GRPO, BEST)
    plan = make_plan(copy, "smoke", ["ace"])
    changed, unchanged = (layout_of(made, "ace", "table1") for made in (plan, before))
    assert not unchanged.selected
    assert changed.selected == {"GRPO": "operators-validation-smoke (4 problems x 4 samples)"}
    assert set(plan.runs) - set(before.runs) and set(plan.runs) & set(before.runs)


def test_a_checkpoint_is_not_picked_on_the_test_set(copy):
    edit(copy, ACE, GRPO, BEST)
    edit(copy, ACE, "validation_data: dapo-held-out", "validation_data: aime-2025")
    message = r"arms.grpo.settings.selection.rule: best_validation would select on 'aime-2025', which is the benchmark"
    with pytest.raises(ConfigError, match=message):
        make_plan(copy, "smoke", ["ace"])


def test_a_sweep_for_matched_effort_is_over_a_row(copy):
    path = copy / "config/papers/ace/paper.yaml"
    text = path.read_text().replace("    matched: lr\n", "    matched: other\n", 1)
    other = "sweeps:\n  other: {like: [dr_grpo], times: rl.learning_rate, values: [1.0, 2.0]}\n"
    path.write_text(text.replace("sweeps:\n", other, 1))
    with pytest.raises(
        ConfigError, match=r"tables.table1.matched: the sweep 'other' is over no arm of the table's rows"
    ):
        make_plan(copy, "smoke", ["ace"])
