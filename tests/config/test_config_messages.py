"""Mistakes in config/, each named with its file, its key and the nearest valid name."""

import pytest
from conftest import ROOT
from support.own_config import copied, edit, refused

ACE = "papers/ace/paper.yaml"


@pytest.fixture
def copy(tmp_path):
    return copied(tmp_path)


def is_refused(copy, file: str, old: str, new: str, message: str) -> None:
    edit(copy, file, old, new)
    paper = file.split("/")[1] if file.startswith("papers/") else "ace"
    refused(copy, message, paper, scale="full-laptop" if "laptop" in file else "smoke")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("defaults.yaml", "learning_rate:", "learnign_rate:",
         r"config/defaults.yaml: sft.learnign_rate: unknown key; did you mean 'learning_rate'"),
        (ACE, "rl: {prompts_per_step: 2048", "rl: {promts_per_step: 2048",
         r"ace/paper.yaml: models.qwen2.5-math-7b.settings.rl.promts_per_step: unknown key"
         r"; did you mean 'prompts_per_step'"),
        ("datasets.yaml", "hard_levels: [n=5]", 'hard_levels: ["5"]',
         r"config/datasets.yaml: operators-validation: about.hard_levels \['5'\]: its levels are n=3, n=4, n=5"),
        (ACE, "estimator: {name: rloo}", "estimator: {name: rlo}",
         r"papers/ace/paper.yaml: arms.rloo.settings.estimator.name: unknown estimator 'rlo'; did you mean 'rloo'"),
        (ACE, "estimator: {modulation: relu}", "estimator: {modulaton: relu}",
         r"arms.ace_relu.settings.estimator.modulaton: ace has no such setting; did you mean 'modulation'"),
        (ACE, "estimator: {modulation: relu}", "estimator: {modulation: rilu}",
         r"arms.ace_relu.settings.estimator.modulation: 'rilu' is not one of its values; did you mean 'relu'"),
        (ACE, "estimator: {name: ace, alpha: 1.0}", "estimator: {name: ace, alpha: one}",
         r"arms.ace_grpo.settings.estimator.alpha: must be of type float \(got 'one'\)"),
        (ACE, "- ace_relu\n", "- ace_rleu\n",
         r"config/papers/ace/paper.yaml: tables.table3: unknown arm 'ace_rleu'; did you mean 'ace_relu'"),
        (ACE, "benchmark: aime-2025", "benchmark: aime-2026",
         r"tables.table2.benchmark: unknown benchmark 'aime-2026'; did you mean 'aime-2025'"),
        ("scale/smoke.yaml", "evaluation: {samples: 32", "evaluation: {samples: 16",
         r"table1.k: k = 32 is larger than n = 16 samples \(config/scale/smoke.yaml: settings.evaluation.samples\)"),
        (ACE, "compare_with: grpo", "compare_with: gpro",
         r"tables.table1.compare_with: no row has the arm 'gpro'; did you mean 'grpo'"),
        (ACE, "reference: table1.csv", "reference: tabel1.csv",
         r"tables.table1.reference: no such file: config/papers/ace/reference/tabel1.csv"),
        (ACE, "like: dapo", "like: ace_dapo", r"arms.ace_dapo: `like` is circular"),
        (ACE, "data: dapo-rest ", "data: dapo-rst ",
         r"config/papers/ace/paper.yaml: data: unknown data set 'dapo-rst'; did you mean 'dapo-rest'"),
        (ACE, "times: rl.learning_rate", "times: rl.learning_rat",
         r"no such setting: 'rl.learning_rat'; did you mean 'rl.learning_rate'"),
        (ACE, "figure2:", "table1:", r"config/papers/ace/paper.yaml: figures.table1: a table has this name too"),
        ("scale/smoke.yaml", "samples: 32", "samples: many",
         r"config/scale/smoke.yaml: settings.evaluation.samples: .*integer.* \(got 'many'\)"),
        ("scale/smoke.yaml", "prompts_per_minibatch: 3", "prompts_per_minibatch: 30",
         r"rl: prompts_per_minibatch is larger than prompts_per_step"),
        ("scale/smoke.yaml", "seeds: 2", "seeds: 2\nseeds: 3",
         r"config/scale/smoke.yaml: not valid YAML: .*'seeds' is given twice"),
        ("models.yaml", "architecture: qwen3", "architecture: qwen4",
         r"config/models.yaml: qwen3-tiny.architecture: .*\(got 'qwen4'\)"),
        ("models.yaml", "hidden_size: 64", "hidden_size: 63",
         r"^config/models.yaml: qwen2-tiny.hidden_size: 63 is no multiple of heads \(2\)"),
        ("models.yaml", "hidden_size: 64", "hidden_size: 62",
         "qwen2-tiny.hidden_size: a head is 31 wide, .* must be even"),
        ("models.yaml", "heads: 4, kv_heads: 2", "heads: 4, kv_heads: 3",
         "qwen2-chain.heads: 4 is no multiple of kv_heads"),
        ("models.yaml", "vision: {hidden_size: 64", "vision: {hidden_size: 60",
         "^config/models.yaml: qwen2.5-vl-tiny.vision.hidden_size: a head is 30 wide, 60 / 2; must divide by 4"),
        ("datasets.yaml", "part: train, levels", "prat: train, levels",
         r"config/datasets.yaml: operators-train.prat: unknown key; did you mean 'part'"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_file_key_and_nearest_name(copy, file, old, new, message):
    is_refused(copy, file, old, new, message)


@pytest.mark.broad
@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        # It would be ignored, or its numbers would be missing.
        (ACE, "rows: [base, grpo,", "rows: [base, {arm: grpo, published: GRPOO},",
         r"tables.table1.rows.1.published: no method 'GRPOO' in .*ace/reference/table1.csv; did you mean 'GRPO'"),
        ("papers/lens/paper.yaml", "qwen2.5-3b: Qwen-2.5-3B-Base", "qwen2.5-3b: Qwen-2.5-3B-Bsse",
         r"published_as.qwen2.5-3b\): no model 'Qwen-2.5-3B-Bsse' in .*lens/reference/table1.csv"
         r"; did you mean 'Qwen-2.5-3B-Base'"),
        (ACE, '"ACE-GRPO alpha={value}"', '"ACE-GRPO alfa={value}"',
         r"sweeps.alpha.published: no method 'ACE-GRPO alfa=0.0' in .*ace/reference/table4.csv"
         r"; did you mean 'ACE-GRPO alpha=0.0'"),
        ("papers/fade/paper.yaml", "content: fade_table1\n", "content: fade_table11\n",
         r"fade/paper.yaml: tables.table1.content: unknown content 'fade_table11'; did you mean 'fade_table1'"),
        ("papers/lens/paper.yaml", "verifiers: {math: math_verify}", "verifiers: {math: math_verfy}",
         r"lens/paper.yaml: verifiers.math: .*\(got 'math_verfy'\)"),
        ("papers/lens/paper.yaml", "verifiers: {math: math_verify}", "verifiers: {choice: math_verify}",
         r"lens/paper.yaml: verifiers.choice: unknown verifier of the paper's sets 'choice'; valid: math"),
        (ACE, "    kind: settings\n", "    kind: settings\n    k: [1]\n",
         r"tables.table5.k: unknown key; valid: by_name, kind, models, note, reference, rows, title"),
        (ACE, "kind: across_benchmarks\n", "kind: across_benchmarks\n    measures: [avg]\n",
         r"tables.benchmarks.measures: unknown key"),
        (ACE, "    benchmark: math-500\n", "    benchmark: math-500\n    repeats: 3\n",
         r"tables.table1.repeats: unknown key"),
        ("scale/smoke.yaml", "seeds: 2\n", "seeds: 2\nmodels: {qwen2.5-math-8b: qwen2-tiny}\n",
         r"smoke.yaml: models.qwen2.5-math-8b: unknown model 'qwen2.5-math-8b'; did you mean 'qwen2.5-math-7b'"),
        ("models.yaml", "smoke: qwen2-tiny", "smoek: qwen2-tiny",
         r"models.yaml: qwen2.5-math-7b.stand_in.smoek: unknown scale 'smoek'; did you mean 'smoke'"),
        ("datasets.yaml", "smoke: operators-easy-smoke", "smoke: operator-easy-smoke",
         r"datasets.yaml: math-test.stand_in.smoke: unknown data set 'operator-easy-smoke'; did you mean"),
        ("scale/smoke.yaml", "seeds: 2\n", "seeds: 2\ndata: {math-5000: operators-easy}\n",
         r"smoke.yaml: data.math-5000: unknown data set 'math-5000'; did you mean 'math-500'"),
        ("scale/smoke.yaml", "probe: {problems: 4,", "probe: {problems: 40,",
         r"smoke.yaml: settings.probe.problems: 40 problems are more than the 8 of operators-validation-smoke"),
        (ACE, "settings: {estimator: {name: rloo}}",
         "settings: {estimator: {name: rloo}, evaluation: {temperature: 0.9}}",
         r"ace/paper.yaml: arms.rloo.settings.evaluation: no arm or sweep can change this section"),
        (ACE, "set: estimator.alpha", "set: statistics.resamples",
         r"ace/paper.yaml: sweeps.alpha.set: no arm or sweep can change this section, only rl, rollout"),
        (ACE, "name: ace\n", "name: acee\n", r"ace/paper.yaml: name: 'acee' differs from"),
        ("scale/smoke.yaml", "name: smoke", "name: smokey",
         r"smoke.yaml: name: 'smokey' differs from the file's name 'smoke'"),
        (ACE, "  table5:", "  table/5:", r"ace/paper.yaml: tables.table/5: 'table/5' cannot be a name: "),
        # A scale wins over it.
        (ACE, "learning_rate: 1.0e-5", "learning_rate: fast",
         r"ace/paper.yaml: models.qwen2.5-math-7b.settings.rl.learning_rate: .*\(got 'fast'\)"),
        # No table shows it.
        (ACE, "arms:\n", "arms:\n  mine: {settings: {estimator: {name: ace, alpa: 1.0}}}\n",
         r"ace/paper.yaml: arms.mine.settings.estimator.alpa: ace has no such setting; did you mean 'alpha'"),
        (ACE, "arms:\n", "arms:\n  mine: {like: grpoo}\n", r"arms.mine.like: unknown arm 'grpoo'; .*'grpo'"),
        (ACE, "arms:\n", "arms:\n  mine: {data: math}\n", r"arms.mine.data: unknown data set 'math'"),
        (ACE, "sweeps:\n", "sweeps:\n  mine: {like: [grpo], set: loss.clip_low, values: [7]}\n",
         r"sweeps.mine.loss.clip_low: .*less than or equal to 1"),
        (ACE, "like: [grpo, ace_grpo-alpha-0.0]", 'like: ["ace_grpo-alfa-*"]',
         r"sweeps.lr.like: unknown arm 'ace_grpo-alfa-\*'"),
        # It is of a scale that is not planned, or of one that is built upon.
        ("papers/ace/scales.yaml", "\ngpu:", "\nshort: {settings: {rl: {steps: two}}}\ngpu:",
         r"papers/ace/scales.yaml: short.settings.rl.steps: .*\(got 'two'\)"),
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
        (ACE, "  regime:", "  core_matched:", r"tables.core_matched: the table 'core' has an item of this name"),
        # A family that is tested out of domain.
        ("datasets.yaml", "unseen: first", "unseen: frist",
         r"unseen: operator_chain has no 'frist'; did you mean 'first'"),
        ("datasets.yaml", "part: hard, levels: [4], unseen: first", "part: sft, levels: [4], unseen: first",
         r"chain-unseen-first.* no demonstration has this family"),
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
         r"verifier: Input should be 'choice', 'code', 'exact', 'math' or 'math_verify'"),
        # Two mistakes that are one: the line that helps.
        (ACE, "year: 2026", "yaer: 2026", r"^config/papers/ace/paper.yaml: yaer: unknown key; did you mean 'year'\?$"),
        ("datasets.yaml", "{task: operator_fill, part: easy, levels: [3", "{tsk: operator_fill, part: easy, levels: [3",
         r"^config/datasets.yaml: operators-easy.tsk: unknown key; did you mean 'task'\?$"),
        ("models.yaml", "prompt: qwen3-plain", "prompt: qwen3-plain\n  task: operator_fill",
         r"^config/models.yaml: qwen3-8b-base.task: unknown key; valid: about, dtype, prompt, repo, revision, source"),
        ("models.yaml", "prompt: qwen3-plain", "promt: qwen3-plain",
         r"^config/models.yaml: qwen3-8b-base.promt: unknown key; did you mean 'prompt'\?$"),
        # A prompt that no model would have, also where a stand-in takes the model's place.
        ("models.yaml", "prompt: qwen3-plain", "prompt: qwen3-plane",
         r"config/models.yaml: qwen3-8b-base.prompt: unknown prompt 'qwen3-plane'; did you mean 'qwen3-plain'"),
        (ACE, "qwen3-8b-base:\n", "qwen3-8b-base:\n    prompt: pax\n",
         r"config/papers/ace/paper.yaml: models.qwen3-8b-base.prompt: unknown prompt 'pax'; did you mean 'pacs'"),
        ("models.yaml", "prompt: qwen3-plain", 'prompt: qwen3-plain\n  template: "{problem}"',
         r"config/models.yaml: qwen3-8b-base.prompt: unknown key"),
        ("prompts.yaml", "{problem}\\nPlease", "Please", r"prompts.yaml: qwen3-plain.*: the text lacks {problem}"),
        # In another file of a paper's folder.
        ("papers/lens/notes.md", "## collapse", "## colapse",
         r"lens/notes.md: notes.colapse: unknown table or figure 'colapse'; .*'coll"),
        ("papers/lens/claims.yaml", "claims:", "claimz:",
         r"lens/claims.yaml: claimz: unknown key; did you mean 'claims'"),
        ("papers/lens/paper.yaml", "name: lens\n", "name: lens\nclaims: []\n",
         r"lens/paper.yaml: claims: move this key to claims.yaml"),
        ("papers/lens/paper.yaml", "reference: table1.csv", "reference: ace/table9.csv",
         r"no such file: config/papers/ace/reference/table9.csv"),
        ("papers/lens/paper.yaml", "matched: lr", "matched: lrs",
         r"papers/lens/paper.yaml: tables.table1.matched: unknown sweep 'lrs'.*'lr'"),
        ("papers/agrae/paper.yaml", "    compare_with: grpo\n    matched: lr", "    matched: lr",
         r"matched: needs compare_with"),
        ("papers/fade/paper.yaml", "times: {rl.learning_rate: 0.242}", "times: {rl.lerning_rate: 0.242}",
         r"arms.grpo.times: no such setting: 'rl.lerning_rate'; did you mean"),
    ],
)  # fmt: skip
def test_a_mistake_that_nothing_uses_today_is_an_error_too(copy, file, old, new, message):
    is_refused(copy, file, old, new, message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",Base,MATH-500,1,63.0,", ",Base,MATH-500,1", "line 2: has 6 values, but needs 8"),
        ("benchmark", "bench", "its columns are paper, table, model, method, bench, k"),
    ],
)
def test_a_published_table_that_is_no_such_table_is_an_error(copy, old, new, message):
    path = copy / "config/papers/ace/reference/table1.csv"
    path.write_text(path.read_text().replace(old, new, 1))
    refused(copy, f"ace/reference/table1.csv.*{message}", "ace")


def test_a_k_beyond_the_samples_is_named_where_no_scale_leaves_it_out(copy):
    edit(copy, ACE, "k: [1, 2, 4, 8, 16, 32]", "k: [1, 2, 4, 8, 16, 999]")
    message = r"tables.table1.k: k = 999 is larger than n = 128 samples \(config/defaults.yaml: evaluation.samples\)"
    refused(copy, message, "ace", scale="paper")


def test_an_unknown_scale_or_paper_names_the_nearest():
    refused(ROOT, r"config/scale/labtop.yaml: no such file; did you mean 'laptop'", "ace", scale="labtop")
    refused(ROOT, r"config/papers/aze/paper.yaml: no such file; did you mean 'ace'", "aze")


def test_a_checkpoint_is_not_picked_on_the_test_set(copy):
    edit(copy, ACE, "{name: grpo}}", "{name: grpo}, selection: {rule: best_validation}}")
    edit(copy, ACE, "validation_data: dapo-held-out", "validation_data: aime-2025")
    message = r"arms.grpo.settings.selection.rule: best_validation would select on 'aime-2025', which is the benchmark"
    refused(copy, message, "ace")


def test_a_sweep_for_equal_pass_1_is_over_the_baseline(copy):
    other = "sweeps:\n  other: {like: [dr_grpo], times: rl.learning_rate, values: [1.0, 2.0]}\n"
    edit(copy, ACE, "sweeps:\n", other)
    edit(copy, ACE, "    matched: lr\n", "    matched: other\n")
    refused(copy, r"tables.table1.matched: the sweep 'other' is not over grpo, the baseline \(compare_with\)", "ace")
