"""`rlvr state`: what is listed, freed, discarded, and refused; and what Snakemake then does."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from support.checkout import Checkout
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.files import publish_json, read_json
from rlvr.workflow import locks

STEPS = 40  # long enough to stop one on its way
PROFILE = "--profile workflow/profiles/smoke --cores 1 --"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory, workbench):
    return Checkout(tmp_path_factory.mktemp("state") / "site", workbench, steps=STEPS)


@pytest.fixture(scope="module")
def scores(checkout):
    """The scores of a run on a benchmark, made by the workflow."""
    run = checkout.run()
    evaluation = next(name for policy, name in checkout.plan.papers["ace"].item("core").scored() if policy == run)
    target = f"results/evaluations/{run}/{evaluation}/scores.csv"
    make(checkout, target)
    return target


def make(checkout, *targets: str) -> str:
    done = checkout.snakemake(PROFILE, *targets)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout + done.stderr


def in_folder(results: Path, *words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["state", *words, "--results", str(results)])
    assert done.exit_code == code, done.output
    return done.output


def state(checkout, *words: str, code: int = 0) -> str:
    return in_folder(checkout.folder / "results", *words, code=code)


def files(folder: Path) -> dict[str, tuple[int, int]]:
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != "lease"]
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def bytes_in(folder: Path) -> int:
    return sum(size for size, _ in files(folder).values())


@pytest.mark.slow
def test_again_makes_a_run_from_its_beginning_and_free_leaves_what_was_made(checkout, scores):
    run, results = checkout.run(), checkout.folder / "results"
    folder, evaluation = results / "runs" / run, scores.removeprefix("results/evaluations/").removesuffix("/scores.csv")
    lines = {line.split()[1]: line.split() for line in state(checkout, "list").splitlines()[2:]}
    assert lines[run][:4] == ["run", run, "finished", "step"] and lines[run][4] == str(STEPS)
    assert lines[run][5] == f"{bytes_in(folder / 'state'):,}"
    assert lines[evaluation][2] == "finished" and lines[evaluation][4] == "parts"
    assert any(line[0] == "sft" for line in lines.values())

    # Published again: the state answers.
    manifest = (folder / "manifest.json").read_bytes()
    done = checkout.snakemake("--profile workflow/profiles/smoke --cores 1 --forcerun rl --", checkout.manifest())
    assert done.returncode == 0 and (folder / "manifest.json").read_bytes() == manifest

    before = files(results)
    said = state(checkout, "again", run, "--dry-run")
    assert files(results) == before and f"evaluation {evaluation}" in said and "would be removed" in said
    state(checkout, "again", f"runs/{run}/")
    assert not bytes_in(folder) and not (checkout.folder / scores).exists()
    assert "1 of 1" not in make(checkout, scores)
    again = read_json(folder / "manifest.json")
    assert again["resumed_from"] == 0 and again["files"] == json.loads(manifest)["files"]
    assert again["provenance"]["started"] > json.loads(manifest)["provenance"]["finished"]

    size = bytes_in(folder / "state")
    outputs = {name: of for name, of in files(results).items() if "state" not in name.split("/")}
    assert f"would free {size:,} bytes" in state(checkout, "free", run, "--dry-run") and bytes_in(folder / "state")
    said = state(checkout, "free")
    assert f"{run}: {size:,} bytes" in said and "cannot be published again" in said
    assert files(results) == outputs
    assert state(checkout, "free").startswith("freed 0 bytes")
    assert "Nothing to be done" in make(checkout, scores)


@pytest.mark.slow
def test_what_is_at_work_is_refused_and_its_holder_named(checkout, scores):
    run, folder = checkout.run(1), checkout.folder / "results" / "runs" / checkout.run(1)
    command = checkout.command("--profile workflow/profiles/smoke --cores 1 --", checkout.manifest(1))
    with subprocess.Popen(
        command, cwd=checkout.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        (trainer,) = checkout.hold(checkout.manifest(1))
        try:
            before = files(folder)
            sft = next(path.name for path in (checkout.folder / "results" / "sft").iterdir())
            for words in (["again", run], ["again", sft]):
                said = state(checkout, *words, code=2)
                assert f"process {trainer.pid}" in said and "Nothing was removed" in said
            assert f"process {trainer.pid}" in state(checkout, "list")
            assert "is not finished" in state(checkout, "free", run, code=2)
            assert files(folder) == before
        finally:
            trainer.send_signal(signal.SIGKILL)
            process.wait(timeout=120)
    assert "unfinished" in state(checkout, "list") and run not in state(checkout, "free")
    assert files(folder), "the default is what is finished"
    state(checkout, "again", run)
    assert not files(folder)


def test_finished_work_that_is_published_again_just_now_stays(tmp_path):
    folder = tmp_path / "results" / "runs" / "x"
    for name in ("metrics.jsonl", "probe.jsonl", "policy-step1/model", "state/step-000001/tensors.pt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("12345")
    publish_json(folder / "manifest.json", {"policy": "policy-step1", "files": {"model": ""}})
    code = (
        "import sys, pathlib; from rlvr.training.lock_file import lease\n"
        f"with lease(pathlib.Path({str(folder / 'state')!r})): print('mine', flush=True); sys.stdin.read()"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, text=True, **pipes) as process:
        assert process.stdout.readline() == "mine\n"
        left = f"x: left as it is, since a process is at work on it (host {os.uname().nodename}"
        assert left in in_folder(tmp_path / "results", "free")
        process.communicate("")
    (folder / "policy-step1" / "model").unlink()
    assert "x is not finished" in in_folder(tmp_path / "results", "free", "x", code=2), "a policy's file is missing"
    (folder / "policy-step1" / "model").write_text("12345")
    assert "freed 5 bytes" in in_folder(tmp_path / "results", "free")
    assert [path.name for path in (folder / "state").iterdir()] == ["lease"]


def test_verls_folders_and_slices_are_known(tmp_path):
    run, sft = tmp_path / "runs" / "v" / "state", tmp_path / "sft" / "s" / "state"
    slices = tmp_path / "evaluations" / "v" / "bench" / "state"
    for path in (run / "global_step_20" / "data.pt", run / "global_step_20" / "rlvr.json", run / "finished.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    sft.mkdir(parents=True)
    (sft / "latest_checkpointed_iteration.txt").write_text("60")
    for number in ("slice-00", "slice-01"):
        (slices / number).mkdir(parents=True)
        (slices / number / "part-000000-000000.jsonl.gz").write_text("x")
        (slices / number / "lease").write_text("")
    listed = in_folder(tmp_path, "list")
    assert "step 20" in listed and "step 60" in listed and "2 parts" in listed
    in_folder(tmp_path, "again", "v/bench", "v", "s")
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["lease"] * 5
    assert "no state" in in_folder(tmp_path, "list")


def test_an_sft_names_the_runs_that_start_from_it_and_their_tables(tmp_path):
    spec = {"model": "m"}
    publish_json(tmp_path / "sft" / "s" / "manifest.json", {"spec": spec, "files": {"f": "1"}})
    publish_json(tmp_path / "runs" / "done" / "manifest.json", {"spec": {"base": spec}})
    publish_json(tmp_path / "runs" / "begun" / "state" / "fingerprint.json", {"base": {"files": {"f": "1"}}})
    publish_json(tmp_path / "runs" / "other" / "manifest.json", {"spec": {"base": {}}})
    for name in ("papers/ace/statistics/core.csv", "papers/ace/tables/core.md", "papers/lens/statistics/t.csv"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("policies\ndone\n" if "ace" in name else "policies\nother\n")
    (tmp_path / "evaluations" / "done" / "bench").mkdir(parents=True)
    (tmp_path / "evaluations" / "done" / "bench" / "scores.csv").write_text("")
    refused = in_folder(tmp_path, "again", "s", code=2)
    assert "run done, made from its beginning too" in refused
    assert "done was made from it and has no state to be published from; --force" in refused
    assert (tmp_path / "runs/done/manifest.json").exists() and (tmp_path / "sft/s/manifest.json").exists()
    said = in_folder(tmp_path, "again", "s", "--force")
    assert "run done" in said and "evaluation done/bench" in said
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == [
        "papers/lens/statistics/t.csv",
        "runs/begun/state/fingerprint.json",
        "runs/begun/state/lease",
        "runs/other/manifest.json",
    ]


def test_again_is_refused_while_a_snakemake_works_here_and_free_keeps_parts_without_an_origin(tmp_path):
    """Grading holds no lease; and parts are what an evaluation of before is published from."""
    folder = tmp_path / "results" / "evaluations" / "p" / "bench"
    (folder / "state").mkdir(parents=True)
    for name in ("completions.jsonl.gz", "tokens.jsonl.gz", "state/part-000000-000000.jsonl.gz"):
        (folder / name).write_text("x")
    results = tmp_path / "results"
    note = locks.own(tmp_path / ".snakemake")
    assert f"Snakemake process {os.getpid()} on" in in_folder(results, "again", "p/bench", code=2)
    note.unlink()
    assert in_folder(results, "free").startswith("freed 0 bytes")
    assert (folder / "state/part-000000-000000.jsonl.gz").exists()
    in_folder(results, "again", "p/bench")


def test_a_misspelt_name_is_answered_with_the_nearest(tmp_path):
    (tmp_path / "runs" / "qwen2-grpo-seed1").mkdir(parents=True)
    for command in ("again", "free"):
        assert "did you mean 'qwen2-grpo-seed1'?" in in_folder(tmp_path, command, "qwen2-grop-seed1", code=2)
    assert "has this name; valid: qwen2-grpo-seed1" in in_folder(tmp_path, "again", "zzz", code=2)


@pytest.mark.parametrize("given", ["", "/", "runs", "runs/", "evaluations/", "evaluations/run", "sft/run"])
def test_an_empty_name_or_one_of_another_folder_chooses_nothing(tmp_path, given):
    for folder in ("runs/run-a", "evaluations/p/e"):
        (tmp_path / folder).mkdir(parents=True)
    in_folder(tmp_path, "again", given, "--force", code=2)
    assert (tmp_path / "runs/run-a").exists()
    in_folder(tmp_path, "again", "runs/run", "--dry-run")


def test_a_beginning_is_enough_that_no_other_has(tmp_path):
    for name in ("qwen2-grpo-seed1-4a2c", "qwen2-grpo-seed10-5e5e"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    said = in_folder(tmp_path, "again", "runs/qwen2-grpo-seed1", "--dry-run")
    assert said.startswith("qwen2-grpo-seed1-4a2c: ")
    assert "2 of the runs, sfts, evaluations begin so: " in in_folder(tmp_path, "again", "qwen2-grpo", code=2)
