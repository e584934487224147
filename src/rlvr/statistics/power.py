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

    def error(self, seeds: int, problems: int) -> tuple[float, float]:
        """The standard error of a mean over so many seeds and problems, and its degrees of freedom (Satterthwaite)."""
        parts = (self.seeds / seeds, seeds - 1), (self.problems / problems, problems - 1)
        rest = self.rest / (seeds * problems), (seeds - 1) * (problems - 1)
        total = sum(variance for variance, _ in (*parts, rest))
        squares = sum(variance**2 / freedom for variance, freedom in (*parts, rest))
        return float(np.sqrt(total)), total**2 / squares if squares else float(seeds - 1)


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
    """The difference that a two-sided test at the level finds with this power: (t_{1 - level/2} + t_power) x error."""
    from scipy import special

    error, freedom = of.error(seeds, problems)
    return float(special.stdtrit(freedom, 1 - level / 2) + special.stdtrit(freedom, power)) * error


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
    """The power of that test at a true difference, by the noncentral t distribution."""
    from scipy import stats

    error, freedom = of.error(seeds, problems)
    if error == 0:
        return 1.0 if difference else level
    edge, shift = stats.t.ppf(1 - level / 2, freedom), abs(difference) / error
    power = float(stats.nct.sf(edge, freedom, shift) + stats.nct.cdf(-edge, freedom, shift))
    return float(stats.norm.sf(edge - shift)) if np.isnan(power) else power  # scipy gives NaN for a large shift
