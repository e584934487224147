"""What papers state of their settings is what the plan resolves to, or a deviation; and mistakes in stated.yaml."""

from __future__ import annotations

import pytest
from conftest import ROOT
from support.own_config import copied

from rlvr.config import paper_folders
from rlvr.config.layers import ConfigError
from rlvr.config.schema.stated import NOT_STATED, HardwareStatement
from rlvr.cost import stated as devices
from rlvr.planning import stated
from rlvr.planning.expansion import make_plan

FOLDER = ROOT / "config/papers"
PAPERS = [name for name in paper_folders.names(ROOT / "config") if (FOLDER / name / paper_folders.STATED).is_file()]
RATE = 'stated:\n  rl.learning_rate: {says: "1e-6", place: Table 1, value: 1.0e-6'


@pytest.fixture(scope="module", params=PAPERS)
def plan(request):
    return make_plan(ROOT, "paper", [request.param])


@pytest.mark.broad
def test_what_a_paper_states_is_what_its_plan_has_or_a_deviation(plan):
    """Every setting of its runs and evaluations has an entry, so that none is silently ours."""
    (name,) = plan.papers
    assert stated.faults(plan, name) == []
    assert devices.faults(devices.compared(ROOT, plan, name)[1]) == []


@pytest.mark.broad
def test_every_reproduced_paper_has_the_file():
    pages = [page.parent.name for page in FOLDER.glob(f"*/{paper_folders.PAGE}")]
    assert sorted(pages) == sorted(PAPERS)


@pytest.fixture
def lines(tmp_path):
    """The lines about one setting of LENS with a file of one's own; LENS has 3e-7 for Llama, 1e-6 for Qwen."""
    folder = copied(tmp_path) / "config/papers/lens"

    def of(text: str, setting: str = "rl.learning_rate") -> list[stated.Line]:
        (folder / paper_folders.STATED).write_text(text)
        made = make_plan(tmp_path, "paper", ["lens"])
        return [line for line in stated.lines(made, "lens") if line.setting == setting]

    return of


def test_a_value_that_differs_needs_a_deviation_and_one_that_is_equal_may_not_name_one(lines):
    differs, equal = RATE + "}\n", RATE + ", models: [qwen2.5-3b]}\n"
    (line,) = lines(differs)
    assert line.verdict == stated.DIFFERS and line.fault == "differs from '1e-6' (Table 1), and names no deviation"
    assert set(line.ours) == {("3e-07", "llama-3.1-8b-instruct"), ("1e-06", "qwen2.5-3b")}
    first, rest = lines(equal)
    assert (first.verdict, first.about, first.fault) == (stated.EQUAL, "qwen2.5-3b", "")
    assert (rest.verdict, rest.about, rest.ours) == (NOT_STATED, stated.OTHERS, (("3e-07", ""),))
    (line,) = lines(RATE + ", deviation: TOKEN mean}\n")
    assert line.verdict == stated.DIFFERS and not line.fault and "token mean is verl's" in line.deviation
    first, _ = lines(RATE + ", models: [qwen2.5-3b], deviation: token mean}\n")
    assert first.fault == "equals the paper's value, so remove `deviation`" and not first.deviation


def test_the_last_statement_about_a_run_holds_and_one_about_no_run_is_a_fault(lines):
    seeds = "stated:\n  seeds:\n    - {says: three, place: A, value: 3}\n"
    first, second = lines(seeds + '    - {says: one, place: B, value: 1, arms: ["*_numina"]}\n', "seeds")
    assert (first.verdict, second.verdict) == (stated.EQUAL, stated.DIFFERS) and "grpo_numina" in second.about
    first, second = lines(seeds + "    - {says: three runs, place: B, value: 3}\n", "seeds")
    found = {line.says: line for line in (first, second)}
    assert found["three runs"].verdict == stated.EQUAL
    assert found[NOT_STATED].fault == "no run is left that 'three' is about"


def test_a_setting_without_an_entry_and_an_entry_without_a_run_are_faults(lines):
    (line,) = lines("stated: {}\n")
    assert line.fault == "has no entry in stated.yaml" and line.ours
    (line,) = lines("stated:\n  critic.lam: not stated\n", "critic.lam")
    assert line.fault == "no run of the paper has this setting"


def test_a_value_is_compared_by_model_and_a_setting_of_an_ablation_with_a_list(lines):
    by_model = "{says: both, place: D, values: {llama-3.1-8b-instruct: 3.0e-7, qwen2.5-3b: 1.0e-6}}\n"
    assert [line.verdict for line in lines(f"stated:\n  rl.learning_rate: {by_model}")] == [stated.EQUAL]
    groups = "stated:\n  estimator.lens.groups: {says: all, place: D, one_of: [both, mixed, negative]}\n"
    assert [line.verdict for line in lines(groups, "estimator.lens.groups")] == [stated.EQUAL]
    whole = "stated:\n  estimator.lens: {says: LENS, place: sec. 5}\n"
    (line,) = lines(whole, "estimator.lens")
    assert line.verdict == stated.IN_WORDS and any("alpha 0.25, groups mixed" in value for value, _ in line.ours)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("rl.learning_rat: not stated", r"stated\.rl\.learning_rat: unknown setting .*mean 'rl\.learning_rate'\?"),
        ("estimator.lense.alpha: not stated", r"unknown setting .*mean 'estimator\.lens\.alpha'\?"),
        ("rl.epochs: not sated", r"stated\.rl\.epochs: must be `not stated`"),
        ("rl.epochs: {says: ten}", r"rl\.epochs.*: a sentence of the paper needs its `place`"),
        ("rl.epochs: {value: 10}", r"rl\.epochs.*: is a value of the paper, so `says`"),
        ("rl.epochs: {says: a, place: b, valu: 3}", r"rl\.epochs\.valu: unknown key; did you mean 'value'\?"),
        ("rl.epochs: {says: a, place: b, value: 0.5}", r"rl\.epochs\.value: .*valid integer"),
        ("rl.epochs: {says: a, place: b, value: 1, one_of: [1]}", r"no effect beside `one_of`"),
        ("estimator.lens.groups: {says: a, place: b, value: bot}", r"groups\.value: .*'both'"),
        ("prompt: {says: a, place: b, value: chatml}", r"prompt\.value: only words can be compared"),
        ("seeds: {says: a, place: b, value: 0}", r"seeds\.value: must be a number of seeds"),
        ("rl.epochs: {says: a, place: b, models: [qwen2.5-3]}", r"epochs\.models: unknown model .*'qwen2\.5-3b'"),
        ("rl.epochs: {says: a, place: b, values: {qwen2.5-3: 1}}", r"epochs\.values: unknown model .*'qwen2\.5-3b'"),
        ("rl.epochs: {says: a, place: b, arms: [lenz]}", r"epochs\.arms: unknown arm 'lenz'; did you mean 'lens'"),
        ("rl.epochs: {deviation: no such words}", r"epochs\.deviation: no item of deviations\.md contains"),
    ],
)
def test_a_mistake_names_its_file_its_key_and_what_is_near(lines, entry, message):
    with pytest.raises(ConfigError, match=rf"(?s)config/papers/lens/stated\.yaml: .*{message}"):
        lines(f"stated:\n  {entry}\n")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{says: 8 GPUs}", r"says: a sentence of the paper needs its `place`"),
        ("{says: 8 GPUs, place: A, gpu: 8}", r"\.0\.gpu: unknown key; did you mean 'gpus'\?"),
        ("{models: [qwen2.5-3]}", r"\.0\.models: unknown model .*'qwen2\.5-3b'"),
    ],
)
def test_a_mistake_about_hardware_is_named(lines, entry, message):
    with pytest.raises(ConfigError, match=rf"(?s)config/papers/lens/stated\.yaml: hardware.*{message}"):
        lines(f"hardware:\n  - {entry}\n")


def test_numbers_of_devices_beyond_a_factor_of_three_have_a_reason():
    def verdict(ours: int, **statement) -> tuple[str, str]:
        return devices.verdict_on(HardwareStatement(says="GPUs", place="A", **statement), ours, 100.0)

    assert verdict(8) == (NOT_STATED, "")
    assert verdict(8, gpus=24) == (devices.WITHIN, "")
    assert verdict(8, gpus=25, why="a reason") == (devices.BEYOND, "")
    assert verdict(8, gpus=25)[1] == "differs from 'GPUs' by more than a factor of three; say why"
    assert verdict(8, gpus=8, why="a reason")[1] == "is within a factor of three, so remove `why`"
    assert verdict(8, gpu_hours=301.0)[0] == devices.BEYOND
