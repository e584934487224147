"""Errors of computing with a policy."""


class NonFinite(RuntimeError):
    """A distribution over tokens, a loss or a gradient that is not finite: training has diverged."""

    @classmethod
    def distribution(cls) -> "NonFinite":
        return cls("the policy's distribution over tokens is not finite")
