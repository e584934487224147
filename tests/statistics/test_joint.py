"""Joint bounds: laws, the tables of the multivariate normal, and how often they hold."""

import numpy as np
import pytest

from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.statistics.joint import ScoreCell, correlations, joint

OPTIONS = {"confidence": 0.95, "resamples": 40_000}


def made(cells, seed=0, **options):
    return joint(cells, **{**OPTIONS, **options}, generator=np.random.default_rng(seed))


def drawn(generator, seeds=8, problems=50, of_seeds=0.1, of_problems=0.2, rest=0.3):
    parts = generator.normal(0, of_seeds, (seeds, 1)) + generator.normal(0, of_problems, (1, problems))
    return parts + generator.normal(0, rest, (seeds, problems))


def test_one_cell_has_the_interval_of_a_table():
    x = drawn(np.random.default_rng(1))
    (half,) = made([ScoreCell(x, "m", "b")]).half_widths()
    interval = SeedsAndProblems(0.95).of(x)
    assert half == pytest.approx((interval.high - interval.low) / 2)


def test_a_cell_that_stands_twice_widens_little():
    x = drawn(np.random.default_rng(2))
    one, twice = made([ScoreCell(x, "m", "b")]), made([ScoreCell(x, "m", "b"), ScoreCell(2 * x + 1, "m", "b")])
    assert correlations([ScoreCell(x, "m", "b"), ScoreCell(-x, "m", "b")])[0, 1] == pytest.approx(-(1 - 1 / 8)), (
        "shrunk"
    )
    assert one.half_widths()[0] < twice.half_widths()[0] < 1.1 * one.half_widths()[0]


def test_cells_that_share_nothing_have_sidaks_bounds():
    generator = np.random.default_rng(3)
    cells = [ScoreCell(drawn(generator), f"model {i}", f"benchmark {i}") for i in range(5)]
    assert np.array_equal(correlations(cells), np.eye(5))
    found = made(cells)
    for half, of in zip(found.half_widths(), found.spreads, strict=True):
        assert half == pytest.approx(of.half_width((1 - 0.95**0.2) / 2), rel=0.02)


def test_what_is_shared_decides_what_varies_together():
    """Seeds alone vary: cells of a model vary together, on one benchmark or two. Problems: those of a benchmark."""
    generator = np.random.default_rng(4)
    by_seed, by_problem = generator.normal(0, 1, (8, 1)), generator.normal(0, 1, (1, 50))
    seeds_alone, problems_alone = np.repeat(by_seed, 50, axis=1), np.repeat(by_problem, 8, axis=0)

    def r(x, one, other):
        return correlations([ScoreCell(x, *one), ScoreCell(x, *other)])[0, 1]

    assert r(seeds_alone, ("m", "b"), ("m", "c")) == pytest.approx(7 / 8)
    assert r(seeds_alone, ("m", "b"), ("n", "b")) == pytest.approx(0)
    assert r(problems_alone, ("m", "b"), ("n", "b")) == pytest.approx(1)
    assert r(problems_alone, ("m", "b"), ("m", "c")) == pytest.approx(0)


def test_the_adjusted_p_is_that_of_the_interval_which_reaches_the_threshold():
    generator = np.random.default_rng(5)
    common = drawn(generator)
    cells = [ScoreCell(common + drawn(generator) + 0.2, "m", "b") for _ in range(4)]
    found = made(cells)
    p = found.p(0, found.spreads[0].mean)
    at_p = made(cells, confidence=1 - p)
    assert at_p.half_widths()[0] == pytest.approx(found.spreads[0].mean, rel=0.02)
    assert found.p(0, -1.0) == 1 and found.p(0, 100.0) <= 1e-3


@pytest.mark.parametrize("seeds", [3, 8])
def test_all_cells_are_held_as_often_as_said(seeds):
    generator, held = np.random.default_rng(6), 0
    for trial in range(400):
        common = drawn(generator, seeds)
        cells = [ScoreCell(common + drawn(generator, seeds, rest=0.1), "m", "b") for _ in range(6)]
        found = made(cells, trial, resamples=1000)
        held += all(abs(of.mean) <= half for of, half in zip(found.spreads, found.half_widths(), strict=True))
    assert held >= 0.92 * 400, "0.94 to 0.96 of 1,500 (docs/statistics.md)"
