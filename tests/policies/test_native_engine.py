"""The native engine against transformers' own forward pass, the torch decoder and its sampler; its bits; its border."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest
import torch
import transformers

from rlvr.policies.decoder import Decoder
from rlvr.policies.errors import NonFinite
from rlvr.policies.native import library
from rlvr.policies.native.engine import Engine
from rlvr.policies.native.model import Model, Unsupported
from rlvr.policies.native.saved import SavedModel, named
from rlvr.policies.native.trained import FlatAdamW, NativeModel
from rlvr.policies.sampler import sample

if library.missing():
    pytest.fail(f"the native engine: {library.missing()}", pytrace=False)

# Architecture, tied, hidden, heads, key-value heads, head dimension, MLP, vocabulary, layers: with and without padding.
SHAPES = {
    "qwen2": ("Qwen2", True, 64, 2, 1, 32, 128, 76, 3),
    "qwen2 untied": ("Qwen2", False, 48, 4, 4, 12, 40, 33, 2),
    "qwen3": ("Qwen3", True, 64, 2, 1, 32, 128, 76, 3),
    "qwen3 untied": ("Qwen3", False, 40, 4, 2, 6, 56, 37, 2),
    "llama": ("Llama", True, 64, 2, 1, 32, 144, 76, 3),
    "llama untied": ("Llama", False, 24, 2, 2, 12, 20, 17, 1),
    "wide": ("Qwen3", True, 80, 8, 2, 16, 100, 150, 1),  # panels of five registers, and a remainder
}


@pytest.fixture(params=SHAPES)
def model(request):
    return made(*SHAPES[request.param])


def made(name, tied, hidden, heads, kv_heads, head_dim, ffn, vocab, layers):
    config = getattr(transformers, f"{name}Config")(
        vocab_size=vocab, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=kv_heads, head_dim=head_dim, intermediate_size=ffn, tie_word_embeddings=tied,
        max_position_embeddings=64, initializer_range=0.15, rope_theta=1234.0,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = getattr(transformers, f"{name}ForCausalLM")(config)
        for parameter in model.parameters():  # norms and biases that are not ones and zeros
            if parameter.ndim == 1:
                parameter.data += 0.2 * torch.randn_like(parameter)
    return model


def saved(model, *, value_head=None) -> SavedModel:
    config = {**model.config.to_dict(), "architectures": [type(model).__name__]}
    shape = Model.of(config, value_head=value_head is not None)
    state = {
        **model.state_dict(),
        **({f"score.{k}": v for k, v in value_head.state_dict().items()} if value_head else {}),
    }
    flat = np.concatenate([state[name].numpy().ravel() for name in shape.weights()])
    return SavedModel(shape, config, flat)


def loaded(model, **options) -> Engine:
    content = saved(model, **options)
    made = Engine(content.model)
    made.load(content.flat)
    return made


def rows(vocab: int, seed: int, prompts=6, members=7, longest=9, tokens=14):
    """Ragged prompts, in no order; responses with common beginnings, equal ones, of one token and of none."""
    random = np.random.default_rng(seed)
    prompts_PL = random.integers(0, vocab, (prompts, longest))
    lengths_P = random.integers(1, longest + 1, prompts)
    prompt_N = np.repeat(np.arange(prompts), members)
    responses_NT = random.integers(0, min(vocab, 3), (prompts * members, tokens))
    lengths_N = random.integers(0, tokens + 1, prompts * members)
    lengths_N[:members] = 1  # a prompt whose responses all have one token
    lengths_N[members : 2 * members] = 0  # one without any token
    responses_NT[2 * members : 3 * members] = responses_NT[2 * members]  # one whose responses are equal, but for length
    order = random.permutation(len(prompt_N))
    return prompts_PL, lengths_P, prompt_N[order], responses_NT[order], lengths_N[order]


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


@pytest.mark.parametrize("seed", [1, 2])
def test_log_probabilities_and_gradients_are_those_of_transformers(model, seed):
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

WAYS = {"plain": (1.0, 1.0), "papers'": (0.7, 0.95), "narrow": (1.3, 0.4), "greedy": (0.0, 1.0)}


def drawn(engine, prompts=5, rollouts=8, tokens=20, seed=1, way="plain"):
    random = np.random.default_rng(seed)
    prompts_PL = random.integers(0, engine.model.vocab, (prompts, 7))
    lengths_P = random.integers(1, 8, prompts)
    noise = random.random((prompts, rollouts, tokens))
    temperature, top_p = WAYS[way]
    arguments = {"eos_token": 2, "pad_token": 0, "temperature": temperature, "top_p": top_p}
    return (prompts_PL, lengths_P, noise), arguments, engine.sample(prompts_PL, lengths_P, noise, **arguments)


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
    libraries = [library.prepared(ctypes.CDLL(str(path))) for path in library.built()]
    if len(libraries) < 2:
        pytest.skip("this processor runs one of the libraries")
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


# ---- the border ----


def test_every_shape_length_and_token_is_checked(model):
    engine = loaded(model)
    prompts_PL, lengths_P, prompt_N, responses_NT, lengths_N = batch = rows(engine.model.vocab, 1)
    vocab, wrong = engine.model.vocab, []
    for at, value in itertools.product(range(5), (-1, vocab, 10**6)):
        changed = [array.copy() for array in batch]
        changed[at].flat[0] = value
        if at == 0:
            changed[1][:] = prompts_PL.shape[1]
        if at == 3:
            changed[4][:] = responses_NT.shape[1]
        wrong.append((at, value, changed))
    wrong.append(("a prompt of no token", 0, [prompts_PL, 0 * lengths_P, prompt_N, responses_NT, lengths_N]))
    wrong.append(("int32", 0, [array.astype(np.int32) for array in batch]))
    wrong.append(("rows", 0, [prompts_PL, lengths_P, prompt_N[1:], responses_NT, lengths_N]))
    wrong.append(("one dimension", 0, [prompts_PL, lengths_P[1:], prompt_N, responses_NT, lengths_N]))
    for at, value, arrays in wrong:
        if at in (1, 4) and 0 <= value <= arrays[0].shape[1]:
            continue
        with pytest.raises(ValueError):
            engine.logprobs(*arrays)
            pytest.fail(f"{at} {value} was taken")


def test_tokens_of_padding_may_be_anything(model):
    engine = loaded(model)
    prompts_PL, lengths_P, prompt_N, responses_NT, lengths_N = rows(engine.model.vocab, 1)
    expected, _ = engine.logprobs(prompts_PL, lengths_P, prompt_N, responses_NT, lengths_N)
    prompts_PL[np.arange(prompts_PL.shape[1]) >= lengths_P[:, None]] = -7
    responses_NT[np.arange(responses_NT.shape[1]) >= lengths_N[:, None]] = 10**9
    ours, _ = engine.logprobs(prompts_PL, lengths_P, prompt_N, responses_NT, lengths_N)
    np.testing.assert_array_equal(ours, expected)


def test_the_order_of_calls_and_the_size_of_arrays_are_checked(model):
    engine = loaded(model)
    batch = rows(engine.model.vocab, 1)
    flat = np.zeros(engine.size, np.float32)
    logp, _ = engine.logprobs(*batch)
    with pytest.raises(ValueError, match="keep=True"):
        engine.backward(logp, flat)
    logp, _ = engine.logprobs(*batch, keep=True)
    for derivatives, gradients in ((logp[1:], flat), (logp.astype(np.float64), flat), (logp, flat[1:]), (logp.T, flat)):
        with pytest.raises(ValueError, match="not contiguous"):
            engine.backward(derivatives, gradients)
    with pytest.raises(ValueError, match="weights"):
        engine.load(flat[1:])
    with pytest.raises(ValueError, match="no value head"):
        engine.logprobs(*batch, values=True)
    (prompts_PL, lengths_P, noise), arguments, _ = drawn(engine)
    for changed in ({"temperature": -1.0}, {"temperature": float("nan")}, {"top_p": 0.0}, {"top_p": 1.5}):
        with pytest.raises(ValueError):
            engine.sample(prompts_PL, lengths_P, noise, **{**arguments, **changed})
    for other in (noise + 1, noise - 1, noise * np.nan, noise[1:], noise.astype(np.float32)):
        with pytest.raises(ValueError, match="noise"):
            engine.sample(prompts_PL, lengths_P, other, **arguments)


def test_no_rollouts_no_tokens_and_a_temperature_that_overflows(model):
    engine = loaded(model)
    (prompts_PL, lengths_P, noise), arguments, _ = drawn(engine)
    for other in (noise[:, :0], noise[..., :0]):
        with pytest.raises(ValueError, match="at least 1"):
            engine.sample(prompts_PL, lengths_P, np.ascontiguousarray(other), **arguments)
    with pytest.raises(NonFinite):
        engine.sample(prompts_PL, lengths_P, noise, **{**arguments, "temperature": 1e-39})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_noticed(model, value):
    content = saved(model)
    content.flat[::97] = value
    engine = Engine(content.model)
    engine.load(content.flat)
    with pytest.raises(NonFinite):
        drawn(engine)
    logp, _ = engine.logprobs(*rows(engine.model.vocab, 1))
    assert np.isnan(logp).any()


def test_models_that_the_engine_does_not_compute_are_refused_with_the_entry():
    config = {**made(*SHAPES["qwen2"]).config.to_dict(), "architectures": ["Qwen2ForCausalLM"]}
    for change, word in (
        ({"architectures": ["GPT2LMHeadModel"]}, "GPT2LMHeadModel"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"layer_types": ["full_attention", "sliding_attention", "full_attention"]}, "sliding_attention"),
        ({"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5}}, "llama3"),
        ({"mlp_bias": True}, "mlp_bias"),
    ):
        with pytest.raises(Unsupported, match=word):
            Model.of({**config, **change})


def test_the_flat_weights_have_each_place_once(model):
    places, padded = saved(model).model.places()
    assert len(np.unique(places)) == len(places) and places.min() >= 0 and places.max() < padded


# ---- behind torch ----


def test_autograd_differentiates_the_latest_pass_once(model):
    ours = NativeModel(saved(model))
    batch = [torch.from_numpy(array) for array in rows(ours.saved.model.vocab, 1)]
    first, second = ours.logprobs(*batch), ours.logprobs(*batch)
    with pytest.raises(RuntimeError, match="another pass"):
        first.sum().backward()
    second.sum().backward()
    assert ours.flat.grad is not None and bool(ours.flat.grad.any())
    with torch.no_grad():
        assert not ours.logprobs(*batch).requires_grad


def test_the_optimizer_is_torchs_and_the_engine_sees_each_step(model):
    """AdamW on one flat tensor, to the bit that of torch on each weight alone; saved and restored on the way."""
    ours = NativeModel(saved(model))
    batch = [torch.from_numpy(array) for array in rows(ours.saved.model.vocab, 1)]
    settings = {"lr": 0.01, "betas": (0.9, 0.95), "weight_decay": 0.1}
    flat, weights = (
        FlatAdamW(ours.flat, **settings),
        {k: v.clone().requires_grad_() for k, v in ours.state_dict().items()},
    )
    theirs = torch.optim.AdamW(weights.values(), **settings, fused=True)
    for step in range(4):
        before = ours.logprobs(*batch)
        before.sum().backward()
        gradients = named(ours.saved.model, ours.flat.grad)
        for tensor, part in zip(weights.values(), gradients.values(), strict=True):
            tensor.grad = part.clone()
        flat.step()
        theirs.step()
        for name, tensor in ours.state_dict().items():
            assert torch.equal(tensor, weights[name]), (step, name)
        with torch.no_grad():
            assert not torch.equal(ours.logprobs(*batch), before)
        flat.zero_grad()
        state = {key: value.clone() for key, value in flat.state_dict().items()}
        flat = FlatAdamW(ours.flat, **settings)
        flat.load_state_dict(state)
