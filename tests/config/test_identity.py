"""Identity: commits of hub models and versions of verifiers are in it, and what is loaded is what it names."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from conftest import ROOT, spec_file, tiny
from support.own_config import copied, refused

from rlvr.config import identity
from rlvr.planning.expansion import make_plan
from rlvr.policies.store import load, save
from rlvr.verifiers import math as maths

FIRST, SECOND = "1" * 40, "2" * 40
NAME, REPO = "qwen2.5-0.5b-instruct", "Qwen/Qwen2.5-0.5B-Instruct"


def cached(cache: Path, commit: str, architecture: str, *, branch: str | None = None) -> torch.Tensor:
    """A model in a folder laid out as the hub's client does; returns its embeddings."""
    policy = tiny(architecture)
    home = cache / f"models--{REPO.replace('/', '--')}"
    save(policy, home / "snapshots" / commit)
    if branch:
        (home / "refs").mkdir(exist_ok=True)
        (home / "refs" / branch).write_text(commit)
    return policy.model.get_input_embeddings().weight.detach().clone()


@pytest.fixture
def branch(tmp_path) -> Path:
    """A configuration in which one model names a branch."""
    path = copied(tmp_path) / "config/models.yaml"
    text, count = re.subn(rf"(repo: {re.escape(REPO)}\n  revision: )\w+", r"\1main", path.read_text())
    assert count == 1
    path.write_text(text)
    return tmp_path


def python(*arguments: str, folder: Path = ROOT, source: Path = ROOT / "src", **variables: str):
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", **variables}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def offline(cache: Path) -> dict[str, str]:
    return {"HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1"}


def hub_model(root: Path):
    return next(iter(make_plan(root, "gpu", ["ace"]).models.values()))


def built(root: Path, cache: Path) -> tuple[Path, subprocess.CompletedProcess]:
    out = root / "model" / "manifest.json"
    arguments = ("-m", "rlvr.policies.build", "--spec", str(spec_file(hub_model(root))), "--out", str(out))
    return out, python(*arguments, **offline(cache))


# ---- models of the hub ----


@pytest.mark.broad
def test_every_model_of_the_hub_is_pinned():
    for paper in ("ace", "lens", "agrae"):
        for scale in ("gpu", "paper"):
            models = make_plan(ROOT, scale, [paper]).models.values()
            assert models and all(model.pinned for model in models)


def test_the_one_model_of_a_branch_is_named():
    """We know no commit of facebook/cwm-sft."""
    models = make_plan(ROOT, "paper", ["fade", "pacs"]).models.values()
    assert {model.name for model in models if not model.pinned} == {"cwm-32b"}


@pytest.mark.broad
def test_a_branch_is_planned_and_not_built(branch, tmp_path):
    plan = make_plan(branch, "gpu", ["ace"])
    assert plan.runs and hub_model(branch).revision == "main"
    out, done = built(branch, tmp_path / "cache")
    assert done.returncode == 1 and not out.exists()
    assert done.stderr.strip().splitlines() == [
        f"config/models.yaml: {NAME}.revision: 'main' of {REPO} is a branch; "
        f"run `rlvr models resolve {NAME}`, which writes its commit to config/revisions.yaml"
    ]


@pytest.mark.slow
def test_a_resolved_commit_is_in_every_identity_and_is_what_is_loaded(branch, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = cached(cache, FIRST, "qwen2", branch="main")
    before = make_plan(branch, "gpu", ["ace"])
    listed = ("-m", "rlvr", "models", "--config-folder", str(branch / "config"))
    assert f"unknown: rlvr models resolve {NAME}" in python(*listed).stdout
    resolve = ("-m", "rlvr", "models", "resolve", NAME, "--config-folder", str(branch / "config"))
    done = python(*resolve, **offline(cache))
    assert done.returncode == 0 and f"{NAME}: {REPO} at main is {FIRST}" in done.stdout, done.stderr
    assert f"main        no        {FIRST} (" in python(*listed).stdout
    entry = yaml.safe_load((branch / "config/revisions.yaml").read_text())
    assert set(entry) == {NAME}, "pinned models have no entry"
    assert (entry[NAME]["repo"], entry[NAME]["revision"], entry[NAME]["commit"]) == (REPO, "main", FIRST)

    plan = make_plan(branch, "gpu", ["ace"])
    assert hub_model(branch).revision == FIRST
    for kind in ("runs", "policies", "models"):
        assert len(getattr(plan, kind)) == len(getattr(before, kind))
        assert not set(getattr(plan, kind)) & set(getattr(before, kind)), kind

    out, done = built(branch, cache)
    assert done.returncode == 0, done.stderr
    manifest = json.loads(out.read_text())
    assert manifest["hub"] == {"repo": REPO, "commit": FIRST, "dtype": "bfloat16"} and "files" not in manifest

    # The branch moves on: what was planned and built is loaded as it was.
    second = cached(cache, SECOND, "llama", branch="main")
    assert not torch.equal(first, second)
    code = (
        "import sys, torch; from pathlib import Path; from rlvr.policies.store import load\n"
        "policy = load(Path(sys.argv[1]), dtype=torch.float32)\n"
        "assert policy.tokenizer.eos_token == '<eos>' and policy.tokenizer('1 2')['input_ids'] == [5, 6]\n"
        "torch.save(policy.model.get_input_embeddings().weight.detach(), sys.argv[2])"
    )
    done = python("-c", code, str(out), str(tmp_path / "loaded.pt"), **offline(cache))
    assert done.returncode == 0, done.stderr
    assert torch.equal(torch.load(tmp_path / "loaded.pt"), first)

    again = python(*resolve, **offline(cache))
    assert f"at main is {SECOND}; it was {FIRST}, and its runs get new names" in again.stdout
    assert not set(make_plan(branch, "gpu", ["ace"]).runs) & set(plan.runs)


def test_what_was_resolved_for_another_branch_is_not_used(branch):
    found = {"repo": REPO, "revision": "v2", "commit": FIRST, "date": "2026-11-22"}
    (branch / "config/revisions.yaml").write_text(yaml.safe_dump({NAME: found}))
    assert hub_model(branch).revision == "main"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"qwen2-tini": {"commit": FIRST}}, "unknown model 'qwen2-tini'; did you mean 'qwen2-tiny'"),
        ({NAME: {"commit": "main"}}, rf"{NAME}.commit: .*\(got 'main'\)"),
        ({NAME: {"comit": FIRST}}, rf"{NAME}.comit: unknown key; did you mean 'commit'"),
    ],
)
def test_a_mistake_in_the_file_is_named(branch, entry, message):
    content = {name: {"repo": REPO, "revision": "main", "date": "2026-11-22", **given} for name, given in entry.items()}
    (branch / "config/revisions.yaml").write_text(yaml.safe_dump(content))
    refused(branch, f"config/revisions.yaml: {message}", "ace", scale="gpu")


@pytest.mark.broad
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([NAME], "no such file; ask the hub itself, without HF_HUB_OFFLINE"),
        (["qwen2.5-3"], "NAME: unknown model of the hub 'qwen2.5-3'; did you mean 'qwen2.5-3b'?"),
        (["qwen2-tiny"], "NAME: unknown model of the hub 'qwen2-tiny'"),
    ],
)
def test_what_cannot_be_resolved_is_named_and_nothing_is_written(branch, tmp_path, names, message):
    asked = ("-m", "rlvr", "models", "resolve", *names, "--config-folder", str(branch / "config"))
    done = python(*asked, **offline(tmp_path / "empty"))
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (branch / "config/revisions.yaml").exists()


@pytest.mark.broad
def test_a_pinned_model_is_not_asked_for(tmp_path):
    done = python("-m", "rlvr", "models", "resolve", "qwen2.5-3b", **offline(tmp_path))
    assert done.returncode == 0 and "qwen2.5-3b: is pinned to 3aab1f19" in done.stdout
    assert not (ROOT / "config/revisions.yaml").exists()


@pytest.mark.broad
def test_a_manifest_without_a_commit_is_refused(tmp_path):
    from rlvr.files import RecordError

    old = tmp_path / "manifest.json"
    old.write_text(json.dumps({"hub": {"repo": REPO, "revision": "main", "dtype": "float32"}, "template": "{problem}"}))
    with pytest.raises(RecordError, match=f"names no commit of {REPO}; delete it to make it again"):
        load(old)


# ---- verifiers ----

RUNS = """
import json, sys
from rlvr.planning.expansion import make_plan
found = {}
for scale in ("smoke", "paper"):
    plan = make_plan(sys.argv[1], scale, ["ace"])
    for run, spec in plan.runs.items():
        found.setdefault(spec.data.verifier, []).append(run)
    for name in ("policies", "evaluations", "models"):
        found.setdefault("others", []).extend(getattr(plan, name))
heavy = [name for name in ("torch", "sympy", "math_verify", "transformers") if name in sys.modules]
print(json.dumps({"found": found, "heavy": heavy}))
"""


def planned(source: Path) -> dict[str, list[str]]:
    done = python("-c", RUNS, str(ROOT), source=source)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["heavy"] == [], "planning loads no verifier's libraries"
    return content["found"]


@pytest.mark.broad
@pytest.mark.parametrize("changed", ["operators", "math"])
def test_another_version_of_a_verifier_makes_new_runs_of_what_it_rewards(tmp_path, changed):
    shutil.copytree(ROOT / "src", tmp_path / "src")
    before = planned(tmp_path / "src")
    assert set(before) == {"operators", "math", "others"} and all(before.values())
    module = tmp_path / f"src/rlvr/verifiers/{changed}.py"
    text, count = re.subn(r"^VERSION = \d+$", "VERSION = 9", module.read_text(), flags=re.MULTILINE)
    assert count == 1
    module.write_text(text)
    after = planned(tmp_path / "src")
    assert not set(after[changed]) & set(before[changed]) and len(after[changed]) == len(before[changed])
    assert all(after[key] == before[key] for key in before if key != changed)


def test_the_first_version_is_left_out():
    """So that the runs of operator fill keep the names that they had before versions were in an identity."""
    smoke, paper = (next(iter(make_plan(ROOT, scale, ["ace"]).runs.values())) for scale in ("smoke", "paper"))
    assert "verifier_version" not in json.loads(identity.canonical(smoke))
    assert json.loads(identity.canonical(paper))["verifier_version"] == maths.VERSION > 1
    assert "verifier_version" not in json.loads(identity.canonical(paper.base))
