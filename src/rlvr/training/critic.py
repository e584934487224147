"""PPO's value model in process: a copy of the base policy with a linear head, and its own optimizer.

Dimensions: P prompts, G rollouts per prompt, T response tokens.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rlvr.config.schema.settings import Critic, Rl
from rlvr.policies.errors import NonFinite
from rlvr.training import gae
from rlvr.training.batches import Groups, all_of_tokens, autocast, chunks, of_tokens
from rlvr.training.forward import Microbatch, Model, adamw, critic_of, training_pass
from rlvr.training.losses import aggregation, value


@dataclass(frozen=True)
class Estimates:
    """A batch's values before the update, the returns that they should have, and the policy's weights."""

    values_PGT: Tensor
    returns_PGT: Tensor
    advantages_PGT: Tensor  # whitened

    def weights_PG(self, lengths_PG: Tensor) -> Tensor:
        """The mean weight of a response's tokens."""
        return self.advantages_PGT.sum(-1) / lengths_PG


class ValueModel:
    """Values V_t of the tokens before t: those of a copy of the policy, whose linear head is 0 at first."""

    def __init__(
        self,
        model: Model,
        settings: Critic,
        rl: Rl,
        microbatch: Microbatch,
        *,
        mode: str = "token_mean",
        longest: int = 0,
    ):
        """`mode` and `longest` are of the policy's loss (`losses.aggregation`), which verl's critic follows too."""
        assert settings.learning_rate is not None
        self.settings, self.rl, self.microbatch = settings, rl, microbatch
        self.mode, self.longest = mode, longest
        self.model = critic_of(model)
        self.forward = training_pass(self.model)
        self.optimizer = adamw(self.model, lr=settings.learning_rate, betas=rl.betas, weight_decay=rl.weight_decay)

    def estimate(self, groups: Groups, rewards_PG: Tensor) -> Estimates:
        """Generalised advantage estimates of a batch, from the values as they are."""
        with autocast(self.rl.precision, rewards_PG.device):
            values_PGT = all_of_tokens(self.forward.values, groups, self.microbatch)
        mask_PGT = groups.mask_PGT()
        rewards_PGT = gae.rewards_at_the_end(rewards_PG, mask_PGT)
        discounts = {"gamma": self.settings.gamma, "lam": self.settings.lam}
        advantages_PGT, returns_PGT = gae.advantages(rewards_PGT, values_PGT, mask_PGT, **discounts)
        return Estimates(values_PGT, returns_PGT, gae.whitened(advantages_PGT, mask_PGT))

    def update(self, groups: Groups, estimates: Estimates) -> dict[str, float]:
        """An optimizer step per minibatch of the clipped loss, aggregated as the policy's; its figures.

        `explained_variance` is 1 - var(returns - values before the update) / var(returns), over the batch's tokens.
        Raises NonFinite before a step with a loss or gradient that is not.
        """
        losses, clipped = [], 0.0
        for rows in torch.arange(len(groups.prompts_PL), device=groups.lengths_PG.device).split(
            self.rl.prompts_per_minibatch
        ):
            self.optimizer.zero_grad(set_to_none=True)
            loss, limited = self._backward(groups.select(rows), estimates, rows)
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.rl.largest_norm)
            if not torch.isfinite(loss + norm):
                raise NonFinite(f"the critic's loss {float(loss)}, gradient norm {float(norm)}")
            self.optimizer.step()
            losses.append(float(loss))
            clipped += limited
        mask_PGT = groups.mask_PGT()
        values, returns = estimates.values_PGT[mask_PGT], estimates.returns_PGT[mask_PGT]
        spread = float(returns.var(correction=0))
        return {
            "value_loss": sum(losses) / len(losses),
            "value_mean": float(values.mean()),
            "value_clip_fraction": clipped / int(mask_PGT.sum()),
            "explained_variance": 1 - float((returns - values).var(correction=0)) / spread if spread > 0 else 0.0,
        }

    def _backward(self, groups: Groups, estimates: Estimates, rows: Tensor) -> tuple[Tensor, float]:
        """A minibatch's loss and the number of tokens whose clip decides; adds its gradient chunk by chunk."""
        old_MT, returns_MT = (x[rows].flatten(0, 1) for x in (estimates.values_PGT, estimates.returns_PGT))
        tokens, whole, limited = int(groups.lengths_PG.sum()), torch.zeros((), device=rows.device), 0.0
        for chunk in chunks(groups, self.microbatch):
            chosen, width, mask_MT = chunk.members_M, chunk.tokens_NT.shape[1], chunk.mask_MT()
            with autocast(self.rl.precision, rows.device):
                values_MT = of_tokens(self.forward.values, chunk)
            losses_MT, decided_MT = value.clipped(
                values_MT, old_MT[chosen, :width], returns_MT[chosen, :width], clip=self.settings.clip
            )
            part = self._aggregated(losses_MT, mask_MT, groups.lengths_PG.numel(), tokens)
            part.backward()
            whole += part.detach()
            limited += float((decided_MT & mask_MT).sum())
        return whole, limited

    def _aggregated(self, losses_MT: Tensor, mask_MT: Tensor, sequences: int, tokens: int) -> Tensor:
        """A microbatch's part of its minibatch's loss, which has `sequences` responses and `tokens` tokens."""
        if self.mode == "token_mean":  # one division, whose bits runs with a critic have
            return (losses_MT * mask_MT).sum() / tokens
        counts = {"sequences": sequences, "tokens": tokens, "longest": self.longest}
        return (losses_MT * aggregation.token_weights(mask_MT, mode=self.mode, **counts)).sum()

    def tensors(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def restore(self, tensors: dict[str, Any]) -> None:
        self.model.load_state_dict(tensors["model"])
        self.optimizer.load_state_dict(deepcopy(tensors["optimizer"]))
