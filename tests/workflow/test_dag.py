"""The DAG, planned by the real Snakemake on the real configuration."""

import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, snakemake

from rlvr.config import paper_folders
from rlvr.config.order import priorities
from rlvr.config.plan import asked_for
from rlvr.planning.expansion import make_plan


def planned(*arguments: str) -> dict[str, int]:
    """Jobs by rule that a dry run would start."""
    text = snakemake("-n", "--cores", "1", *arguments).stdout
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", text, flags=re.MULTILINE)}


@pytest.fixture
def fresh(tmp_path):
    return str(tmp_path / "results")


def test_paper_scale_plans_every_run_of_tables_1_to_4(fresh):
    jobs = planned("--config", "scale=paper", f"results={fresh}", "--", "paper_ace")
    tables = ["table1", "table2", "table3", "table4", "readings"]
    plan = make_plan(ROOT, "paper", ["ace"])
    wanted = {run for name in tables for run in plan.papers["ace"].item(name).policies() if run in plan.runs}
    pairs = {pair for name in tables for pair in plan.papers["ace"].item(name).scored()}
    assert jobs["rl"] == len(wanted) == 140
    assert "sft" not in jobs
    assert "generate" not in jobs and jobs["merge"] == jobs["grade"] == jobs["score"] == len(pairs) == 236
    assert [jobs[f"generate_vllm_{shard}"] for shard in (1, 2, 3, 4)] == [236] * 4 and "generate_vllm_5" not in jobs
    print(f"{jobs['total']} jobs, {jobs['rl']} RL runs")


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


def test_one_table_plans_its_own_runs_only(fresh):
    jobs = planned("--config", "scale=paper", f"results={fresh}", "--", f"{fresh}/papers/paper/ace/tables/table4.md")
    assert jobs["rl"] == 6 * 5 and jobs["statistics"] == jobs["table"] == 1
    assert jobs["model"] == 1


@pytest.mark.slow
def test_one_arm_alone(fresh):
    """Its own five seeds, and those of the arm that its table compares it with (alpha = 0)."""
    jobs = planned(
        "--config", "scale=paper", f"results={fresh}", "--", f"{fresh}/papers/paper/ace/arms/ace_grpo-alpha-2.0.csv"
    )
    assert jobs["rl"] == jobs["generate_vllm_1"] == jobs["generate_vllm_4"] == jobs["merge"] == 2 * 5
    assert jobs["arm"] == 1


@pytest.mark.slow
def test_the_arm_that_others_are_compared_with_needs_its_own_runs_alone(fresh):
    wanted = f"{fresh}/papers/paper/ace/arms/ace_grpo-alpha-0.0-counts.csv"
    jobs = planned("--config", "scale=paper", f"results={fresh}", "--", wanted)
    assert jobs["rl"] == 5 and jobs["arm"] == 1


@pytest.mark.slow
def test_an_arm_of_another_paper_is_named(fresh):
    wanted = f"{fresh}/papers/laptop/lens/arms/ace_grpo.csv"
    done = snakemake("-n", "--cores", "1", "--config", f"results={fresh}", "--", wanted, check=False)
    assert done.returncode != 0 and "ace_grpo: nothing of this name at scale laptop" in done.stdout + done.stderr


def test_the_default_is_a_first_look_at_table_1(fresh):
    """Two arms with eight seeds, on both benchmarks; not the larger core of `paper_ace`. Each seed has a base."""
    jobs = planned("--config", f"results={fresh}")
    assert (jobs["sft"], jobs["rl"], jobs["table"], jobs["figure"], jobs["report"]) == (1 + 8, 2 * 8, 2, 3, 1)
    assert jobs["first_claims_of_paper"] == jobs["first_verdicts"] == 1 and "claims" not in jobs
    assert jobs["generate"] == jobs["grade"] and not [rule for rule in jobs if "vllm" in rule or rule == "merge"]


@pytest.mark.slow
def test_what_is_said_about_a_set_makes_no_run_stale(fresh, tmp_path):
    """Commands name the same files of the plan, whatever is said; another size of the set is other files."""
    copy = tmp_path / "project"
    for name in ("config", "workflow"):
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy(ROOT / "Snakefile", copy)
    sets = (copy / "config/datasets.yaml").read_text()
    asked = ("-s", str(copy / "Snakefile"), "-d", str(copy), "--config", f"results={fresh}")

    def files_named(problems: int, about: str) -> set[str]:
        line = "chain-train: {task: operator_chain, verifier: operator_chain, part: train, levels: [2, 3, 4, 5], "
        line += "problems: 3000"
        other = line.replace("3000", str(problems)) + about
        (copy / "config/datasets.yaml").write_text(sets.replace(line, other))
        text = snakemake("-n", "-p", "--cores", "1", *asked).stdout
        for module in ("data.prepare", "training.sft", "training.rl", "sampling.generate"):
            assert f"rlvr.{module} --spec {fresh}/plan/" in text
        return set(re.findall(r"rlvr\.(?:data|policies|training|sampling)\.\w+ --spec \S*(plan/\w+\.json)", text))

    before = files_named(3000, "")
    assert files_named(3000, ", about: {note: another word}") == before and len(before) > 20
    assert len(before - files_named(2600, "")) == 2 * 8 + 1  # runs and their training set
    assert not (tmp_path / "results" / "plan").exists()  # a dry run writes none of them


def test_settings_table_needs_no_run(fresh):
    jobs = planned("--config", "scale=paper", f"results={fresh}", "--", f"{fresh}/papers/paper/ace/tables/table5.md")
    assert set(jobs) == {"table", "total"}


@pytest.mark.slow
def test_papers_share_names_of_tables(fresh):
    """table1 is trained for in one paper and a closed form in another."""
    ace = planned("--config", "scale=paper", f"results={fresh}", "--", f"{fresh}/papers/paper/ace/tables/table1.md")
    assert ace["rl"] > 0
    for table in ("table1", "table2", "table7", "table8"):
        jobs = planned("--config", f"results={fresh}", "--", f"{fresh}/papers/laptop/fade/tables/{table}.md")
        assert jobs == {"statistics": 1, "table": 1, "total": 2}


def test_closed_forms_need_no_run(fresh):
    names = ("lens/figures/figure4", "agrae/figures/figure6", "fade/figures/figure7", "fade/figures/section14")
    items = [f"{fresh}/papers/laptop/{name}.pdf" for name in names]
    items += [f"{fresh}/papers/laptop/fade/tables/table{i}.md" for i in (1, 2, 7, 8)]
    jobs = planned("--config", f"results={fresh}", "--", "theory", *items)
    assert set(jobs) == {"statistics", "table", "figure", "ledger", "theory", "total"}


def test_theory_and_analytic_tables_are_made(tmp_path):
    table, figure = (
        tmp_path / "papers/laptop/fade/tables/table8.md",
        tmp_path / "papers/laptop/lens/figures/figure4.pdf",
    )
    snakemake("--cores", "2", "--nolock", "--config", f"results={tmp_path}", "--", "theory", str(table), str(figure))
    assert "| 0.25 | 2.2500" in table.read_text() and "no run behind them" in table.read_text()
    assert figure.read_bytes().startswith(b"%PDF")
    assert (tmp_path / "theory/ledger.csv").read_text().count("\n") >= 36
    assert "# Theory ledger" in (tmp_path / "theory/ledger.md").read_text()


def test_all_papers_at_paper_scale_plan_every_run_once(fresh):
    papers = ["ace", "lens", "agrae"]
    targets = [f"paper_{paper}" for paper in papers]
    jobs = planned("--config", "scale=paper", f"results={fresh}", "--", *targets)
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
    text = snakemake("-n", "--cores", "1", "--config", "scale=paper", f"results={fresh}", "--", "paper_ace").stdout
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
    copy = tmp_path / "project"
    for name in ("config", "workflow"):
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy(ROOT / "Snakefile", copy)
    scale, found = (copy / "config/scale/paper.yaml").read_text(), {}
    asked = ("-s", str(copy / "Snakefile"), "-d", str(copy), "--config", "scale=paper", f"results={fresh}")
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
        (("papers=acee",), "config/papers/acee/paper.yaml: no such file; did you mean 'ace'?"),
        (("needs=perhaps",), "--config needs=perhaps: refuse or warn"),
    ],
)
def test_a_mistake_on_the_command_line_is_named(arguments, message):
    done = snakemake("-n", "--cores", "1", "--config", *arguments, check=False)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("paper_acee", "paper_ace"),
        pytest.param("clams", "claims", marks=pytest.mark.slow),
        ("{r}/papers/laptop/ace/tables/tabel4.md", "{r}/papers/laptop/ace/tables/table4.md"),
        pytest.param(
            "{r}/papers/ace/tables/table4.md", "{r}/papers/laptop/ace/tables/table4.md", marks=pytest.mark.slow
        ),
        pytest.param(
            "{r}/papers/laptop/acee/tables/table4.md", "{r}/papers/laptop/ace/tables/table4.md", marks=pytest.mark.slow
        ),
        pytest.param(
            "{r}/papers/laptop/ace/figures/figure22.pdf",
            "{r}/papers/laptop/ace/figures/figure2.pdf",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "{r}/papers/laptop/ace/arms/ace_grpo-alpha-3.0.csv",
            "{r}/papers/laptop/ace/arms/ace_grpo-alpha-5.0.csv",
            marks=pytest.mark.slow,
        ),
        ("{r}/report/laptop/aze.html", "{r}/report/laptop/ace.html"),
        pytest.param("{r}/claims/laptop/lense.csv", "{r}/claims/laptop/lens.csv", marks=pytest.mark.slow),
        pytest.param(
            "{r}/sft/qwen2-chain-sft-0123456789/manifest.json", "{r}/sft/qwen2-chain-sft-", marks=pytest.mark.slow
        ),
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


@pytest.mark.parametrize("below", ["runs", *(pytest.param(below, marks=pytest.mark.slow) for below in ("", "papers"))])
def test_results_that_cannot_be_written_are_found_before_any_job(tmp_path, below):
    """A file in a folder's place; nobody can write there, root included."""
    results = tmp_path / "results"
    wrong = results / below
    wrong.parent.mkdir(exist_ok=True)
    wrong.touch()
    done = snakemake("--nolock", "--config", f"results={results}", "--", "theory", check=False)
    assert done.returncode == 1 and f"cannot write in {wrong}: Not a directory" in done.stderr.splitlines()[-1]
    assert "rule ledger" not in done.stdout + done.stderr


def test_a_folder_that_forbids_writing_is_found_before_any_job():
    done = snakemake("--nolock", "--config", "results=/proc/results", "--", "theory", check=False)
    assert done.returncode == 1 and "results=/proc/results: cannot write in /proc" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_another_text_of_a_rule_makes_no_run_again(tmp_path):
    """The default profile is found without a flag, wherever Snakemake is called from; it does not look at code."""
    copy = tmp_path / "project"
    for name in ("config", "workflow"):
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy(ROOT / "Snakefile", copy)
    (copy / "profiles").symlink_to("workflow/profiles")
    asked = ("-s", str(copy / "Snakefile"), "-d", str(tmp_path / "elsewhere"))
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
    copy, results = tmp_path / "a project", tmp_path / "my results"
    for name in ("config", "workflow"):
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy(ROOT / "Snakefile", copy)
    asked = (
        "-s",
        str(copy / "Snakefile"),
        "-d",
        str(tmp_path / "else where"),
        "--cores",
        "1",
        "--workflow-profile",
        "none",
    )
    papers = results / "papers/smoke"
    targets = [papers / "fade/tables/table8.md", papers / "ace/tables/table5.tex", papers / "ace/overlap.json"]
    snakemake(*asked, "--config", "scale=smoke", f"results={results}", "--", *map(str, targets))
    assert all(path.exists() for path in targets)


@pytest.mark.parametrize("named", [("--profile", "slurm"), ("--profile=workflow/profiles/smoke",)])
def test_a_profile_that_is_named_is_not_overruled_by_the_default_one(named):
    """On a cluster `cores: all` would be a limit of all jobs together."""
    code = (
        "import sys; sys.argv[:] = ['snakemake', *sys.argv[1:]]; from snakemake.cli import parse_args; "
        "_, given = parse_args(sys.argv[1:]); print(given.cores, given.executor, given.keep_going)"
    )
    run = [sys.executable, "-c", code, *named]
    said = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert said == (["None", "slurm", "True"] if named[0] == "--profile" else ["2", "None", "False"])
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()[0] != "None"


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
    text = snakemake("-n", "--config", "papers=lens", f"results={fresh}", "--", "claims").stdout
    (job,) = re.findall(r"^rule claims_of_paper:\n    input: (.*)$", text, flags=re.MULTILINE)
    tables = {name for name in job.split(", ") if name.endswith("/table1.csv")}
    assert tables == {"config/papers/lens/reference/table1.csv"} and "scores.csv" in job


def test_a_mistake_in_a_file_stops_before_the_dag(tmp_path):
    for name in ("config", "workflow"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "Snakefile", tmp_path)
    path = tmp_path / "config" / "papers" / "ace" / "paper.yaml"
    path.write_text(path.read_text().replace("{name: rloo}", "{name: rlo}"))
    done = snakemake("-n", "--cores", "1", "-s", str(tmp_path / "Snakefile"), "-d", str(tmp_path), check=False)
    assert done.returncode != 0
    assert (
        "arms.rloo.settings.estimator.name: unknown estimator 'rlo'; did you mean 'rloo'?" in done.stdout + done.stderr
    )
