"""One step's update: minibatches of the clipped surrogate, with an optional KL term.

Dimensions: P prompts, G rollouts a prompt, T response tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from rlvr.config.schema import Loss, Rl
from rlvr.losses import aggregation, kl, ppo_clip
from rlvr.policies.decoder import Decoder
from rlvr.training.batches import Groups, autocast, chunks, token_logprobs


class NonFinite(RuntimeError):
    """A loss or gradient that is not a finite number; no optimizer step was taken with it."""


@dataclass
class Totals:
    """Sums over the tokens and minibatches of a step."""

    tokens: int = 0
    clipped: float = 0.0
    kl: float = 0.0
    losses: list[float] = field(default_factory=list)
    grad_norms: list[float] = field(default_factory=list)
    disagreement: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float | None]:
        """`logprob_gap` compares sampler and trainer before the first optimizer step (nats, mean of |difference|)."""
        tokens = max(1, self.tokens)
        gap = sum(self.disagreement) / len(self.disagreement) if self.disagreement else None
        return {
            "loss": sum(self.losses) / max(1, len(self.losses)),
            "grad_norm": sum(self.grad_norms) / max(1, len(self.grad_norms)),
            "clip_fraction": self.clipped / tokens,
            "kl": self.kl / tokens,
            "logprob_gap": gap,
        }


def update(
    model: torch.nn.Module,
    decoder: Decoder,
    optimizer: torch.optim.Optimizer,
    groups: Groups,
    advantages_PG: Tensor,
    old_logprobs_PGT: Tensor,
    reference_logprobs_PGT: Tensor,
    *,
    loss: Loss,
    rl: Rl,
    longest: int,
) -> Totals:
    """Take one optimizer step a minibatch. Raises NonFinite before a step with a non-finite loss or gradient."""
    totals = Totals()
    for rows in torch.arange(len(groups.prompts_PL), device=advantages_PG.device).split(rl.prompts_per_minibatch):
        optimizer.zero_grad(set_to_none=True)
        sequences, tokens = rows.numel() * groups.lengths_PG.shape[1], int(groups.lengths_PG[rows].sum())
        informing = rows
        if loss.kl_coefficient == 0:  # a group of zero weights has no gradient at all: leave it out
            informing = rows[(advantages_PG[rows] != 0).any(dim=1)]
        part, minibatch = groups.select(informing), torch.zeros((), device=advantages_PG.device)
        old_MT, reference_MT = (x[informing].flatten(0, 1) for x in (old_logprobs_PGT, reference_logprobs_PGT))
        advantages_M = advantages_PG[informing].flatten()
        for chunk in chunks(part, rl.sequences_per_microbatch) if informing.numel() else ():
            chosen, width = chunk.members_M, chunk.tokens_NT.shape[1]
            with autocast(rl.precision, advantages_PG.device):
                logprobs = token_logprobs(decoder, chunk)
            old = old_MT[chosen, :width]
            policy_loss, clipped = ppo_clip.surrogate(
                logprobs, old, advantages_M[chosen, None], clip_low=loss.clip_low, clip_high=loss.clip_high
            )
            divergence = kl.k3(logprobs, reference_MT[chosen, :width])
            mask = chunk.mask_MT()
            weights = aggregation.token_weights(
                mask, mode=loss.aggregation, sequences=sequences, tokens=tokens, longest=longest
            )
            value = ((policy_loss + loss.kl_coefficient * divergence) * weights).sum()
            value.backward()
            with torch.no_grad():
                minibatch += value.detach()
                totals.tokens += int(mask.sum())
                totals.clipped += float((clipped & mask).sum())
                totals.kl += float((divergence * mask).sum())
                if not totals.grad_norms:
                    totals.disagreement.append(float(((logprobs - old).abs() * mask).sum() / mask.sum()))
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), rl.max_grad_norm)
        if not torch.isfinite(minibatch + norm):
            raise NonFinite(f"loss {float(minibatch)}, gradient norm {float(norm)}")
        optimizer.step()
        totals.losses.append(float(minibatch))
        totals.grad_norms.append(float(norm))
    return totals
