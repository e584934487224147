"""pass@k, exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> NDArray[np.float64]:
    """The unbiased estimator (Chen et al. 2021; ACE, Eq. 15): 1 - C(n - c, k) / C(n, k), element by element.

    Computed as 1 - prod_{i = n - c + 1}^{n} (1 - k / i), which is exact to rounding where binomials overflow.
    Raises ValueError for k > n, c > n or negative counts.
    """
    n, c = np.broadcast_arrays(np.asarray(n, dtype=np.int64), np.asarray(c, dtype=np.int64))
    if k < 1 or (n < k).any():
        raise ValueError(f"pass@{k} needs 1 <= k <= n; the fewest samples of a problem are {n.min()}")
    if (c < 0).any() or (c > n).any():
        raise ValueError("the number of correct samples must lie in 0..n")
    missed = np.ones(n.shape)
    for j in range(int(c.max(initial=0))):
        factor = 1 - k / (n - j)
        missed = np.where(j < c, missed * np.maximum(factor, 0.0), missed)
    return 1 - missed
