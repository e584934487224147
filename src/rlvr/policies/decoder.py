"""A grouped forward pass of Llama, Qwen2 and Qwen3 models over their own transformers weights.

RLVR draws G responses to one prompt. Here the prompt's keys and values are computed once and shared by
its G responses, in sampling and in the update alike, and attention is an explicit matmul-softmax, which
on a CPU is several times faster than SDPA at small sizes (docs/benchmarks.md). A test holds the result
to transformers' own forward pass.

Dimensions: P prompts, G responses a prompt, L prompt tokens, T response tokens, D hidden, V vocabulary,
K key-value heads, R query heads for each of them, E head dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ARCHITECTURES = {"LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"}


def supports(model: PreTrainedModel) -> bool:
    """Whether `GroupedDecoder` computes this model (architecture, activation, full attention)."""
    config = model.config
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    return (
        type(model).__name__ in ARCHITECTURES
        and config.hidden_act == "silu"
        and kinds == {"full_attention"}
        and not getattr(config, "mlp_bias", False)
    )


@dataclass
class LayerCache:
    """Keys and values of one layer: the prompts' (P, K, L, E), and the responses' (P, K, G, T, E)."""

    prompt_keys: Tensor
    prompt_values: Tensor
    keys: Tensor | None = None
    values: Tensor | None = None


@dataclass
class Prefix:
    """What responses need of their prompts: lengths, keys, values, and which padded keys to leave out."""

    lengths_P: Tensor
    padding_PL: Tensor | None  # None where all prompts have one length
    layers: list[LayerCache]


class GroupedDecoder:
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
        prefix = Prefix(lengths_P, padding_PL if bool(padding_PL.any()) else None, [])
        hidden_PLD = self.model.model.embed_tokens(prompts_PL)
        rotary = self._rotary(hidden_PLD, torch.zeros_like(lengths_P[:1]), length)
        for layer in self.layers:
            hidden_PLD, cache = layer.prompt(hidden_PLD, rotary)
            prefix.layers.append(cache)
        last_PD = hidden_PLD[torch.arange(len(lengths_P), device=lengths_P.device), lengths_P - 1]
        return self._logits(last_PD), prefix

    def extend(self, tokens_PGT: Tensor, prefix: Prefix, *, step: int | None = None) -> Tensor:
        """Logits (P, G, T, V) of the tokens after `tokens_PGT`.

        With `step`, T is 1 and the tokens stand `step` tokens into their responses: the keys of earlier
        steps are read from (and this step's written to) the preallocated response cache. Without it, the
        T tokens are responses from their start and attend causally.
        """
        hidden = self.model.model.embed_tokens(tokens_PGT)
        same_length = prefix.padding_PL is None and (prefix.lengths_P == prefix.lengths_P[0]).all()
        lengths_P = prefix.lengths_P[:1] if same_length else prefix.lengths_P
        rotary = self._rotary(hidden, lengths_P + (step or 0), tokens_PGT.shape[2])
        for layer, cache in zip(self.layers, prefix.layers, strict=True):
            hidden = layer.responses(hidden, cache, prefix.padding_PL, rotary, step)
        return self._logits(hidden)

    def logits(self, prompts_PL: Tensor, lengths_P: Tensor, responses_PGT: Tensor) -> Tensor:
        """Logits (P, G, T, V) that predict each response token from what precedes it."""
        first_PV, prefix = self.prefill(prompts_PL, lengths_P)
        first_PG1V = first_PV[:, None, None].expand(-1, responses_PGT.shape[1], 1, -1)
        if responses_PGT.shape[2] == 1:
            return first_PG1V
        return torch.cat([first_PG1V, self.extend(responses_PGT[:, :, :-1], prefix)], dim=2)

    def logprobs(self, prompts_PL: Tensor, lengths_P: Tensor, responses_PGT: Tensor) -> Tensor:
        """log pi (P, G, T) of each response token given what precedes it, temperature 1, in float32."""
        first_PV, prefix = self.prefill(prompts_PL, lengths_P)
        first_PG = first_PV.float().log_softmax(-1).gather(-1, responses_PGT[:, :, 0])
        if responses_PGT.shape[2] == 1:
            return first_PG[..., None]
        logits = self.extend(responses_PGT[:, :, :-1], prefix).float()
        rest = logits.gather(-1, responses_PGT[:, :, 1:, None]).squeeze(-1) - logits.logsumexp(-1)
        return torch.cat([first_PG[..., None], rest], dim=2)

    def _rotary(self, like: Tensor, starts_P: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine (P or 1, 1, 1, T, E) of the positions from `starts_P` on."""
        positions_PT = starts_P[:, None] + torch.arange(length, device=like.device)
        cos_PTE, sin_PTE = self.model.model.rotary_emb(like, positions_PT)
        half = sin_PTE.shape[-1] // 2
        signed_PTE = torch.cat([-sin_PTE[..., :half], sin_PTE[..., half:]], dim=-1)
        return cos_PTE[:, None, None], signed_PTE[:, None, None]

    def _logits(self, hidden: Tensor) -> Tensor:
        norm = self.model.model.norm
        return self.model.lm_head(rms_norm(hidden, norm.weight, self.epsilon))


def rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, epsilon)


def rotate(x: Tensor, rotary: tuple[Tensor, ...]) -> Tensor:
    """Rotary embedding of (..., T, E); the sign of the rotated half is folded into the sine."""
    cos_TE, signed_sin_TE = rotary
    return torch.addcmul(x * cos_TE, x.roll(x.shape[-1] // 2, dims=-1), signed_sin_TE)


class _Layer:
    def __init__(self, layer, decoder: GroupedDecoder, frozen: bool):
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

    def _heads(self, hidden: Tensor, rotary) -> tuple[Tensor, Tensor, Tensor]:
        """Scaled queries (P, K, G, R, T, E), keys and values (P, K, G, T, E) of hidden states (P, G, T, D).

        K key-value heads serve R query heads each; keys and values are never repeated.
        """
        d = self.decoder
        query, key, value = self._project(rms_norm(hidden, self.layer.input_layernorm.weight, d.epsilon))
        query = query.unflatten(-1, (d.kv_heads, -1, d.head_dim)).permute(0, 3, 1, 4, 2, 5)
        key, value = (x.unflatten(-1, (d.kv_heads, d.head_dim)).movedim(-2, 1) for x in (key, value))
        if self.query_norm is not None and self.key_norm is not None:
            query = rms_norm(query, self.query_norm.weight, d.epsilon)
            key = rms_norm(key, self.key_norm.weight, d.epsilon)
        scale = d.head_dim**-0.5
        turned = rotate(query, tuple(part.unsqueeze(3) * scale for part in rotary))
        return turned, rotate(key, rotary), value

    def _finish(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """Output projection and MLP; `attended` is (P, K, G, R, T, E)."""
        layer = self.layer
        heads = attended.permute(0, 2, 4, 1, 3, 5).flatten(-3)
        hidden = hidden + layer.self_attn.o_proj(heads)
        normed = rms_norm(hidden, layer.post_attention_layernorm.weight, self.decoder.epsilon)
        if self.joined is None:
            gate, up = layer.mlp.gate_proj(normed), layer.mlp.up_proj(normed)
        else:
            gate, up = F.linear(normed, self.joined[2]).chunk(2, dim=-1)
        return hidden + layer.mlp.down_proj(F.silu(gate) * up)

    def prompt(self, hidden_PLD: Tensor, rotary) -> tuple[Tensor, LayerCache]:
        query, key, value = self._heads(hidden_PLD[:, None], rotary)
        scores = mask_future((query.flatten(3, 4) @ key.transpose(-1, -2)).view(*query.shape[:-1], -1))
        attended = (scores.softmax(-1).flatten(3, 4) @ value).view_as(query)
        hidden_PLD = self._finish(hidden_PLD[:, None], attended)[:, 0]
        return hidden_PLD, LayerCache(key[:, :, 0], value[:, :, 0])

    def responses(self, hidden: Tensor, cache: LayerCache, padding_PL, rotary, step: int | None) -> Tensor:
        query, key, value = self._heads(hidden, rotary)
        if step is not None:
            if cache.keys is None or cache.values is None:
                raise ValueError("sampling needs a preallocated response cache")
            cache.keys[:, :, :, step] = key[:, :, :, 0]
            cache.values[:, :, :, step] = value[:, :, :, 0]
            key, value = cache.keys[:, :, :, : step + 1], cache.values[:, :, :, : step + 1]
        shape = query.shape[:-1]  # P, K, G, R, T
        to_prompt = query.flatten(2, 4) @ cache.prompt_keys.transpose(-1, -2)
        if padding_PL is not None:
            to_prompt = to_prompt.masked_fill(padding_PL[:, None, None], float("-inf"))
        to_response = (query.flatten(3, 4) @ key.transpose(-1, -2)).view(*shape, -1)
        if step is None:
            to_response = mask_future(to_response)
        weights = torch.cat([to_prompt.view(*shape, -1), to_response], dim=-1).softmax(-1)
        on_prompt, on_response = weights.split([to_prompt.shape[-1], to_response.shape[-1]], dim=-1)
        attended = (on_prompt.flatten(2, 4) @ cache.prompt_values).view(*shape, -1)
        attended = attended + (on_response.flatten(3, 4) @ value).view(*shape, -1)
        return self._finish(hidden, attended)


def mask_future(scores: Tensor) -> Tensor:
    """Scores (..., T, T) with every key after its query at minus infinity; added, since that has no backward pass."""
    length = scores.shape[-1]
    future = torch.full((length, length), float("-inf"), dtype=scores.dtype, device=scores.device).triu(1)
    return scores + future
