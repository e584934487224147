"""Models of the hub: fetched once by the client's own code from a hub on this machine, then read without network."""

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
from support.local_hub import serving

from rlvr.config.layers import ConfigError
from rlvr.config.schema.models_and_data import AboutModel, HubModel
from rlvr.planning.expansion import make_plan
from rlvr.policies.store import save

REPO, COMMIT = "meta-llama/Llama-3.1-8B-Instruct", "3" * 40
MODEL = HubModel(name="llama", source="hub", repo=REPO, revision=COMMIT, template="{problem}", dtype="bfloat16")
LOAD = (
    "import os, sys; from pathlib import Path; from rlvr.policies.store import load, locate\n"
    "place = locate(Path(sys.argv[1])); assert os.environ['HF_HUB_OFFLINE'] == '1'\n"
    "print(place.location, load(Path(sys.argv[1])).model.dtype)"
)


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """A repository with a second copy of the weights, as Llama's."""
    folder, policy = tmp_path_factory.mktemp("repository") / "files", tiny("llama")
    policy.model.to(torch.bfloat16)
    save(policy, folder)
    (folder / "original").mkdir()
    (folder / "original" / "consolidated.00.pth").write_bytes(b"twice")
    (folder / "old.pth").write_bytes(b"thrice")
    return folder


def python(cache: Path, address: str, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    variables = {"HF_HOME": str(cache), "HF_ENDPOINT": address, "OMP_NUM_THREADS": "1", "HF_HUB_DISABLE_XET": "1"}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")} | variables | more
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


def build(cache: Path, address: str, out: Path, **more: str) -> subprocess.CompletedProcess:
    arguments = ("-m", "rlvr.policies.build", "--spec", str(spec_file(MODEL)), "--out", str(out))
    return python(cache, address, *arguments, **more)


@pytest.mark.slow
def test_a_model_is_fetched_once_and_then_read_without_a_hub(published, tmp_path):
    cache, out = tmp_path / "cache", tmp_path / "model" / "manifest.json"
    with serving(REPO, COMMIT, published) as hub:
        done = build(cache, hub.address, out)
        assert done.returncode == 0, done.stderr
        assert "model.safetensors" in hub.fetched and not [name for name in hub.fetched if "pth" in name]
        count = len(hub.fetched)
        assert build(cache, hub.address, out).returncode == 0 and len(hub.fetched) == count
        address = hub.address
    manifest = json.loads(out.read_text())
    assert manifest["hub"] == {"repo": REPO, "commit": COMMIT, "dtype": "bfloat16"}
    folder = Path(manifest["snapshot"]["folder"])
    assert set(manifest["snapshot"]["files"]) == set(hub.fetched) and folder.name == COMMIT

    done = python(cache, address, "-c", LOAD, str(out))  # nobody answers any more
    assert done.stdout.split() == [str(folder), "torch.bfloat16"], done.stderr
    moved = shutil.move(cache, tmp_path / "moved")
    done = python(Path(moved), address, "-c", LOAD, str(out))  # a container with a cache of its own
    assert done.stdout.split()[0].startswith(str(moved)), done.stderr
    (Path(moved) / folder.relative_to(cache) / "config.json").unlink()
    done = python(Path(moved), address, "-c", LOAD, str(out))
    assert done.returncode == 1
    assert f"is no longer whole in the hub's cache ({folder}); delete {out} to fetch it again" in done.stderr


def test_a_gated_model_and_a_missing_network_are_one_line_each(published, tmp_path):
    out = tmp_path / "manifest.json"
    with serving(REPO, COMMIT, published, gated=True) as hub:
        done = build(tmp_path / "cache", hub.address, out)
        assert done.returncode == 1 and done.stderr.strip().splitlines()[-1] == (
            f"{REPO} is gated: accept its terms at https://huggingface.co/{REPO}, then log in with `hf auth login` "
            "(the hub answered 401; no token was found on this machine)"
        )
        assert "Traceback" not in done.stderr
        (tmp_path / "cache" / "token").write_text("let-me-in")
        assert build(tmp_path / "cache", hub.address, out).returncode == 0
        address = hub.address
    done = build(tmp_path / "empty", address, out, HF_HUB_OFFLINE="1")  # the client tries for 23 s otherwise
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"{REPO} at {COMMIT} is not whole in the hub's cache ({tmp_path}/empty/hub)" in done.stderr
    assert "fetch it where there is network" in done.stderr.strip().splitlines()[-1]


def test_gated_models_are_named_before_any_job(tmp_path, monkeypatch):
    from rlvr.workflow import gated

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    models = make_plan(ROOT, "paper", ["ace"]).models.values()
    (line,) = gated.notices(models)
    assert line.startswith(f"{REPO} is gated: accept its terms at https://huggingface.co/{REPO}, then log in with")
    assert not gated.notices(make_plan(ROOT, "laptop", ["ace"]).models.values())


# ---- what models.yaml says of them ----


def test_every_model_of_the_hub_has_licence_and_context_with_a_source():
    entries = yaml.safe_load((ROOT / "config/models.yaml").read_text())
    about = {name: AboutModel(**entry["about"]) for name, entry in entries.items() if entry["source"] == "hub"}
    assert len(about) == 15 and {name for name, entry in about.items() if entry.gated} == {
        *("llama-3.1-8b-instruct", "llama-3.2-3b-instruct", "cwm-32b")
    }


def test_every_model_of_the_hub_is_a_commit_but_one_whose_commits_need_access():
    entries = yaml.safe_load((ROOT / "config/models.yaml").read_text())
    revisions = {name: entry["revision"] for name, entry in entries.items() if entry["source"] == "hub"}
    assert {name: r for name, r in revisions.items() if re.fullmatch("[0-9a-f]{40}", r) is None} == {"cwm-32b": "main"}


@pytest.fixture
def copy(tmp_path) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


def edit(root: Path, file: str, old: str, new: str) -> None:
    text = (root / "config" / file).read_text()
    assert old in text
    (root / "config" / file).write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("paper", "file", "old", "new", "message"),
    [
        ("agrae", "papers/agrae/paper.yaml", "max_total_tokens: 4096}", "max_total_tokens: null}",
         r"^config/defaults.yaml: rollout.max_prompt_tokens: 1024 and config/papers/agrae/paper.yaml: "
         r"settings.evaluation.max_response_tokens: 4096: 5120 tokens are more than the context of qwen2.5-math-7b, "
         r"4096 \(config/models.yaml: qwen2.5-math-7b.about.context\); lower one of them, or set evaluation.max_total"),
        ("agrae", "papers/agrae/paper.yaml", "max_total_tokens: 4096}", "max_total_tokens: 4097}",
         r"^config/papers/agrae/paper.yaml: models.qwen2.5-math-7b.settings.evaluation.max_total_tokens: 4097: 4097 "),
        ("ace", "models.yaml", "context: 4096", "context: 4023",
         r"rollout.max_prompt_tokens: 1024 and config/papers/ace/paper.yaml: .*max_response_tokens: 3000: 4024 tokens"),
        ("ace", "models.yaml", "source: *card", "sauce: x", r"about.sauce: unknown key; did you mean 'source'"),
    ],
)  # fmt: skip
def test_a_context_that_is_too_short_or_without_a_source_is_an_error_of_the_plan(copy, paper, file, old, new, message):
    make_plan(copy, "paper", [paper])
    edit(copy, file, old, new)
    with pytest.raises(ConfigError, match=message):
        make_plan(copy, "paper", [paper])


def test_only_the_short_model_of_a_grae_has_fewer_tokens():
    plan = make_plan(ROOT, "paper", ["agrae"])
    limits = {spec.sampling.max_total_tokens for spec in plan.evaluations.values()}
    assert limits == {None, 4096} and {s.sampling.max_response_tokens for s in plan.evaluations.values()} == {4096}
    for scale in ("gpu", "laptop", "smoke"):
        evaluations = make_plan(ROOT, scale, ["agrae"]).evaluations.values()
        assert {spec.sampling.max_total_tokens for spec in evaluations} == {None}, "stand-ins have longer contexts"
