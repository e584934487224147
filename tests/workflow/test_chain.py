"""The whole chain at smoke scale through the real Snakemake: data to report, and again to the byte."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT, snakemake, without_timing

from rlvr.config.paths import Paths
from rlvr.planning.expansion import make_plan
from rlvr.report import archive
from rlvr.report.landing_page import render
from rlvr.statistics.pass_at_k import pass_at_k

pytestmark = pytest.mark.chain
PROFILE = ("--profile", "workflow/profiles/smoke", "--cores", "2")


def run(results, *targets):
    # Its own working folder for Snakemake's records, so that tests and a user's runs do not lock each other out.
    config = ("--config", "scale=smoke", f"results={results}")
    return snakemake(*PROFILE, *config, "--nolock", "--", *targets)


def jobs_in(text: str) -> set[str]:
    """The rules of Snakemake's table of jobs."""
    return set(re.findall(r"^(\w+) +\d+$", text, flags=re.MULTILINE)) - {"total"}


def planned(results, *options: str) -> set[str]:
    config = ("--config", "scale=smoke", f"results={results}")
    return jobs_in(snakemake(*PROFILE, "-n", "--nolock", *options, *config, "--", "all").stdout)


def copy_made(results, there: Path, *more: str) -> None:
    """What is made before any run, and more, as made elsewhere."""
    for folder in ("data", "models", "sft", *more):
        shutil.copytree(results / folder, there / folder)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    results = tmp_path_factory.mktemp("chain")
    run(results, "all")
    return results


def test_a_command_ends_with_its_results_also_where_they_were_made_before(chain, tmp_path, monkeypatch):
    monkeypatch.setenv("RLVR_NOTICES", str(tmp_path / "notices"))
    said = run(chain, "all").stderr
    meaningless, *results, page, verdicts = (tmp_path / "notices").read_text().splitlines()
    assert "mean nothing" in meaningless and f"page to open: {chain}/report/index.html" == page
    assert [line.split(":")[0] for line in results] == [
        "qwen2-tiny on operators-easy-smoke (in place of math-500)",
        "qwen2-tiny on operators-hard-smoke (in place of aime-2025)",
    ]
    assert all("Difference to GRPO in 32 tries: ACE-GRPO " in line and "shuffled" not in line for line in results)
    assert verdicts.endswith("first/smoke-verdicts.md") and "\n".join([*results, page, verdicts]) in said


def test_the_core_tables_hold_published_values_intervals_and_runs(chain):
    text = (chain / "papers/smoke/ace/tables/start.md").read_text()
    assert "Made at smoke scale" in text and "73.4 ± 0.8" in text and "n = 32 samples" in text
    frame = pd.read_csv(chain / "papers/smoke/ace/statistics/start.csv")
    summed = [f"ACE-GRPO (c summed){placebo}" for placebo in ("", ", one factor", ", c shuffled")]
    assert set(frame["label"]) == {"Base", "GRPO", "ACE-GRPO", *summed, "Blind guess (exact)"}
    frame = frame[frame["arm"] != "blind"]  # exact
    assert (frame["value_low"] <= frame["value"]).all() and (frame["value"] <= frame["value_high"]).all()
    for suffix in ("csv", "tex"):
        assert (chain / f"papers/smoke/ace/tables/start.{suffix}").stat().st_size > 500
    for figure in ("start_curves", "start_overconfidence", "start_entropy"):
        assert (chain / f"papers/smoke/ace/figures/{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert (chain / f"papers/smoke/ace/figures/{figure}.pdf").read_bytes().startswith(b"%PDF")


def easy_pass_at_k(results, policy: str, k: int) -> float:
    scores = pd.read_csv(next((results / "evaluations" / policy).glob("*easy*/scores.csv")))
    return 100 * pass_at_k(scores["n"], scores["correct"], k).mean()


def test_the_table_is_what_the_scores_say(chain):
    frame = pd.read_csv(chain / "papers/smoke/ace/statistics/start.csv")
    row = frame[(frame["label"] == "ACE-GRPO") & (frame["k"] == 4)].iloc[0]
    scores = [easy_pass_at_k(chain, policy, 4) for policy in row["policies"].split()]
    assert row["value"] == pytest.approx(sum(scores) / len(scores), rel=1e-5)


def test_the_report_is_one_page_with_the_origin_of_every_number(chain):
    page = (chain / "report/smoke/index.html").read_text()
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]+"', page), "the page needs nothing outside itself"
    frame = pd.read_csv(chain / "papers/smoke/ace/statistics/start.csv")
    for policy in {p for row in frame["policies"].dropna() for p in row.split()}:
        assert f'<tr id="{policy}">' in page and f'href="#{policy}"' in page
    manifest = json.loads(next((chain / "runs").glob("*/manifest.json")).read_text())
    assert manifest["provenance"]["commit"] in page and manifest["provenance"]["lock_sha256"] in page
    assert "smoke" in page and "undefined" not in page


def test_one_arm_says_how_it_did_against_the_one_that_its_table_compares_with(chain):
    """alpha = 1 against alpha = 0 is ACE-GRPO against GRPO, whose runs are there: the row over seeds is the table's."""
    arm = chain / "papers/smoke/ace/arms/ace_grpo-alpha-1.0.csv"
    done = run(chain, str(arm))
    assert jobs_in(done.stdout + done.stderr) == {"arm"}, "nothing is trained or sampled again"
    made, counts = pd.read_csv(arm), pd.read_csv(arm.with_name("ace_grpo-alpha-1.0-counts.csv"))
    blind = made["arm"] == "blind"
    assert made[blind]["k"].tolist() == made["k"].drop_duplicates().tolist()
    assert made[blind]["value"].between(0, 100).all()
    made = made[~blind]
    assert set(made["compare_with"]) == {"ace_grpo-alpha-0.0"} and set(made["benchmark"]) == {"math-500"}
    core = pd.read_csv(chain / "papers/smoke/ace/statistics/start.csv")
    ours, rival = (core[core["arm"] == name] for name in ("ace_grpo", "grpo"))
    assert set(counts["policy"]) == set(ours["policies"].iloc[0].split())
    assert made["k"].drop_duplicates().tolist() == ours["k"].tolist()
    for (_, row), (_, other) in zip(ours.iterrows(), rival.iterrows(), strict=True):
        mine = made[made["k"] == row["k"]]
        assert mine["seed"].tolist() == ["1", "2", "all"]
        over, seeds = mine.iloc[-1], mine.iloc[:-1]
        for name in ("value", "value_low", "value_high", "difference", "difference_low", "difference_p"):
            assert over[name] == pytest.approx(row[name], rel=1e-5, abs=1e-9), name
        assert (over["seeds"], over["problems"], over["n"]) == (2, row["problems"], row["samples"])
        pairs = zip(row["policies"].split(), other["policies"].split(), strict=True)
        for (_, one), (policy, beside) in zip(seeds.iterrows(), pairs, strict=True):
            at = [easy_pass_at_k(chain, name, row["k"]) for name in (policy, beside)]
            assert one["policies"] == policy and one["value"] == pytest.approx(at[0], rel=1e-5)
            assert one["difference"] == pytest.approx(at[0] - at[1], rel=1e-4, abs=1e-9)


def test_criteria_are_judged_by_the_runs_metrics_and_rule_over_claims(chain):
    """Runs of a few steps exercise nothing, so that no claim that compares ACE is judged; those on the baseline are."""
    criteria = pd.read_csv(chain / "first/mechanisms/smoke/ace.csv")
    row = criteria[(criteria["arm"] == "ace_grpo") & (criteria["criterion"] == "overconfident_errors")].iloc[0]
    assert row["met"] == "no" and row["seeds"] == 2 and row["low"] < row["measured"] < row["high"] < 2
    last = [
        json.loads(path.read_text().splitlines()[-1])["overconfidence_sum"]
        for path in chain.glob("runs/*tiny-grpo-lr*/metrics.jsonl")
    ]
    assert row["measured"] == pytest.approx(sum(last) / len(last), rel=1e-4)
    claims = pd.read_csv(chain / "first/smoke/ace.csv")
    of_ace = claims[(claims["claim"] == "larger_k_gain") & (claims["effort"] == "paper's setting")].iloc[0]
    assert of_ace["verdict"] == "not exercised" and "overconfident_errors is" in of_ace["reason"]
    assert "not exercised" not in set(claims[claims["about"] == "base"]["verdict"])


def test_no_problem_stands_in_two_sets(chain):
    overlap = json.loads((chain / "papers/smoke/ace/overlap.json").read_text())
    assert len(overlap["problems"]) == 5 and set(overlap["shared"].values()) == {0}


def test_the_same_command_again_gives_the_same_bytes(chain, tmp_path):
    chosen = sorted(path.relative_to(chain) for path in chain.glob("evaluations/*ace_grpo-lr*seed1*/*easy*/scores.csv"))
    assert len(chosen) == 1
    run(tmp_path, f"{tmp_path}/{chosen[0]}", f"{tmp_path}/papers/smoke/ace/overlap.json")
    compared = 0
    for path in tmp_path.rglob("*"):
        first = chain / path.relative_to(tmp_path)
        if path.name == "metrics.jsonl" and "state" not in path.parts:
            assert without_timing(path) == without_timing(first)
        elif path.suffix in (".csv", ".gz", ".safetensors") or path.name in ("probe.jsonl", "problems.jsonl"):
            assert path.read_bytes() == first.read_bytes(), path
        else:
            continue
        compared += 1
    assert compared >= 14


def test_grading_again_samples_nothing_and_drawing_again_trains_nothing(chain):
    assert planned(chain, "--forcerun", "grade").isdisjoint({"generate", "rl", "sft"})
    assert planned(chain, "--forcerun", "figure").isdisjoint({"statistics", "score", "rl"})


def test_the_overview_is_rendered_again_when_claims_or_another_papers_runs_appear(chain):
    """Both are shown where they are there, and neither is made for it."""
    lens = make_plan(ROOT, "smoke", ["lens"]).runs
    other = next(run for run in lens if not (chain / "runs" / run).exists())
    for name in ("claims/elsewhere/lens.csv", f"runs/{other}/manifest.json"):
        path = chain / name
        path.parent.mkdir(parents=True)
        path.write_text("{}")
        assert planned(chain) == {"report", "entrance", "all"}
        path.unlink()
        path.parent.rmdir()


def test_two_scales_share_runs_and_no_table():
    small, large = Paths("results", "laptop"), Paths("results", "full-laptop")
    plan = make_plan(ROOT, "laptop", ["ace"])
    run = next(iter(plan.runs))
    assert run in make_plan(ROOT, "full-laptop", ["ace"]).runs
    assert small.manifest(plan, run) == large.manifest(plan, run)
    for name in ("table", "figure", "arm", "claims", "page", "statistics", "overlap"):
        asked = ("ace",) if name in ("claims", "page", "overlap") else ("ace", "core")
        made = [getattr(paths, name)(*asked) for paths in (small, large)]
        one, other = (set([path] if isinstance(path, str) else path) for path in made)
        assert one.isdisjoint(other), name


def test_the_entrance_leads_to_the_scales_overview(chain):
    page = (chain / "report/index.html").read_text()
    assert 'href="smoke/index.html"' in page and 'url=smoke/index.html"' in page
    assert (chain / "report/smoke/index.html").exists()
    assert "http-equiv" not in render(["laptop", "smoke"]) and render(["laptop", "smoke"]).count("href") == 2


def test_nothing_is_left_to_do(chain):
    done = run(chain, "all")
    assert "Nothing to be done" in done.stdout + done.stderr


def test_snakemakes_own_report(chain, tmp_path):
    options = ("--cores", "1", "--nolock", "--config", "scale=smoke", f"results={chain}")
    snakemake(*options, "--report", str(tmp_path / "r.zip"), "--", "all")
    assert (tmp_path / "r.zip").stat().st_size > 10_000


def test_archived_runs_are_done_elsewhere_without_their_policies(chain, plan, tmp_path):
    """Data, model and base policies are made there; runs and scores come from archives, and the table is the same."""
    here = tmp_path / "archive"
    written = archive.keep(plan, Paths(str(chain), "smoke"), here)
    assert written and archive.keep(plan, Paths(str(chain), "smoke"), here) == [], "the same content, the same bytes"
    there = tmp_path / "results"
    paths = Paths(str(there), "smoke")
    first = r"sft/.* is missing; first: snakemake --config scale=smoke"
    with pytest.raises(archive.NotRestored, match=first) as refused:
        archive.restore(plan, paths, here)
    named = [Path(file).relative_to(there) for file in str(refused.value).partition(" -- ")[2].split()]
    assert {file.parts[0] for file in named} == {"sft", "data"} and all((chain / file).is_file() for file in named)
    copy_made(chain, there)
    restored = archive.restore(plan, paths, here)
    assert set(restored) == {file.name.removesuffix(archive.SUFFIX) for file in written}
    assert archive.restore(plan, paths, here) == [], "what is there stays"
    targets = [f"{there}/papers/smoke/ace/{name}" for name in ("tables/start.md", "figures/start_curves.png")]
    done = run(there, *targets)
    jobs = jobs_in(done.stdout + done.stderr)
    assert jobs and not jobs & {"sft", "rl", "generate", "grade", "score"}, jobs
    assert not list(there.glob("runs/*/policy*")) and not list(there.glob("evaluations/*/*/completions*"))
    for target in targets:
        same = chain / Path(target).relative_to(there)
        assert Path(target).read_bytes() == same.read_bytes()


def test_a_run_that_was_archived_before_its_evaluation_is_made_again(chain, plan, tmp_path, capsys):
    whole, part = tmp_path / "whole", tmp_path / "part"
    archive.keep(plan, Paths(str(chain), "smoke"), whole)
    copy_made(chain, part, "runs", "evaluations")
    run_id = next(name for name in sorted(plan.runs) if (part / "evaluations" / name).is_dir())
    shutil.rmtree(part / "evaluations" / run_id)
    archive.keep(plan, Paths(str(part), "smoke"), tmp_path / "archive")
    there = tmp_path / "results"
    copy_made(chain, there)
    restored = archive.restore(plan, Paths(str(there), "smoke"), tmp_path / "archive")
    assert {*restored, run_id} == {file.name.removesuffix(archive.SUFFIX) for file in whole.iterdir()}
    assert run_id not in restored and not (there / "runs" / run_id).exists()
    assert f"{run_id}: left out, to be made again" in capsys.readouterr().out


def test_archives_of_other_settings_are_left_and_said_so(chain, plan, tmp_path, capsys):
    written = archive.keep(plan, Paths(str(chain), "smoke"), tmp_path / "archive")
    archive.restore_command(tmp_path / "archive", "ace", "laptop", tmp_path / "results")
    said = capsys.readouterr().out
    assert "0 policies restored" in said
    assert f"the first of {len(written)} archives of no policy of ace at laptop" in said
    archive.restore_command(tmp_path / "archive", "ace", "smoke", chain)
    assert "left" not in capsys.readouterr().out


def test_an_archive_of_another_base_policy_is_refused(chain, plan, tmp_path):
    there = tmp_path / "results"
    archive.keep(plan, Paths(str(chain), "smoke"), tmp_path / "archive")
    copy_made(chain, there)
    for manifest in there.glob("sft/*/manifest.json"):
        content = json.loads(manifest.read_text())
        manifest.write_text(json.dumps({**content, "files": {name: "0" for name in content["files"]}}))
    with pytest.raises(archive.NotRestored, match="another machine or code made it"):
        archive.restore(plan, Paths(str(there), "smoke"), tmp_path / "archive")
    assert not (there / "runs").exists()
