"""A run's specification as overrides of verl 0.9.1's configuration: the one place where verl's keys are written.

`rlvr verl-config RUN` shows them; tests/test_verl.py composes them with verl's own hydra configuration. What verl has
no key for stands under `rlvr`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rlvr.config.schema import Execution, RunSpec
from rlvr.estimators import signature

VERL = "0.9.1"
ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
REFERENCE = "actor_rollout_ref.ref"
AGGREGATION = {
    "token_mean": "token-mean",
    "sequence_mean": "seq-mean-token-mean",
    "sequence_sum": "seq-mean-token-sum-norm",
}
NO_DUAL_CLIP = 1e9  # verl bounds the loss of negative weights at 3 |A| by default; no paper here does
NEEDS_REFERENCE = {"log_ratio_PG", "logp_ref_PG"}  # arguments of an estimator that are made of log pi_ref


@dataclass(frozen=True)
class Places:
    """Files of a run, and the devices that carry it out."""

    model: str
    train: str
    validation: str
    state: str
    nodes: int = 1
    gpus_per_node: int = 1


def needs_reference(spec: RunSpec) -> bool:
    """Whether log pi_ref is needed: for the KL term, a reset reference, or an estimator that weighs by it."""
    needs = set(signature(spec.estimator["name"]).needs)
    return spec.loss.kl_coefficient > 0 or spec.rl.reference_reset > 0 or bool(needs & NEEDS_REFERENCE)


def settings(spec: RunSpec, places: Places, execution: Execution) -> dict[str, Any]:
    """verl's keys and their values, and our own under `+rlvr`."""
    made: dict[str, Any] = {}
    for part in (_data, _optimization, _loss, _rollout, _trainer):
        made |= part(spec, places, execution)
    return made


def overrides(spec: RunSpec, places: Places, execution: Execution) -> list[str]:
    """The same as hydra writes it: key=value, strings quoted, null for None."""
    return [f"{key}={_written(value)}" for key, value in settings(spec, places, execution).items()]


def _written(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_written, value)) + "]"
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _data(spec: RunSpec, places: Places, _: Execution) -> dict[str, Any]:
    return {
        "data.train_files": places.train,
        "data.val_files": places.validation,
        "data.train_batch_size": spec.rl.prompts_per_step,
        "data.max_prompt_length": spec.rollout.max_prompt_tokens,
        "data.max_response_length": spec.rollout.max_response_tokens,
        "data.filter_overlong_prompts": True,
        "data.truncation": "error",
        "data.shuffle": True,
        "data.seed": spec.seed,
    }


def _optimization(spec: RunSpec, places: Places, _: Execution) -> dict[str, Any]:
    rl = spec.rl
    mixed = "bfloat16" if rl.precision == "bfloat16" else "float32"
    return {
        "actor_rollout_ref.model.path": places.model,
        f"{ACTOR}.optim.lr": rl.learning_rate,
        f"{ACTOR}.optim.lr_warmup_steps": rl.warmup_steps,
        f"{ACTOR}.optim.weight_decay": rl.weight_decay,
        f"{ACTOR}.optim.betas": list(rl.betas),
        f"{ACTOR}.optim.clip_grad": rl.max_grad_norm,
        f"{ACTOR}.grad_clip": rl.max_grad_norm,
        f"{ACTOR}.ppo_mini_batch_size": rl.prompts_per_minibatch,
        f"{ACTOR}.ppo_micro_batch_size_per_gpu": rl.sequences_per_microbatch,
        f"{ACTOR}.ppo_epochs": 1,
        f"{ACTOR}.shuffle": False,
        f"{ACTOR}.data_loader_seed": spec.seed,
        f"{ACTOR}.fsdp_config.model_dtype": "float32",
        f"{ACTOR}.fsdp_config.seed": spec.seed,
        f"{ACTOR}.fsdp_config.dtype": mixed,
        f"{REFERENCE}.log_prob_micro_batch_size_per_gpu": rl.sequences_per_microbatch,
        f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": rl.sequences_per_microbatch,
    }


def _loss(spec: RunSpec, _: Places, __: Execution) -> dict[str, Any]:
    loss, reference = spec.loss, needs_reference(spec)
    made = {
        "algorithm.adv_estimator": "rlvr",  # ours, by the name under +rlvr: no formula stands twice
        "algorithm.use_kl_in_reward": False,
        f"{ACTOR}.clip_ratio": loss.clip_low,
        f"{ACTOR}.clip_ratio_low": loss.clip_low,
        f"{ACTOR}.clip_ratio_high": loss.clip_high,
        f"{ACTOR}.clip_ratio_c": NO_DUAL_CLIP,
        f"{ACTOR}.loss_agg_mode": AGGREGATION[loss.aggregation],
        f"{ACTOR}.entropy_coeff": 0,
        f"{ACTOR}.use_kl_loss": reference,  # with a coefficient of 0 the reference's log-probabilities are still made
        f"{ACTOR}.kl_loss_coef": loss.kl_coefficient,
        f"{ACTOR}.kl_loss_type": "low_var_kl",  # k3
        "+rlvr.estimator": json.dumps(spec.estimator, sort_keys=True),
        "+rlvr.reference_reset": spec.rl.reference_reset,
        "+rlvr.overlong_penalty": spec.reward.overlong_penalty,
        "+rlvr.overlong_buffer": spec.reward.overlong_buffer,
        "+rlvr.verifier": spec.data.verifier,
    }
    if loss.aggregation == "sequence_sum":
        made[f"{ACTOR}.loss_scale_factor"] = spec.rollout.max_response_tokens
    if spec.rollout.dynamic_sampling:
        made |= {
            "algorithm.filter_groups.enable": True,
            "algorithm.filter_groups.metric": "acc",
            "algorithm.filter_groups.max_num_gen_batches": spec.rollout.max_sampling_rounds,
        }
    return made


def _rollout(spec: RunSpec, _: Places, execution: Execution) -> dict[str, Any]:
    return {
        f"{ROLLOUT}.name": "vllm",
        f"{ROLLOUT}.n": spec.rollout.samples_per_prompt,
        f"{ROLLOUT}.temperature": spec.rollout.temperature,
        f"{ROLLOUT}.top_p": 1.0,
        f"{ROLLOUT}.top_k": -1,
        f"{ROLLOUT}.do_sample": True,
        f"{ROLLOUT}.tensor_model_parallel_size": execution.tensor_parallel,
        f"{ROLLOUT}.gpu_memory_utilization": execution.gpu_memory_utilization,
        f"{ROLLOUT}.calculate_log_probs": True,
    }


def _trainer(spec: RunSpec, places: Places, execution: Execution) -> dict[str, Any]:
    return {
        "trainer.total_training_steps": spec.steps,
        "trainer.total_epochs": spec.steps,  # an epoch has at least a step: the steps end the run
        "trainer.save_freq": execution.save_every,
        "trainer.max_actor_ckpt_to_keep": execution.keep_checkpoints,
        "trainer.test_freq": -1,
        "trainer.val_before_train": False,
        "trainer.resume_mode": "auto",
        "trainer.default_local_dir": places.state,
        "trainer.logger": ["console"],
        "trainer.nnodes": places.nodes,
        "trainer.n_gpus_per_node": places.gpus_per_node,
    }
