"""`rlvr export`: what is written is what was made, and what a hub, an archive and `sha256sum` read."""

import json
import shutil
import subprocess

import pandas as pd
import pytest
import yaml
from conftest import run_module
from support.kept_by_hand import HOSTILE, lay_evaluation, lay_run
from support.readers import read_by

from rlvr.files import publish_json, read_json, sha256


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    for run, estimator in (("a", "ace"), ("b", "grpo")):
        made = lay_run(folder, run, estimator)
        manifest = read_json(made / "manifest.json")
        manifest["spec"] |= {"rl": {"learning_rate": 1e-4}, "base": {"model": {"name": "tiny"}}}
        publish_json(made / "manifest.json", manifest | {"seed": 1, "step": 2, "policy": "policy-step2"})
        (made / "policy-step2").mkdir()
        (made / "policy-step2" / "config.json").write_text("{}")
        lay_evaluation(folder, run, counts=(0, 2, 4) if run == "a" else (1, 2, 3))
    lay_run(folder, "unfinished")
    (folder / "runs" / "unfinished" / "manifest.json").unlink()
    return folder


def export(results, out, *options, check=True):
    return run_module("rlvr", "export", str(out), "--results", str(results), *options, check=check)


def front(path):
    _, head, body = path.read_text().split("---\n", 2)
    return yaml.safe_load(head), body


def test_everything_that_was_made_is_in_the_folder(results, tmp_path):
    out = tmp_path / "out"
    done = export(results, out, "--policies", "--creator", "Doe, Jo", "--title", "Runs of Jo")
    assert done.stdout == f"{out}: 2 runs, 2 evaluations\n"
    runs = pd.read_parquet(out / "runs.parquet")
    assert runs["run"].tolist() == ["a", "b"] and runs["estimator"].tolist() == ["ace", "grpo"]
    assert json.loads(runs["spec"][0]) == read_json(results / "runs" / "a" / "manifest.json")["spec"]
    metrics = pd.read_parquet(out / "metrics.parquet")
    assert metrics.groupby(["run", "held_out"]).size().to_dict() == {
        ("a", False): 2, ("a", True): 3, ("b", False): 2, ("b", True): 3,
    }  # fmt: skip
    scores = pd.read_parquet(out / "scores.parquet")
    completions = pd.read_parquet(out / "completions")
    assert scores["correct"].tolist() == [0, 2, 4, 1, 2, 3]
    right = completions[completions["status"] == "correct"].groupby(["policy", "problem"]).size()
    known = scores.set_index(["policy", "problem"])["correct"]
    assert right.to_dict() == known[known > 0].to_dict()
    assert HOSTILE in set(completions["text"])


def test_cards_and_metadata_are_read_by_others(results, tmp_path):
    out = tmp_path / "out"
    export(results, out, "--policies", "--creator", "Doe, Jo", "--title", "Runs of Jo", "--licence", "cc-by-4.0")
    head, body = front(out / "README.md")
    assert head["license"] == "cc-by-4.0" and head["pretty_name"] == "Runs of Jo"
    for one in head["configs"]:  # the hub's viewer opens each pattern
        assert list(out.glob(one["data_files"])), one
    assert "1 ace, 1 grpo" in body and "- fill: 3 problems; licence: CC0-1.0" in body
    head, body = front(out / "policies" / "a" / "README.md")
    assert head["library_name"] == "transformers"
    assert "| fill-n4-t1-p1-0 | 3 | 1 | 50.0 |" in body and "| fill-n4-t1-p1-0 | 3 | 4 | 66.7 |" in body
    assert "One training seed." in body
    assert json.loads((out / ".zenodo.json").read_text())["creators"] == [{"name": "Doe, Jo"}]
    assert yaml.safe_load((out / "CITATION.cff").read_text())["title"] == "Runs of Jo"
    subprocess.run(["sha256sum", "--quiet", "--strict", "--check", "SHA256SUMS"], cwd=out, check=True)
    listed = {line.split("  ")[1] for line in (out / "SHA256SUMS").read_text().splitlines()}
    assert listed == {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()} - {"SHA256SUMS"}


def test_croissant_describes_each_file_and_column(results, tmp_path):
    out = tmp_path / "out"
    export(results, out, "--creator", "Doe, Jo", "--title", "Runs of Jo")
    content = json.loads((out / "croissant.json").read_text())
    assert content["name"] == "Runs of Jo" and content["creator"] == [{"@type": "Person", "name": "Doe, Jo"}]
    described = {}
    for file, rows in zip(content["distribution"], content["recordSet"], strict=True):
        pattern = file.get("contentUrl") or file["includes"]
        (path,) = out.glob(pattern)
        described[pattern] = {field["name"]: field["dataType"] for field in rows["field"]}
        assert list(described[pattern]) == list(pd.read_parquet(path))
        assert {of["@id"] for field in rows["field"] for of in field["source"].values() if "@id" in of} == {file["@id"]}
        assert "contentUrl" not in file or file["sha256"] == sha256(path)
    assert set(described) == {"runs.parquet", "metrics.parquet", "scores.parquet", "completions/*.parquet"}
    kinds = described["completions/*.parquet"]
    assert [kinds[name] for name in ("text", "tokens", "logprob")] == ["sc:Text", "sc:Integer", "sc:Float"]
    assert described["metrics.parquet"]["held_out"] == "sc:Boolean"


READ = """
import json, sys
import mlcroissant
data = mlcroissant.Dataset(jsonld=sys.argv[1])
found = {rows: sum(1 for _ in data.records(rows)) for rows in ("runs", "metrics", "scores", "completions")}
print(json.dumps([[*data.metadata.issues.errors], [*data.metadata.issues.warnings], found]))
"""


@pytest.mark.slow
def test_mlcroissant_reads_the_rows(results, tmp_path):
    export(results, tmp_path / "out")
    packages = ["mlcroissant==1.1.1", "pyarrow"]
    errors, warnings, counts = read_by(packages, tmp_path / "venv", READ, str(tmp_path / "out" / "croissant.json"))
    assert errors == warnings == []
    assert counts == {"runs": 2, "metrics": 10, "scores": 6, "completions": 24}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--run", "c*"), "c*: none of the finished runs in"),
        (("--run", "unfinished"), "unfinished: none of the finished runs in"),
        (("--results", "nowhere"), "nowhere: no such folder"),
    ],
)
def test_a_wrong_choice_is_one_line_and_leaves_nothing(results, tmp_path, options, message):
    done = export(results, tmp_path / "out", *options, check=False)
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_that_exists_stays_as_it_is(results):
    done = export(results, results, check=False)
    assert done.returncode == 2 and "exists" in done.stderr and (results / "runs").is_dir()


def test_grades_of_other_samples_are_refused(results, tmp_path):
    folder = next((results / "evaluations" / "a").iterdir())
    other = next((results / "evaluations" / "b").iterdir())
    lay_evaluation(results, "other", counts=(0, 2))
    shutil.copyfile(results / "evaluations" / "other" / other.name / "grades.jsonl.gz", folder / "grades.jsonl.gz")
    done = export(results, tmp_path / "out", check=False)
    assert done.returncode == 2 and not (tmp_path / "out").exists()
