"""Power of a comparison of two methods: what difference so many training seeds and problems can find.

Dimensions: S training seeds, N problems.
"""

from dataclasses import dataclass

import numpy as np

from rlvr.statistics.intervals import Matrix


@dataclass(frozen=True)
class Components:
    """The variances of x_sn = mu + a_s + b_n + e_sn: between seeds, between problems, and the rest."""

    seeds: float
    problems: float
    rest: float

    def errors(self, seeds: int, problems: int) -> tuple[tuple[float, float], ...]:
        """The standard errors that a mean over so many seeds and problems has, each with its degrees of freedom.

        They are those of the interval (`rlvr.statistics.intervals.two_way`) with its variances at their expectations:
        of the seeds' means, of the problems' means, and of both. The widest counts.
        """
        rest = self.rest / (seeds * problems)
        of_seeds, of_problems = self.seeds / seeds + rest, self.problems / problems + rest
        total = of_seeds + of_problems - rest
        parts = (of_seeds, seeds - 1), (of_problems, problems - 1), (rest, (seeds - 1) * (problems - 1))
        squares = sum(variance**2 / freedom for variance, freedom in parts)
        freedom = max(total**2 / squares if squares else 0.0, min(seeds, problems) - 1)
        return (of_seeds**0.5, seeds - 1), (of_problems**0.5, problems - 1), (total**0.5, freedom)


def components(difference_SN: Matrix) -> Components:
    """The components of paired differences, by the table of a two-way analysis of variance; none is below 0.

    Raises ValueError for fewer than two seeds or problems.
    """
    seeds, problems = difference_SN.shape
    if seeds < 2 or problems < 2:
        raise ValueError(f"needs two seeds and two problems or more (got {seeds} and {problems})")
    of_seeds, of_problems = difference_SN.mean(axis=1), difference_SN.mean(axis=0)
    rest_SN = difference_SN - of_seeds[:, None] - of_problems + difference_SN.mean()
    rest = float((rest_SN**2).sum()) / ((seeds - 1) * (problems - 1))
    between_seeds = float(np.var(of_seeds, ddof=1)) - rest / problems
    between_problems = float(np.var(of_problems, ddof=1)) - rest / seeds
    return Components(max(between_seeds, 0.0), max(between_problems, 0.0), rest)


def smallest_difference(of: Components, seeds: int, problems: int, *, power: float, level: float) -> float:
    """The difference that a two-sided test at the level finds with this power: (t_{1 - level/2} + t_power) x error.

    It is the largest of the three errors', so more seeds or more problems never find less.
    """
    from scipy import special

    return max(
        float(special.stdtrit(freedom, 1 - level / 2) + special.stdtrit(freedom, power)) * error
        for error, freedom in of.errors(seeds, problems)
    )


def seeds_needed(
    difference: float, of: Components, problems: int, *, power: float, level: float, most: int = 1000
) -> int | None:
    """The fewest seeds, two or more, that find a difference with this power on so many problems; None above `most`."""
    if smallest_difference(of, most, problems, power=power, level=level) > difference:
        return None
    low, high = 1, most  # more seeds find smaller differences: `high` are enough, `low` are not
    while high - low > 1:
        middle = (low + high) // 2
        enough = smallest_difference(of, middle, problems, power=power, level=level) <= difference
        low, high = (low, middle) if enough else (middle, high)
    return high


def power_at(difference: float, of: Components, seeds: int, problems: int, *, level: float) -> float:
    """The power of that test at a true difference, by the noncentral t distribution; the least of the three errors'."""
    return min(_power(difference, *error, level=level) for error in of.errors(seeds, problems))


def _power(difference: float, error: float, freedom: float, *, level: float) -> float:
    from scipy import stats

    if error == 0:
        return 1.0 if difference else level
    edge, shift = stats.t.ppf(1 - level / 2, freedom), abs(difference) / error
    right, wrong = stats.nct.sf(edge, freedom, shift), stats.nct.cdf(-edge, freedom, shift)
    return float(right + np.nan_to_num(wrong))  # scipy gives NaN for a chance near 0
