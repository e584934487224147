"""Rewards by the toss of a coin, for weights that solve nothing: a run of equal rewards would learn nothing."""

from typing import Any
from zlib import crc32

from rlvr.training.backends.verl.reward import Verified


class Coin(Verified):
    """Half of all responses are correct, by a checksum of their tokens."""

    def _judge(self, tokens: list[int], *more: Any) -> dict[str, Any]:
        judged = super()._judge(tokens, *more)
        correct = crc32(str(tokens).encode()) % 2
        judged["reward_score"] = float(correct)
        judged["reward_extra_info"] |= {"acc": float(correct), "status": "correct" if correct else "wrong"}
        return judged
