"""Singular values of a change of weights: all of a small matrix, the leading ones of a large one with a bound."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

SMALL = 4_000_000  # entries up to which all singular values are computed
LEADING = 16  # singular values of a larger matrix
WIDTH, BLOCKS, SEED = 32, 12, 0  # of the Krylov basis: columns of a block, blocks, and the draw of the first
SRANK = 0.01  # delta of srank, as in Kumar et al. (2020)


@dataclass(frozen=True)
class Spectrum:
    """The leading singular values s (descending) of a matrix A (m, n), its first pair of vectors, and |A|_F.

    `error` bounds the relative error of each s: the interval s^2 (1 ± error) holds the square of a singular value of A.
    It is 0 where all were computed.
    """

    values: Tensor
    left: Tensor
    right: Tensor
    norm: float
    smaller_side: int
    error: Tensor

    @property
    def gap(self) -> float | None:
        """s1 / s2; None where s2 is 0."""
        first, second = self.values[:2].tolist() if len(self.values) > 1 else (0.0, 0.0)
        return first / second if second > 0 else None

    @property
    def rank_1_share(self) -> float | None:
        """r1 = s1^2 / |A|_F^2 (FADE, sec. 4.2); None where A is 0."""
        return float(self.values[0]) ** 2 / self.norm**2 if self.norm > 0 else None

    def srank(self, delta: float = SRANK) -> tuple[int, int] | None:
        """Bounds of the least k whose k largest singular values sum to (1 - delta) of all (Kumar et al. 2020).

        The two are equal where all values are known. Otherwise the values that are not known sum to something between
        their norm and that norm times the square root of their number. None where A is 0.
        """
        if self.norm == 0:
            return None
        known = self.values.double().cumsum(0)
        rest = max(0.0, self.norm**2 - float((self.values.double() ** 2).sum())) ** 0.5
        unknown = self.smaller_side - len(self.values)
        if not unknown:
            return (_reaches(known, float(known[-1]), delta),) * 2  # type: ignore[return-value]
        least, most = (_reaches(known, float(known[-1]) + tail, delta) for tail in (rest, rest * unknown**0.5))
        return least, most if most <= len(known) else self.smaller_side


def _reaches(sums: Tensor, whole: float, delta: float) -> int:
    """The first k whose sum is at least (1 - delta) of the whole; one more than there are where none is."""
    return int((sums < (1 - delta) * whole * (1 - 1e-12)).sum()) + 1


def of(matrix: Tensor, *, leading: int = LEADING, small: int = SMALL) -> Spectrum:
    """The spectrum of a matrix (m, n). The same matrix gives the same spectrum."""
    if matrix.numel() <= small:
        u, s, v = torch.linalg.svd(matrix.double(), full_matrices=False)
        return Spectrum(s, u[:, 0], v[0], float(s.norm()), len(s), torch.zeros_like(s))
    return _leading(matrix.float(), leading)


def _leading(matrix: Tensor, leading: int) -> Spectrum:
    """Randomised block Krylov iteration (Musco & Musco 2015, Algorithm 2), then one Rayleigh-Ritz step.

    The basis is that of [W, A'A W, ..., (A'A)^(BLOCKS - 1) W] for a random W (n, WIDTH), or of the whole space.
    For a Ritz pair (s^2, v) of A'A some eigenvalue of A'A is within |A'A v - s^2 v| of s^2 (Parlett 1998, Theorem
    4.5.1): that residual over s^2 is the error.
    """
    rows, columns = matrix.shape
    if rows < columns:
        turned = _leading(matrix.T, leading)
        return replace(turned, left=turned.right, right=turned.left)
    generator = torch.Generator(device="cpu").manual_seed(SEED)
    width = min(columns, max(WIDTH, leading))
    block = torch.randn(columns, width, generator=generator).to(matrix.device)
    basis = torch.zeros(columns, 0, device=matrix.device)
    image = torch.zeros(rows, 0, device=matrix.device)
    while block.shape[1] and basis.shape[1] < min(columns, BLOCKS * width):
        block = _orthogonal(_orthogonal(block, basis), basis)[:, : columns - basis.shape[1]]
        basis, image = torch.cat([basis, block], 1), torch.cat([image, matrix @ block], 1)
        block = matrix.T @ image[:, basis.shape[1] - block.shape[1] :]
    u, s, turn = torch.linalg.svd(image, full_matrices=False)
    right = (basis @ turn.T)[:, :leading]
    squared = s[:leading] ** 2
    residual = (matrix.T @ (matrix @ right) - right * squared).norm(dim=0)
    norm = float(torch.stack([chunk.double().pow(2).sum() for chunk in matrix.split(4096)]).sum().sqrt())
    error = torch.where(squared > 0, residual / squared.clamp(min=torch.finfo(squared.dtype).tiny), 0.0)
    return Spectrum(s[:leading], u[:, 0], right[:, 0], norm, columns, error)


def _orthogonal(block: Tensor, basis: Tensor) -> Tensor:
    """An orthonormal basis of what a block's columns have beside another basis, without those that have only rounding.

    Called twice: the second time takes away what the rounding of the first has added.
    """
    rest, turn = torch.linalg.qr(block - basis @ (basis.T @ block))
    return rest[:, turn.diagonal().abs() > 1e-5 * block.norm(dim=0)]
