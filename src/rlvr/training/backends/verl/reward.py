"""verl's reward manager over this package's verifiers: the same verdicts and rewards as in process."""

import time
from typing import Any

import torch
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from rlvr.training.rollouts import flip_key, flipped, rewards_of
from rlvr.verifiers import settle
from rlvr.verifiers._form import well_formed
from rlvr.verifiers.pool import Pool


class Verified(RewardManagerBase):
    """The reward of `rlvr.training.rollouts.rewards_of`; `acc` is 1 for a correct answer, else 0.

    Each of `reward.num_workers` processes has one; its judge can be killed (`rlvr.verifiers.pool`). Its settings are
    under `rlvr` in verl's configuration. Raises TooManyErrors, which ends the training, if its judge fails too often.
    """

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any, **_: Any):
        super().__init__(config, tokenizer, compute_score)
        self.settings, self.longest = config.rlvr, config.data.max_response_length
        self.pool = Pool(config.rlvr.verifier, verifier_errors=config.rlvr.verifier_errors, box=config.rlvr.box)

    async def run_single(self, data: Any) -> dict[str, Any]:
        item = data[-1]
        responses, mask = item.batch["responses"], item.batch["attention_mask"]
        tokens = responses[: int(mask[-responses.shape[-1] :].sum())].tolist()
        gold = item.non_tensor_batch["reward_model"]["ground_truth"]
        problem, place = item.non_tensor_batch["extra_info"]["id"], int(item.non_tensor_batch["session_id"])
        key = flip_key(self.settings.seed, int(item.non_tensor_batch["global_steps"]), problem)
        judged = await self.loop.run_in_executor(None, self._judge, tokens, gold, key, place)
        judged["reward_extra_info"] |= {"problem": problem, "gold": gold}
        return judged

    def _judge(self, tokens: list[int], gold: str, key: tuple[int, ...], place: int) -> dict[str, Any]:
        began = time.perf_counter()
        text = self.tokenizer.decode(tokens, skip_special_tokens=True)
        (verdict,) = self.pool.judge([(text, gold)])
        self.pool.errors.check()
        status, extracted = settle((verdict.status, verdict.extracted), tokens[-1:] == [self.tokenizer.eos_token_id])
        correct = float(status == "correct")
        formed = torch.tensor([[float(well_formed(text))]]) if self.settings.format_share else None
        lengths = torch.tensor([[float(len(tokens))]])
        rewarded = flipped(torch.tensor([[correct]]), self.settings.flipped, [key], place)
        reward = rewards_of(rewarded, formed, lengths, self.settings, self.longest)
        seconds = time.perf_counter() - began
        info = {"acc": correct, "status": status, "extracted": extracted, "seconds": seconds}
        return {"reward_score": float(reward), "reward_extra_info": info}
