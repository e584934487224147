"""Checks before a start that verl has the version, registries and signatures that this backend needs."""

import inspect
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rlvr.training.backends.verl.overrides import VERL

# The functions and methods that this backend calls or overrides, with the parameters that it uses.
RELIED_ON = {
    "PPOTrainerSync.__init__": ("config",),
    "PPOTrainerSync.fit": ("agent_loop_manager",),
    "PPOTrainerSync.step": ("metrics", "timing_raw"),
    "PPOTrainerSync.on_init_end": (),
    "PPOTrainerSync.on_train_begin": (),
    "PPOTrainerSync.on_step_begin": (),
    "PPOTrainerSync.on_step_end": (),
    "PPOTrainerSync._setup": (),
    "PPOTrainerSync._init_resource_pool_mgr": (),
    "PPOTrainerSync._balance_batch": ("batch", "metrics"),
    "PPOTrainerSync._get_required_batch_multiple": ("dp_size",),
    "PPOTrainerSync._compute_old_log_prob": ("batch", "metrics"),
    "PPOTrainerSync._compute_ref_log_prob": ("batch", "metrics"),
    "PPOTrainerSync._compute_advantage": ("batch", "metrics"),
    "PPOTrainerSync._update_actor": ("batch", "metrics"),
    "PPOTrainerSync._save_checkpoint": (),
    "PPOTrainerSync._load_checkpoint": (),
    "ActorRolloutRefWorker.init_model": (),
    "ActorRolloutRefWorker.update_actor": ("data",),
    "ActorRolloutRefWorker.compute_log_prob": ("data",),
    "ActorRolloutRefWorker.set_loss_fn": ("loss_fn",),
    "RewardManagerBase.__init__": ("config", "tokenizer", "compute_score"),
    "RewardManagerBase.run_single": ("data",),
    "logprobs_from_logits_v2": ("logits", "labels"),
    "entropy_from_logits": ("logits",),
    "prepare_micro_batches": ("data", "dp_group"),
    "ppo_loss": ("config", "model_output", "data", "dp_group"),
    "run_ppo": ("config", "task_runner_class"),
    "register_adv_est": (),
    "register_trainer": ("name",),
}


class Unfit(SystemExit):
    """verl is missing, of another version, or differs from what this backend needs; the message says which."""


def check_version() -> None:
    """Raise Unfit if verl is missing or of another version; does not import it, which takes seconds."""
    try:
        installed = version("verl")
    except PackageNotFoundError:
        raise Unfit(
            "verl is not installed in this environment; config/cluster.yaml, environments.verl, names one that has it "
            "(docs/cluster.md)"
        ) from None
    if installed != VERL:
        raise Unfit(f"verl {installed} is installed, and this backend is for {VERL}: {_where()}")


def check() -> None:
    """Raise Unfit if verl is not the one that this backend was written and tested with."""
    check_version()
    for name, parameters in RELIED_ON.items():
        function = _function(name)
        missing = [parameter for parameter in parameters if parameter not in inspect.signature(function).parameters]
        if missing:
            raise Unfit(f"verl's {name} has no parameter {missing[0]!r} any more: {_where()}")
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY, POLICY_LOSS_REGISTRY
    from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY

    import rlvr.training.backends.verl.trainer  # registers itself

    wanted = {"gae": ADV_ESTIMATOR_REGISTRY, "vanilla": POLICY_LOSS_REGISTRY, "gspo": POLICY_LOSS_REGISTRY}
    for name, registry in {**wanted, rlvr.training.backends.verl.trainer.NAME: TRAINER_REGISTRY}.items():
        if name not in registry:
            raise Unfit(f"verl's registry has no {name!r} (it has {', '.join(map(str, registry))}): {_where()}")


def _function(name: str) -> Callable[..., Any]:
    from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase
    from verl.trainer.main_ppo import run_ppo
    from verl.trainer.ppo.core_algos import register_adv_est
    from verl.trainer.ppo.v1 import PPOTrainerSync, register_trainer
    from verl.utils.torch_functional import entropy_from_logits, logprobs_from_logits_v2
    from verl.workers.engine.fsdp.transformer_impl import prepare_micro_batches
    from verl.workers.engine_workers import ActorRolloutRefWorker
    from verl.workers.utils.losses import ppo_loss

    places = [PPOTrainerSync, ActorRolloutRefWorker, RewardManagerBase, ppo_loss, run_ppo, register_adv_est]
    places += [logprobs_from_logits_v2, entropy_from_logits, prepare_micro_batches]
    by_name: Any = {place.__name__: place for place in [*places, register_trainer]}
    first, _, method = name.partition(".")
    function = getattr(by_name[first], method, None) if method else by_name[first]
    if function is None:
        raise Unfit(f"verl has no {name} any more: {_where()}")
    return function


def _where() -> str:
    return f"install verl=={VERL} (envs/cluster.txt)"
