"""TRL's GRPOTrainer with a policy weight of this package instead of its advantages.

    from rlvr.adapters.trl import GRPOTrainer

    GRPOTrainer(..., estimator="power_alpha", estimator_settings={"alpha": 2.0})

All else is TRL's: rollouts, rewards, loss, logs. Dimensions: B responses of all processes, P prompts, G rollouts each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from trl import GRPOTrainer as Trainer

from rlvr.estimators import INPUTS, Estimator, inputs_of_step


class GRPOTrainer(Trainer):  # pyright: ignore[reportGeneralTypeIssues] - without TRL it takes this file for it
    """TRL's trainer; `estimator` names a method of `rlvr weigh --list`, `estimator_settings` changes its defaults.

    `estimator_state` is what a method with a controller carries from step to step; TRL's checkpoints do not hold it.
    Raises ValueError for a method whose weights follow the policy within a batch, and for one that needs a reference
    where `beta` is 0, since TRL then loads none.
    """

    def __init__(
        self, *args: Any, estimator: str = "grpo", estimator_settings: Mapping[str, Any] | None = None, **named: Any
    ):
        self.estimator, self.estimator_state = Estimator(estimator, estimator_settings), {}
        if self.estimator.coupled:
            raise ValueError(f"{estimator}: its weights follow the policy within a batch, and TRL takes them once")
        super().__init__(*args, **named)
        if self.beta == 0.0 and any(INPUTS[need].needs_reference for need in self.estimator.needs):
            raise ValueError(f"{estimator} needs the reference policy: set beta of GRPOConfig above 0 (1e-9 will do)")

    def _calculate_rewards(self, *args: Any, **named: Any) -> Tensor:
        self._rewards_per_function = super()._calculate_rewards(*args, **named)  # of all processes
        return self._rewards_per_function

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output = super()._generate_and_score_completions(inputs)
        if not self.model.training:
            return output
        rewards_B = (self._rewards_per_function * self.reward_weights.to(self._rewards_per_function.device)).sum(dim=1)
        if not bool(rewards_B.isfinite().all()):
            raise ValueError("a reward function gave no finite reward for a response, and a weight needs every reward")
        rewards_PG = rewards_B.view(-1, self.num_generations)
        self.estimator.refuse_negative(rewards_PG)
        step = self._inputs(output, rewards_PG) if self.estimator.needs else {}
        weights_PG, self.estimator_state = self.estimator.step(rewards_PG, step, self.estimator_state)
        if not bool(weights_PG.isfinite().all()):
            raise ValueError(f"{self.estimator.name}: a weight is not finite")
        first = self.accelerator.process_index * len(inputs)
        output["advantages"] = weights_PG.flatten()[first : first + len(inputs)]
        for _ in range(weights_PG.numel()):  # those that TRL has logged for this batch
            self._logs["advantages"].pop()
        self._logs["advantages"].extend(weights_PG.flatten().tolist())
        return output

    @torch.no_grad()
    def _inputs(self, output: dict[str, Any], rewards_PG: Tensor) -> dict[str, Any]:
        """The estimator's inputs (P, G) from sums over each response's tokens, gathered from all processes."""
        mask = output["completion_mask"]
        own = mask if output.get("tool_mask") is None else mask * output["tool_mask"]  # the policy's own tokens
        old = output.get("old_per_token_logps")
        if old is None:  # TRL leaves it out where each batch is one update
            old = self._get_per_token_logps_and_entropies(
                self.model,
                torch.cat([output["prompt_ids"], output["completion_ids"]], dim=1),
                torch.cat([output["prompt_mask"], mask], dim=1),
                mask.size(1),
                batch_size=self.args.per_device_train_batch_size,
            )[0]
        reference = output.get("ref_per_token_logps")
        sums = [(logps * own).sum(dim=1) for logps in (old, old if reference is None else reference)]
        lengths = own.sum(dim=1).clamp(min=1)  # TRL may mask all of a response (mask_truncated_completions)
        old_PG, reference_PG, lengths_PG = (
            self.accelerator.gather(values).view(rewards_PG.shape) for values in (*sums, lengths)
        )
        return inputs_of_step(old_PG.float()[..., None], reference_PG.float()[..., None], lengths_PG)
