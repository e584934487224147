"""Power: variance components by simulation, formulas against statsmodels and against how often the test finds."""

import json

import numpy as np
import pytest
from conftest import run_module
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower
from support.scores_by_hand import scores

from rlvr.statistics.frontier import Knot, OnCurve, at_pass_1
from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.statistics.power import Components, components, power_at, seeds_needed, smallest_difference


def test_components_are_found_again():
    generator, found = np.random.default_rng(1), []
    for _ in range(400):
        x = generator.normal(0, 2, (8, 1)) + generator.normal(0, 3, (1, 40)) + generator.normal(0, 5, (8, 40))
        found.append(components(x))
    assert np.mean([one.seeds for one in found]) == pytest.approx(4, rel=0.15)
    assert np.mean([one.problems for one in found]) == pytest.approx(9, rel=0.1)
    assert np.mean([one.rest for one in found]) == pytest.approx(25, rel=0.05)
    with pytest.raises(ValueError, match="two seeds and two problems"):
        components(np.ones((1, 5)))


def test_where_seeds_alone_vary_it_is_the_paired_t_test():
    of = Components(4.0, 0.0, 0.0)
    expected = TTestPower().power(effect_size=1.5 / 2, nobs=8, alpha=0.05)
    assert power_at(1.5, of, 8, 100, level=0.05) == pytest.approx(expected, abs=1e-6)
    smallest = smallest_difference(of, 8, 100, power=0.8, level=0.05)
    assert power_at(smallest, of, 8, 100, level=0.05) == pytest.approx(0.8, abs=0.02)
    assert power_at(0.0, of, 8, 100, level=0.05) == pytest.approx(0.05)
    assert power_at(0.5, Components(0.0, 0.0, 3.3681**2), 8, 450, level=0.05) == pytest.approx(1), "far out in the tail"


@pytest.mark.parametrize(("seeds", "problems", "difference"), [(8, 150, 1.6), (3, 300, 4.0), (3, 20, 6.0)])
def test_the_power_is_how_often_a_true_difference_is_found(seeds, problems, difference):
    generator, of, found = np.random.default_rng(2), Components(0.8**2, 4**2, 9**2), 0
    for _ in range(1000):
        x_SN = difference + generator.normal(0, 0.8, (seeds, 1)) + generator.normal(0, 4, (1, problems))
        found += SeedsAndProblems(0.95).of(x_SN + generator.normal(0, 9, (seeds, problems))).low > 0
    assert found / 1000 == pytest.approx(power_at(difference, of, seeds, problems, level=0.05), abs=0.05)


def test_the_smallest_difference_is_that_of_the_widest_error():
    """Three seeds are the bottleneck here: Student's t of their means, with two degrees of freedom, by scipy."""
    of, seeds, problems = Components(0.3, 2.0, 25.0), 3, 450
    error = (0.3 / seeds + 25.0 / (seeds * problems)) ** 0.5
    expected = (stats.t.ppf(0.975, 2) + stats.t.ppf(0.8, 2)) * error
    assert smallest_difference(of, seeds, problems, power=0.8, level=0.05) == pytest.approx(expected)


VARIANCES = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))


@given(
    of=st.builds(Components, VARIANCES, VARIANCES, st.floats(1e-3, 1e3)),
    seeds=st.integers(2, 60),
    problems=st.integers(2, 600),
    more=st.integers(1, 300),
    difference=st.floats(0.01, 20),
)
def test_more_of_either_never_finds_less(of, seeds, problems, more, difference):
    designs = (seeds, problems), (seeds, problems + more), (seeds + more, problems)
    fewer, *larger = [smallest_difference(of, *design, power=0.8, level=0.05) for design in designs]
    assert max(larger) <= fewer * (1 + 1e-9)
    least, *greater = [power_at(difference, of, *design, level=0.05) for design in designs]
    assert min(greater) >= least - 1e-9


@pytest.mark.parametrize("of", [Components(1.0, 4.0, 80.0), Components(4.0, 0.0, 0.0), Components(0.0, 0.0, 400.0)])
def test_seeds_needed_are_the_fewest(of):
    needed = seeds_needed(1.5, of, 150, power=0.8, level=0.05)
    found = [smallest_difference(of, seeds, 150, power=0.8, level=0.05) for seeds in range(2, 60)]
    assert needed == 2 + next(i for i, smallest in enumerate(found) if smallest <= 1.5)


def test_no_number_of_seeds_makes_up_for_too_few_problems():
    assert seeds_needed(1.0, Components(1.0, 400.0, 80.0), 20, power=0.8, level=0.05) is None


def written_to(folder, name, runs) -> list[str]:
    """A file of scores per run."""
    paths = [folder / f"{name}-{seed}.csv" for seed in range(len(runs))]
    for path, correct in zip(paths, runs, strict=True):
        scores(path.stem, correct).to_csv(path, index=False)
    return [str(path) for path in paths]


@pytest.mark.broad
def test_the_command_reads_scores(tmp_path):
    files = {"left": [[4, 2, 3, 1], [3, 2, 4, 2]], "right": [[2, 2, 2, 1], [2, 1, 3, 2]]}
    written = {side: written_to(tmp_path, side, runs) for side, runs in files.items()}
    options = [word for side, paths in written.items() for path in paths for word in (f"--{side}", path)]
    done = run_module("rlvr", "power", *options, "--seeds", "2,8", "--problems", "4,100")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["seeds"], row["problems"]) for row in rows] == [(2, 4), (2, 100), (8, 4), (8, 100)]
    difference = 25.0 * (np.array(files["left"]) - np.array(files["right"]))
    smallest = smallest_difference(components(difference), 8, 100, power=0.8, level=0.05)
    assert rows[-1]["smallest_difference"] == pytest.approx(smallest, abs=1e-3)
    assert rows[-1]["power"] > rows[0]["power"]
    table = run_module("rlvr", "power", *options, "--seeds", "2,8", "--problems", "4,100", "--table").stdout
    cells = [line.split() for line in table.splitlines() if line.lstrip()[:1].isdigit()]
    assert cells and all(
        cell[:3] == [str(row["seeds"]), str(row["problems"]), f"{row['smallest_difference']:.2f}"]
        for cell, row in zip(cells, rows, strict=True)
    )
    assert max(map(len, table.splitlines())) <= 110


@pytest.mark.broad
def test_the_command_compares_at_equal_pass_1(tmp_path):
    """With the numbers of a table at equal pass@1, whose baseline is the left method."""
    made = {"1e-5": [[1, 0, 1, 0], [1, 1, 0, 0]], "4e-5": [[2, 1, 3, 1], [2, 3, 2, 1]]}
    made |= {"9e-5": [[4, 3, 4, 2], [4, 4, 3, 1]], "right": [[3, 1, 3, 1], [2, 3, 2, 0]]}
    options, knots = [], []
    for name, runs in made.items():
        for path in written_to(tmp_path, name, runs):
            options += ["--right", path] if name == "right" else ["--left-rate", f"{name}={path}"]

    def pass_2(correct):  # of four samples
        return 1 - (4 - correct) * (3 - correct) / 12

    done = run_module("rlvr", "power", *options, "--k", "2", "--seeds", "2", "--problems", "4")
    row, right = json.loads(done.stdout), np.array(made.pop("right"))
    for rate, runs in made.items():
        knots.append(Knot(float(rate), np.array(runs) / 4, pass_2(np.array(runs))))
    left = at_pass_1(knots, right / 4)
    assert isinstance(left, OnCurve)
    of = components(100 * (left.score_SN - pass_2(right)))
    assert row["sd_problems"] == pytest.approx(of.problems**0.5, abs=1e-3)
    assert row["smallest_difference"] == pytest.approx(smallest_difference(of, 2, 4, power=0.8, level=0.05), abs=1e-3)
    short = run_module("rlvr", "power", *options[:4], *options[-4:], check=False)
    assert "the baseline has 1 other learning rates, and 3 are needed" in short.stderr


@pytest.mark.broad
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--right", "b.csv"), "by --left, or at several rates by --left-rate"),
        (("--left-rate", "x=a.csv", "--right", "b.csv"), "--left-rate: must be RATE=FILE"),
        (("--left-rate", "0=a", "--left-rate", "0=b", "--right", "b"), "--left-rate 0 has 2 files and --right 1"),
        (("--left", "a.csv", "--right", "a.csv", "--right", "b.csv"), "--left has 1 files and --right 2"),
        (("--left", "a.csv", "--right", "b.csv"), "No such file"),
        (("--left", "a.csv", "--right", "b.csv", "--seeds", "1"), "--seeds: must be at least 2"),
        (("--left", "a.csv", "--right", "b.csv", "--problems", "x"), "--problems: must be whole numbers"),
    ],
)
def test_wrong_input_is_one_line(arguments, message):
    done = run_module("rlvr", "power", *arguments, check=False)
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1
