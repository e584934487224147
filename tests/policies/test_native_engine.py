"""The native engine against transformers' own forward pass, the torch decoder and its sampler; and its bits."""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from support.native_models import LARGE, SHAPES, WAYS, drawn, loaded, made, rows, saved

from rlvr.policies.decoder import Decoder
from rlvr.policies.native import library
from rlvr.policies.native.engine import Engine
from rlvr.policies.native.model import Model
from rlvr.policies.sampler import sample


@pytest.fixture(params=SHAPES)
def model(request):
    return made(*SHAPES[request.param])


def theirs(model, prompts_PL, lengths_P, prompt_N, responses_NT, lengths_N, score=None):
    """log pi (N, T) row by row through transformers' own pass, zeros on padding; and a linear score of the states."""
    logp, values = [], []
    for prompt, response, length in zip(prompt_N, responses_NT, lengths_N, strict=True):
        start = int(lengths_P[prompt])
        whole = np.concatenate([prompts_PL[prompt, :start], response[:length]])[None]
        out = model(torch.from_numpy(whole), output_hidden_states=True)
        scores = out.logits[0, start - 1 : start + length - 1].log_softmax(-1)
        chosen = scores.gather(-1, torch.from_numpy(response[:length, None])).squeeze(-1)
        logp.append(torch.nn.functional.pad(chosen, (0, len(response) - length)))
        if score is not None:
            states = out.hidden_states[-1][0, start - 1 : start + length - 1]
            values.append(torch.nn.functional.pad(score(states).squeeze(-1), (0, len(response) - length)))
    return torch.stack(logp), torch.stack(values) if values else None


def gradient(model, names) -> np.ndarray:
    parameters = dict(model.named_parameters())
    return np.concatenate([parameters[name].grad.numpy().ravel() for name in names])


def distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


# ---- forward and backward pass ----


def test_memory_of_a_pass_without_gradient_is_that_of_a_block():
    """Not that of all tokens times the vocabulary: 4,800 tokens and 20,000 words would be 384 MB."""
    script = """
import resource, sys
import numpy as np
from rlvr.policies.native.engine import Engine
from rlvr.policies.native.model import Model
words = 20_000
shape = {"hidden": 16, "heads": 1, "kv_heads": 1, "head_dim": 16, "ffn": 16, "layers": 1, "vocab": words}
engine = Engine(Model(**shape, biases=False, norms=False, tied=True, epsilon=1e-5, theta=1e4))
random = np.random.default_rng(0)
engine.load(random.normal(size=engine.size).astype(np.float32))
prompts, lengths = random.integers(0, words, (60, 4)), np.full(60, 4)
rows = np.repeat(np.arange(60), 8), random.integers(0, words, (480, 10)), np.full(480, 10)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
engine.logprobs(prompts, lengths, *rows)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 100


def test_training_and_sampling_share_their_memory():
    """A backward pass needs 180 MB here, and the slots of sampling 85: a run that does both in turn needs 180."""
    script = """
import resource
import numpy as np
from rlvr.policies.native.engine import Engine
from rlvr.policies.native.model import Model
shape = {"hidden": 64, "heads": 4, "kv_heads": 4, "head_dim": 16, "ffn": 64, "layers": 16, "vocab": 64}
model = Model(**shape, biases=False, norms=False, tied=True, epsilon=1e-5, theta=1e4)
engine = Engine(model)
random = np.random.default_rng(0)
engine.load(random.normal(size=engine.size).astype(np.float32) / 8)
most = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
prompts, lengths = random.integers(0, 64, (60, 4)), np.full(60, 4)
before = most()
rows = np.repeat(np.arange(60), 8), random.integers(0, 64, (480, 11)), np.full(480, 11)
engine.logprobs(prompts, lengths, *rows, keep=True)
trained = most()
engine.sample(prompts[:4], lengths[:4], random.random((4, 8, 300)), eos_token=64, pad_token=0)
wide = 518  # floats of a node and layer: three states, queries, keys and values, gate and up, norms, sums of heads
print(engine.nodes * model.layers * 4 * wide / 2**20, trained - before, most() - trained)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    kept, trained, more = map(float, done.stdout.split())
    assert kept > 100
    assert trained < 1.2 * kept
    assert more < 20


@pytest.mark.parametrize(("theta", "size"), [(1e4, 64), (1e5, 64), (1e6, 128)])
def test_rotations_are_those_of_exact_powers_on_every_processor(theta, size):
    shape = {"hidden": 16, "heads": 1, "kv_heads": 1, "head_dim": size, "ffn": 16, "layers": 1, "vocab": 16}
    model = Model(**shape, biases=False, norms=False, tied=True, epsilon=1e-5, theta=theta)
    powers = [np.float32(math.pow(theta, float(np.float32(i) / np.float32(size)))) for i in range(0, size, 2)]
    angles = np.arange(300, dtype=np.float32)[:, None] * (np.float32(1) / np.array(powers))
    for found, expected in zip(model.rotations(300), (np.cos(angles), np.sin(angles)), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", [1, 2])
def test_log_probabilities_and_gradients_are_those_of_transformers(model, seed):
    assert_as_transformers(model, seed)


def test_large_products_in_parts_too():
    assert_as_transformers(made(*LARGE), 1)


def assert_as_transformers(model, seed):
    """In float64, so that only the engine rounds."""
    engine = loaded(model)
    batch = rows(engine.model.vocab, seed)
    ours, _ = engine.logprobs(*batch, keep=True)
    weights = np.random.default_rng(seed).standard_normal(ours.shape).astype(np.float32)
    flat = np.zeros(engine.size, np.float32)
    engine.backward(weights, flat)
    expected, _ = theirs(model.double(), *batch)
    assert np.abs(ours - expected.detach().numpy()).max() < 1e-4
    (expected * torch.from_numpy(weights)).sum().backward()
    assert distance(flat, gradient(model, engine.model.weights())) < 1e-5


def test_log_probabilities_and_gradients_are_those_of_the_decoder(model):
    engine = loaded(model)
    batch = rows(engine.model.vocab, 5)
    inside = np.arange(batch[3].shape[1]) < batch[4][:, None]
    expected = Decoder(model).logprobs(*map(torch.from_numpy, batch)) * torch.from_numpy(inside)
    ours, _ = engine.logprobs(*batch, keep=True)
    assert np.abs(ours - expected.detach().numpy()).max() < 1e-4
    weights = np.random.default_rng(1).standard_normal(ours.shape).astype(np.float32)
    flat = np.zeros(engine.size, np.float32)
    engine.backward(weights, flat)
    (expected * torch.from_numpy(weights)).sum().backward()
    assert distance(flat, gradient(model, engine.model.weights())) < 1e-5


def test_values_and_their_gradients_are_those_of_a_linear_score_of_the_states(model):
    """As in transformers' token classification, which verl's critic is: of the state before each token."""
    with torch.random.fork_rng():
        torch.manual_seed(9)
        score = torch.nn.Linear(model.config.hidden_size, 1)
    engine = loaded(model, value_head=score)
    batch = rows(engine.model.vocab, 6)
    ours, values = engine.logprobs(*batch, keep=True, values=True)
    random = np.random.default_rng(2)
    by_logp, by_value = (random.standard_normal(ours.shape).astype(np.float32) for _ in range(2))
    flat = np.zeros(engine.size, np.float32)
    engine.backward(by_logp, flat, by_value)
    logp, expected = theirs(model.double(), *batch, score=score.double())
    assert np.abs(values - expected.detach().numpy()).max() < 1e-4
    ((logp * torch.from_numpy(by_logp)).sum() + (expected * torch.from_numpy(by_value)).sum()).backward()
    both = torch.nn.ModuleDict({"model": model.model, "score": score})
    both.update({} if engine.model.tied else {"lm_head": model.lm_head})
    assert distance(flat, gradient(both, engine.model.weights())) < 1e-5


def test_a_gradient_is_added_and_of_zero_derivatives_it_is_zero(model):
    engine = loaded(model)
    batch = rows(engine.model.vocab, 4)
    ones = np.ones_like(engine.logprobs(*batch, keep=True)[0])
    once, twice, none = (np.zeros(engine.size, np.float32) for _ in range(3))
    engine.backward(ones, once)
    for _ in range(2):
        engine.backward(ones, twice)
    engine.backward(0 * ones, none)
    np.testing.assert_array_equal(twice, once + once)
    assert not none.any() and once.any()


def test_no_rows_and_only_empty_ones(model):
    engine = loaded(model)
    prompts_PL, lengths_P, prompt_N, responses_NT, lengths_N = rows(engine.model.vocab, 1)
    flat = np.zeros(engine.size, np.float32)
    for count in (0, len(prompt_N)):
        part = prompt_N[:count], responses_NT[:count], 0 * lengths_N[:count]
        logp, _ = engine.logprobs(prompts_PL, lengths_P, *part, keep=True)
        engine.backward(logp, flat)
        assert logp.shape == responses_NT[:count].shape and not logp.any() and not flat.any() and engine.nodes == 0


# ---- sampling ----


@pytest.mark.parametrize("way", WAYS)
def test_samples_are_the_torch_samplers_from_the_same_noise(model, way):
    inputs, arguments, ours = drawn(loaded(model), way=way)
    expected = sample(Decoder(model, frozen=True), *map(torch.from_numpy, inputs), **arguments)
    np.testing.assert_array_equal(ours.tokens_PGT, expected.tokens_PGT.numpy())
    np.testing.assert_array_equal(ours.lengths_PG, expected.lengths_PG.numpy())
    np.testing.assert_array_equal(ours.finished_PG, expected.finished_PG.numpy())
    np.testing.assert_allclose(ours.logprobs_PGT, expected.logprobs_PGT.numpy(), rtol=0, atol=1e-4)
    np.testing.assert_allclose(ours.entropy_PGT, expected.entropy_PGT.numpy(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("way", ["plain", "papers'"])
def test_the_shares_of_the_first_token_are_the_exact_probabilities(way):
    """20,000 samples of one token: a chi-squared of the cells that the exact distribution allows."""
    model = made(*SHAPES["llama untied"])
    engine, (temperature, top_p) = loaded(model), WAYS[way]
    prompts_PL, lengths_P = np.array([[3, 1, 4]]), np.array([3])
    noise = np.random.default_rng(8).random((1, 20_000, 1))
    ours = engine.sample(prompts_PL, lengths_P, noise, eos_token=2, pad_token=0, temperature=temperature, top_p=top_p)
    logits = model(torch.from_numpy(prompts_PL)).logits[0, -1].double() / temperature
    p, order = logits.softmax(-1).sort(descending=True)
    kept = p * (p.cumsum(0) - p < top_p)
    expected = torch.zeros_like(p).scatter(0, order, kept / kept.sum()).detach().numpy()
    counts = np.bincount(ours.tokens_PGT.ravel(), minlength=len(expected))
    assert not counts[expected == 0].any()
    cells = expected > 0
    chi = ((counts - 20_000 * expected) ** 2)[cells] / (20_000 * expected[cells])
    assert chi.sum() < cells.sum() + 5 * np.sqrt(2 * cells.sum())


def test_a_sample_depends_on_neither_its_batch_nor_its_neighbours(model):
    """Bits: prompts alone, fewer rollouts, in another order, beside others."""
    engine = loaded(model)
    (prompts_PL, lengths_P, noise), arguments, whole = drawn(engine, prompts=9, rollouts=20)
    for p, few in ((0, 20), (4, 3), (8, 1)):
        one = engine.sample(prompts_PL[p : p + 1], lengths_P[p : p + 1], noise[p : p + 1, :few], **arguments)
        used = one.tokens_PGT.shape[-1]
        for name in ("tokens_PGT", "logprobs_PGT", "entropy_PGT"):
            np.testing.assert_array_equal(getattr(one, name)[0], getattr(whole, name)[p, :few, :used])
    back = engine.sample(prompts_PL[::-1].copy(), lengths_P[::-1].copy(), noise[::-1].copy(), **arguments)
    np.testing.assert_array_equal(back.logprobs_PGT[::-1], whole.logprobs_PGT)


def test_log_probabilities_depend_on_neither_their_batch_nor_what_was_computed_before(model):
    engine = loaded(model)
    prompts_PL, lengths_P, *batch = rows(engine.model.vocab, 3)
    whole, _ = engine.logprobs(prompts_PL, lengths_P, *batch, keep=True)
    again, _ = loaded(model).logprobs(prompts_PL, lengths_P, *batch)
    np.testing.assert_array_equal(again, whole)
    for n in (0, 3, 11):
        one, _ = engine.logprobs(prompts_PL, lengths_P, *(x[n : n + 1] for x in batch))
        np.testing.assert_array_equal(one[0], whole[n])


def test_a_samples_log_probability_is_that_of_the_forward_pass_to_the_bit(model):
    """So the ratio of a first update is one, and a policy equal to its reference has a log ratio of zero."""
    engine = loaded(model)
    (prompts_PL, lengths_P, _noise), _, ours = drawn(engine, prompts=9, rollouts=12)
    rollouts, tokens = ours.tokens_PGT.shape[1:]
    prompt_N, flat = np.repeat(np.arange(9), rollouts), ours.tokens_PGT.reshape(-1, tokens)
    scored, _ = engine.logprobs(prompts_PL, lengths_P, prompt_N, flat, ours.lengths_PG.ravel())
    np.testing.assert_array_equal(scored, ours.logprobs_PGT.reshape(-1, tokens))


def test_processors_with_avx2_and_with_avx512_compute_the_same_bits(model):
    if not library.processor_flags().issuperset(library.LEVELS["v4"]):
        pytest.skip("this processor has no AVX-512")
    libraries = [library.prepared(ctypes.CDLL(str(path))) for path in library.built()]
    assert len(libraries) == 2, library.built()
    results = []
    for compiled in libraries:
        content = saved(model)
        engine = Engine(content.model, compiled)
        engine.load(content.flat)
        logp, _ = engine.logprobs(*rows(engine.model.vocab, 2), keep=True)
        flat = np.zeros(engine.size, np.float32)
        engine.backward(np.cos(np.arange(logp.size, dtype=np.float32)).reshape(logp.shape), flat)
        results.append([logp, flat, *vars(drawn(engine, way="papers'")[2]).values()])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
