"""A forward pass of Llama, Qwen2 and Qwen3 models over their own transformers weights, for many responses a prompt.

RLVR draws G responses to one prompt. Here a prompt's keys and values are computed once and handed to all
of its responses, in sampling and in the update alike, and attention is an explicit matmul-softmax, which
on a CPU is several times faster than SDPA at small sizes (docs/benchmarks.md). A test holds the result
to transformers' own forward pass.

Dimensions: P prompts, N rows (each a response to one of the prompts), L prompt tokens, T response tokens,
S keys, D hidden, V vocabulary, K key-value heads, R query heads for each of them, E head dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ARCHITECTURES = {"LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"}

# What a layer's tokens attend to: given their own keys and values, all keys and values (N, K, S, E).
AttendTo = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def supports(model: PreTrainedModel) -> bool:
    """Whether `Decoder` computes this model (architecture, activation, full attention)."""
    config = model.config
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    return (
        type(model).__name__ in ARCHITECTURES
        and config.hidden_act == "silu"
        and kinds == {"full_attention"}
        and not getattr(config, "mlp_bias", False)
    )


@dataclass
class Prefix:
    """What responses need of their prompts: lengths, keys and values a layer, and the keys to leave out."""

    lengths_P: Tensor
    mask_PL: Tensor | None  # minus infinity on padding; None where all prompts have one length
    keys: list[Tensor]  # (P, K, L, E) a layer
    values: list[Tensor]


class Branches:
    """Keys and values of responses that grow a token at a time and share what they have in common.

    Responses to one prompt that are still equal are one row; `grow` copies a row where they part. Rows 0 to
    `count` are in use, so that a step computes on views, and a row that goes on alone is never moved.
    """

    def __init__(self, prefix: Prefix, rows: int, tokens: int):
        prompts, heads, length, dim = prefix.keys[0].shape
        self.prefix, self.prompt_tokens, self.step, self.count = prefix, length, -1, prompts
        self.prompt_N = torch.arange(rows, device=prefix.lengths_P.device).clamp_(max=prompts - 1)
        shape = (max(rows, prompts), heads, length + tokens, dim)
        self.keys, self.values = ([_room(part, shape) for part in parts] for parts in (prefix.keys, prefix.values))

    def grow(self, rows_M: Tensor, tokens_M: Tensor) -> tuple[Tensor, Tensor]:
        """Let response m, now in row `rows_M[m]`, go on with `tokens_M[m]`; rows that no response names are dropped.

        Returns the new row of each response, and the token that each row takes.
        """
        span = int(tokens_M.max()) + 1
        distinct_N, which_M = torch.unique(rows_M * span + tokens_M, return_inverse=True)
        parents_N, tokens_N = distinct_N // span, distinct_N % span
        count = len(distinct_N)
        heirs_N = torch.ones(count, dtype=torch.bool, device=parents_N.device)
        heirs_N[1:] = parents_N[1:] != parents_N[:-1]
        heirs_N &= parents_N < count  # the first child of a row takes its place
        free_N = torch.ones_like(heirs_N)
        free_N[parents_N[heirs_N]] = False
        places_N = parents_N.clone()
        if not bool(heirs_N.all()):
            old, new = parents_N[~heirs_N], torch.nonzero(free_N).squeeze(-1)
            places_N[~heirs_N] = new
            used = self.prompt_tokens + self.step + 1
            for store in (*self.keys, *self.values):
                store[new, :, :used] = store[old, :, :used]
            self.prompt_N[new] = self.prompt_N[old]
        self.count, self.step = count, self.step + 1
        return places_N[which_M], torch.empty_like(tokens_N).index_copy_(0, places_N, tokens_N)


def _room(prompt: Tensor, shape: tuple[int, ...]) -> Tensor:
    store = prompt.new_empty(shape)
    store[: prompt.shape[0], :, : prompt.shape[2]] = prompt
    return store


class Decoder:
    """View of a model's weights; gradients flow to them where autograd is on.

    `frozen=True` joins the projection weights once, for sampling: make a new decoder after an update.
    Raises ValueError for a model that `supports` refuses.
    """

    def __init__(self, model: PreTrainedModel, *, frozen: bool = False):
        if not supports(model):
            raise ValueError(f"{type(model).__name__} is not one of {sorted(ARCHITECTURES)} with full attention")
        config = model.config
        self.model = model
        self.heads = config.num_attention_heads
        self.kv_heads = config.num_key_value_heads
        self.head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.epsilon = config.rms_norm_eps
        self.layers = [_Layer(layer, self, frozen) for layer in model.model.layers]

    def prefill(self, prompts_PL: Tensor, lengths_P: Tensor) -> tuple[Tensor, Prefix]:
        """Logits (P, V) of the token after each prompt (padded on the right), and the prompts' prefix."""
        length = prompts_PL.shape[1]
        padding_PL = torch.arange(length, device=prompts_PL.device) >= lengths_P[:, None]
        hidden_PLD = self.model.model.embed_tokens(prompts_PL)
        mask_PL = None
        if bool(padding_PL.any()):
            mask_PL = torch.zeros_like(padding_PL, dtype=hidden_PLD.dtype).masked_fill_(padding_PL, float("-inf"))
        prefix = Prefix(lengths_P, mask_PL, [], [])

        def attend_to(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
            prefix.keys.append(key)
            prefix.values.append(value)
            return key, value

        rotary = self._rotary(hidden_PLD, torch.arange(length, device=prompts_PL.device)[None])
        future_LL = _future(hidden_PLD, length)
        for layer in self.layers:
            hidden_PLD = layer(hidden_PLD, rotary, future_LL, attend_to)
        last_PD = hidden_PLD[torch.arange(len(lengths_P), device=lengths_P.device), lengths_P - 1]
        return self._logits(last_PD), prefix

    def extend(self, prefix: Prefix, prompt_N: Tensor, tokens_NT: Tensor) -> Tensor:
        """Logits (N, T, V) of the tokens after `tokens_NT`, row n a response to prompt `prompt_N[n]` from its start."""
        hidden_NTD = self.model.model.embed_tokens(tokens_NT)
        length = tokens_NT.shape[1]
        positions_NT = prefix.lengths_P[prompt_N, None] + torch.arange(length, device=tokens_NT.device)
        rotary = self._rotary(hidden_NTD, positions_NT)
        future_TT = _future(hidden_NTD, length)
        if prefix.mask_PL is None:
            mask = F.pad(future_TT, (prefix.keys[0].shape[2], 0))
        else:
            before = prefix.mask_PL[prompt_N][:, None, None, None].expand(-1, 1, 1, length, -1)
            mask = torch.cat([before, future_TT.expand(len(tokens_NT), 1, 1, -1, -1)], dim=-1)
        for layer, keys, values in zip(self.layers, prefix.keys, prefix.values, strict=True):

            def attend_to(key: Tensor, value: Tensor, before=(keys, values)) -> tuple[Tensor, Tensor]:
                return torch.cat([before[0][prompt_N], key], 2), torch.cat([before[1][prompt_N], value], 2)

            hidden_NTD = layer(hidden_NTD, rotary, mask, attend_to)
        return self._logits(hidden_NTD)

    def step(self, tokens_N: Tensor, branches: Branches) -> Tensor:
        """Logits (N, V) of the token after `tokens_N`, the newest token of each row in use."""
        prefix, prompt_N = branches.prefix, branches.prompt_N[: branches.count]
        hidden_N1D = self.model.model.embed_tokens(tokens_N)[:, None]
        place, used = branches.prompt_tokens + branches.step, branches.prompt_tokens + branches.step + 1
        rotary = self._rotary(hidden_N1D, (prefix.lengths_P[prompt_N] + branches.step)[:, None])
        mask = None
        if prefix.mask_PL is not None:
            mask = F.pad(prefix.mask_PL[prompt_N], (0, branches.step + 1))[:, None, None, None]
        for layer, keys, values in zip(self.layers, branches.keys, branches.values, strict=True):

            def attend_to(key: Tensor, value: Tensor, store=(keys, values)) -> tuple[Tensor, Tensor]:
                for part, newest in zip(store, (key, value), strict=True):
                    part[: branches.count, :, place] = newest[:, :, 0]
                return store[0][: branches.count, :, :used], store[1][: branches.count, :, :used]

            hidden_N1D = layer(hidden_N1D, rotary, mask, attend_to)
        return self._logits(hidden_N1D[:, 0])

    def logits(self, prompts_PL: Tensor, lengths_P: Tensor, prompt_N: Tensor, responses_NT: Tensor) -> Tensor:
        """Logits (N, T, V) that predict each response token from what precedes it."""
        first_PV, prefix = self.prefill(prompts_PL, lengths_P)
        first_N1V = first_PV[prompt_N, None]
        if responses_NT.shape[1] == 1:
            return first_N1V
        return torch.cat([first_N1V, self.extend(prefix, prompt_N, responses_NT[:, :-1])], dim=1)

    def logprobs(self, prompts_PL: Tensor, lengths_P: Tensor, prompt_N: Tensor, responses_NT: Tensor) -> Tensor:
        """log pi (N, T) of each response token given what precedes it, temperature 1, in float32."""
        first_PV, prefix = self.prefill(prompts_PL, lengths_P)
        first_N = first_PV.float().log_softmax(-1)[prompt_N, responses_NT[:, 0]]
        if responses_NT.shape[1] == 1:
            return first_N[:, None]
        logits_NTV = self.extend(prefix, prompt_N, responses_NT[:, :-1]).float()
        rest_NT = logits_NTV.gather(-1, responses_NT[:, 1:, None]).squeeze(-1) - logits_NTV.logsumexp(-1)
        return torch.cat([first_N[:, None], rest_NT], dim=1)

    def _rotary(self, like: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine (N or 1, 1, T, E) of positions (N or 1, T)."""
        cos, sin = self.model.model.rotary_emb(like, positions)
        half = sin.shape[-1] // 2
        return cos[:, None], torch.cat([-sin[..., :half], sin[..., half:]], dim=-1)[:, None]

    def _logits(self, hidden: Tensor) -> Tensor:
        norm = self.model.model.norm
        return self.model.lm_head(rms_norm(hidden, norm.weight, self.epsilon))


def rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, epsilon)


def rotate(x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary embedding of (..., T, E); the sign of the rotated half is folded into the sine."""
    cos_TE, signed_sin_TE = rotary
    return torch.addcmul(x * cos_TE, x.roll(x.shape[-1] // 2, dims=-1), signed_sin_TE)


def _future(like: Tensor, length: int) -> Tensor:
    """(T, T): minus infinity on keys after their query; a mask that is added has no backward pass."""
    return torch.full((length, length), float("-inf"), dtype=like.dtype, device=like.device).triu_(1)


class _Layer:
    def __init__(self, layer, decoder: Decoder, frozen: bool):
        self.layer, self.decoder = layer, decoder
        attention = layer.self_attn
        self.query_norm = getattr(attention, "q_norm", None)
        self.key_norm = getattr(attention, "k_norm", None)
        self.joined = self._join() if frozen else None

    def _join(self) -> tuple[Tensor, Tensor | None, Tensor]:
        """Query-key-value weight and bias, and gate-up weight, each as one matrix for sampling."""
        attention, mlp = self.layer.self_attn, self.layer.mlp
        projections = [attention.q_proj, attention.k_proj, attention.v_proj]
        bias = None if attention.q_proj.bias is None else torch.cat([p.bias for p in projections])
        gate_up = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])
        return torch.cat([p.weight for p in projections]), bias, gate_up

    def _project(self, normed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values: one product in sampling, three in training, where the gradients of one would
        have to be put together again."""
        d, attention = self.decoder, self.layer.self_attn
        if self.joined is None:
            return attention.q_proj(normed), attention.k_proj(normed), attention.v_proj(normed)
        weight, bias, _ = self.joined
        sizes = [d.heads * d.head_dim, d.kv_heads * d.head_dim, d.kv_heads * d.head_dim]
        query, key, value = F.linear(normed, weight, bias).split(sizes, dim=-1)
        return query, key, value

    def __call__(
        self, hidden_NTD: Tensor, rotary: tuple[Tensor, Tensor], mask: Tensor | None, attend_to: AttendTo
    ) -> Tensor:
        """The layer's output (N, T, D); `mask` is added to the scores (N, K, R, T, S)."""
        d, layer = self.decoder, self.layer
        query, key, value = self._project(rms_norm(hidden_NTD, layer.input_layernorm.weight, d.epsilon))
        query = query.unflatten(-1, (d.kv_heads, -1, d.head_dim)).permute(0, 2, 3, 1, 4)  # N, K, R, T, E
        key, value = (x.unflatten(-1, (d.kv_heads, d.head_dim)).transpose(1, 2) for x in (key, value))
        if self.query_norm is not None and self.key_norm is not None:
            query = rms_norm(query, self.query_norm.weight, d.epsilon)
            key = rms_norm(key, self.key_norm.weight, d.epsilon)
        cos, sin = (part.unsqueeze(2) * d.head_dim**-0.5 for part in rotary)
        query, key = rotate(query, (cos, sin)), rotate(key, rotary)
        keys, values = attend_to(key, value)
        scores = (query.flatten(2, 3) @ keys.transpose(-1, -2)).view(*query.shape[:-1], -1)
        weights = (scores if mask is None else scores + mask).softmax(-1)
        attended = (weights.flatten(2, 3) @ values).view_as(query)
        hidden_NTD = hidden_NTD + layer.self_attn.o_proj(attended.permute(0, 3, 1, 2, 4).flatten(-3))
        normed = rms_norm(hidden_NTD, layer.post_attention_layernorm.weight, d.epsilon)
        if self.joined is None:
            gate, up = layer.mlp.gate_proj(normed), layer.mlp.up_proj(normed)
        else:
            gate, up = F.linear(normed, self.joined[2]).chunk(2, dim=-1)
        return hidden_NTD + layer.mlp.down_proj(F.silu(gate) * up)
