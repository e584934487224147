"""Policies of the native engine on disk: read and written without transformers, and what transformers reads."""

import json

import numpy as np
import pytest
import torch
from conftest import tiny
from safetensors.torch import load_file, save_file

from rlvr.files import publish_json
from rlvr.policies import store
from rlvr.policies.native import saved, trained
from rlvr.policies.native.model import Unsupported

TEXTS = ["1 2 3 = 6", "8 8 6 = 58", "no such word", "", "  1   2 "]


@pytest.fixture(params=["qwen2", "qwen3", "llama"])
def manifest(request, tmp_path):
    policy = tiny(request.param)
    publish_json(tmp_path / "manifest.json", store.saved_beside(tmp_path / "manifest.json", policy))
    return tmp_path / "manifest.json"


def test_token_ids_and_texts_are_those_of_transformers(manifest):
    ours, theirs = trained.load(manifest), store.load(manifest)
    assert (ours.eos, ours.pad, ours.template) == (theirs.eos, theirs.pad, theirs.template)
    assert ours.encode(TEXTS) == theirs.encode(TEXTS)
    assert ours.tokenizer.get_vocab() == theirs.tokenizer.get_vocab()
    rows = np.random.default_rng(1).integers(0, len(theirs.tokenizer), (50, 20))
    assert ours.decode(list(rows)) == theirs.decode(list(rows))


def test_what_is_saved_is_what_transformers_loads(manifest, tmp_path):
    policy = trained.load(manifest)
    with torch.no_grad():
        policy.model.flat += 1.0
    again = tmp_path / "again"
    sums = store.save(policy, again)
    assert set(sums) == {file.name for file in (tmp_path / "policy").iterdir()}
    store.publish_manifest(tmp_path / "again.json", again, sums, policy.template)
    before, after = store.load(manifest), store.load(tmp_path / "again.json")
    assert after.encode(TEXTS) == before.encode(TEXTS)
    assert json.loads((again / "config.json").read_text()) == json.loads((tmp_path / "policy/config.json").read_text())
    state = after.model.state_dict()
    for name, tensor in before.model.state_dict().items():
        assert torch.equal(state[name], tensor + 1.0), name
    assert torch.equal(trained.load(tmp_path / "again.json").model.flat, policy.model.flat)


def test_weights_in_half_precision_are_read_as_transformers_reads_them(tmp_path):
    for dtype in (torch.bfloat16, torch.float16):
        policy = tiny("llama")
        policy.model.to(dtype)
        sums = store.save(policy, tmp_path / str(dtype) / "policy")
        manifest = tmp_path / str(dtype) / "manifest.json"
        store.publish_manifest(manifest, manifest.parent / "policy", sums, policy.template)
        expected = store.load(manifest, dtype=torch.float32).model.state_dict()
        for name, tensor in trained.load(manifest).model.state_dict().items():
            assert torch.equal(tensor, expected[name])


def test_weights_of_another_shape_or_missing_are_refused(manifest, tmp_path):
    weights = load_file(tmp_path / "policy" / saved.WEIGHTS)
    name = "model.norm.weight"
    for change, word in (({name: weights[name][1:].clone()}, r"\(63,\)"), ({name: None}, "missing")):
        content = {key: value for key, value in {**weights, **change}.items() if value is not None}
        save_file(content, tmp_path / "policy" / saved.WEIGHTS)
        with pytest.raises(Unsupported, match=f"{name} is {word}"):
            saved.SavedModel.read(tmp_path / "policy")
    (tmp_path / "policy" / saved.WEIGHTS).unlink()
    with pytest.raises(Unsupported, match="one file"):
        saved.SavedModel.read(tmp_path / "policy")


def test_a_tokenizer_that_the_engine_would_read_otherwise_is_refused(manifest, tmp_path):
    path = tmp_path / "policy" / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    for change, word in (
        ({"clean_up_tokenization_spaces": True}, "clean_up"),
        ({"eos_token": None}, "end-of-sequence"),
    ):
        path.write_text(json.dumps({**settings, **change}))
        with pytest.raises(Unsupported, match=word):
            saved.SavedTokenizer(tmp_path / "policy")
