"""Singular values of changes of weights, against numpy and a planted rank-1 part."""

import numpy as np
import pytest
import torch

from rlvr.papers.fade.weights import spectrum


def planted(rows, columns, size, seed=0):
    """Noise of unit scale with one strong direction, and its singular values."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(rows, columns, generator=generator)
    u, v = (torch.nn.functional.normalize(torch.randn(n, generator=generator), dim=0) for n in (rows, columns))
    matrix = noise + size * torch.outer(u, v)
    return matrix, np.linalg.svd(matrix.double().numpy(), compute_uv=False), u, v


def test_a_small_matrix_has_all_singular_values():
    matrix, values, _, _ = planted(40, 30, 50)
    found = spectrum.of(matrix)
    assert len(found.values) == 30 and np.allclose(found.values, values)
    assert found.rank_1_share == pytest.approx(values[0] ** 2 / (values**2).sum())
    assert found.gap == pytest.approx(values[0] / values[1])
    sums = np.cumsum(values) / values.sum()
    expected = int(np.argmax(sums >= 0.99 - 1e-12)) + 1
    assert found.srank() == (expected, expected)


@pytest.mark.parametrize(("rows", "columns"), [(1500, 300), (300, 1500)])
def test_the_leading_values_of_a_large_matrix_are_within_their_bound(rows, columns):
    matrix, values, u, v = planted(rows, columns, 400)
    found = spectrum.of(matrix, small=1000)
    assert len(found.values) == 16
    for s, error in zip(found.values.tolist(), found.error.tolist(), strict=True):
        assert np.abs(values**2 - s**2).min() <= s**2 * (error + 1e-5), (s, error)
    assert found.gap == pytest.approx(values[0] / values[1], rel=1e-3)
    assert found.rank_1_share == pytest.approx(values[0] ** 2 / (values**2).sum(), rel=1e-4)
    assert abs(float(found.left @ u)) > 0.95 and abs(float(found.right @ v)) > 0.95
    low, high = found.srank()
    assert low <= spectrum.of(matrix, small=10**9).srank()[0] <= high
    again = spectrum.of(matrix, small=1000)
    assert torch.equal(again.values, found.values), "the same matrix gives the same spectrum"


def test_a_change_of_nothing_has_no_shares_and_rank_1_one_value():
    found = spectrum.of(torch.zeros(5, 4))
    assert (found.gap, found.rank_1_share, found.srank()) == (None, None, None)
    found = spectrum.of(torch.outer(torch.arange(1.0, 6.0), torch.tensor([1.0, -2.0, 3.0])))
    assert found.rank_1_share == pytest.approx(1.0) and found.srank() == (1, 1)


@pytest.mark.parametrize("rank", [1, 5, 40])
def test_a_large_matrix_of_low_rank_has_its_values(rank):
    """The Krylov basis ends early."""
    generator = torch.Generator().manual_seed(rank)
    matrix = torch.randn(300, rank, generator=generator) @ torch.randn(rank, 200, generator=generator)
    found = spectrum.of(matrix, small=1000)
    expected = torch.linalg.svdvals(matrix)[:16]
    assert torch.allclose(found.values, expected[: len(found.values)], rtol=1e-4, atol=1e-3)
    assert float(found.error[0]) < 1e-4


def test_one_entry():
    matrix = torch.zeros(300, 120)
    matrix[0, 0] = 3.0
    found = spectrum.of(matrix, small=1000)
    assert found.values[0] == pytest.approx(3.0) and found.rank_1_share == pytest.approx(1.0)
