"""A forward pass of Llama, Qwen2 and Qwen3 models over their own transformers weights, for many responses per prompt.

RLVR draws G responses to one prompt, and many begin alike. This decoder computes common beginnings once
(`rlvr.policies.shared_prefixes`). Attention is an explicit matmul-softmax, on a CPU several times faster than SDPA at
small sizes (docs/benchmarks.md). A test compares the result with transformers' forward pass.

Dimensions: P prompts, N rows (each a response to one of the prompts), L prompt tokens, T response tokens,
S keys, M nodes of a tree, D hidden, V vocabulary, H query heads, K key-value heads, R query heads per key-value head,
E head dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from rlvr.config.registries import ARCHITECTURES
from rlvr.policies.shared_prefixes import Branches, Prefix, Tree, joined

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CLASSES = {kind.model_class for _, kind in ARCHITECTURES.all()}

# Query, key and value (..., heads, E) of a layer's tokens -> the output of attention (..., H x E).
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
# Complex factors of each pair of a head (..., 1, E/2), for queries and for keys.
Rotations = tuple[Tensor, Tensor]


def supports(model: PreTrainedModel) -> bool:
    """Whether `Decoder` computes this model (architecture, activation, full attention)."""
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    return (
        type(model).__name__ in CLASSES
        and config.hidden_act == "silu"
        and kinds == {"full_attention"}
        and not getattr(config, "mlp_bias", False)
    )


class Decoder:
    """View of a model's weights; gradients flow to them if autograd is on.

    `frozen=True` joins the projection weights once, for sampling: create a new decoder after an update.
    Raises ValueError for a model that `supports` refuses.
    """

    def __init__(self, model: PreTrainedModel, *, frozen: bool = False):
        if not supports(model):
            raise ValueError(f"{type(model).__name__} is not one of {sorted(CLASSES)} with full attention")
        config = model.config.get_text_config()
        self.model = model
        self.text: Any = model.get_decoder()
        self.pictures = getattr(model, "pictures", None)
        self.heads = config.num_attention_heads
        self.kv_heads = config.num_key_value_heads
        self.head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.epsilon = torch.tensor(config.rms_norm_eps, device=model.device)
        self.layers = [_Layer(layer, self, frozen) for layer in self.text.layers]
        self._table = torch.empty(0)  # rotations of the positions so far

    def prefill(self, prompts_PL: Tensor, lengths_P: Tensor) -> tuple[Tensor, Prefix]:
        """Logits (P, V) of the token after each prompt (padded on the right), and the prompts' prefix."""
        length = prompts_PL.shape[1]
        padding_PL = torch.arange(length, device=prompts_PL.device) >= lengths_P[:, None]
        hidden_PLD = self._embedded(prompts_PL)
        mask_PL = None
        if bool(padding_PL.any()):
            mask_PL = torch.zeros_like(padding_PL, dtype=hidden_PLD.dtype).masked_fill_(padding_PL, float("-inf"))
        positions, next_P = torch.arange(length, device=prompts_PL.device), lengths_P
        if self.pictures is not None:
            positions, after_PL = self.pictures.positions(prompts_PL)
            next_P = after_PL.gather(1, lengths_P[:, None] - 1).squeeze(1)
        prefix = Prefix(next_P, mask_PL, [], [])

        future_LL = _future(hidden_PLD, length)

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            prefix.keys.append(key.transpose(1, 2))
            prefix.values.append(value.transpose(1, 2))
            return attention(query, prefix.keys[-1], prefix.values[-1], future_LL[:, None])

        rotations = self._rotations(positions, length)
        for layer in self.layers:
            hidden_PLD = layer(hidden_PLD, rotations, attend)
        last_PD = hidden_PLD[torch.arange(len(lengths_P), device=lengths_P.device), lengths_P - 1]
        return self._logits(last_PD), prefix

    def step(self, tokens_N: Tensor, branches: Branches) -> Tensor:
        """Logits (N, V) of the token after `tokens_N`, the newest token of each row in use."""
        prefix, prompt_N = branches.prefix, branches.prompt_N[: branches.count]
        hidden_ND = self.text.embed_tokens(tokens_N)
        place, used = branches.prompt_tokens + branches.step, branches.prompt_tokens + branches.step + 1
        rotations = self._rotations(prefix.next_P[prompt_N] + branches.step, used)
        mask = None
        if prefix.mask_PL is not None:
            mask = F.pad(prefix.mask_PL[prompt_N], (0, branches.step + 1))[:, None, None, None]
        store = branches.store[: branches.count, ..., :used, :]
        for index, layer in enumerate(self.layers):

            def attend(query: Tensor, key: Tensor, value: Tensor, pair=store[:, index]) -> Tensor:
                pair[:, 0, :, place], pair[:, 1, :, place] = key, value
                return attention(query[:, None], pair[:, 0], pair[:, 1], mask)[:, 0]

            hidden_ND = layer(hidden_ND, rotations, attend)
        return self._logits(hidden_ND)

    def logits(self, prompts_PL: Tensor, lengths_P: Tensor, prompt_N: Tensor, responses_NT: Tensor) -> Tensor:
        """Logits (N, T, V) that predict each response token from what precedes it."""
        hidden_AD, index_NT = self._before(prompts_PL, lengths_P, prompt_N, responses_NT, None)
        return self._logits(hidden_AD)[index_NT]

    def logprobs(
        self,
        prompts_PL: Tensor,
        lengths_P: Tensor,
        prompt_N: Tensor,
        responses_NT: Tensor,
        response_lengths_N: Tensor | None = None,
    ) -> Tensor:
        """log pi (N, T) of each response token given what precedes it, temperature 1, in float32.

        Past `response_lengths_N`, if given, the result is meaningless.
        """
        hidden_AD, index_NT = self._before(prompts_PL, lengths_P, prompt_N, responses_NT, response_lengths_N)
        logits_AV = self._logits(hidden_AD).float()
        return logits_AV[index_NT, responses_NT] - logits_AV.logsumexp(-1)[index_NT]

    def values(self, *rows: Tensor) -> Tensor:
        """The value (N, T) before each response token, by the model's linear `score`; arguments as in `logprobs`."""
        hidden_AD, index_NT = self._before(*rows)
        values_A1 = self.model.get_submodule("score")(self._normed(hidden_AD))
        return values_A1.float().squeeze(-1)[index_NT]

    def _before(
        self, prompts_PL: Tensor, lengths_P: Tensor, prompt_N: Tensor, responses_NT: Tensor, lengths_N: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The last layer's output (A, D) before response tokens, and its index for each of them (N, T)."""
        start_N1, limit = lengths_P[prompt_N, None], responses_NT.shape[1]
        if lengths_N is None:
            lengths_N = torch.full_like(prompt_N, limit)
        rows_NS = joined(prompts_PL[prompt_N], start_N1, responses_NT, lengths_N)
        tree, which_N = Tree.grow(rows_NS, start_N1[:, 0] + lengths_N)
        before_NT = start_N1 - 1 + torch.arange(limit, device=rows_NS.device)
        parent_NT = before_NT.clamp_(max=rows_NS.shape[1] - 1)
        node_NT = tree.path_NS[which_N].gather(1, parent_NT)
        used_M = torch.zeros_like(tree.tokens_M, dtype=torch.bool)
        used_M[node_NT] = True
        hidden_AD = self._nodes(tree).index_select(0, torch.nonzero(used_M).squeeze(-1))
        return hidden_AD, (used_M.cumsum(0) - 1)[node_NT]

    def _nodes(self, tree: Tree) -> Tensor:
        """The last layer's output (M, D) at each node."""
        hidden_MD = self._embedded(tree.tokens_M)
        shape, path = tree.path_NS.shape, tree.path_NS.flatten()
        future_SS = _future(hidden_MD, shape[1])

        def attend(*parts: Tensor) -> Tensor:
            query, key, value = (x.flatten(1).index_select(0, path).view(*shape, *x.shape[1:]) for x in parts)
            attended = attention(query, key.transpose(1, 2), value.transpose(1, 2), future_SS[:, None])
            return attended.flatten(0, 1).index_select(0, tree.owner_M)

        positions = tree.positions_M
        if self.pictures is not None:
            rows_NS3, _ = self.pictures.positions(tree.tokens_M[tree.path_NS])
            positions = rows_NS3.flatten(0, 1)[tree.owner_M]
        rotations = self._rotations(positions, shape[1])
        for layer in self.layers:
            hidden_MD = layer(hidden_MD, rotations, attend)
        return hidden_MD

    def _embedded(self, tokens: Tensor) -> Tensor:
        """The embeddings (..., D) of tokens; those of a picture's places come from the vision tower."""
        if self.pictures is None:
            return self.text.embed_tokens(tokens)
        return self.pictures.embedded(self.model, tokens)

    def _rotations(self, positions: Tensor, limit: int) -> Rotations:
        """Rotary embedding of positions below `limit`; a query's includes the scale of attention's scores.

        Positions are one number for each token or, of prompts that may have pictures, three (..., 3): time, row and
        column, each with its share of the frequencies.
        """
        if limit > len(self._table):
            like = torch.empty(0, device=self.model.device)
            cos, sin = self.text.rotary_emb(like, torch.arange(2 * limit, device=like.device)[None])
            half = self.head_dim // 2
            self._table = torch.complex(cos[0, :, None, :half], sin[0, :, None, :half])
        if self.pictures is not None and positions.ndim > 1:
            pairs = torch.arange(self.head_dim // 2, device=positions.device)
            direction = torch.repeat_interleave(torch.arange(3), torch.tensor(self.pictures.sections)).to(pairs.device)
            rotation = self._table[positions[..., direction], 0, pairs][..., None, :]
        else:
            rotation = self._table[positions]
        return rotation * self.head_dim**-0.5, rotation

    def _normed(self, hidden: Tensor) -> Tensor:
        return rms_norm(hidden, self.text.norm.weight, self.epsilon)

    def _logits(self, hidden: Tensor) -> Tensor:
        return self.model.lm_head(self._normed(hidden))


class _RmsNorm(torch.autograd.Function):
    """`rms_norm` with its own backward pass: autograd's takes three times as long, because of memory traffic."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, epsilon: Tensor) -> Tensor:
        unit, scale = _unit(x, epsilon)
        ctx.save_for_backward(unit, scale, weight)
        return unit * weight

    @staticmethod
    def backward(ctx, gradient: Tensor):  # pyright: ignore[reportIncompatibleMethodOverride]
        unit, scale, weight = ctx.saved_tensors
        product = gradient * unit
        along = (product @ weight).unsqueeze(-1) / -unit.shape[-1]
        return torch.addcmul(gradient * weight, unit, along).mul_(scale), product.flatten(0, -2).sum(0), None


def rms_norm(x: Tensor, weight: Tensor, epsilon: Tensor) -> Tensor:
    """w x / sqrt(mean(x^2) + epsilon), the mean over the last dimension."""
    return _RmsNorm.apply(x, weight, epsilon) if torch.is_grad_enabled() else _unit(x, epsilon)[0] * weight


def _unit(x: Tensor, epsilon: Tensor) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean(x^2) + epsilon), and the factor of x."""
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
    scale = torch.addcmul(epsilon, norm, norm, value=1 / x.shape[-1]).rsqrt_()
    return (x * scale).to(x.dtype), scale


def rotate(x: Tensor, rotation: Tensor) -> Tensor:
    """Rotary embedding of (..., heads, E), whose pairs are side by side (`_interleaved`)."""
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotation).flatten(-2).to(x.dtype)


def _interleaved(rows: Tensor, dim: int) -> Tensor:
    """Rows (H x E, ...) of a projection with the two of a rotated pair, half a head apart, moved side by side."""
    return rows.unflatten(0, (-1, 2, dim // 2)).transpose(1, 2).flatten(0, 2)


def attention(query_NTHE: Tensor, keys_NKSE: Tensor, values_NKSE: Tensor, mask: Tensor | None) -> Tensor:
    """The output of attention (N, T, H x E); `mask` is added to the scores (N, K, T, R, S). Queries are scaled."""
    query = query_NTHE.unflatten(2, (keys_NKSE.shape[1], -1)).transpose(1, 2)  # N, K, T, R, E
    scores = (query.flatten(2, 3) @ keys_NKSE.transpose(-1, -2)).view(*query.shape[:-1], -1)
    weights = (scores if mask is None else scores + mask).softmax(-1)
    attended = (weights.flatten(2, 3) @ values_NKSE).view(query.shape)
    return attended.transpose(1, 2).flatten(2)


def _future(like: Tensor, length: int) -> Tensor:
    """(T, T): minus infinity on keys after their query; an added mask has no backward pass."""
    return torch.full((length, length), float("-inf"), dtype=like.dtype, device=like.device).triu_(1)


class _Layer:
    def __init__(self, layer, decoder: Decoder, frozen: bool):
        self.layer, self.decoder = layer, decoder
        attention = layer.self_attn
        self.query_norm = getattr(attention, "q_norm", None)
        self.key_norm = getattr(attention, "k_norm", None)
        self.joined = self._join() if frozen else None

    def _paired(self, projection) -> tuple[Tensor, ...]:
        """Weight, and bias if any, of the query or key projection, in the order for `rotate`."""
        return tuple(_interleaved(part, self.decoder.head_dim) for part in projection.parameters())

    def _join(self) -> tuple[Tensor, Tensor | None, Tensor]:
        """Query-key-value weight and bias, and gate-up weight, each as one matrix for sampling."""
        attention, mlp = self.layer.self_attn, self.layer.mlp
        query, key = self._paired(attention.q_proj), self._paired(attention.k_proj)
        weight = torch.cat([query[0], key[0], attention.v_proj.weight])
        bias = None if attention.v_proj.bias is None else torch.cat([query[1], key[1], attention.v_proj.bias])
        return weight, bias, torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])

    def _project(self, normed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values: one product in sampling; three in training, which would otherwise have to
        join the gradients again."""
        d, attention = self.decoder, self.layer.self_attn
        if self.joined is None:
            query, key = (F.linear(normed, *self._paired(x)) for x in (attention.q_proj, attention.k_proj))
            return query, key, attention.v_proj(normed)
        weight, bias, _ = self.joined
        sizes = [d.heads * d.head_dim, d.kv_heads * d.head_dim, d.kv_heads * d.head_dim]
        query, key, value = F.linear(normed, weight, bias).split(sizes, dim=-1)
        return query, key, value

    def __call__(self, hidden: Tensor, rotations: Rotations, attend: Attend) -> Tensor:
        """The layer's output (..., D)."""
        d, layer = self.decoder, self.layer
        projected = self._project(rms_norm(hidden, layer.input_layernorm.weight, d.epsilon))
        query, key, value = (x.unflatten(-1, (-1, d.head_dim)) for x in projected)
        if self.query_norm is not None and self.key_norm is not None:
            query = rms_norm(query, _interleaved(self.query_norm.weight, d.head_dim), d.epsilon)
            key = rms_norm(key, _interleaved(self.key_norm.weight, d.head_dim), d.epsilon)
        attended = attend(rotate(query, rotations[0]), rotate(key, rotations[1]), value)
        hidden = hidden + layer.self_attn.o_proj(attended)
        normed = rms_norm(hidden, layer.post_attention_layernorm.weight, d.epsilon)
        if self.joined is None:
            gate, up = layer.mlp.gate_proj(normed), layer.mlp.up_proj(normed)
        else:
            gate, up = F.linear(normed, self.joined[2]).chunk(2, dim=-1)
        return hidden + layer.mlp.down_proj(F.silu(gate) * up)
