"""A run's specification as overrides of verl 0.9.1's configuration: the only place with verl's keys.

`rlvr verl-config RUN` shows them; tests/training/test_verl.py composes them with verl's own hydra configuration. Keys
that verl does not have are under `rlvr`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rlvr.config.schema.settings import Execution, Sft
from rlvr.config.schema.specs import RunSpec
from rlvr.files import Mistake
from rlvr.training.backends.verl import LOGICAL_CPUS

VERL = "0.9.1"
ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
REFERENCE = "actor_rollout_ref.ref"
AGGREGATION = {
    "token_mean": "token-mean",
    "sequence_mean": "seq-mean-token-mean",
    "sequence_sum": "seq-mean-token-sum-norm",
}
NO_DUAL_CLIP = 1e9  # verl bounds the loss of negative weights at 3 |A| by default; no paper here names it
NO_CLIPPING = 1e9  # of gradients: verl needs a number
SFT_TOKENS = 16384  # per microbatch on one device
RECEIVER = "rlvr.training.backends.verl.vllm_worker.Receiver"  # of weights, in vLLM's workers
WITHOUT_PADDING = "flash_attention_2"  # the attention that verl can give packed sequences
# Of the seeds of vLLM: replicas of a run, to whose seed verl adds their rank, and steps at which it may resume.
REPLICAS, STEPS = 1 << 7, 1 << 15
LARGEST_SEED = (1 << 32) // (REPLICAS * STEPS) - 1  # NumPy, which vLLM seeds too, takes 32 bits


class Unsupported(Mistake, ValueError):
    """A run that verl cannot execute as specified."""


@dataclass(frozen=True)
class Places:
    """A run's files and devices. `model` is a folder or a name on the hub."""

    model: str
    tokenizer: str
    agent_loop: str
    train: str
    validation: str
    state: str
    nodes: int = 1
    gpus_per_node: int = 1
    pictures: bool = False  # whether prompts have pictures

    @classmethod
    def of(cls, state: Path, model: str, nodes: int = 1, gpus_per_node: int = 1, *, pictures: bool = False) -> Self:
        """The places of a run with its inputs beside its checkpoints."""
        names = {"tokenizer": "tokenizer", "agent_loop": "agent_loop.yaml"}
        names |= {"train": "train.parquet", "validation": "validation.parquet"}
        inputs = {key: str(state / "inputs" / name) for key, name in names.items()}
        return cls(model, state=str(state), nodes=nodes, gpus_per_node=gpus_per_node, pictures=pictures, **inputs)


def settings(spec: RunSpec, places: Places, execution: Execution) -> dict[str, Any]:
    """verl's keys and their values, and our own under `+rlvr`. Raises Unsupported."""
    if spec.selection.rule != "last":
        why = "needs the backend in_process: a verl run gives its last step"
        raise Unsupported(f"selection.rule {spec.selection.rule!r} {why}")
    devices, rl = places.nodes * places.gpus_per_node, spec.rl
    if execution.attention == WITHOUT_PADDING and rl.precision == "float32":
        raise Unsupported("rl.precision float32 needs execution.attention: sdpa, since FlashAttention takes 16 bits")
    for prompts in {rl.prompts_per_minibatch, rl.prompts_per_step % rl.prompts_per_minibatch}:
        if prompts * spec.rollout.samples_per_prompt % devices:
            raise Unsupported(
                f"a minibatch of {prompts} prompts x {spec.rollout.samples_per_prompt} rollouts cannot be shared by "
                f"{devices} GPUs equally"
            )
    rollout_seed(spec.seed, spec.steps)  # refused now, not at a resume
    keys: dict[str, Any] = {}
    for part in (_data, _optimization, _loss, _critic, _rollout, _trainer):
        keys |= part(spec, places, execution)
    return keys


def rollout_seed(seed: int, step: int) -> int:
    """vLLM's seed in a process that begins after a step, no other run's and no other process's of this run.

    verl adds a replica's rank to it, so with the run's own seed replica 1 of seed 0 would draw as replica 0 of seed 1.
    Raises Unsupported for a seed or step beyond 32 bits.
    """
    if seed > LARGEST_SEED or step >= STEPS:
        raise Unsupported(
            f"seed {seed} and step {step}: a run by verl has a seed of at most {LARGEST_SEED} and at most {STEPS} "
            "steps, since vLLM's seed holds both in 32 bits; set other `seeds` or fewer `rl.steps`"
        )
    return (seed * STEPS + step) * REPLICAS


def overrides(spec: RunSpec, places: Places, execution: Execution) -> list[str]:
    """The settings as hydra's lines: key=value, strings quoted, null for None."""
    return hydra_lines(settings(spec, places, execution))


def sft_overrides(
    sft: Sft, model: str, tokenizer: str, train: str, state: str, save_every: int, gpus: int = 1
) -> list[str]:
    """Lines for verl's SFT trainer: linear warm-up, cosine to zero, mean loss over a batch's response tokens.

    Raises Unsupported where GPUs cannot share a batch equally: verl would then train on fewer sequences per step.
    """
    if sft.sequences_per_step % gpus:
        raise Unsupported(
            f"sft.sequences_per_step {sft.sequences_per_step} cannot be shared by {gpus} GPUs equally: ask for another "
            "number of GPUs (config/cluster.yaml, rules, sft.verl; `--config gpus=N`)"
        )
    return hydra_lines(
        {
            "model.path": model,
            **attention("model", "sdpa"),
            "model.tokenizer_path": tokenizer,
            "data.train_files": train,
            "data.train_batch_size": sft.sequences_per_step,
            "data.max_token_len_per_gpu": SFT_TOKENS,
            "data.max_length": longest_demonstration(sft),
            "data.num_workers": 0,
            "data.custom_cls.path": "pkg://rlvr.training.backends.verl.sft_data",
            "data.custom_cls.name": "Demonstrations",
            "engine.strategy": "fsdp2",
            "engine.seed": sft.seed,
            "+engine.mixed_precision": mixed_precision("float32"),
            "optim.lr": sft.learning_rate,
            "optim.lr_scheduler_type": "cosine",
            "optim.lr_warmup_steps": max(1, round(sft.warmup_fraction * sft.steps)),
            "optim.zero_indexed_step": False,
            "optim.weight_decay": sft.weight_decay,
            "optim.betas": list(sft.betas),
            "optim.clip_grad": sft.max_grad_norm,
            "trainer.seed": sft.seed,
            "trainer.total_epochs": sft.steps,  # an upper bound: the number of steps ends the run
            "trainer.total_training_steps": sft.steps,
            "trainer.save_freq": save_every,
            "trainer.max_ckpt_to_keep": 2,
            "trainer.logger": ["console", "file"],
            "trainer.resume_mode": "auto",
            "trainer.default_local_dir": state,
        }
    )


def longest_demonstration(sft: Sft) -> int:
    """The most tokens of a demonstration: a microbatch holds one at least."""
    return min(sft.max_tokens or SFT_TOKENS, SFT_TOKENS)


def attention(model: str, kernel: str) -> dict[str, Any]:
    """Keys of a model's attention. FlashAttention takes packed sequences; SDPA pads them (`padded`)."""
    return {
        f"+{model}.override_config.attn_implementation": kernel,
        f"{model}.use_remove_padding": kernel == WITHOUT_PADDING,
    }


def mixed_precision(compute: str) -> dict[str, str]:
    return {"param_dtype": compute, "reduce_dtype": "float32", "buffer_dtype": "float32"}


def hydra_lines(settings: dict[str, Any]) -> list[str]:
    return [f"{key}={_hydra_value(value)}" for key, value in settings.items()]


def _hydra_value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_hydra_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_hydra_value, value)) + "]"
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _data(spec: RunSpec, places: Places, execution: Execution) -> dict[str, Any]:
    pictured = {
        "data.image_key": "images",
        "data.return_multi_modal_inputs": True,
        "data.custom_cls.path": "pkg://rlvr.training.backends.verl.dataset",
        "data.custom_cls.name": "Problems",
    }
    return {
        **(pictured if places.pictures else {}),
        "data.train_files": places.train,
        "data.val_files": places.validation,
        "data.train_batch_size": spec.rl.prompts_per_step,
        "data.max_prompt_length": spec.rollout.max_prompt_tokens,
        "data.max_response_length": spec.rollout.max_response_tokens,
        "data.filter_overlong_prompts": True,
        "data.truncation": "error",
        "data.shuffle": True,
        "data.seed": spec.seed,
        "data.val_batch_size": None,  # all at once
        "data.validation_shuffle": False,
        "data.dataloader_num_workers": 0,  # prompts are read, not computed
        "actor_rollout_ref.model.tokenizer_path": places.tokenizer,
        f"{ROLLOUT}.agent.agent_loop_config_path": places.agent_loop,
        f"{ROLLOUT}.agent.default_agent_loop": "verbatim",
        "reward.num_workers": execution.judges,
        "reward.reward_manager.source": "importlib",
        "reward.reward_manager.name": "Verified",
        "reward.reward_manager.module.path": "pkg://rlvr.training.backends.verl.reward",
    }


def _optimization(spec: RunSpec, places: Places, execution: Execution) -> dict[str, Any]:
    rl = spec.rl
    tokens = _microbatch(spec, execution)
    # Weights, moments and gradient sums are float32; without this verl uses bfloat16 for the rest, despite `dtype`.
    mixed = mixed_precision(rl.precision)
    return {
        "actor_rollout_ref.model.path": places.model,
        **attention("actor_rollout_ref.model", execution.attention),
        f"{ACTOR}.optim.lr": rl.learning_rate,
        # A cosine from 1 to 1 is constant after the warm-up; verl's own "constant" would begin the warm-up at 0.
        f"{ACTOR}.optim.lr_scheduler_type": "cosine",
        f"{ACTOR}.optim.min_lr_ratio": 1.0,
        f"{ACTOR}.optim.zero_indexed_step": False,
        f"{ACTOR}.optim.lr_warmup_steps": rl.warmup_steps,
        f"{ACTOR}.optim.weight_decay": rl.weight_decay,
        f"{ACTOR}.optim.betas": list(rl.betas),
        f"{ACTOR}.optim.clip_grad": min(rl.largest_norm, NO_CLIPPING),
        f"{ACTOR}.grad_clip": min(rl.largest_norm, NO_CLIPPING),
        f"{ACTOR}.ppo_mini_batch_size": rl.prompts_per_minibatch,
        f"{ACTOR}.use_dynamic_bsz": True,
        f"{ACTOR}.ppo_max_token_len_per_gpu": tokens,
        f"{ACTOR}.ppo_epochs": 1,
        f"{ACTOR}.shuffle": False,
        f"{ACTOR}.strategy": "fsdp2",
        f"{REFERENCE}.strategy": "fsdp2",
        f"{ACTOR}.data_loader_seed": spec.seed,
        f"{ACTOR}.fsdp_config.model_dtype": "float32",
        f"{ACTOR}.fsdp_config.seed": spec.seed,
        f"{ACTOR}.fsdp_config.dtype": rl.precision,
        f"+{ACTOR}.fsdp_config.mixed_precision": mixed,
        f"{ACTOR}.entropy_from_logits_with_chunking": True,
        f"{REFERENCE}.entropy_from_logits_with_chunking": True,
        # verl would compile the entropy anew for each number of tokens, and on GPUs only.
        f"{ACTOR}.use_torch_compile": False,
        f"{ACTOR}.fsdp_config.use_torch_compile": False,
        f"{REFERENCE}.use_torch_compile": False,
        f"{REFERENCE}.fsdp_config.use_torch_compile": False,
        f"{REFERENCE}.fsdp_config.model_dtype": "float32",  # like the actor, so that equal weights agree
        f"{REFERENCE}.fsdp_config.dtype": rl.precision,
        f"+{REFERENCE}.fsdp_config.mixed_precision": mixed,
        f"{REFERENCE}.log_prob_use_dynamic_bsz": True,
        f"{REFERENCE}.log_prob_max_token_len_per_gpu": tokens,
        f"{ROLLOUT}.log_prob_use_dynamic_bsz": True,
        f"{ROLLOUT}.log_prob_max_token_len_per_gpu": tokens,
    }


def _loss(spec: RunSpec, _: Places, execution: Execution) -> dict[str, Any]:
    loss = spec.loss
    keys = {
        "algorithm.adv_estimator": "rlvr",  # ours, named under +rlvr: each formula exists once
        "algorithm.use_kl_in_reward": False,
        f"{ACTOR}.clip_ratio": loss.clip_low,
        f"{ACTOR}.clip_ratio_low": loss.clip_low,
        f"{ACTOR}.clip_ratio_high": loss.clip_high,
        f"{ACTOR}.clip_ratio_c": loss.dual_clip or NO_DUAL_CLIP,
        f"{ACTOR}.loss_agg_mode": AGGREGATION[loss.aggregation],
        f"{ACTOR}.policy_loss.loss_mode": "gspo" if loss.ratio == "sequence" else "vanilla",
        f"{ACTOR}.entropy_coeff": 0,
        f"{ACTOR}.use_kl_loss": spec.needs_reference,  # even if the coefficient is 0: verl then computes log pi_ref
        f"{ACTOR}.kl_loss_coef": loss.kl_coefficient,
        f"{ACTOR}.kl_loss_type": "low_var_kl",  # k3
        "+rlvr.estimator": json.dumps(spec.estimator, sort_keys=True),
        "+rlvr.reference_reset": spec.rl.reference_reset,
        "+rlvr.reference_reset_moments": spec.rl.reference_reset_moments,
        "+rlvr.last_layers": spec.rl.last_layers,
        "+rlvr.last_layers_steps": spec.last_layers_steps,
        "+rlvr.overlong_penalty": spec.reward.overlong_penalty,
        "+rlvr.overlong_buffer": spec.reward.overlong_buffer,
        "+rlvr.format_share": spec.reward.format_share,
        "+rlvr.flipped": spec.reward.flipped,
        "+rlvr.box": spec.reward.box,
        "+rlvr.seed": spec.seed,
        "+rlvr.task": spec.data.task,
        "+rlvr.verifier": spec.data.verifier,
        "+rlvr.verifier_errors": execution.verifier_errors,
        "+rlvr.failed_groups": execution.failed_groups,
        "+rlvr.hung_minutes": execution.hung_minutes,
        "+rlvr.logprob_gap_warning": execution.logprob_gap_warning,
        "+rlvr.logprob_gap_limit": execution.logprob_gap_limit,
        "+rlvr.probe.problems": spec.probe.problems,
        "+rlvr.probe.every": spec.probe.every,
        "+rlvr.probe.dense_steps": spec.probe.dense_steps,
        "+rlvr.probe.greedy": spec.probe.greedy,
        "+rlvr.probe.kept_steps": spec.kept_steps,
        "+rlvr.record_rollouts": False,  # whether to save each step's rollouts beside the checkpoints
        "+rlvr.keep_checkpoints": execution.keep_checkpoints,
        "+rlvr.save_minutes": execution.save_minutes,
        "+rlvr.kept_prompts": execution.kept_prompts,
        "+rlvr.kept_mb": execution.kept_mb,
        "+rlvr.loggers": execution.loggers,
    }
    if loss.aggregation == "sequence_sum":
        keys[f"{ACTOR}.loss_scale_factor"] = spec.rollout.max_response_tokens
    if spec.rollout.dynamic_sampling:
        keys |= {
            "algorithm.filter_groups.enable": True,
            "algorithm.filter_groups.metric": "acc",
            "algorithm.filter_groups.max_inflight_gen_batches": 2,  # verl has no limit of rounds
        }
    return keys


def _critic(spec: RunSpec, places: Places, execution: Execution) -> dict[str, Any]:
    if spec.critic is None:
        return {}
    rl, critic = spec.rl, spec.critic
    if critic.warmup:  # its trainer then skips the policy's update, and with it the figures of a step
        raise Unsupported("critic.warmup needs the backend in_process or native: by verl the policy trains from step 1")
    return {
        "algorithm.adv_estimator": "gae",
        "algorithm.lam": critic.lam,
        "algorithm.gamma": critic.gamma,
        "critic.strategy": "fsdp2",
        "critic.model.path": places.model,
        "critic.model.tokenizer_path": places.tokenizer,
        **attention("critic.model", execution.attention),
        "critic.optim.lr": critic.learning_rate,
        "critic.optim.weight_decay": rl.weight_decay,
        "critic.optim.betas": list(rl.betas),
        "critic.optim.clip_grad": min(rl.largest_norm, NO_CLIPPING),
        "critic.grad_clip": min(rl.largest_norm, NO_CLIPPING),
        "critic.cliprange_value": critic.clip,
        "trainer.critic_warmup": 0,
        # verl 0.9.1 reads this key alone, for values and update; its configuration has it as a field without a line.
        "+critic.ppo_infer_max_token_len_per_gpu": _microbatch(spec, execution),
        "critic.data_loader_seed": spec.seed,
        "critic.fsdp.use_torch_compile": False,
        "+critic.fsdp.mixed_precision": mixed_precision(rl.precision),
    }


def _microbatch(spec: RunSpec, execution: Execution) -> int:
    """Tokens of a microbatch on one GPU. Raises Unsupported if the longest sequence does not fit."""
    prompt, response = spec.rollout.max_prompt_tokens, spec.rollout.max_response_tokens
    if execution.tokens_per_gpu < prompt + response:
        raise Unsupported(
            f"execution.tokens_per_gpu is {execution.tokens_per_gpu}, but one sequence may have {prompt + response} "
            f"tokens (rollout.max_prompt_tokens {prompt} + rollout.max_response_tokens {response}): give that many"
        )
    return execution.tokens_per_gpu


def _rollout(spec: RunSpec, _: Places, execution: Execution) -> dict[str, Any]:
    return {
        f"{ROLLOUT}.name": "vllm",
        f"+{ROLLOUT}.engine_kwargs.vllm.worker_extension_cls": RECEIVER,
        f"{ROLLOUT}.n": spec.rollout.samples_per_prompt,
        f"{ROLLOUT}.temperature": spec.rollout.temperature,
        f"{ROLLOUT}.top_p": 1.0,
        f"{ROLLOUT}.top_k": -1,
        f"{ROLLOUT}.do_sample": True,
        f"{ROLLOUT}.tensor_model_parallel_size": execution.tensor_parallel,
        f"{ROLLOUT}.gpu_memory_utilization": execution.gpu_memory_utilization,
        f"{ROLLOUT}.calculate_log_probs": True,
        f"{ROLLOUT}.seed": rollout_seed(spec.seed, 0),
        f"{ROLLOUT}.prompt_length": spec.rollout.max_prompt_tokens,
        f"{ROLLOUT}.response_length": spec.rollout.max_response_tokens,
        f"{ROLLOUT}.val_kwargs.n": spec.probe.samples,
        f"{ROLLOUT}.val_kwargs.do_sample": True,
        f"{ROLLOUT}.val_kwargs.temperature": 1.0,
        f"{ROLLOUT}.val_kwargs.top_p": 1.0,
        f"{ROLLOUT}.val_kwargs.top_k": -1,
    }


def _trainer(spec: RunSpec, places: Places, execution: Execution) -> dict[str, Any]:
    own_ray = {  # `ray_nodes` starts that of several nodes
        "ray_kwargs.ray_init.num_cpus": LOGICAL_CPUS,
        "+ray_kwargs.ray_init.address": "local",  # else Ray joins one that RAY_ADDRESS or a file in TMPDIR names
        "+ray_kwargs.ray_init.include_dashboard": False,
    }
    return {
        **(own_ray if places.nodes == 1 else {}),
        "trainer.total_training_steps": spec.steps,
        "trainer.total_epochs": spec.steps,  # an upper bound: the number of steps ends the run
        "trainer.save_freq": execution.save_every,
        "trainer.test_freq": -1,
        "trainer.val_before_train": False,
        "trainer.default_local_dir": places.state,
        "trainer.logger": ["console"],
        "trainer.nnodes": places.nodes,
        "trainer.n_gpus_per_node": places.gpus_per_node,
    }
