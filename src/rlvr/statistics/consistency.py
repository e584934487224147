"""Published pass@k rows against the laws of an unbiased pass@k at one fixed n.

With n samples per problem and c correct, pass@k is non-decreasing and concave in k, and pass@(m k) <= m pass@k; so is
its mean over problems. A printed value is an interval: half a unit of its last digit on either side. A row is
inconsistent only if no values inside these intervals satisfy a law.

A printed uncertainty v ± u has laws of its own. As a range of values of pass@k it lies within 0 and 100. As an error of
problems and samples it is bounded: whatever n and k are, a problem's estimate lies in [0, 1], so over N problems with
mean v the variance of one estimate, drawn with its problem, is at most v (1 - v) (Bhatia & Davis 2000), and the
standard error of the mean at most sqrt(v (1 - v) / N). With fixed problems it is smaller. So u <= 1.96 times that, as a
95 % half-width. This falls as v rises from 50 to 100: a u that grows with k on the way to 100 leaves it at some k. It
assumes that problems are independent, and that u is no wider interval and not of several training runs, whose spread
it does not bound.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import pandas as pd

ROW = ("paper", "table", "model", "method", "benchmark")


@dataclass(frozen=True)
class Printed:
    """A printed value, in percent, with the half-width of its rounding."""

    k: int
    value: Fraction
    half: Fraction

    @classmethod
    def of(cls, k: int, text: str, unit: int = 1) -> Self:
        """The value of plain digits; `unit` is 1 for percent, 100 for fractions."""
        digits = len(text.partition(".")[2])
        return cls(k, unit * Fraction(text), Fraction(unit, 2 * 10**digits))

    @property
    def low(self) -> Fraction:
        return self.value - self.half

    @property
    def high(self) -> Fraction:
        return self.value + self.half


WITHIN_RANGE = "± within 0 and 100"
OF_PROBLEMS = "± at most 1.96 sqrt(v (100 - v) / problems)"
UNCERTAINTY = (WITHIN_RANGE, OF_PROBLEMS)  # the laws of v ± u
QUANTILE = 1.96  # of the normal law, for 95 %


@dataclass(frozen=True)
class Violation:
    """A law that a row breaks, and the smallest possible excess (percentage points, allowing for rounding)."""

    law: str
    where: str
    by: float


def check(row: list[Printed]) -> list[Violation]:
    """The violations in a row of pass@k values."""
    row = sorted(row, key=lambda printed: printed.k)
    return [*_monotone(row), *_concave(row), *_subadditive(row)]


def _monotone(row: list[Printed]) -> list[Violation]:
    violations = []
    for a, b in itertools.pairwise(row):
        if a.low > b.high:
            where = f"k = {a.k}, {b.k}: {float(a.value):g}, {float(b.value):g}"
            violations.append(Violation("non-decreasing in k", where, float(a.low - b.high)))
    return violations


def _concave(row: list[Printed]) -> list[Violation]:
    """A middle value must reach the chord between its neighbours."""
    violations = []
    for a, b, c in zip(row, row[1:], row[2:], strict=False):
        share = Fraction(b.k - a.k, c.k - a.k)
        chord = (1 - share) * a.low + share * c.low
        if b.high < chord:
            values = ", ".join(f"{float(x.value):g}" for x in (a, b, c))
            violations.append(Violation("concave in k", f"k = {a.k}, {b.k}, {c.k}: {values}", float(chord - b.high)))
    return violations


def _subadditive(row: list[Printed]) -> list[Violation]:
    violations = []
    for a, b in itertools.combinations(row, 2):
        if b.k % a.k == 0 and b.low > (b.k // a.k) * a.high:
            where = f"k = {a.k}, {b.k}: {float(b.value):g} > {b.k // a.k} x {float(a.value):g}"
            violations.append(Violation("pass@mk at most m pass@k", where, float(b.low - (b.k // a.k) * a.high)))
    return violations


def granularity(printed: Printed, problems: int) -> Violation | None:
    """The violation at k = n, where a single run solves each problem or not: a multiple of 1 / problems."""
    steps = printed.value * problems / 100
    nearest = Fraction(100 * round(steps), problems)
    distance = abs(printed.value - nearest) - printed.half
    if distance <= 0:
        return None
    where = f"k = n = {printed.k}: {float(printed.value):g} of {problems} problems"
    return Violation("a multiple of 1 / problems", where, float(distance))


def beyond_range(value: Printed, width: Printed) -> Violation | None:
    """The violation of a v ± u that reaches below 0 or above 100 for all values that round to v and u."""
    over = max(value.low + width.low - 100, width.low - value.high)
    if width.low <= 0 or over <= 0:
        return None
    return Violation(WITHIN_RANGE, _with_width(value, width), float(over))


def beyond_problems(value: Printed, width: Printed, problems: int) -> Violation | None:
    """The violation of a v ± u that is wider than problems and samples can make it (see the module)."""
    widest = min(max(Fraction(50), value.low), value.high)  # of the values that round to v, the nearest to 50
    bound = QUANTILE * math.sqrt(float(widest * (100 - widest)) / problems)
    over = float(width.low) - bound
    if over <= 0:
        return None
    return Violation(OF_PROBLEMS, f"{_with_width(value, width)} of {problems} problems, at most {bound:.2g}", over)


def _with_width(value: Printed, width: Printed) -> str:
    return f"k = {value.k}: {float(value.value):g} ± {float(width.value):g}"


def pass_at_k_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of a reference table (all text) with a pass@k: an integer k and a plain number."""
    number = frame["value"].str.fullmatch(r"\d+(\.\d+)?") & frame["k"].str.fullmatch(r"[1-9]\d*")
    return frame.loc[number]


def in_words(findings: pd.DataFrame) -> list[str]:
    """One sentence per published row that cannot be an unbiased pass@k at one fixed n."""
    sentences = []
    for _, part in findings.groupby(list(ROW), sort=False):
        first, laws = part.iloc[0], " and ".join(dict.fromkeys(part["law"]))
        row = f"{first['model']}, {first['method']} on {first['benchmark']}"
        sentences.append(f"{row}: not {laws} ({'; '.join(part['where'].head(2))})")
    return sentences


def _widths(cells: pd.DataFrame) -> list[str]:
    return cells["ci"].tolist() if "ci" in cells else [""] * len(cells)


def of_uncertainty(findings: pd.DataFrame) -> pd.Series:
    """Whether each finding is of a v ± u, not of the values."""
    return findings["law"].isin(UNCERTAINTY)


def check_table(
    frame: pd.DataFrame, sizes: dict[str, int] | None = None, samples: int | None = None, unit: int = 1
) -> pd.DataFrame:
    """One row per violation in a reference table (paper, table, model, method, benchmark, k, value, ci; all text).

    `ci`, the u of v ± u, may be empty or missing. With `sizes` (problems per benchmark) it also checks that u is not
    wider than problems and samples make it, and with `samples` (n) granularity at k = n. `unit` is 100 where values
    are fractions.
    """
    rows = []
    for _, cells in frame.groupby(list(ROW), sort=False):
        row = [Printed.of(int(k), value, unit) for k, value in zip(cells["k"], cells["value"], strict=True)]
        violations = check(row)
        first = cells.iloc[0]
        size = (sizes or {}).get(str(first["benchmark"]))
        if size and samples:
            violations += [f for p in row if p.k == samples and (f := granularity(p, size))]
        widths = [(p, Printed.of(p.k, u, unit)) for p, u in zip(row, _widths(cells), strict=True) if u]
        violations += [f for p, u in widths if (f := beyond_range(p, u))]
        violations += [f for p, u in widths if size and (f := beyond_problems(p, u, size))]
        rows += [{name: first[name] for name in ROW} | vars(f) for f in violations]
    return pd.DataFrame(rows, columns=[*ROW, "law", "where", "by"])
