"""Small transformers models for the native engine, rows for its passes, and its samples."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers

from rlvr.policies.native import library
from rlvr.policies.native.engine import Engine
from rlvr.policies.native.model import Model
from rlvr.policies.native.saved import SavedModel

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
    "halves of 10": ("Qwen2", True, 48, 4, 4, 20, 40, 39, 2),  # rotations: eight numbers at once, and a remainder
    "wide": ("Qwen3", True, 80, 8, 2, 16, 100, 150, 1),  # panels of five registers, and a remainder
}
LARGE = ("Llama", True, 256, 4, 2, 64, 600, 1050, 1)  # products in parts: more than DEEP and APART in lanes.h
WAYS = {"plain": (1.0, 1.0), "papers'": (0.7, 0.95), "narrow": (1.3, 0.4), "greedy": (0.0, 1.0)}


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


def drawn(engine, prompts=5, rollouts=8, tokens=20, seed=1, way="plain"):
    random = np.random.default_rng(seed)
    prompts_PL = random.integers(0, engine.model.vocab, (prompts, 7))
    lengths_P = random.integers(1, 8, prompts)
    noise = random.random((prompts, rollouts, tokens))
    temperature, top_p = WAYS[way]
    arguments = {"eos_token": 2, "pad_token": 0, "temperature": temperature, "top_p": top_p}
    return (prompts_PL, lengths_P, noise), arguments, engine.sample(prompts_PL, lengths_P, noise, **arguments)
