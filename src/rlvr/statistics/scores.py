"""Score frames (a policy's scores.csv on a benchmark) to matrices: seeds x units of resampling.

Dimensions: S policies of one method (its training seeds), N problems, C clusters of problems.
"""

from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rlvr.files import RecordError
from rlvr.statistics.intervals import Matrix
from rlvr.statistics.pass_at_k import pass_at_k

Measure = Callable[[pd.DataFrame], Matrix]
Scores = dict[tuple[str, str], pd.DataFrame]  # by policy and evaluation


def read(path: Path | StringIO) -> pd.DataFrame:
    """A score frame; ids stay text, as in the problems' file."""
    return pd.read_csv(path, dtype={"problem": str, "cluster": str, "level": str})


def read_all(paths: Sequence[Path]) -> Scores:
    """Score frames by policy and evaluation."""
    frames = [read(path) for path in paths]
    return {(str(frame["policy"].iloc[0]), str(frame["evaluation"].iloc[0])): frame for frame in frames}


def pass_at(k: int) -> Measure:
    """pass@k of each problem, the unbiased estimator."""
    return lambda frame: pass_at_k(frame["n"], frame["correct"], k)


def blind(frame: pd.DataFrame, k: int) -> float | None:
    """The exact pass@k of a blind guesser, the mean over problems; None where guessing has no known chance.

    It guesses each of its k answers independently: 1 - (1 - p)^k with the problem's p of `tasks.chance`.
    """
    if "chance" not in frame:
        return None
    return _mean_of_units(frame, 1 - (1 - frame["chance"]) ** k)


def looked_up(frame: pd.DataFrame, k: int) -> float | None:
    """The exact pass@k of a lookup, the mean over problems; None for a set without one (rlvr.data.lookup)."""
    if "lookup" not in frame:
        return None
    return _mean_of_units(frame, frame["lookup"].between(1, k))


def _mean_of_units(frame: pd.DataFrame, passes: pd.Series) -> float:
    return float(passes.groupby(units_of(frame)).mean().mean())


def false_working(frames: Sequence[pd.DataFrame]) -> float | None:
    """The share of correct samples with a false step in their working; None where no sample has a checked working."""
    counted = [frame for frame in frames if "false_working" in frame]
    correct = sum(int(frame["correct"].sum()) for frame in counted)
    return sum(int(frame["false_working"].sum()) for frame in counted) / correct if correct else None


def avg(frame: pd.DataFrame) -> Matrix:
    """avg@n of each problem: the share of correct samples, which is the unbiased pass@1."""
    return (frame["correct"] / frame["n"]).to_numpy(dtype=float)


def maj(frame: pd.DataFrame) -> Matrix:
    """maj@n of each problem, from the votes of the score stage."""
    if "majority" not in frame:
        raise RecordError("scores.csv has no column `majority`: an earlier version wrote it; run the score stage again")
    return frame["majority"].to_numpy(dtype=float)


def problems_of(frames: Sequence[pd.DataFrame], names: Sequence[str]) -> list[str]:
    """The problems of all frames, in order. Raises RecordError where they differ."""
    problems = frames[0]["problem"].tolist()
    for frame, name in zip(frames, names, strict=True):
        if frame["problem"].tolist() != problems:
            raise RecordError(f"{name} has scores on other problems than {names[0]}")
    return problems


def units_of(frame: pd.DataFrame) -> NDArray[np.int64]:
    """The unit of resampling of each problem (N,), 0..C-1: its cluster, or itself."""
    if "cluster" not in frame:
        return np.arange(len(frame))
    return pd.factorize(frame["cluster"])[0].astype(np.int64)


def matrix(frames: Sequence[pd.DataFrame], measure: Measure) -> Matrix:
    """The measure of each policy on each unit (S, C): the mean over the problems of a cluster that have a value.

    So all clusters have equal weight, however many versions of a problem they hold. A unit without a value is NaN.
    """
    units = units_of(frames[0])
    return np.stack([_by_unit(measure(frame), units) for frame in frames])


def _by_unit(values_N: Matrix, units_N: NDArray[np.int64]) -> Matrix:
    known_N = ~np.isnan(values_N)
    count = int(units_N.max()) + 1
    sizes_C = np.bincount(units_N, weights=known_N, minlength=count)
    sums_C = np.bincount(units_N, weights=np.where(known_N, values_N, 0.0), minlength=count)
    return np.divide(sums_C, sizes_C, out=np.full(count, np.nan), where=sizes_C > 0)
