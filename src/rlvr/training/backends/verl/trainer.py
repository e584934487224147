"""verl's synchronous trainer with this package's estimators, as a subclass.

It overrides private methods of verl, whose version is pinned; `requirements.py` checks what it relies on.

A step's weights are one call of `Estimator.step` on the whole batch; an optimizer step takes the rollouts of whole
prompts, as in process. State that verl does not save (the estimator's, a reset reference, the rows of metrics.jsonl and
probe.jsonl) is saved with its checkpoints, before the file that names the newest one.
"""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import ray
import torch
import transfer_queue as tq
from omegaconf import DictConfig, open_dict
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo import core_algos
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1 import register_trainer
from verl.trainer.ppo.v1.replay_buffer import DAPO_FILTERED_REWARD_COUNTS_KEY
from verl.utils.config import omega_conf_to_dataclass
from verl.utils.seqlen_balancing import calculate_workload, get_seqlen_balanced_partitions
from verl.workers.utils.padding import response_from_nested, response_to_nested

from rlvr.data import tasks
from rlvr.estimators import Estimator
from rlvr.files import publish_json, read_json
from rlvr.training import measures
from rlvr.training.backends.verl import losses
from rlvr.training.backends.verl.adapter import by_rewards_alone, on_tokens, registered, whole_groups
from rlvr.training.backends.verl.off_policy import check_gap
from rlvr.training.backends.verl.probes import ProbingTrainer
from rlvr.training.backends.verl.rollouts import Rollouts
from rlvr.training.backends.verl.state import EXTRAS, RunFolder
from rlvr.training.backends.verl.watchdog import Watchdog
from rlvr.training.backends.verl.worker import ResettingWorker
from rlvr.training.progress import Deadline, Saves, Stopped
from rlvr.training.rollout_log import RolloutLog
from rlvr.training.streamed_metrics import Live

NAME = "rlvr"  # in verl's registries


class Diverged(RuntimeError):
    """A loss or gradient that is not finite."""


class TooManyFailed(RuntimeError):
    """More groups with a failed rollout than `execution.failed_groups` allows."""


@register_trainer(NAME)
class VerlTrainer(ProbingTrainer):
    def __init__(self, config: DictConfig):
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"  # another name would select the asynchronous replay buffer
        self.ours = config.rlvr
        self.generated_task = tasks.of_set(self.ours.task)
        self.estimator = Estimator.of_run(json.loads(self.ours.estimator), config.trainer.total_training_steps)
        self.estimator_state: dict[str, float] = {}
        if by_rewards_alone(self.estimator):
            core_algos.register_adv_est(NAME)(registered(self.estimator))
        self.metrics: list[dict[str, Any]] = []
        self.probes: list[dict[str, Any]] = []
        self.run_folder = RunFolder(Path(config.trainer.default_local_dir))
        self.deadline, self.saves = Deadline(), Saves(config.trainer.save_freq, self.ours.save_minutes)
        self.kept_rollouts = RolloutLog.of(self.run_folder.folder, config.trainer.total_training_steps, self.ours)
        self.growing = Live(self.run_folder.folder, list(self.ours.loggers))
        self.failed_groups, self.probing, self.sync_seconds = 0, False, 0.0
        self.watchdog = Watchdog(self.run_folder.folder, self.run_folder.stop, self.ours.hung_minutes)
        super().__init__(config)

    # ---- workers ----

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        for role in self.role_worker_mapping:
            if role in (Role.Actor, Role.ActorRollout, Role.ActorRolloutRef):
                self.role_worker_mapping[role] = ray.remote(ResettingWorker)

    def _setup(self) -> None:
        super()._setup()
        actor = omega_conf_to_dataclass(self.config.actor_rollout_ref.actor)
        loss = losses.score_function if self.estimator.coupled else losses.clipped_surrogate
        self.actor_rollout_wg.set_loss_fn(partial(loss, config=actor))

    # ---- one step ----

    def fit(self, agent_loop_manager: Any) -> None:
        try:
            with self.growing:
                super().fit(agent_loop_manager)
        except Stopped:
            print("asked to stop during the rollouts, which the next process repeats", flush=True)

    def on_init_end(self) -> None:
        with self._timed_sync():
            super().on_init_end()

    def on_step_begin(self) -> None:
        super().on_step_begin()
        self.prompts_before = self.train_dataloader.state_dict()
        done = self.global_steps - 1
        if done and self.ours.reference_reset and done % self.ours.reference_reset == 0:
            self.actor_rollout_wg.reset_reference(self.ours.reference_reset_moments)
        if done in self.ours.last_layers_steps:
            self.checkpoint_manager.sleep_replicas()
            self.actor_rollout_wg.reset_last_layers(self.ours.last_layers)
            self.checkpoint_manager.update_weights(done)
        self.watchdog.at(f"the rollouts of step {self.global_steps}", self._save_before_step, self._seconds)

    def step(self, metrics: dict, timing_raw: dict) -> KVBatchMeta:
        batch = super().step(metrics, timing_raw)
        self.metrics.append(self._row(metrics, timing_raw))
        self.watchdog.at(f"the end of step {self.global_steps}", partial(self._save_after, self.global_steps))
        self.growing.update(self.rows)
        if self.kept_rollouts is not None:
            of_step = self.global_steps, self.tokenizer, self.weights_PG, self.estimator_state
            self.rollouts.keep(self.kept_rollouts, *of_step)
        if self.ours.record_rollouts:
            path = self.run_folder.recorded / f"step-{self.global_steps:06d}.pt"
            self.rollouts.record(path, self.updates)
        return batch

    def _balance_batch(self, batch: KVBatchMeta, *arguments: Any, **named: Any) -> KVBatchMeta:
        if not self.probing:
            prompts, rollouts = self.config.data.train_batch_size, self.config.actor_rollout_ref.rollout.n
            batch, self.failed_groups = self._whole_groups(batch, prompts, rollouts)
        return super()._balance_batch(batch, *arguments, **named)

    def _get_required_batch_multiple(self, dp_size: int) -> int:
        """verl pads a batch to a multiple of this: of its minibatches too, if it is to be trained on."""
        return dp_size if self.probing else super()._get_required_batch_multiple(dp_size)

    def _whole_groups(self, batch: KVBatchMeta, prompts: int, rollouts: int) -> tuple[KVBatchMeta, int]:
        """The batch without groups in which a rollout failed, and their number. Raises TooManyFailed."""
        whole, keys = whole_groups(batch.keys, [tag["response_len"] for tag in batch.tags], rollouts)
        failed, limit = prompts - whole, self.ours.failed_groups
        if failed > limit * prompts:
            raise TooManyFailed(
                f"step {self.global_steps}: a rollout failed in {failed} of {prompts} groups, and "
                f"execution.failed_groups (config/defaults.yaml) allows the share {limit}; the exceptions are in the "
                "log above, after 'Error in _run_prompt'"
            )
        if failed:
            print(f"step {self.global_steps}: left out {failed} of {prompts} groups with a failed rollout", flush=True)
        if dropped := sorted(set(batch.keys) - set(keys)):
            tq.kv_clear(keys=dropped, partition_id=batch.partition_id)
        return batch.select_keys(keys), failed

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict) -> KVBatchMeta:
        self.watchdog.at(f"the update of step {self.global_steps}")
        if self.run_folder.stop.exists():
            self._save_before_step()
            raise Stopped
        self.rollouts = Rollouts.of(batch, has_reference=self.use_reference_policy)
        check_gap(self.rollouts.gap, self.global_steps, self.ours.logprob_gap_warning, self.ours.logprob_gap_limit)
        inputs, mask_NT = self.rollouts.inputs, self.rollouts.mask_NT
        self.weighed = {} if self.estimator.coupled else self.estimator.figures(inputs.rewards_PG, inputs.values)
        if self.use_critic or by_rewards_alone(self.estimator):  # verl's own way, which calls its registry
            batch = super()._compute_advantage(batch, metrics)
            on_NT = tq.kv_batch_get(batch.keys, batch.partition_id, ["advantages"])["advantages"].to_padded_tensor(0.0)
            weights_N = (on_NT * mask_NT).sum(-1) / mask_NT.sum(-1).clamp(min=1)
            self.weights_PG = inputs.grid.take(weights_N)
            return batch
        state = self.estimator_state
        self.weights_PG, self.estimator_state = self.estimator.step(inputs.rewards_PG, inputs.values, state)
        return self._put_weights(batch, inputs.grid.spread(self.weights_PG), mask_NT)

    def _put_weights(self, batch: KVBatchMeta, weights_N: torch.Tensor, mask_NT: torch.Tensor) -> KVBatchMeta:
        nested_mask = tq.kv_batch_get(batch.keys, batch.partition_id, ["response_mask"])["response_mask"]
        on_NT = response_to_nested(on_tokens(weights_N, mask_NT).float(), nested_mask)
        fields = TensorDict({"advantages": on_NT, "returns": on_NT}, batch_size=len(batch))
        return tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=fields)

    def _update_actor(self, batch: KVBatchMeta, metrics: dict) -> KVBatchMeta:
        """Take an optimizer step per minibatch of whole prompts; each computes coupled weights anew.

        Rows of padding, without weight, take the places of groups that failed.
        """
        self.updates: list[dict[str, Any]] = []
        grid, planned = self.rollouts.inputs.grid, self.config.data.train_batch_size
        of_a_step = self.config.actor_rollout_ref.actor.ppo_mini_batch_size
        padding = [key for key, tag in zip(batch.keys, batch.tags, strict=True) if tag.get("is_padding", False)]
        for first in range(0, len(grid.rows_PG), of_a_step):
            chosen_P = torch.arange(first, min(first + of_a_step, len(grid.rows_PG)))
            keys = [batch.keys[row] for row in grid.rows_PG[chosen_P].flatten().tolist()]
            lacking = min(of_a_step, planned - first) - len(chosen_P)
            part = batch.select_keys([*keys, *padding[: lacking * grid.rows_PG.shape[1]]])
            own_loss = self._couple(part, chosen_P) if self.estimator.coupled else None
            figures = self._optimizer_step(part)
            self.updates.append(figures if own_loss is None else {**figures, "loss": own_loss})
        return batch

    def _couple(self, part: KVBatchMeta, chosen_P: torch.Tensor) -> float:
        """The loss of some prompts at the current policy; stores the weights that descend it.

        `part` has their rows, and then rows of padding.
        """
        temperature = self.config.actor_rollout_ref.rollout.temperature
        part.extra_info.update({"calculate_entropy": False, "compute_loss": False, "temperature": temperature})
        self.actor_rollout_wg.compute_log_prob(part)
        fields = tq.kv_batch_get(part.keys, part.partition_id, ["log_probs", "response_mask"])
        now_MT = response_from_nested(fields["log_probs"], fields["response_mask"]).to_padded_tensor(0.0)
        mask_MT = fields["response_mask"].to_padded_tensor(0).float()
        rows = self.rollouts.inputs.grid.rows_PG[chosen_P].numel()
        logp_PG = (now_MT * mask_MT).sum(-1)[:rows].view(len(chosen_P), -1).float()
        rewards_PG, values = self.rollouts.inputs.prompts(chosen_P, logp_PG)
        weights_PG = self.estimator.advantages(rewards_PG, values, self.estimator_state)
        weights_M = torch.zeros(len(part), dtype=weights_PG.dtype)
        weights_M[:rows] = weights_PG.flatten()
        self._put_weights(part, weights_M, mask_MT)
        self.weighed = self.estimator.figures(rewards_PG, values)
        return -self.estimator.objective(rewards_PG, values)

    def _optimizer_step(self, part: KVBatchMeta) -> dict[str, Any]:
        actor = self.config.actor_rollout_ref.actor
        workers = max(self.actor_rollout_wg._dispatch_info["actor"]) + 1  # known since the batch was balanced
        work = calculate_workload(torch.tensor([tag["seq_len"] for tag in part.tags]))
        shares = get_seqlen_balanced_partitions(work, k_partitions=workers, equal_size=True)
        part.reorder([row for share in shares for row in share])
        part.extra_info.update(
            {
                "calculate_entropy": actor.calculate_entropy or actor.entropy_coeff != 0.0,
                "distillation_use_topk": False,
                "distillation_only": False,
                "compute_loss": True,
                "global_batch_size": len(part),
                "mini_batch_size": len(part),
                "epochs": 1,
                "seed": actor.data_loader_seed,
                "dataloader_kwargs": {"shuffle": False},
                "temperature": self.config.actor_rollout_ref.rollout.temperature,
            }
        )
        results = self.actor_rollout_wg.update_actor(part)["metrics"]
        figures = {name: float(np.sum(value)) for name, value in results.items() if name.startswith("rlvr/")}
        figures |= {name: float(np.mean(results[name])) for name in ("loss", "grad_norm")}
        figures["next_learning_rate"] = float(np.mean(results["lr"]))
        if not np.isfinite(figures["loss"] + figures["grad_norm"]):
            raise Diverged(f"step {self.global_steps}: loss {figures['loss']}, gradient norm {figures['grad_norm']}")
        return figures

    # ---- the rows of metrics ----

    @property
    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """The rows so far of metrics.jsonl and probe.jsonl."""
        return {"metrics": self.metrics, "probe": self.probes}

    def _row(self, metrics: dict, timing_raw: dict) -> dict[str, Any]:
        """A row as the trainer in process writes it; `prompts_drawn` includes what dynamic sampling dropped."""
        rollouts, inputs, updates = self.rollouts, self.rollouts.inputs, self.updates
        rates = rollouts.correct_PG.mean(dim=1).tolist()
        for value, count in metrics.get(DAPO_FILTERED_REWARD_COUNTS_KEY, {}).items():
            rates += [float(value)] * int(count)
        of_batch = inputs.rewards_PG, self.weights_PG, inputs.lengths_PG, rollouts.correct_PG, inputs.values["logp_PG"]
        tokens = sum(figures["rlvr/tokens"] for figures in updates)

        def per_token(name: str) -> float | None:
            return sum(figures[name] for figures in updates) / tokens if name in updates[0] else None

        clipped, clipped_high = (per_token(f"rlvr/{name}") or 0.0 for name in ("clipped", "clipped_high"))
        row = {
            "step": self.global_steps,
            **measures.of_batch(*of_batch, rates),
            **rollouts.measures(self.tokenizer, self.generated_task),
            "prompts_drawn": len(rates),
            "failed_groups": self.failed_groups,
            "statuses": rollouts.statuses,
            "loss": float(np.mean([figures["loss"] for figures in updates])),
            "grad_norm": float(np.mean([figures["grad_norm"] for figures in updates])),
            "clip_fraction": clipped,
            "clip_fraction_low": clipped - clipped_high,
            "clip_fraction_high": clipped_high,
            "kl": per_token("rlvr/kl"),  # none without a reference
            "logprob_gap": rollouts.gap,
            **self.weighed,
        }
        if self.estimator_state:
            row["estimator"] = self.estimator_state
        return {**row, "timing": rollouts.timing(timing_raw, self.sync_seconds)}

    @property
    def _seconds(self) -> list[float]:
        """The seconds of the steps so far."""
        return [row["timing"]["step"] for row in self.metrics]

    # ---- checkpoints ----

    def on_train_begin(self) -> None:
        super().on_train_begin()
        done = self.global_steps - 1
        self.growing.update(self.rows)
        if self.probe_due(done):
            self.probe(done)
        if done >= self.total_training_steps:
            self._finish()

    def on_step_end(self) -> None:
        with self._timed_sync():
            super().on_step_end()
        step = self.global_steps
        if self.probe_due(step):
            self.probe(step)
        print(json.dumps({"stage": "rl", "step": step, "of": self.total_training_steps, **self._latest()}), flush=True)
        if step >= self.total_training_steps:
            self._finish()
        elif self.deadline.after_step() or self.run_folder.stop.exists():
            if step not in self.run_folder.steps():
                self._save_checkpoint()
            print(f"asked to stop: saved at step {step}, to be continued", flush=True)
            self.total_training_steps = step  # ends the loop
        elif self.saves.late() and step not in self.run_folder.steps():
            self._save_checkpoint()

    @contextmanager
    def _timed_sync(self) -> Iterator[None]:
        """Time the weights' way to vLLM and its waking up, which belong to the step whose rollouts follow."""
        began = time.perf_counter()
        yield
        self.sync_seconds = time.perf_counter() - began

    def _latest(self) -> dict[str, Any]:
        row = self.metrics[-1]
        values = {"pass_rate": row["pass_rate"], "entropy": row["entropy"], "seconds": row["timing"]["step"]}
        return {name: round(value, 4) for name, value in values.items() if value is not None}

    def _finish(self) -> None:
        publish_json(self.run_folder.finished, self.rows)

    def _save_checkpoint(self) -> None:
        self.watchdog.at(f"the checkpoint of step {self.global_steps}")
        folder = self.run_folder.step(self.global_steps)
        if self.ours.reference_reset:
            self.actor_rollout_wg.save_reference(str(folder / "reference"))
        if self.kept_rollouts is not None:
            self.kept_rollouts.flush()
        publish_json(folder / EXTRAS, {"estimator": self.estimator_state, **self.rows})
        super()._save_checkpoint()
        self.saves.made()
        for old in self.run_folder.steps()[: -self.ours.keep_checkpoints]:
            shutil.rmtree(self.run_folder.step(old))
        self.watchdog.at(f"what follows the checkpoint of step {self.global_steps}")

    def _save_after(self, step: int) -> None:
        """Save the state after a step, for a run that hangs before the next one; its counter may be there already."""
        self.global_steps = step
        if step not in self.run_folder.steps():
            self._save_checkpoint()

    def _save_before_step(self) -> None:
        """Save the state from which this step began: its rollouts have changed the order of prompts alone."""
        self.global_steps -= 1
        if self.global_steps and self.global_steps not in self.run_folder.steps():
            after, before = self.train_dataloader, self.prompts_before
            self.train_dataloader = SimpleNamespace(state_dict=lambda: before)  # all that a checkpoint asks of it
            self._save_checkpoint()
            self.train_dataloader = after

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        if self.kept_rollouts is not None:
            self.kept_rollouts.resume(self.global_steps)
        if not self.global_steps:
            return
        folder = self.run_folder.step(self.global_steps)
        extra = read_json(folder / EXTRAS)
        self.estimator_state, self.metrics, self.probes = extra["estimator"], extra["metrics"], extra["probe"]
        if self.ours.reference_reset:
            self.actor_rollout_wg.load_reference(str(folder / "reference"))
