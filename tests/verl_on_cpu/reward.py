"""Rewards that fail, for tests: a judge's process may die, a verifier raise, or a prompt get lost."""

import asyncio
from pathlib import Path

from rlvr.training.backends.verl.reward import Verified


class Failing(Verified):
    """Raises for the first response to a training problem, and for every response to problems named in `failing`."""

    once = False

    async def run_single(self, data):
        name = data[-1].non_tensor_batch["data_source"]
        first = not self.once and name == self.config.failing.once
        self.once = self.once or first
        if first or name == self.config.failing.always:
            raise RuntimeError("this reward fails on purpose")
        return await super().run_single(data)


class Lost(Verified):
    """Never answers for problems named in `lost.of`, once the file `lost.after` has a line."""

    async def run_single(self, data):
        after = Path(self.config.lost.after)
        if data[-1].non_tensor_batch["data_source"] == self.config.lost.of and after.exists() and after.stat().st_size:
            await asyncio.sleep(1e6)
        return await super().run_single(data)
