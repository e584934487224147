"""verl's own program, `python -m verl.trainer.main_ppo`, takes two steps with the adapter's advantages, on a CPU.

All of the training is verl's: its task runner, trainer, dataset, FSDP and losses. The test brings what a CPU and a tiny
policy need: a platform and a rollout engine (verl_on_cpu), a tokenizer without chat markup, and the agent loop for it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from zlib import crc32

import pytest
import torch
from support.verl_without_gpu import LIMIT, RL, environment
from torch.nn.functional import softplus

from rlvr.estimators import Estimator
from rlvr.files import read_lines
from rlvr.policies.store import locate
from rlvr.records import Problem, read_records

pytestmark = pytest.mark.verl
PROMPTS, G, STEPS, ALPHA = 6, 4, 2, 1.0
FLOAT32 = "{param_dtype:float32,reduce_dtype:float32,buffer_dtype:float32}"
REWARD = """
from zlib import crc32

def compute_score(data_source, solution_str, ground_truth, extra_info=None, **_):
    return float(crc32(solution_str.encode()) % 2)
"""


def overrides(folder: Path, workbench, estimator: str) -> list[str]:
    """What a user of verl writes: files, sizes, the name of the method; and verl's ways without FlashAttention."""
    from rlvr.training.backends.verl import data

    start = locate(workbench.base)
    problems = read_records(workbench.folder / workbench.spec.data.name / "problems.jsonl", Problem)[: PROMPTS * STEPS]
    data.write_problems(folder / "train.parquet", problems, start.template, "train")
    data.write_tokenizer(folder / "tokenizer", start.location)
    data.write_agent_loop(folder / "agent_loop.yaml")
    (folder / "reward.py").write_text(REWARD)
    actor, rollout, reference = (f"actor_rollout_ref.{name}" for name in ("actor", "rollout", "ref"))
    return [
        *RL,
        f"algorithm.adv_estimator={estimator}",
        f"data.train_files={folder / 'train.parquet'}",
        f"data.val_files={folder / 'train.parquet'}",
        f"data.train_batch_size={PROMPTS}",
        f"data.max_prompt_length={workbench.spec.rollout.max_prompt_tokens}",
        f"data.max_response_length={workbench.spec.rollout.max_response_tokens}",
        "data.dataloader_num_workers=0",
        "data.seed=1",
        f"reward.custom_reward_function.path={folder / 'reward.py'}",
        "reward.num_workers=1",
        f"actor_rollout_ref.model.path={start.location}",
        f"actor_rollout_ref.model.tokenizer_path={folder / 'tokenizer'}",
        "+actor_rollout_ref.model.override_config.attn_implementation=sdpa",
        "actor_rollout_ref.model.use_remove_padding=False",
        f"{actor}.strategy=fsdp2",
        f"{actor}.fsdp_config.model_dtype=float32",
        f"{actor}.fsdp_config.dtype=float32",
        f"+{actor}.fsdp_config.mixed_precision={FLOAT32}",
        f"{actor}.optim.lr=1e-3",
        f"{actor}.ppo_mini_batch_size={PROMPTS}",
        f"{actor}.ppo_micro_batch_size_per_gpu={PROMPTS * G}",
        f"{actor}.use_kl_loss=True",  # without it verl loads no reference
        f"{actor}.kl_loss_coef=0.0",
        f"{reference}.strategy=fsdp2",
        f"{reference}.fsdp_config.model_dtype=float32",
        f"{reference}.fsdp_config.dtype=float32",
        f"+{reference}.fsdp_config.mixed_precision={FLOAT32}",
        f"{reference}.log_prob_micro_batch_size_per_gpu={PROMPTS * G}",
        f"{rollout}.log_prob_micro_batch_size_per_gpu={PROMPTS * G}",
        f"{rollout}.n={G}",
        f"{rollout}.tensor_model_parallel_size=1",
        f"{rollout}.agent.agent_loop_config_path={folder / 'agent_loop.yaml'}",
        f"{rollout}.agent.default_agent_loop=verbatim",
        "ray_kwargs.ray_init.num_cpus=64",
        f"trainer.total_training_steps={STEPS}",
        "trainer.nnodes=1",
        "trainer.n_gpus_per_node=1",
        "trainer.save_freq=-1",
        "trainer.test_freq=-1",
        "trainer.val_before_train=False",
        "trainer.resume_mode=disable",
        "trainer.logger=[console,file]",
        f"trainer.rollout_data_dir={folder / 'rollouts'}",
        f"trainer.default_local_dir={folder / 'checkpoints'}",
    ]


def rewards_of(path: Path) -> torch.Tensor:
    """verl's own record of a step's rollouts, as rewards (P, G); its keys are <prompt>_<rollout>_<turn>."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(row["score"] == crc32(row["output"].encode()) % 2 for row in rows)
    groups = groupby(rows, key=lambda row: row["uid"].rsplit("_", 2)[0])
    return torch.tensor([[row["score"] for row in group] for _, group in groups])


@pytest.mark.parametrize("name", ["ace", "rloo"])  # one that needs the whole batch, one of rewards alone
def test_verls_program_trains_with_the_adapters_advantages(workbench, tmp_path, name):
    log, metrics = tmp_path / "log", tmp_path / "metrics.jsonl"
    command = [sys.executable, "-m", "verl.trainer.main_ppo", *overrides(tmp_path, workbench, f"rlvr_{name}")]
    variables = {**environment("rlvr.adapters.verl"), "VERL_FILE_LOGGER_PATH": str(metrics)}
    with open(log, "w") as file:
        done = subprocess.run(command, env=variables, cwd=tmp_path, stdout=file, stderr=file, timeout=LIMIT)
    assert done.returncode == 0, log.read_text(errors="replace")[-6000:]
    rows = list(read_lines(metrics))
    assert [row["step"] for row in rows] == [1, 2]
    for row in rows:
        logged, rewards_PG = row["data"], rewards_of(tmp_path / "rollouts" / f"{row['step']}.jsonl")
        assert rewards_PG.shape == (PROMPTS, G) and logged["actor/grad_norm"] > 0
        grpo_PG = Estimator("grpo", {}).step(rewards_PG, {}, {})[0]
        low, high = float(grpo_PG.min()), float(grpo_PG.max())
        if name == "rloo":
            rloo_PG = Estimator("rloo", {}).step(rewards_PG, {}, {})[0]
            low, high = float(rloo_PG.min()), float(rloo_PG.max())
        elif row["step"] == 1:  # the policy is the reference, so c = 0
            low *= 1 + ALPHA * float(softplus(torch.tensor(0.0)))
        assert logged["critic/advantages/max"] == pytest.approx(high, rel=1e-4)
        if name == "rloo" or row["step"] == 1:
            assert logged["critic/advantages/min"] == pytest.approx(low, rel=1e-4)
        else:  # errors weigh more than GRPO's, each by its confidence shift
            assert logged["critic/advantages/min"] < low * 1.01
    first, second = (row["data"]["actor/kl_loss"] for row in rows)
    assert abs(first) < 1e-6 < second  # the first step moved the policy
