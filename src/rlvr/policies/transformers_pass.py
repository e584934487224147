"""Log-probabilities by transformers' own forward pass: the trainer's pass on a GPU.

Attention is torch's scaled_dot_product_attention, layers are recomputed in the backward pass (gradient checkpointing),
and logits exist for `TOKENS` tokens at a time. So memory grows with the tokens of a microbatch, not with the square of
its lengths, nor with tokens times vocabulary (`rlvr.cost.memory` has the formula). On a CPU, and for common beginnings,
`rlvr.policies.decoder` is faster.

Dimensions: P prompts, N rows (each a response to one of the prompts), L prompt tokens, T response tokens, S both,
A response tokens of all rows, D hidden, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from rlvr.policies.shared_prefixes import joined

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TOKENS = 2048  # whose logits exist at a time: 1.2 GB in float32 for a vocabulary of 152,000


class TransformersPass:
    """A model's own forward pass with the signature of `Decoder.logprobs`; gradients flow if autograd is on."""

    def __init__(self, model: PreTrainedModel):
        model.set_attn_implementation("sdpa")
        # Older versions of transformers 5 have only its former name, which ends with version 6.
        recompute = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
        recompute({"use_reentrant": False})
        self.model, self.pictures = model, getattr(model, "pictures", None)

    def logprobs(
        self,
        prompts_PL: Tensor,
        lengths_P: Tensor,
        prompt_N: Tensor,
        responses_NT: Tensor,
        response_lengths_N: Tensor | None = None,
    ) -> Tensor:
        """log pi (N, T) of each response token given what precedes it, temperature 1, in float32.

        Past `response_lengths_N`, if given, the result is zero.
        """
        hidden_AD, real_NT = self._before(prompts_PL, lengths_P, prompt_N, responses_NT, response_lengths_N)
        targets_A = responses_NT[real_NT]
        parts = [
            checkpoint(self._of_tokens, hidden, targets, use_reentrant=False)
            for hidden, targets in zip(hidden_AD.split(TOKENS), targets_A.split(TOKENS), strict=True)
        ]
        return torch.zeros(real_NT.shape, device=real_NT.device).masked_scatter(real_NT, torch.cat(parts))

    def values(self, *rows: Tensor) -> Tensor:
        """The value (N, T) before each response token, by the model's linear `score`; arguments as in `logprobs`."""
        hidden_AD, real_NT = self._before(*rows)
        values_A = self.model.get_submodule("score")(hidden_AD).float().squeeze(-1)
        return torch.zeros(real_NT.shape, device=real_NT.device).masked_scatter(real_NT, values_A)

    def _before(
        self, prompts_PL: Tensor, lengths_P: Tensor, prompt_N: Tensor, responses_NT: Tensor, lengths_N: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The normed hidden states (A, D) before response tokens, row by row, and which of (N, T) those are."""
        limit = responses_NT.shape[1]
        response_lengths_N = torch.full_like(prompt_N, limit) if lengths_N is None else lengths_N
        start_N1 = lengths_P[prompt_N, None]
        rows_NS = joined(prompts_PL[prompt_N], start_N1, responses_NT, response_lengths_N)
        # Rows are padded on the right, where causal attention sees no padding: no mask, so that fast kernels apply.
        self.model.train(torch.is_grad_enabled())  # layers are recomputed only in training mode; no dropout here
        hidden_NSD = self._hidden(rows_NS)
        self.model.eval()
        steps_T = torch.arange(limit, device=rows_NS.device)
        real_NT = steps_T < response_lengths_N[:, None]
        before_NT = (start_N1 - 1 + steps_T).clamp(max=rows_NS.shape[1] - 1)
        return hidden_NSD[torch.arange(len(rows_NS), device=rows_NS.device)[:, None], before_NT][real_NT], real_NT

    def _hidden(self, rows_NS: Tensor) -> Tensor:
        """The normed hidden states (N, S, D) of rows of tokens."""
        if self.pictures is None:
            return self.model.model(input_ids=rows_NS, use_cache=False).last_hidden_state
        positions_NS3, _ = self.pictures.positions(rows_NS)
        given = {
            "inputs_embeds": self.pictures.embedded(self.model, rows_NS),
            "position_ids": positions_NS3.movedim(-1, 0),
        }
        return self.model.get_decoder()(**given, use_cache=False).last_hidden_state

    def _of_tokens(self, hidden_AD: Tensor, targets_A: Tensor) -> Tensor:
        logits_AV = self.model.lm_head(hidden_AD).float()
        return logits_AV.gather(-1, targets_A[:, None]).squeeze(-1) - logits_AV.logsumexp(-1)
