"""What a stage is told: the complete specification of a policy, a run or an evaluation."""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from rlvr import estimators
from rlvr.config import registries
from rlvr.config.schema.fields import Natural, Strict
from rlvr.config.schema.names import Data, Model
from rlvr.config.schema.settings import Critic, Evaluation, Loss, Probe, Reward, Rl, Rollout, Selection, Sft


class PolicySpec(Strict):
    """The policy that RL starts from: a model, and the SFT that it gets (none for a published model)."""

    model: Model
    sft: Sft | None
    sft_data: Data | None


class RunSpec(Strict):
    """One RL run, complete: two runs with equal specifications are the same run."""

    base: PolicySpec
    data: Data
    validation: Data
    estimator: dict[str, Any]
    loss: Loss
    critic: Critic | None = None
    rollout: Rollout
    reward: Reward
    rl: Rl
    probe: Probe
    selection: Selection = Selection()
    seed: Natural

    @model_validator(mode="after")
    def something_to_select_by(self):
        if self.selection.rule == "best_validation" and self.probe.problems == 0:
            raise ValueError("selection.rule: best_validation needs held-out problems (probe.problems)")
        return self

    @model_validator(mode="after")
    def a_critic_has_its_trainer(self):
        if self.critic is None:
            return self
        if self.rl.backend not in registries.with_critic():
            able = " or ".join(registries.with_critic())
            raise ValueError(f"critic: the backend {self.rl.backend} has none; PPO needs rl.backend: {able}")
        if not estimators.signature(self.estimator["name"]).critic:
            able = ", ".join(name for name in estimators.names() if estimators.signature(name).critic)
            raise ValueError(
                f"critic: it weighs rewards as they are ({able}), so it has no place beside {self.estimator['name']}"
            )
        return self

    @property
    def steps(self) -> int:
        """Policy-gradient steps: `rl.steps`, or what `rl.epochs` over the training set make."""
        if self.rl.steps is not None:
            return self.rl.steps
        if self.data.problems is None:
            raise ValueError(f"{self.data.name}: rl.epochs needs its number of problems; give it, or rl.steps")
        return max(1, self.rl.epochs * self.data.problems // self.rl.prompts_per_step)


class EvaluationSpec(Strict):
    """How a benchmark is sampled."""

    data: Data
    sampling: Evaluation
