"""The DAG, planned by the real Snakemake on the real configuration."""

import re
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import pytest
from conftest import ROOT, copied, snakemake

from rlvr.config import paper_folders
from rlvr.config.order import priorities
from rlvr.config.plan import asked_for
from rlvr.planning.expansion import make_plan

slow = partial(pytest.param, marks=pytest.mark.slow)


@cache
def dry(*arguments: str) -> str:
    """What a dry run prints; the same one is made once."""
    return snakemake("-n", "--cores", "1", *arguments).stdout


def planned(*arguments: str) -> dict[str, int]:
    """Jobs by rule that a dry run would start."""
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", dry(*arguments), flags=re.MULTILINE)}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> str:
    """A results folder that no test makes."""
    return str(tmp_path_factory.mktemp("fresh") / "results")


@pytest.fixture
def paper_scale(fresh):
    return partial(planned, "--config", "scale=paper", f"results={fresh}", "--")


def project(folder: Path, elsewhere: str = "") -> tuple[Path, tuple[str, ...]]:
    """A copy of the workflow, and the options that run it there or in a folder beside it."""
    copy = copied(folder, "config", "workflow", "Snakefile")
    return copy, ("-s", str(copy / "Snakefile"), "-d", str(folder.parent / elsewhere if elsewhere else copy))


def test_paper_scale_plans_every_run_of_tables_1_to_4(paper_scale):
    jobs = paper_scale("paper_ace")
    tables = ["table1", "table2", "table3", "table4", "readings"]
    plan = make_plan(ROOT, "paper", ["ace"])
    wanted = {run for name in tables for run in plan.papers["ace"].item(name).policies() if run in plan.runs}
    pairs = {pair for name in tables for pair in plan.papers["ace"].item(name).scored()}
    assert jobs["rl"] == len(wanted) == 140
    assert not {"sft", "generate", "generate_vllm_5"} & set(jobs)
    assert jobs["merge"] == jobs["grade"] == jobs["score"] == len(pairs) == 236
    assert [jobs[f"generate_vllm_{shard}"] for shard in (1, 2, 3, 4)] == [236] * 4


@pytest.mark.slow
def test_no_command_line_of_any_paper_is_long(fresh):
    """Layouts and long lists of paths travel in files: Linux allows 128 KiB per argument, sites may allow less."""
    papers = paper_folders.names(ROOT / "config")
    plan = make_plan(ROOT, "paper", papers)
    arms = [f"{fresh}/papers/paper/{name}/arms/{arm}.csv" for name in papers for arm in plan.papers[name].paper.arms]
    whole = [f"paper_{name}" for name in papers]
    text = snakemake("-n", "-p", "--config", "scale=paper", f"results={fresh}", "--", *whole, "claims", *arms).stdout
    commands = re.findall(r"^Shell command: (.*)$", text, flags=re.MULTILINE)
    modules = {module for command in commands for module in re.findall(r" -m (rlvr\.[a-z_.]+)", command)}
    assert {"rlvr.sampling.merge", "rlvr.statistics.arm", "rlvr.items.statistics", "rlvr.claims.evaluate"} <= modules
    assert max(map(len, commands)) < 8_000, max(commands, key=len)[:400]


def test_one_table_plans_its_own_runs_only(paper_scale, fresh):
    jobs = paper_scale(f"{fresh}/papers/paper/ace/tables/table4.md")
    assert jobs["rl"] == 6 * 5 and jobs["statistics"] == jobs["table"] == jobs["model"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(("arm", "arms"), [("ace_grpo-alpha-2.0.csv", 2), ("ace_grpo-alpha-0.0-counts.csv", 1)])
def test_one_arm_alone(paper_scale, fresh, arm, arms):
    """Its own five seeds, and those of the arm that its table compares it with (alpha = 0)."""
    jobs = paper_scale(f"{fresh}/papers/paper/ace/arms/{arm}")
    assert jobs["rl"] == jobs["generate_vllm_1"] == jobs["generate_vllm_4"] == jobs["merge"] == arms * 5
    assert jobs["arm"] == 1


@pytest.mark.slow
def test_an_arm_of_another_paper_is_named(fresh):
    wanted = f"{fresh}/papers/laptop/lens/arms/ace_grpo.csv"
    done = snakemake("-n", "--cores", "1", "--config", f"results={fresh}", "--", wanted, check=False)
    assert done.returncode != 0 and "ace_grpo: no target of this name at scale laptop" in done.stdout + done.stderr


def test_the_default_is_a_first_look_at_table_1(fresh):
    """Five arms, two of them placebos, with four seeds, both benchmarks; not the core of `paper_ace`. A base a seed."""
    jobs = planned("--config", f"results={fresh}")
    assert (jobs["sft"], jobs["rl"], jobs["table"], jobs["figure"], jobs["report"]) == (1 + 4, 5 * 4, 2, 3, 1)
    assert jobs["first_claims_of_paper"] == jobs["first_verdicts"] == 1 and "claims" not in jobs
    assert jobs["generate"] == jobs["grade"] and not [rule for rule in jobs if "vllm" in rule or rule == "merge"]


@pytest.mark.slow
def test_what_is_said_about_a_set_makes_no_run_stale(fresh, tmp_path):
    """Commands name the same files of the plan, whatever is said; another size of the set is other files."""
    copy, folders = project(tmp_path / "project")
    sets = (copy / "config/datasets.yaml").read_text()

    def files_named(problems: int, about: str) -> set[str]:
        line = "chain-train: {task: operator_chain, verifier: operator_chain, part: train, levels: [2, 3, 4, 5], "
        line += "problems: 3000"
        other = line.replace("3000", str(problems)) + about
        (copy / "config/datasets.yaml").write_text(sets.replace(line, other))
        text = snakemake("-n", "-p", "--cores", "1", *folders, "--config", f"results={fresh}").stdout
        for module in ("data.prepare", "training.sft", "training.rl", "sampling.generate"):
            assert f"rlvr.{module} --spec {fresh}/plan/" in text
        return set(re.findall(r"rlvr\.(?:data|policies|training|sampling)\.\w+ --spec \S*(plan/\w+\.json)", text))

    before = files_named(3000, "")
    assert files_named(3000, ", about: {note: another word}") == before and len(before) > 20
    assert len(before - files_named(2600, "")) == 2 * 8 + 1  # runs and their training set
    assert not Path(fresh).exists(), "a dry run writes none of them"


def test_closed_forms_and_a_table_of_settings_need_no_run(fresh):
    """FADE's table1 is a closed form, ACE's is trained for; ACE's table5 has its settings."""
    names = ("lens/figures/figure4", "agrae/figures/figure6", "fade/figures/figure7", "fade/figures/section14")
    items = [f"{fresh}/papers/laptop/{name}.pdf" for name in names]
    items += [f"{fresh}/papers/laptop/fade/tables/table{i}.md" for i in (1, 2, 7, 8)]
    items.append(f"{fresh}/papers/laptop/ace/tables/table5.md")
    jobs = planned("--config", f"results={fresh}", "--", "theory", *items)
    assert set(jobs) == {"statistics", "table", "figure", "ledger", "theory", "total"}


@pytest.mark.slow
def test_theory_and_analytic_tables_are_made(tmp_path):
    made = tmp_path / "papers/laptop"
    table, figure = made / "fade/tables/table8.md", made / "lens/figures/figure4.pdf"
    snakemake("--cores", "2", "--nolock", "--config", f"results={tmp_path}", "--", "theory", str(table), str(figure))
    assert "| 0.25 | 2.2500" in table.read_text() and "no run behind them" in table.read_text()
    assert figure.read_bytes().startswith(b"%PDF")
    assert (tmp_path / "theory/ledger.csv").read_text().count("\n") >= 36
    assert "# Theory ledger" in (tmp_path / "theory/ledger.md").read_text()


@pytest.mark.slow
def test_all_papers_at_paper_scale_plan_every_run_once(paper_scale):
    papers = ["ace", "lens", "agrae"]
    jobs = paper_scale(*(f"paper_{paper}" for paper in papers))
    plan = make_plan(ROOT, "paper", papers)
    items = [made.item(name) for paper, made in plan.papers.items() for name in asked_for(plan, paper)]
    runs = {run for item in items for run in item.policies() if run in plan.runs}
    pairs = {pair for item in items for pair in item.scored()}
    assert jobs["rl"] == len(runs)
    assert jobs["score"] == jobs["merge"] == len(pairs) and jobs["claims_of_paper"] == 3
    tables = [item.name for item in items if item.folder == "tables"]
    assert jobs["table"] == len(tables) and jobs["figure"] == len(items) - len(tables)


@pytest.mark.slow
def test_base_policies_that_papers_share_are_planned_once_at_laptop_scale(fresh):
    """Each core has its own minibatches and a base policy for each seed; 16 runs with pictures have another."""
    counts = [planned("--config", f"results={fresh}", "--", f"paper_{paper}")["rl"] for paper in ("lens", "agrae")]
    both = planned("--config", f"results={fresh}", "--", "paper_lens", "paper_agrae")
    assert (*counts, both["rl"]) == (64, 136 + 16, 64 + 136 + 16) and both["sft"] == 1 + 8 + 1


@pytest.mark.slow
def test_claims_ask_for_no_run_that_the_papers_pages_do_not(fresh):
    jobs = planned("--config", "papers=lens", f"results={fresh}", "--", "claims")
    assert jobs["claims_of_paper"] == jobs["claims"] == 1 and "report" not in jobs
    page = planned("--config", "papers=lens", f"results={fresh}", "--", "paper_lens")
    assert page["claims_of_paper"] == page["report"] == 1 and "claims" not in page
    assert jobs["rl"] <= page["rl"] and jobs["score"] <= page["score"]


def test_core_tables_are_finished_first(fresh):
    """The priorities that Snakemake prints are those of the order that `rlvr plan` simulates."""
    text = dry("--config", "scale=paper", f"results={fresh}", "--", "paper_ace")
    found: dict[str, dict[str, int]] = {}
    for rule, wildcards, priority in re.findall(
        r"^rule (\w+):\n(?:    .*\n)*?    wildcards: (.*)\n    priority: (\d+)$", text, flags=re.MULTILINE
    ):
        found.setdefault(rule, {})[wildcards] = int(priority)
    plan = make_plan(ROOT, "paper", paper_folders.names(ROOT / "config"))
    wanted, made = priorities(plan), plan.papers["ace"]
    runs = {run for name in asked_for(plan, "ace") for run in made.item(name).policies() if run in plan.runs}
    assert found["rl"] == {f"run={run}": wanted[run] for run in runs}
    core = {run for run in plan.papers["ace"].item("core").policies() if run in plan.runs}
    assert min(wanted[run] for run in core) > max(wanted[run] for run in set(plan.runs) - core)
    for shard in (1, 2, 3, 4):
        drawn = found[f"generate_vllm_{shard}"]
        assert len(drawn) == 236 and max(drawn.values()) == max(found["rl"].values())
    assert min(min(found[rule].values()) for rule in ("data", "model", "merge", "grade", "score", "table")) > max(
        wanted.values()
    )


@pytest.mark.slow
def test_the_number_of_jobs_of_an_evaluation_makes_none_stale(fresh, tmp_path):
    """Inputs and parameters of each slice, and of the merge, are the same for any number."""
    copy, folders = project(tmp_path / "project")
    scale, found = (copy / "config/scale/paper.yaml").read_text(), {}
    asked = (*folders, "--config", "scale=paper", f"results={fresh}")
    for shards in (1, 3, 4, 16):
        (copy / "config/scale/paper.yaml").write_text(scale.replace("shards: 4", f"shards: {shards}"))
        text = snakemake("-n", "-p", *asked, "--", f"{fresh}/papers/paper/ace/arms/base.csv").stdout
        jobs = re.findall(
            r"^rule (merge|generate_vllm_\d+):\n    input: (.*)\n    output: (.*)\n(?:    .*\n)*Shell command: (.*)$",
            text,
            flags=re.MULTILINE,
        )
        assert len(jobs) == 6 * (shards + 1)
        found[shards] = {
            file: (inputs, command if rule == "merge" else command.split(" --gpu-memory")[0])
            for rule, inputs, outputs, command in jobs
            for file in outputs.split(", ")
        }
    assert len(found[1]) == 6 * (16 + 3) and found[1] == found[3] == found[4] == found[16]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("scale=lptop",), "config/scale/lptop.yaml: no such file; did you mean 'laptop'?"),
        (("scal=laptop",), "--config scal: unknown key; did you mean 'scale'?"),
        slow(("papers=acee",), "config/papers/acee/paper.yaml: no such file; did you mean 'ace'?"),
        slow(("needs=perhaps",), "--config needs=perhaps: refuse or warn"),
    ],
)
def test_a_mistake_on_the_command_line_is_named(arguments, message):
    done = snakemake("-n", "--cores", "1", "--config", *arguments, check=False)
    assert done.returncode != 0 and message in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("paper_acee", "paper_ace"),
        slow("clams", "claims"),
        ("{r}/papers/laptop/ace/tables/tabel4.md", "{r}/papers/laptop/ace/tables/table4.md"),
        slow("{r}/papers/ace/tables/table4.md", "{r}/papers/laptop/ace/tables/table4.md"),
        slow("{r}/papers/laptop/acee/tables/table4.md", "{r}/papers/laptop/ace/tables/table4.md"),
        slow("{r}/papers/laptop/ace/figures/figure22.pdf", "{r}/papers/laptop/ace/figures/figure2.pdf"),
        slow("{r}/papers/laptop/ace/arms/ace_grpo-alpha-3.0.csv", "{r}/papers/laptop/ace/arms/ace_grpo-alpha-5.0.csv"),
        slow("{r}/report/laptop/aze.html", "{r}/report/laptop/ace.html"),
        slow("{r}/claims/laptop/lense.csv", "{r}/claims/laptop/lens.csv"),
        slow("{r}/sft/qwen2-chain-sft-0123456789/manifest.json", "{r}/sft/qwen2-chain-sft-"),
    ],
)
def test_an_unknown_target_names_the_nearest_in_one_line(fresh, target, meant):
    done = snakemake("-n", "--config", f"results={fresh}", "--", target.format(r=fresh), check=False)
    assert done.returncode == 1 and done.stdout == ""
    *banner, line = done.stderr.strip().splitlines()
    assert all(text.startswith("Using ") for text in banner)
    assert line.startswith(f"no rule makes {target.format(r=fresh)}: did you mean {meant.format(r=fresh)}")


@pytest.mark.slow
def test_an_unknown_run_and_a_target_of_another_scale_are_named(fresh):
    run = next(iter(make_plan(ROOT, "laptop", ["ace"]).runs))
    wrong = f"{fresh}/runs/{run[:-4]}abcd/manifest.json"
    for scale, target, said in (
        ("laptop", wrong, f"no rule makes {wrong}: did you mean {fresh}/runs/{run}/manifest.json?"),
        ("smoke", f"{fresh}/papers/paper/ace/tables/table1.md", "is of scale paper, and this command is at smoke"),
        ("smoke", f"{fresh}/papers/smoke/ace/tables/tabel1.md", f"did you mean {fresh}/papers/smoke/ace/tables/table1"),
    ):
        config = (f"scale={scale}", f"results={fresh}")
        done = snakemake("-n", "--config", *config, "--", target, check=False)
        assert done.returncode == 1 and said in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("below", ["runs", slow(""), slow("papers")])
def test_results_that_cannot_be_written_are_found_before_any_job(tmp_path, below):
    """A file in a folder's place; nobody can write there, root included."""
    results = tmp_path / "results"
    wrong = results / below
    wrong.parent.mkdir(exist_ok=True)
    wrong.touch()
    done = snakemake("--nolock", "--config", f"results={results}", "--", "theory", check=False)
    assert done.returncode == 1 and f"cannot write in {wrong}: Not a directory" in done.stderr.splitlines()[-1]
    assert "rule ledger" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_folder_that_forbids_writing_is_found_before_any_job():
    done = snakemake("--nolock", "--config", "results=/proc/results", "--", "theory", check=False)
    assert done.returncode == 1 and "results=/proc/results: cannot write in /proc" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_another_text_of_a_rule_makes_no_run_again(tmp_path):
    """The default profile is found without a flag, wherever Snakemake is called from; it does not look at code."""
    copy, asked = project(tmp_path / "project", "elsewhere")
    (copy / "profiles").symlink_to("workflow/profiles")
    target = "results/papers/laptop/fade/tables/table8.md"
    first = snakemake(*asked, "--", target)
    assert "workflow specific profile" in first.stderr
    assert (tmp_path / "elsewhere" / target).exists()
    rules = copy / "workflow/rules/items.smk"
    text = rules.read_text()
    rules.write_text(text.replace("python -m rlvr.items.statistics --spec", "python -m rlvr.items.statistics  --spec"))
    assert rules.read_text() != text
    assert "Nothing to be done" in snakemake("-n", *asked, "--", target).stdout
    without = snakemake("-n", "--workflow-profile", "none", "--cores", "1", *asked, "--", target)
    assert "statistics" in without.stdout, "without it the text counts"


def test_folders_may_have_spaces_in_their_names(tmp_path):
    (_, folders), results = project(tmp_path / "a project", "else where"), tmp_path / "my results"
    asked = (*folders, "--cores", "1", "--workflow-profile", "none")
    papers = results / "papers/smoke"
    targets = [papers / "fade/tables/table8.md", papers / "ace/tables/table5.tex", papers / "ace/overlap.json"]
    snakemake(*asked, "--config", "scale=smoke", f"results={results}", "--", *map(str, targets))
    assert all(path.exists() for path in targets)
    assert "| 0.25 | 2.2500" in targets[0].read_text()


def test_a_profile_that_is_named_is_not_overruled_by_the_default_one():
    """On a cluster `cores: all` would be a limit of all jobs together."""
    code = """
import sys
from snakemake.cli import parse_args
for options in ["--profile", "slurm"], ["--profile=workflow/profiles/smoke"], []:
    sys.argv[:] = ["snakemake", *options]
    _, given = parse_args(options)
    print(given.cores, given.executor, given.keep_going)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    slurm, smoke, default = done.stdout.splitlines()
    assert slurm == "None slurm True" and smoke == "2 None False" and default.split()[0] != "None"


def test_the_workflow_is_a_module_of_another(tmp_path):
    (tmp_path / "Snakefile").write_text(
        f"""
module rlvr:
    snakefile: "{ROOT}/Snakefile"
    config: {{"scale": "smoke", "results": "out"}}

use rule * from rlvr as rlvr_*

rule mine:
    default_target: True
    input: "out/papers/smoke/fade/tables/table8.md"
    output: "mine.txt"
    shell: "wc -l {{input}} > {{output}}"
"""
    )
    snakemake("--cores", "1", "-s", str(tmp_path / "Snakefile"), "-d", str(tmp_path))
    assert "table8.md" in (tmp_path / "mine.txt").read_text()


def test_claims_are_evaluated_again_where_a_published_number_changes(fresh):
    """The published tables are inputs of the rule; so are the scores."""
    text = dry("--config", "papers=lens", f"results={fresh}", "--", "claims")
    (job,) = re.findall(r"^rule claims_of_paper:\n    input: (.*)$", text, flags=re.MULTILINE)
    tables = {name for name in job.split(", ") if name.endswith("/table1.csv")}
    assert tables == {"config/papers/lens/reference/table1.csv"} and "scores.csv" in job


def test_a_mistake_in_a_file_stops_before_the_dag(tmp_path):
    copy, folders = project(tmp_path / "project")
    path = copy / "config/papers/ace/paper.yaml"
    path.write_text(path.read_text().replace("{name: rloo}", "{name: rlo}"))
    done = snakemake("-n", "--cores", "1", *folders, check=False)
    message = "arms.rloo.settings.estimator.name: unknown estimator 'rlo'; did you mean 'rloo'?"
    assert done.returncode != 0 and message in done.stdout + done.stderr
