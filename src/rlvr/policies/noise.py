"""Counter-based noise: every random number of a run or an evaluation is named by a key, in any order and process."""

import numpy as np

# (seed, stream, counter) names each random number.
STREAM_ORDER, STREAM_ROLLOUT, STREAM_PROBE, STREAM_EVALUATION, STREAM_FLIP = range(5)


def uniform_noise(key: tuple[int, ...], rollouts: int, tokens: int) -> np.ndarray:
    """Uniforms in [0, 1) of shape (rollouts, tokens) from a counter-based generator keyed by integers.

    Row i depends on the key and on `tokens`, not on `rollouts`: drawing more keeps the first ones.
    """
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(key))).random((rollouts, tokens))


def noise_of(keys: list[tuple[int, ...]], first: int, rollouts: int, tokens: int) -> np.ndarray:
    """Uniform noise (P, G, T) of `rollouts` rollouts from the `first` on, one key per prompt."""
    return np.stack([uniform_noise(key, first + rollouts, tokens)[first:] for key in keys])
