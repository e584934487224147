"""One step's update: minibatches of the clipped surrogate, with an optional KL term.

Dimensions: P prompts, G rollouts per prompt, T response tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rlvr.config.schema.settings import Loss, Rl
from rlvr.policies.errors import NonFinite
from rlvr.training.batches import Groups, all_logprobs, autocast, chunks, token_logprobs
from rlvr.training.forward import Microbatch, Model, Optimizer, Pass
from rlvr.training.losses import aggregation, gspo, kl, ppo_clip

# Indices of prompts and their current log pi (P, G) -> their weights (P, G), the loss that the weights descend, and the
# estimator's figures.
Coupled = Callable[[Tensor, Tensor], tuple[Tensor, float, dict[str, float | None]]]


@dataclass
class Totals:
    """Sums over the tokens and minibatches of a step."""

    tokens: int = 0
    clipped: float = 0.0
    clipped_high: float = 0.0  # of these, the tokens of responses with a positive weight
    kl: float = 0.0
    losses: list[float] = field(default_factory=list)
    grad_norms: list[float] = field(default_factory=list)
    disagreement: list[float] = field(default_factory=list)
    weighed: dict[str, float | None] = field(default_factory=dict)  # a coupled estimator's, of the last minibatch

    def figures(self) -> dict[str, float | None]:
        """`logprob_gap` compares sampler and trainer before the first optimizer step (nats, mean of |difference|)."""
        tokens = max(1, self.tokens)
        gap = sum(self.disagreement) / len(self.disagreement) if self.disagreement else None
        return {
            "loss": sum(self.losses) / max(1, len(self.losses)),
            "grad_norm": sum(self.grad_norms) / max(1, len(self.grad_norms)),
            "clip_fraction": self.clipped / tokens,
            "clip_fraction_low": (self.clipped - self.clipped_high) / tokens,
            "clip_fraction_high": self.clipped_high / tokens,
            "kl": self.kl / tokens,
            "logprob_gap": gap,
            **self.weighed,
        }


@dataclass
class StepInputs:
    """What a step's minibatches have in common: rollouts with their log pi and log pi_ref, and settings.

    With `coupled` weights the loss is -A log pi, summed over tokens and averaged over responses, instead of the
    clipped surrogate.
    """

    groups: Groups
    old_PGT: Tensor
    reference_PGT: Tensor
    loss: Loss
    rl: Rl
    longest: int
    microbatch: Microbatch
    coupled: Coupled | None = None

    def backward(self, forward: Pass, rows: Tensor, weights: Tensor, totals: Totals) -> Tensor:
        """The loss of one minibatch; adds its gradient chunk by chunk. `weights`: (rows, G) or (rows, G, T)."""
        lengths_PG = self.groups.lengths_PG[rows]
        sequences, tokens = lengths_PG.numel(), int(lengths_PG.sum())
        if self.loss.kl_coefficient == 0:  # a group of zero weights has no gradient
            informs = (weights != 0).flatten(1).any(dim=1)
            rows, weights = rows[informs], weights[informs]
        whole = torch.zeros((), device=weights.device)
        if rows.numel() == 0:
            return whole
        old_MT, reference_MT = (x[rows].flatten(0, 1) for x in (self.old_PGT, self.reference_PGT))
        weights_MT = weights.flatten(0, 1) if weights.ndim == 3 else weights.flatten()[:, None]
        for chunk in chunks(self.groups.select(rows), self.microbatch):
            chosen, width, mask_MT = chunk.members_M, chunk.tokens_NT.shape[1], chunk.mask_MT()
            with autocast(self.rl.precision, weights.device):
                logprobs_MT = token_logprobs(forward, chunk)
            old = old_MT[chosen, :width]
            losses_MT, clipped_MT = self._policy_loss(logprobs_MT, old, weights_MT[chosen, :width], mask_MT)
            divergence_MT = kl.k3(logprobs_MT, reference_MT[chosen, :width])
            each_MT = mask_MT / sequences
            if self.coupled is None:
                each_MT = aggregation.token_weights(
                    mask_MT, mode=self.loss.aggregation, sequences=sequences, tokens=tokens, longest=self.longest
                )
            value = ((losses_MT + self.loss.kl_coefficient * divergence_MT) * each_MT).sum()
            value.backward()
            with torch.no_grad():
                whole += value.detach()
                totals.tokens += int(mask_MT.sum())
                totals.clipped += float((clipped_MT & mask_MT).sum())
                totals.clipped_high += float((clipped_MT & mask_MT & (weights_MT[chosen, :width] > 0)).sum())
                totals.kl += float((divergence_MT * mask_MT).sum())
                if not totals.grad_norms:
                    totals.disagreement.append(float(((logprobs_MT - old).abs() * mask_MT).sum() / mask_MT.sum()))
        return whole

    def _policy_loss(self, logprobs: Tensor, old: Tensor, weights: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        if self.coupled is not None:
            return -weights * logprobs, torch.zeros_like(logprobs, dtype=torch.bool)
        if self.loss.ratio == "sequence":
            return gspo.surrogate(logprobs, old, weights, mask, **self.loss.bounds)
        return ppo_clip.surrogate(logprobs, old, weights, **self.loss.bounds)


def update(model: Model, forward: Pass, optimizer: Optimizer, inputs: StepInputs, advantages: Tensor) -> Totals:
    """Totals of one optimizer step per minibatch. Raises NonFinite before a step with a loss or gradient that is not.

    `advantages` are the weights of responses (P, G) or, with a critic, of tokens (P, G, T). With `coupled` weights
    a minibatch's loss is the estimator's own: the weights A are computed at the current policy, and
    -mean(A log pi) with A fixed has the gradient of that loss.
    """
    totals, groups, rl = Totals(), inputs.groups, inputs.rl
    for rows in torch.arange(len(groups.prompts_PL), device=advantages.device).split(rl.prompts_per_minibatch):
        optimizer.zero_grad(set_to_none=True)
        weights, own_loss = advantages[rows], None
        if inputs.coupled is not None:
            with autocast(rl.precision, advantages.device):
                logp_PG = all_logprobs(forward, groups.select(rows), inputs.microbatch).sum(-1)
            weights, own_loss, totals.weighed = inputs.coupled(rows, logp_PG)
        value = inputs.backward(forward, rows, weights, totals)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), rl.largest_norm)
        if not torch.isfinite(value + norm):
            raise NonFinite(f"loss {float(value)}, gradient norm {float(norm)}")
        optimizer.step()
        totals.losses.append(float(value) if own_loss is None else own_loss)
        totals.grad_norms.append(float(norm))
    return totals
