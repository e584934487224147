"""Scales: what they change of a paper's plan; tables at equal pass@1; several sets and levels."""

import pytest
import yaml
from conftest import ROOT
from support.layouts_by_hand import typed
from support.own_config import copied, edit, refused
from support.scores_by_hand import LAYOUT, scores

from rlvr.claims.contrasts import EQUAL
from rlvr.claims.contrasts import layout as layout_of_claims
from rlvr.config.layouts import ScoresLayout
from rlvr.config.plan import asked_for, core_items, first_items, runs_of
from rlvr.items.layout import of as layout_of
from rlvr.planning.expansion import make_plan
from rlvr.report.layout import of_page
from rlvr.statistics.table_rows import pass_at_k_rows as summarise
from rlvr.tables.pass_at_k import render


@pytest.fixture(scope="module")
def laptop():
    return make_plan(ROOT, "laptop", ["ace", "lens", "agrae"])


def test_a_table_at_equal_pass_1_has_the_baseline_at_each_of_its_rates(laptop):
    made = laptop.papers["agrae"]
    matched, plain = made.tables["core_matched"], made.tables["core"]
    assert matched.content.title == f"{plain.content.title}, at equal pass@1"
    assert [(cell.row, cell.policies) for cell in matched.cells] == [(cell.row, cell.policies) for cell in plain.cells]
    (baseline,) = (cell for cell in matched.cells if cell.rates)
    assert baseline.row.arm == "grpo" and baseline.learning_rate is not None
    grid = [baseline.learning_rate * times for times in (0.35, 0.5, 0.7, 0.85, 1.0, 1.15, 1.3)]
    assert [rate for rate, _ in baseline.rates] == pytest.approx(grid, rel=1e-3)
    assert dict(baseline.rates)[baseline.learning_rate] == baseline.policies, "times 1 is the arm itself"
    assert len(baseline.candidates()) == 7 * 12
    assert not any(cell.rates for cell in layout_of(laptop, "agrae", "core").cells)
    (page,) = of_page(laptop, "agrae")["papers"]
    entry = next(one for one in page["items"] if one["name"] == "core_matched")
    assert set(entry["manifests"]) == set(matched.policies())


@pytest.mark.parametrize("paper", ["ace", "lens", "agrae", "fade", "pacs", "methods"])
def test_controls_at_0_8_and_0_9_times_the_rate_are_on_no_curve(paper):
    sweeps = make_plan(ROOT, "laptop", [paper]).papers[paper].paper.sweeps
    assert not {0.8, 0.9} & set(sweeps["lr"].values)


def test_a_frontier_goes_from_the_smallest_k_to_the_largest_that_the_scale_has(laptop):
    figure = laptop.papers["agrae"].figures["core_frontier"]
    assert figure.content.k == [1, 64] and figure.content.benchmark == "math-test"
    arms = [cell.row.arm for cell in laptop.papers["agrae"].tables["core_matched"].cells]
    assert {cell.row.arm.split("-")[0] for cell in figure.cells} == set(arms) > {"base", "grpo", "a_grae"}
    assert set(laptop.papers["agrae"].tables["core_matched"].policies()) == set(figure.policies())


# ---- scales ----


@pytest.fixture
def copy(tmp_path):
    return copied(tmp_path)


def test_a_scale_that_is_like_another_has_its_sizes_and_its_runs(laptop):
    full = make_plan(ROOT, "full-laptop", ["ace", "lens", "agrae"])
    assert (laptop.items, full.items) == ("core", "both")
    more = set(full.runs) - set(laptop.runs)
    assert {full.runs[run].seed for run in more} == set(range(13, 26)), "repeats: 25 in place of the paper's 10"
    by_name = {"ace": {"readings_dapo", "shifts"}, "lens": {"regime", "readings"}, "agrae": {"regime"}}
    for paper, made in full.papers.items():
        core, asked = asked_for(laptop, paper), asked_for(full, paper)
        assert asked[: len(core)] == core, "with what is made by name elsewhere"
        beyond = {name for name in set(made.all_items()) - set(core) if made.item(name).companion_of is None}
        assert set(asked) - set(core) == beyond - by_name[paper]
        assert set(runs_of(laptop, paper)) < set(runs_of(full, paper))


def test_the_short_scale_is_a_part_of_the_laptops_without_equal_pass_1(laptop):
    short = make_plan(ROOT, "short", list(laptop.papers))
    assert set(short.runs) < set(laptop.runs)
    for paper, made in short.papers.items():
        assert {short.runs[run].seed for run in runs_of(short, paper)} == {*range(1, 6)}
        core = asked_for(laptop, paper)
        companions = {name for name in core if made.item(name).companion_of}
        assert companions and asked_for(short, paper) == [name for name in core if name not in companions]
        rates = {short.runs[run].rl.learning_rate for run in runs_of(short, paper)}
        assert len(rates) < len({laptop.runs[run].rl.learning_rate for run in runs_of(laptop, paper)})


def test_a_scale_may_make_equal_pass_1_for_some_papers_alone(copy):
    plan = make_plan(copy, "pretrained", ["ace", "agrae"])
    for paper, expected in {"ace": {"core_matched", "core_hard_matched", "core_frontier"}, "agrae": set()}.items():
        asked = asked_for(plan, paper)
        assert {name for name in asked if plan.papers[paper].item(name).companion_of} == expected
    edit(copy, "papers/ace/scales.yaml", "pretrained: {companions", "pretraind: {companions")
    refused(copy, r"papers/ace/scales.yaml: pretraind: unknown scale .*did you mean 'pretrained'", "ace")


@pytest.mark.parametrize("scale, of_lens", [("laptop", "chain-operand"), ("laptop-pilot", "chain-pilot-operand")])
def test_a_paper_may_have_stand_ins_of_its_own_at_a_scale(scale, of_lens):
    """They go before the scale's own; a scale that is like it may put pilot problems in their place."""
    plan = make_plan(ROOT, scale, ["agrae", "lens"])
    tables = {paper: plan.papers[paper].tables["core"] for paper in ("agrae", "lens")}
    sets = {
        paper: {plan.evaluations[name].data.name for names in table.evaluations.values() for name in names}
        for paper, table in tables.items()
    }
    assert sets["lens"] == {of_lens} and sets["agrae"].isdisjoint(sets["lens"])


def test_what_make_run_builds_has_the_first_four_seeds(laptop):
    first = [laptop.papers["ace"].item(name) for paper, name in first_items(laptop) if paper == "ace"]
    trained = [cell for item in first for cell in item.cells if cell.row.arm != "base"]
    assert {tuple(seed for _, seed in cell.policies) for cell in trained} == {(1, 2, 3, 4)}
    assert {len(cell.policies) for cell in laptop.papers["ace"].tables["core"].cells} == {12}
    laid = layout_of_claims(laptop, "ace", [name for paper, name in first_items(laptop) if paper == "ace"])
    (of_sum,) = [claim for claim in laid if claim.claim == "larger_k_gain_sum" and claim.effort != EQUAL]
    parts = [part for part in (*of_sum.contrasts, *of_sum.placebos) if part.terms]
    assert len(parts) == 3 and {len(term.policies) for part in parts for term in part.terms} == {4}


def test_a_stand_in_of_a_paper_that_does_not_exist_is_refused(copy):
    edit(copy, "papers/lens/scales.yaml", "math-test: chain-operand", "math-test: chain-operant")
    refused(copy, r"lens/scales.yaml: laptop.data.math-test: .*did you mean 'chain-operand'", "lens")


def test_the_scale_full_short_is_a_part_of_full_laptop_and_holds_the_short_one():
    papers = ["fade", "pacs"]
    part, short, full = (make_plan(ROOT, scale, papers) for scale in ("full-short", "short", "full-laptop"))
    for paper in papers:
        assert set(runs_of(short, paper)) < set(runs_of(part, paper)) < set(runs_of(full, paper))
        missing = set(asked_for(full, paper)) - set(asked_for(part, paper))
        assert missing and all(full.papers[paper].item(name).companion_of for name in missing)


def test_a_scale_may_make_equal_pass_1_of_the_cores_alone(laptop):
    full = make_plan(ROOT, "full-laptop", list(laptop.papers))
    for paper, made in full.papers.items():
        of_core = [name for name in asked_for(laptop, paper) if made.item(name).companion_of]
        assert of_core and [name for name in asked_for(full, paper) if made.item(name).companion_of] == of_core
    table, plain = (full.papers["ace"].tables[name] for name in ("table1_matched", "table1"))
    assert table.content.models == plain.content.models, "made by its file's name, of every family"
    for claim in layout_of_claims(full, "agrae"):
        for part in (part for part in claim.contrasts if part.terms and claim.effort == EQUAL):
            assert {len(one.policies) for one in (*part.curve, *part.terms)} == {12}, "paired by seed"


def test_too_few_rates_and_unknown_items_are_refused(copy):
    write(copy, "mine", like="smoke", about="", matched={"rates": [0.5, 1.0]})
    message = r"a curve needs 3 learning rates of the sweep 'lr', and has 0.5, 1 at the scale mine \(matched.rates\)"
    refused(copy, message, "ace", scale="mine")
    write(copy, "mine", like="smoke", about="", items="cores")
    refused(copy, r"mine.yaml: items: .*'cores'", "ace", scale="mine")


@pytest.mark.parametrize("scale", ["laptop", "smoke", "paper"])
def test_sets_of_what_is_made_by_name_alone_are_needed_by_nothing_else(scale):
    """Overlap, pages and the check of nodes are of a paper's `data`, and need no reasoning-gym, which is an extra."""
    plan = make_plan(ROOT, scale, ["ace"])
    of_extra = {data.name for data in plan.data.values() if data.verifier == "reasoning_gym"}
    made = plan.papers["ace"]
    assert {"path-train", "path-easy"} <= of_extra
    assert not of_extra & {data.name for data in (*made.data, *made.trained_on)} and len(made.data) >= 4


def test_lens_on_its_harder_set_is_a_target_at_laptop_scale_by_name(laptop):
    made = laptop.papers["lens"]
    runs = [laptop.runs[policy] for policy in made.tables["table3"].policies() if policy in laptop.runs]
    trained = {run.data.name for run in runs}
    assert trained == {"chain-train-harder"} and "table3" not in asked_for(laptop, "lens")
    assert len({cell.model for cell in made.tables["regime"].cells}) == 3 and "regime" not in asked_for(laptop, "lens")


def write(root, name: str, **content) -> None:
    (root / "config/scale" / f"{name}.yaml").write_text(yaml.safe_dump({"name": name, **content}))


def test_what_a_scale_says_itself_goes_before_what_it_is_like(copy):
    write(copy, "mine", like="smoke", about="Mine.", seeds=1, settings={"rl": {"steps": 1}})
    write(copy, "yours", like="mine", about="Yours.")
    with (copy / "config/papers/lens/scales.yaml").open("a") as file:
        file.write("yours: {settings: {rl: {learning_rate: 1.0e-3}}}\n")
    plan, smoke = make_plan(copy, "yours", ["lens"]), make_plan(copy, "smoke", ["lens"])
    assert plan.about == "Yours." and {spec.seed for spec in plan.runs.values()} == {1}
    run, other = next(iter(plan.runs.values())), next(iter(smoke.runs.values()))
    assert (run.steps, other.steps) == (1, 2) and run.rl.prompts_per_step == other.rl.prompts_per_step
    assert run.rl.prompts_per_minibatch == other.rl.prompts_per_minibatch == 2, "the paper's own is merged too"
    assert run.rl.learning_rate in (1e-3, 0.35e-3, 2e-3)
    edit(copy, "scale/mine.yaml", "seeds: 1", "sedes: 1")
    refused(copy, r"sedes: unknown key; did you mean 'seeds'", "lens", scale="yours")


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        ("two", "one", "two.yaml: like: is circular: one -> two -> one"),
        ("one", "smoke", "one.yaml: like: is circular"),
        ("lptop", "smoke", "lptop.yaml: no such file; did you mean 'laptop'"),
    ],
)
def test_scales_that_are_like_each_other_are_refused(copy, one, two, message):
    write(copy, "one", like=one, about="")
    write(copy, "two", like=two, about="")
    refused(copy, f"config/scale/{message}", "lens", scale="one")


def test_a_papers_own_sizes_at_a_scale_are_its_own(laptop):
    """ACE has runs of twice the prompts too, a control, and those on shortest paths have four steps per batch."""
    for paper, sizes in {"ace": {8, 16, 32}, "lens": {4}, "agrae": {8}}.items():
        runs = [laptop.runs[run] for run in runs_of(laptop, paper)]
        assert {run.rl.prompts_per_minibatch for run in runs} == sizes


def test_k_beyond_the_scales_largest_are_left_out(laptop, copy):
    assert laptop.papers["agrae"].tables["core"].content.k == [1, 2, 4, 8, 16, 32, 64]
    assert make_plan(ROOT, "paper", ["agrae"]).papers["agrae"].tables["core"].content.k[-1] == 256
    edit(copy, "scale/smoke.yaml", "largest_k: 32\n", "")
    refused(copy, r"k = 64 is larger than n = 32|k = 256 is larger than n = 32", "agrae")


def test_where_runs_are_counted_there_are_as_many_as_the_scale_or_the_paper_says():
    for scale, seeds in (("paper", 10), ("laptop", 10), ("full-laptop", 25), ("smoke", 2)):
        made = make_plan(ROOT, scale, ["agrae"]).papers["agrae"]
        for cell in (*made.item("collapse").cells, *made.item("figure9").cells):
            assert [seed for _, seed in cell.policies] == [*range(1, seeds + 1)]
        (compared,) = {len(cell.policies) for cell in made.tables["core"].cells[1:]}
        assert compared == {"smoke": 2, "paper": 3}.get(scale, 12)


def test_the_default_is_the_first_items_and_a_laptop_makes_cores(laptop):
    assert {paper for paper, _ in first_items(laptop)} == {"ace"}
    for paper, made in laptop.papers.items():
        core = [*made.paper.core.tables, *made.paper.core.figures]
        assert asked_for(laptop, paper) == core and set(core) <= set(made.all_items())
        assert set(core) == {name for owner, name in core_items(laptop) if owner == paper}
    methods = make_plan(ROOT, "laptop", ["methods"])
    made = methods.papers["methods"]
    every = [name for name in made.all_items() if not made.by_name(name)]
    assert asked_for(methods, "methods") == every == ["rehearsal", "methods", "diversity"], "it names no core"


def test_runs_that_papers_share_are_planned_once(laptop):
    """Each paper has its own minibatches and groups on a laptop; where sizes are the same, runs of two papers are."""
    runs = {paper: set(runs_of(laptop, paper)) for paper in laptop.papers}
    assert {paper: len(own) for paper, own in runs.items()} == {"ace": 372, "lens": 204, "agrae": 276}
    assert len(set().union(*runs.values())) == 372 + 204 + 276
    equal = make_plan(ROOT, "smoke", ["lens", "agrae"])
    shared = set(runs_of(equal, "lens")) & set(runs_of(equal, "agrae"))
    assert shared and {equal.runs[run].estimator["name"] for run in shared} == {"grpo"}


def test_each_seed_has_its_own_base_policy_where_the_scale_says_so(laptop):
    """One SFT for all, and what each seed continues of it; the runs of a seed start from its base, in every arm."""
    cells = laptop.papers["ace"].tables["core"].cells
    bases = {seed: policy for policy, seed in cells[0].policies}
    assert [*bases] == [*range(1, 13)] and len(set(bases.values())) == 12
    for cell in cells[1:]:
        assert {seed: laptop.base_of(run) for run, seed in cell.policies} == bases
    (first,) = laptop.before(bases[1])
    assert all(laptop.before(base) == [first] for base in bases.values())
    assert laptop.policies[first].start is None and laptop.policies[first].sft.steps == 3600
    run, _ = cells[1].policies[0]
    assert laptop.before(run) == [first, bases[1]], "the first of all first"
    smoke = make_plan(ROOT, "smoke", ["ace"])
    assert [seed for _, seed in smoke.papers["ace"].tables["core"].cells[0].policies] == [None], "one for all seeds"


# ---- arms with their own data, and levels ----


def test_an_arm_with_data_of_its_own_hands_it_on_to_those_that_are_like_it(copy):
    plan = make_plan(ROOT, "paper", ["lens"])
    sets = {}
    for name in plan.papers["lens"].all_items():
        for cell in plan.papers["lens"].item(name).cells:
            sets.setdefault(cell.row.arm.split("-")[0], set()).update(
                plan.runs[run].data.name for run, _ in cell.candidates() if run in plan.runs
            )
    assert sets["grpo"] == sets["lens"] == sets["lens_mixed"] == {"math-dapo"}
    assert {arm for arm, data in sets.items() if data == {"math-numina"}} == {
        *("grpo_numina", "lens_numina", "lens_length_numina", "lens_mixed_numina", "lens_negative_numina")
    }
    edit(copy, "papers/lens/paper.yaml", "like: lens_length, label", "like: lens_numina, label")
    edit(copy, "papers/lens/paper.yaml", "(D_imp per length), data: math-numina", "(D_imp per length)")
    made = make_plan(copy, "paper", ["lens"])
    cells = [cell for cell in made.papers["lens"].tables["table2"].cells if cell.row.arm == "lens_length_numina"]
    assert {made.runs[run].data.name for run, _ in cells[0].policies} == {"math-numina"}
    edit(copy, "papers/lens/paper.yaml", "data: math-numina}", "data: math-numima}")
    refused(copy, r"unknown data set 'math-numima'; did you mean 'math-numina'", "lens")


def test_a_table_of_hard_levels_is_over_their_problems_alone():
    panel = {**dict(LAYOUT.panels[0]), "levels": ["5"], "published": ""}
    frames = {
        (policy, "x"): scores(policy, correct).assign(level=["4", "5", "5"])
        for policy, correct in {"a1": [4, 0, 1], "a2": [4, 2, 1], "b1": [4, 4, 3], "b2": [4, 3, 2]}.items()
    }
    table = summarise(typed(ScoresLayout, LAYOUT, panels=[panel]), frames, None).set_index(["arm", "k"])
    assert table.loc[("a", 1), "value"] == pytest.approx(100 * 4 / 16) and set(table["problems"]) == {2}
    assert table.loc[("b", 1), "difference"] == pytest.approx(100 * (12 - 4) / 16)
    easy = {key: frame.assign(level="4") for key, frame in frames.items()}
    with pytest.raises(ValueError, match="x has no problems of the levels 5"):
        summarise(typed(ScoresLayout, LAYOUT, panels=[panel]), easy, None)


def test_hard_levels_that_a_set_does_not_name_stop_the_plan(copy):
    edit(copy, "papers/ace/paper.yaml", "benchmark: aime-2025,", "benchmark: aime-2025, hard_levels: true,")
    refused(copy, r"tables.table2.hard_levels: needs about.hard_levels of chain-unseen-operand", "ace", scale="laptop")


def test_several_benchmarks_stand_one_below_the_other(laptop):
    layout = layout_of(laptop, "agrae", "table2")
    assert [(panel.name, panel.published, panel.stand_in) for panel in layout.panels] == [
        ("math-test", "MATH", "chain-easy"),
        ("aime-2025", "AIME 2025", "chain-hard"),
        ("amc-23", "AMC23", "chain-middle"),
    ]
    hard = layout_of(laptop, "lens", "core_hard").panels[0]
    assert (hard.name, hard.published, hard.levels) == ("math-test, hard levels", "", ("m=4",))
    panels = [{**dict(LAYOUT.panels[0]), "name": name, "evaluations": {"M": name}} for name in ("x", "y")]
    content = typed(ScoresLayout, LAYOUT, panels=panels, k=[1])
    counts = {"a1": [0, 4], "a2": [2, 4], "b1": [1, 4], "b2": [3, 4]}
    frames = {(p, e): scores(p, c if e == "x" else [*c[::-1], 0]) for p, c in counts.items() for e in ("x", "y")}
    table = summarise(content, frames, None)
    assert table.groupby("benchmark")["problems"].first().to_dict() == {"x": 2, "y": 3}
    shown = render(content, table, None)
    assert shown.frame["Benchmark"].tolist() == ["x", "", "", "y", "", ""]
    assert shown.frame["Model"].tolist() == ["M → m", "", "", "M → m", "", ""]
    assert "2, 3 problems" in shown.notes[0]


def test_a_model_from_scratch_meets_the_task_that_it_knows_alone(copy):
    """Its tokenizer has the words of one task."""
    edit(copy, "datasets.yaml", "laptop: chain-validation, pretr", "laptop: operators-validation, pretr")
    message = r"operators-validation is of the task operator_fill, and .*knows only operator_chain"
    refused(copy, message, "ace", "lens", "agrae", scale="laptop")
    for scale in ("smoke", "laptop", "full-laptop"):
        assert make_plan(ROOT, scale, ["ace", "lens", "agrae", "fade", "methods"]).runs


def test_a_scale_leaves_out_what_it_cannot_make(copy):
    whole, without = (make_plan(ROOT, scale, ["fade"]).papers["fade"] for scale in ("smoke", "pretrained"))
    assert set(whole.tables) - set(without.tables) == {"core_programs"} and set(whole.figures) == set(without.figures)
    assert "core_programs" in whole.paper.core.tables and "core_programs" not in without.paper.core.tables
    names = {data.name for data in make_plan(ROOT, "pretrained", ["agrae"]).papers["agrae"].data}
    assert names == {f"words-{part}" for part in ("train", "sft", "validation", "easy", "hard", "middle")}
    edit(copy, "papers/fade/scales.yaml", "{without: [core_programs]}", "{without: [core_program]}")
    refused(copy, r"scales.yaml: pretrained.without: .*did you mean 'core_programs'", "fade", scale="laptop")


def test_the_pilot_has_problems_that_the_scale_has_not():
    papers = ["ace", "lens", "agrae", "fade", "pacs", "methods"]
    for suffix in ("", "-gpu"):
        pilot, scale = (make_plan(ROOT, f"{name}{suffix}", papers) for name in ("pretrained-pilot", "pretrained"))
        assert set(pilot.runs) == set(scale.runs), "settings chosen on the pilot cost no second training"
        benchmarks = [{of.data.part for of in plan.evaluations.values()} for plan in (pilot, scale)]
        assert benchmarks == [{"pilot"}, {"easy", "hard"}]


def test_the_laptops_pilot_has_other_chains_and_the_same_runs():
    papers = ["ace", "lens", "agrae", "fade", "pacs", "methods"]
    pilot, scale = (make_plan(ROOT, name, papers) for name in ("laptop-pilot", "laptop"))
    assert set(pilot.runs) == set(scale.runs), "settings chosen on the pilot cost no second training"
    of_text = [of.data for of in pilot.evaluations.values() if of.data.task == "operator_chain"]
    assert {data.part for data in of_text} == {"pilot"}
    families = {(data.task, data.unseen) for data in of_text}  # those of the benchmarks that they replace
    assert families >= {("operator_chain", None), ("operator_chain", "operand"), ("operator_chain", "first")}


def test_equal_pass_1_at_the_pretrained_scale_has_three_knots():
    """As few as a curve can have; the core's runs are among its own, and the baseline's at two more rates."""
    plan = make_plan(ROOT, "pretrained", ["ace"])
    made = plan.papers["ace"]
    own = plan.runs[made.tables["core"].policies()[-1]].rl.learning_rate
    (baseline,) = (cell for cell in made.tables["core_matched"].cells if cell.rates)
    assert [rate for rate, _ in baseline.rates] == pytest.approx([own / 2, own, 1.3 * own])
    core, matched = (set(made.tables[name].policies()) for name in ("core", "core_matched"))
    assert core < matched and len(plan.runs.keys() & core) == 15 and len(matched - core) == 2 * 3
