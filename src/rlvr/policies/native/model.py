"""The models that the native engine computes: their shapes, and the order and place of their weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlvr.config.registries import ARCHITECTURES

LANES = 16  # of lanes.h: every dimension is padded to a multiple


class Unsupported(ValueError):
    """A model that the engine does not compute."""


@dataclass(frozen=True)
class _Axis:
    """A dimension of `groups` times `size` numbers, where each group is padded to a multiple of LANES."""

    groups: int
    size: int

    @property
    def wide(self) -> int:
        return self.groups * self._each

    @property
    def _each(self) -> int:
        return -(-self.size // LANES) * LANES

    def places(self) -> np.ndarray:
        return (np.arange(self.groups)[:, None] * self._each + np.arange(self.size)).ravel()

    def runs(self) -> tuple[np.ndarray, int]:
        """The starts of runs without padding, and the length of each."""
        if self.size == self._each:
            return np.zeros(1, np.int64), self.groups * self.size
        return np.arange(self.groups) * self._each, self.size


@dataclass(frozen=True)
class Model:
    """A model's shape and its weights' names and shapes, in the order of the engine's flat array."""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    layers: int
    vocab: int
    biases: bool
    norms: bool
    tied: bool
    epsilon: float
    theta: float
    value_head: bool = False

    @classmethod
    def of(cls, config: Mapping[str, Any], *, value_head: bool = False) -> Model:
        """From the content of config.json. Raises Unsupported, with the entry that the engine does not know."""
        classes = {one.model_class: one for _, one in ARCHITECTURES.all() if not one.sees}
        asked = (config.get("architectures") or ["none"])[0]
        if asked not in classes:
            raise Unsupported(f"architecture {asked}; the native engine computes {', '.join(sorted(classes))}")
        architecture = classes[asked]
        rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
        kind = rope.get("rope_type", rope.get("type", "default"))
        for key, value, known in (
            ("hidden_act", config.get("hidden_act", "silu"), "silu"),
            ("rope_type", kind, "default"),
            ("partial_rotary_factor", rope.get("partial_rotary_factor", 1.0), 1.0),
            ("mlp_bias", config.get("mlp_bias", False), False),
            ("attention_bias", bool(config.get("attention_bias", False)), False),
            ("layer_types", set(config.get("layer_types") or ["full_attention"]), {"full_attention"}),
        ):
            if value != known:
                raise Unsupported(f"{key}: {value!r}; the native engine computes {known!r} alone")
        heads = config["num_attention_heads"]
        return cls(
            hidden=config["hidden_size"],
            heads=heads,
            kv_heads=config.get("num_key_value_heads") or heads,
            head_dim=config.get("head_dim") or config["hidden_size"] // heads,
            ffn=config["intermediate_size"],
            layers=config["num_hidden_layers"],
            vocab=config["vocab_size"],
            biases=architecture.biases,
            norms=architecture.norms,
            tied=bool(config.get("tie_word_embeddings", False)),
            epsilon=float(config["rms_norm_eps"]),
            theta=float(rope.get("rope_theta") or config.get("rope_theta") or 10000.0),
            value_head=value_head,
        )

    def weights(self) -> dict[str, tuple[int, ...]]:
        """Names as in transformers' state dictionary, and shapes. The value head's are those of a linear `score`."""
        query, key = self.heads * self.head_dim, self.kv_heads * self.head_dim
        found: dict[str, tuple[int, ...]] = {}
        for layer in range(self.layers):
            attention, mlp = f"model.layers.{layer}.self_attn", f"model.layers.{layer}.mlp"
            projections = {"q_proj": query, "k_proj": key, "v_proj": key}
            found |= {f"{attention}.{name}.weight": (width, self.hidden) for name, width in projections.items()}
            if self.biases:
                found |= {f"{attention}.{name}.bias": (width,) for name, width in projections.items()}
            if self.norms:
                found |= {f"{attention}.{name}.weight": (self.head_dim,) for name in ("q_norm", "k_norm")}
            found[f"{attention}.o_proj.weight"] = (self.hidden, query)
            found |= {f"{mlp}.{name}.weight": (self.ffn, self.hidden) for name in ("gate_proj", "up_proj")}
            found[f"{mlp}.down_proj.weight"] = (self.hidden, self.ffn)
            for name in ("input_layernorm", "post_attention_layernorm"):
                found[f"model.layers.{layer}.{name}.weight"] = (self.hidden,)
        found["model.norm.weight"] = (self.hidden,)
        found["model.embed_tokens.weight"] = (self.vocab, self.hidden)
        if not self.tied:
            found["lm_head.weight"] = (self.vocab, self.hidden)
        return found | ({"score.weight": (1, self.hidden), "score.bias": (1,)} if self.value_head else {})

    def runs(self) -> tuple[np.ndarray, int]:
        """The flat array's weights as runs of the engine's padded ones (R, 2): the first place and the length of each.

        And the number of padded weights.

        The engine joins q, k and v into a matrix and gate and up into another, and pads every head and every other
        dimension to a multiple of LANES. Its order is that of `Engine::Engine` in engine.cpp.
        """
        hidden, ffn, words = (_Axis(1, size) for size in (self.hidden, self.ffn, self.vocab))
        query, key = _Axis(self.heads, self.head_dim), _Axis(self.kv_heads, self.head_dim)
        each, one, qkv = _Axis(1, self.head_dim), _Axis(1, 1), query.wide + 2 * key.wide
        found: dict[str, tuple[np.ndarray, int]] = {}  # the starts of a tensor's runs, and their length
        end = 0

        def matrix(rows: int, columns: _Axis | int, tensors: Mapping[str, tuple[int, _Axis]]) -> None:
            """Tensors that lie in one matrix, each from a row on; a vector lies in its columns."""
            nonlocal end
            for name, (row, axis) in tensors.items():
                if isinstance(columns, _Axis):
                    starts, length = columns.runs()
                    found[name] = (end + (row + axis.places())[:, None] * columns.wide + starts).ravel(), length
                else:
                    starts, length = axis.runs()
                    found[name] = end + row + starts, length
            end += rows * (columns.wide if isinstance(columns, _Axis) else columns)

        for layer in range(self.layers):
            attention, mlp, at = (f"model.layers.{layer}{name}" for name in (".self_attn", ".mlp", ""))
            parts = {"q_proj": (0, query), "k_proj": (query.wide, key), "v_proj": (query.wide + key.wide, key)}
            matrix(qkv, hidden, {f"{attention}.{name}.weight": part for name, part in parts.items()})
            matrix(1, qkv, {f"{attention}.{name}.bias": part for name, part in parts.items()})
            matrix(1, each.wide, {f"{attention}.q_norm.weight": (0, each)})
            matrix(1, each.wide, {f"{attention}.k_norm.weight": (0, each)})
            matrix(hidden.wide, query, {f"{attention}.o_proj.weight": (0, hidden)})
            both = {f"{mlp}.gate_proj.weight": (0, ffn), f"{mlp}.up_proj.weight": (ffn.wide, ffn)}
            matrix(2 * ffn.wide, hidden, both)
            matrix(hidden.wide, ffn, {f"{mlp}.down_proj.weight": (0, hidden)})
            matrix(1, hidden.wide, {f"{at}.input_layernorm.weight": (0, hidden)})
            matrix(1, hidden.wide, {f"{at}.post_attention_layernorm.weight": (0, hidden)})
        matrix(1, hidden.wide, {"model.norm.weight": (0, hidden)})
        matrix(words.wide, hidden, {"model.embed_tokens.weight": (0, words)})
        matrix(0 if self.tied else words.wide, hidden, {"lm_head.weight": (0, words)})
        matrix(1, hidden.wide, {"score.weight": (0, hidden)})
        matrix(1, LANES, {"score.bias": (0, one)})
        names = list(self.weights())
        starts = np.concatenate([found[name][0] for name in names])
        lengths = np.concatenate([np.full(len(found[name][0]), found[name][1]) for name in names])
        first = np.flatnonzero(np.r_[True, starts[1:] != starts[:-1] + lengths[:-1]])  # what goes on is one run
        return np.stack([starts[first], np.add.reduceat(lengths, first)], axis=1), end

    def rotations(self, positions: int) -> tuple[np.ndarray, np.ndarray]:
        """Cosines and sines (positions, head_dim / 2) of the rotary embedding, in float32 as in transformers.

        The powers are rounded from float64: numpy's in float32 differ between processors with and without AVX-512.
        """
        steps = np.arange(0, self.head_dim, 2, dtype=np.float32) / np.float32(self.head_dim)
        powers = np.float64(np.float32(self.theta)) ** steps.astype(np.float64)
        frequencies = np.float32(1) / powers.astype(np.float32)
        angles = np.arange(positions, dtype=np.float32)[:, None] * frequencies
        return np.cos(angles), np.sin(angles)
