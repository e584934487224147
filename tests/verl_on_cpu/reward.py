"""Rewards that fail, for tests: a judge's process may die, or a verifier raise."""

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
