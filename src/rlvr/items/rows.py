"""Columns that rows of statistics have in common."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlvr.config.measures import ANY, Range
from rlvr.statistics.intervals import over_seeds


def mean_of_seeds(values_S: Sequence[float] | np.ndarray, confidence: float, possible: Range = ANY) -> dict[str, Any]:
    """The mean over training seeds with its interval of Student's t, and their number."""
    interval = over_seeds(np.asarray(values_S), confidence, possible)
    numbers = {"value": interval.estimate, "value_low": interval.low, "value_high": interval.high}
    return {**numbers, "seeds": len(values_S)}
