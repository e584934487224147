"""The rollouts of a verl batch and their measures."""

from pathlib import Path
from typing import Any, Self

import torch
import transfer_queue as tq
from transfer_queue import KVBatchMeta

from rlvr.config.registries import TaskKind
from rlvr.training import measures
from rlvr.training.backends.verl.adapter import EstimatorInputs, Grid
from rlvr.training.rollout_log import RolloutLog, Step

PHASES = {  # of a step, and verl's names of their parts
    "rollout": ("gen", "reward"),
    "reference": ("old_log_prob", "ref", "values", "adv"),
    "update": ("update_critic", "update_actor"),
}


class Rollouts:
    """The rollouts of a batch, as padded tensors (N, T) and the grid of real rows, with their measures."""

    def __init__(
        self,
        inputs: EstimatorInputs,
        mask_NT: torch.Tensor,
        fields: dict[str, torch.Tensor],
        uids: list[str],
        infos: list[dict],
        prompts_N: list[torch.Tensor],
    ):
        self.inputs, self.mask_NT, self._fields = inputs, mask_NT, fields
        grid = inputs.grid
        self.prompts = [prompts_N[row].tolist() for row in grid.rows_PG[:, 0].tolist()]
        self.uids = [uids[row] for row in grid.rows_PG[:, 0].tolist()]  # one per prompt
        self.infos = [[infos[row] for row in rows] for rows in grid.rows_PG.tolist()]  # of each prompt's rollouts
        self.correct_PG = torch.tensor([[info["acc"] for info in row] for row in self.infos])
        statuses = [info["status"] for row in self.infos for info in row]
        # Of all workers, beside the sampling.
        self.verify_seconds = sum(info["seconds"] for row in self.infos for info in row)
        self.statuses = {status: statuses.count(status) for status in sorted(set(statuses))}

    @classmethod
    def of(cls, batch: KVBatchMeta, *, has_reference: bool) -> Self:
        names = ["uid", "responses", "response_mask", "rm_scores", "old_log_probs", "entropy", "extra_fields"]
        names += ["prompts", "rollout_log_probs", *(["ref_log_prob"] if has_reference else [])]
        data = tq.kv_batch_get(batch.keys, batch.partition_id, names)
        infos = [fields.get("reward_extra_info") or {} for fields in values_of(data.pop("extra_fields"))]
        uids, prompts_N = values_of(data.pop("uid")), list(data.pop("prompts").unbind())
        fields = {name: value for name, value in data.to_padded_tensor().items() if isinstance(value, torch.Tensor)}
        mask_NT = fields["response_mask"].float()
        real_N = torch.tensor([not tag.get("is_padding", False) for tag in batch.tags])
        sessions = [int(key.rsplit("_", 2)[1]) if real else 0 for key, real in zip(batch.keys, real_N, strict=True)]
        grid = Grid.of(uids, real_N & mask_NT.bool().any(-1), sessions)
        old_NT = fields["old_log_probs"]
        inputs = EstimatorInputs.of(grid, mask_NT, fields["rm_scores"], old_NT, fields.get("ref_log_prob", old_NT))
        return cls(inputs, mask_NT, fields, uids, infos, prompts_N)

    def record(self, path: Path, updates: list[dict[str, Any]]) -> None:
        """Save a step's data: tokens and rewards by prompt and rollout, and each optimizer step's figures."""
        content = {
            "prompts": self.prompts,
            "tokens_PGT": self.inputs.grid.take(self._fields["responses"]),
            "lengths_PG": self.inputs.lengths_PG,
            "rewards_PG": self.inputs.rewards_PG,
            "updates": updates,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(content, path)

    def keep(
        self, kept: RolloutLog, step: int, tokenizer: Any, weights_PG: torch.Tensor, state: dict[str, float]
    ) -> None:
        """Keep the rollouts of some prompts."""
        inputs, infos = self.inputs, self.infos
        problems = [(row[0]["problem"], row[0]["gold"]) for row in infos]
        verdicts = [[(info["status"], info["extracted"]) for info in row] for row in infos]

        def texts(p: int) -> list[str]:
            rows, lengths = inputs.grid.rows_PG[p].tolist(), inputs.lengths_PG[p].tolist()
            responses = [self._fields["responses"][row][:length] for row, length in zip(rows, lengths, strict=True)]
            return tokenizer.batch_decode([self.prompts[p], *responses], skip_special_tokens=True)

        tensors = inputs.rewards_PG, weights_PG, inputs.lengths_PG
        has_reference = "ref_log_prob" in self._fields
        of_step = Step(step, problems, texts, verdicts, *tensors, inputs.values, state, has_reference)
        kept.add(step, [problem for problem, _ in problems], of_step.group)

    @property
    def gap(self) -> float | None:
        """Mean |difference| of the engine's and the actor's log-probabilities, in nats per token."""
        if "rollout_log_probs" not in self._fields:
            return None
        difference_NT = (self._fields["rollout_log_probs"] - self._fields["old_log_probs"]).abs() * self.mask_NT
        return float(difference_NT.sum() / self.mask_NT.sum())

    def measures(self, tokenizer: Any, task: TaskKind | None) -> dict[str, float | None]:
        """Entropy, false working, and overconfidence relative to the reference; None without one."""
        grid, inputs, fields = self.inputs.grid, self.inputs, self._fields
        tokens_PGT, mask_PGT = grid.take(fields["responses"]), grid.take(self.mask_NT).bool()
        over: dict[str, float | None] = dict.fromkeys(measures.OVERCONFIDENCE)
        if "ref_log_prob" in fields:
            over = measures.overconfidence(inputs.values["log_ratio_PG"], inputs.lengths_PG, self.correct_PG)
        return {
            **measures.entropy(task, tokenizer, tokens_PGT, grid.take(fields["entropy"]).float(), mask_PGT),
            **measures.false_working(task, tokenizer, self.prompts, tokens_PGT, inputs.lengths_PG, self.correct_PG),
            **over,
        }

    def timing(self, by_verl: dict[str, float], sync: float) -> dict[str, float]:
        """Seconds by phase as the trainer in process has them, from those by verl's names.

        `sync`: seconds in which these rollouts' weights came to the engine, before the step. They are part of it.
        """
        seconds = {phase: round(sum(by_verl.get(name, 0.0) for name in names), 4) for phase, names in PHASES.items()}
        seconds["sync"] = round(sync, 4)
        whole, tokens = sum(seconds.values()), int(self.inputs.lengths_PG.sum())
        whole_step = {"step": round(whole, 4), "tokens_per_second": round(tokens / whole, 1)}
        return {**seconds, "verify": round(self.verify_seconds, 4), **whole_step}


def values_of(values: Any) -> list[Any]:
    return [getattr(value, "data", value) for value in values.tolist()]
