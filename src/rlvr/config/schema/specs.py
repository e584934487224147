"""The complete specification of a policy, a run or an evaluation: the input of a stage."""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from rlvr import estimators
from rlvr.config.registries import BACKENDS
from rlvr.config.schema.fields import Natural, Strict
from rlvr.config.schema.models_and_data import Data, Model
from rlvr.config.schema.settings import Critic, Evaluation, Loss, Probe, Reward, Rl, Rollout, Selection, Sft


class PolicySpec(Strict):
    """The policy that RL starts from: a model, and its SFT (none for a published model).

    `start` is a policy. The SFT starts from its weights instead of the model's.
    """

    model: Model
    sft: Sft | None
    sft_data: Data | None
    start: PolicySpec | None = None


class RunSpec(Strict):
    """One RL run: equal specifications are the same run."""

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
    def selection_has_probes(self):
        if self.selection.rule == "best_validation" and self.probe.problems == 0:
            raise ValueError("selection.rule: best_validation needs held-out problems (probe.problems)")
        return self

    @model_validator(mode="after")
    def critic_has_a_trainer(self):
        if self.critic is None:
            return self
        if not BACKENDS.load(self.rl.backend).critic:
            valid = " or ".join(name for name, backend in BACKENDS.all() if backend.critic)
            raise ValueError(f"critic: the backend {self.rl.backend} cannot train one; PPO needs rl.backend: {valid}")
        if not estimators.kind(self.estimator["name"]).critic:
            valid = ", ".join(name for name in estimators.names() if estimators.kind(name).critic)
            raise ValueError(f"critic: PPO uses raw rewards ({valid}), so {self.estimator['name']} cannot have one")
        return self

    @model_validator(mode="after")
    def trainer_sees_its_weights(self):
        if beyond := [step for step in self.probe.keep_steps if self.rl.steps is not None and step > self.rl.steps]:
            raise ValueError(f"probe.keep_steps: {beyond[0]} is beyond the run's {self.rl.steps} steps")
        if self.probe.keep_weights and not BACKENDS.load(self.rl.backend).weights:
            valid = " or ".join(name for name, backend in BACKENDS.all() if backend.weights)
            raise ValueError(
                f"probe.keep_weights: the backend {self.rl.backend} cannot do that; it needs rl.backend: {valid}"
            )
        return self

    @model_validator(mode="after")
    def estimator_takes_the_rewards(self):
        remedy = "set reward.overlong_penalty to 0, or train another method with it"
        estimators.kind(self.estimator["name"]).refuse_negative(self.reward.least, remedy)
        return self

    @property
    def needs_reference(self) -> bool:
        """Whether a reference is needed: for KL, resets, an estimator's weights, or the OEF of probes."""
        needs = estimators.kind(self.estimator["name"]).inputs
        weighs = any(estimators.INPUTS[need].needs_reference for need in needs)
        resets = self.rl.reference_reset > 0 or self.rl.last_layers_resets > 0
        return weighs or self.loss.kl_coefficient > 0 or resets or self.probe.problems > 0

    @property
    def kept_steps(self) -> list[int]:
        """The steps whose weights a run keeps; 0, before RL, is one unless `probe.keep_steps` names others."""
        return [step for step in range(self.steps + 1) if self.probe.due(step) and self.probe.keeps(step)]

    @property
    def last_layers_steps(self) -> list[int]:
        """The steps after which the last layers are reset (FADE, App. 15.2), at equal distances; never the last one."""
        parts = self.rl.last_layers_resets + 1
        return sorted({round(i * self.steps / parts) for i in range(1, parts)} - {0, self.steps})

    @property
    def steps(self) -> int:
        """Policy-gradient steps: `rl.steps`, or those of `rl.epochs` over the training set."""
        if self.rl.steps is not None:
            return self.rl.steps
        if self.data.problems is None:
            raise ValueError(f"{self.data.name}: rl.epochs needs the number of problems; set `problems` or rl.steps")
        return max(1, self.rl.epochs * self.data.problems // self.rl.prompts_per_step)


class EvaluationSpec(Strict):
    """How a benchmark is sampled."""

    data: Data
    sampling: Evaluation
