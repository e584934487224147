"""Held-out measurements while verl trains, as a subclass of its synchronous trainer."""

import uuid
from functools import partial

import numpy as np
import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1 import PPOTrainerSync
from verl.utils import tensordict_utils as tu

from rlvr.training import measures
from rlvr.training.backends.verl.agent_loop import GREEDY
from rlvr.training.backends.verl.rollouts import Rollouts, values_of


class ProbingTrainer(PPOTrainerSync):
    """What `VerlTrainer` adds to verl's trainer for probes; it uses what that one has."""

    def probe_due(self, step: int) -> bool:
        probe = self.ours.probe
        due = step <= probe.dense_steps or step % probe.every == 0
        return bool(probe.problems) and due and step not in {row["step"] for row in self.probes}

    def probe(self, step: int) -> None:
        """Sample held-out problems; record pass rates, entropy and overconfidence (ACE sec. 5.3, 5.4)."""
        self.watchdog.at(f"the probe after step {step}", partial(self._save_after, step) if step else None)
        greedy = {"greedy": self._greedy()} if self.ours.probe.greedy else {}
        batch, levels, failed = self._sample_held_out(self.config.actor_rollout_ref.rollout.val_kwargs.n)
        self.checkpoint_manager.sleep_replicas()  # the actor needs their memory
        if step in self.ours.probe.kept_steps:
            self.actor_rollout_wg.keep_weights(str(self.run_folder.kept(step)), step)
        self.probing = True
        batch = self._balance_batch(batch, metrics={})
        self.probing = False
        batch = self._compute_old_log_prob(batch, metrics={})
        if self.use_reference_policy:
            batch = self._compute_ref_log_prob(batch, metrics={})
        rollouts = Rollouts.of(batch, has_reference=self.use_reference_policy)
        tq.kv_clear(keys=batch.keys, partition_id=batch.partition_id)
        self.checkpoint_manager.update_weights(self.global_steps)
        self.probes.append(
            {
                "step": step,
                **measures.of_probe(rollouts.correct_PG, [levels[uid] for uid in rollouts.uids]),
                **greedy,
                **rollouts.measures(self.tokenizer, self.generated_task),
                "failed_groups": failed,
            }
        )
        self.growing.update(self.rows)

    def _sample_held_out(self, rollouts: int, *, greedy: bool = False) -> tuple[KVBatchMeta, dict[str, str], int]:
        """Responses to the held-out problems, the level of each by its uid, and the number of failed groups."""
        (rows,) = self.val_dataloader  # one batch: data.val_batch_size is null
        count = len(rows["raw_prompt"])
        rows["uid"] = np.array([str(uuid.uuid4()) for _ in range(count)], dtype=object)
        levels = {uid: info["level"] for uid, info in zip(rows["uid"], rows["extra_info"], strict=True)}
        if greedy:
            rows["__rollout_n__"] = np.array([rollouts] * count, dtype=object)  # verl's own name
        requests = tu.get_tensordict(rows)
        tu.assign_non_tensor_data(requests, GREEDY, greedy)
        tu.assign_non_tensor_data(requests, "global_steps", self.global_steps)
        tu.assign_non_tensor_data(requests, "validate", True)
        tags = [{"is_prompt": True, "status": "pending", "global_steps": self.global_steps}] * count
        tq.kv_batch_put(keys=list(requests["uid"]), partition_id="val", tags=tags)
        self.agent_loop_manager.generate_sequences(requests)
        batch, _ = self.replay_buffer.sample(global_steps=self.global_steps, partition_id="val", batch_size=count)
        batch, failed = self._whole_groups(batch, count, rollouts)
        return batch, levels, failed

    def _greedy(self) -> float:
        """Pass rate of one response per problem at temperature 0."""
        batch, _, _ = self._sample_held_out(1, greedy=True)
        infos = values_of(tq.kv_batch_get(batch.keys, batch.partition_id, ["extra_fields"]).pop("extra_fields"))
        tq.kv_clear(keys=batch.keys, partition_id=batch.partition_id)
        return float(np.mean([fields["reward_extra_info"]["acc"] for fields in infos]))
