"""What verl must be told where there is no GPU; the platform and the rollout engine are in verl_on_cpu."""

import os

from conftest import ROOT

LIMIT = 600  # seconds of one process, generous for a busy machine: a failed run of verl may hang
COMMON = ["trainer.device=cpu"]
RL = [
    *COMMON,
    "actor_rollout_ref.rollout.name=transformers_on_cpu",
    "actor_rollout_ref.rollout.load_format=auto",
    "actor_rollout_ref.rollout.free_cache_engine=False",
    "actor_rollout_ref.rollout.agent.num_workers=1",
    "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=16",
    "actor_rollout_ref.model.enable_gradient_checkpointing=False",
    "+ray_kwargs.ray_init.num_gpus=2",
    "+ray_kwargs.ray_init.object_store_memory=300000000",
    "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
]


def environment(*modules: str) -> dict[str, str]:
    """Of a process of verl, which imports these modules after its platform."""
    paths, others = f"{ROOT / 'src'}:{ROOT / 'tests'}", {"VERL_ON_CPU_WITH": ",".join(modules)}
    on_cpu = {
        "VERL_USE_EXTERNAL_MODULES": "verl_on_cpu",
        "VERL_PLATFORM": "cpu",
        "VERL_ENGINE_DEVICE": "cuda",
        **others,
    }
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HYDRA_FULL_ERROR": "1"}
    return {**os.environ, **on_cpu, **quiet, "PYTHONPATH": paths}
