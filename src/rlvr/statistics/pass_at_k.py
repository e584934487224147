"""Exact pass@k."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> NDArray[np.float64]:
    """The unbiased estimator (Chen et al. 2021; ACE, Eq. 15): 1 - C(n - c, k) / C(n, k), element by element.

    Computed as 1 - prod_{i = n - c + 1}^{n} (1 - k / i), exact to rounding even where binomials overflow. One pass
    gives the products for all c of an n. Raises ValueError for k > n, c > n or negative counts.
    """
    n, c = np.broadcast_arrays(np.asarray(n, dtype=np.int64), np.asarray(c, dtype=np.int64))
    if k < 1 or (n < k).any():
        raise ValueError(f"pass@{k} needs 1 <= k <= n; the fewest samples of a problem are {n.min()}")
    if (c < 0).any() or (c > n).any():
        raise ValueError("the number of correct samples must lie in 0..n")
    if n.size and n.min() == n.max():
        return _of_each(int(n.flat[0]), int(c.max()), k)[c]
    passes = np.zeros(n.shape)
    for samples in np.unique(n):
        here = n == samples
        passes[here] = _of_each(int(samples), int(c[here].max()), k)[c[here]]
    return passes


@lru_cache(maxsize=256)
def _of_each(n: int, most: int, k: int) -> NDArray[np.float64]:
    """pass@k for 0 to `most` correct of n samples."""
    factors = 1 - k / (n - np.arange(most))
    return 1 - np.concatenate([[1.0], np.multiply.accumulate(np.maximum(factors, 0.0))])


def pass_at_ks(counts: NDArray[np.int64], ks: Sequence[int]) -> NDArray[np.float64]:
    """pass@k at each k, unbiased, from the number of problems with c = 0..n correct of n samples each."""
    n = len(counts) - 1
    correct = np.arange(n + 1)
    shares = counts / counts.sum()
    return np.array([float(shares @ pass_at_k(np.full(n + 1, n), correct, k)) for k in ks])
