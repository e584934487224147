"""`python -m rlvr.training.backends.verl.run_training overrides.txt`: runs verl's training.

It composes verl's configuration with a run's overrides, validates it like verl, and calls verl's `run_ppo`.
"""

import os
import signal
import sys
from pathlib import Path

import ray
from hydra import compose, initialize_config_module
from omegaconf import DictConfig, OmegaConf, open_dict

from rlvr.child_processes import die_with_parent, leave_no_orphans
from rlvr.run_in_env import attention, prepare_vllm
from rlvr.training.backends.verl import own_ray
from rlvr.training.backends.verl.requirements import check
from rlvr.training.backends.verl.watchdog import stacks_on


def compose_training(overrides: list[str]) -> DictConfig:
    """verl's configuration with these overrides, validated by verl."""
    from verl.trainer.main_ppo import validate_config
    from verl.trainer.ppo.utils import need_critic, need_reference_policy

    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", overrides=overrides)
    validate_config(config, need_reference_policy(config), need_critic(config))
    return config


@ray.remote
class Runner:
    """verl's TaskRunner with this package's trainer registered in its process."""

    def run(self, config: DictConfig) -> None:
        import transfer_queue as tq
        from verl.trainer.ppo.v1 import AgentLoopManagerTQ, get_trainer_cls

        from rlvr.training.backends.verl.trainer import NAME

        check()
        config.transfer_queue.enable = True
        OmegaConf.resolve(config)
        tq.init(config.transfer_queue)
        try:
            trainer = get_trainer_cls(NAME)(config=config)
            trainer.init()
            manager = AgentLoopManagerTQ.create(
                config=config,
                llm_client=trainer.get_llm_client(),
                teacher_client=trainer.get_teacher_client(),
                reward_loop_worker_handles=trainer.get_reward_handles(),
            )
            trainer.fit(manager)
        finally:
            tq.close()


def settle_ray(config: DictConfig, folder: Path) -> None:
    """Have Ray put its files into the run's folder, if this process starts it."""
    ray_init = config.ray_kwargs.ray_init
    if ray_init.get("address") == "local":
        os.environ.pop("RAY_ADDRESS", None)  # of another Ray, for all that Ray starts
        with open_dict(ray_init):
            ray_init._temp_dir = str(folder / "ray")  # Ray opens it to every user, and not its parent


def settle_attention(config: DictConfig) -> None:
    """Have vLLM compute attention by what this node can compile, unless an override says otherwise."""
    rollout = config.actor_rollout_ref.rollout
    if rollout.name == "vllm":
        with open_dict(rollout.engine_kwargs):
            rollout.engine_kwargs.vllm = {**attention(), **rollout.engine_kwargs.get("vllm", {})}


def main() -> None:
    from verl.trainer.main_ppo import run_ppo

    die_with_parent()  # the parent holds the run's lease
    stacks_on(signal.SIGUSR1)  # from the parent, if this process hangs
    check()
    config = compose_training(Path(sys.argv[1]).read_text().splitlines())
    prepare_vllm()
    settle_attention(config)
    with own_ray.own_folder() as folder:
        leave_no_orphans(folder)  # of Ray and its workers
        settle_ray(config, folder)
        run_ppo(config, task_runner_class=Runner)
        ray.shutdown()


if __name__ == "__main__":
    main()
