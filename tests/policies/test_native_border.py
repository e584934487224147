"""The border of the native engine: shapes, tokens, the order of calls, weights that are not finite, other models."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from support.native_models import SHAPES, drawn, loaded, made, rows, saved

from rlvr.policies.errors import NonFinite
from rlvr.policies.native.engine import Engine
from rlvr.policies.native.model import Model, Unsupported


@pytest.fixture(params=SHAPES)
def model(request):
    return made(*SHAPES[request.param])


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
    of = saved(model).model
    runs, padded = of.runs()
    places = np.concatenate([np.arange(first, first + length) for first, length in runs])
    assert len(places) == sum(math.prod(shape) for shape in of.weights().values())
    assert len(np.unique(places)) == len(places) and places.min() >= 0 and places.max() < padded
    assert (runs[1:, 0] != runs[:-1].sum(axis=1)).all(), "a run ends where the next weight lies elsewhere"
