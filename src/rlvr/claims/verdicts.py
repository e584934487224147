"""Verdicts on contrasts and claims, and their words.

A verdict is on the paper's models only where these were run. Where a scale has stand-ins, other words say so.
"""

import math

import pandas as pd

from rlvr.items.contrast import Estimate
from rlvr.statistics.table_rows import adjusted

REPRODUCED, CONTRADICTED, INCONCLUSIVE = "reproduced", "contradicted", "inconclusive"
NOT_COMPARABLE, NOT_RUN = "not comparable", "not run"
SAME, OPPOSITE, UNDECIDED = "same direction", "opposite direction", "undecided"  # of stand-ins, and
SMALLER, APART = "smaller than claimed", "farther apart"  # where no direction is opposite: a size, or two arms alike
OF_STAND_INS = {SAME: REPRODUCED, OPPOSITE: CONTRADICTED, SMALLER: CONTRADICTED, APART: CONTRADICTED}
OF_STAND_INS |= {UNDECIDED: INCONCLUSIVE}  # with what they mean
JUDGED = (REPRODUCED, INCONCLUSIVE, CONTRADICTED)
VERDICTS = (REPRODUCED, CONTRADICTED, INCONCLUSIVE, *OF_STAND_INS, NOT_COMPARABLE, NOT_RUN)
HOLDS, OPEN = (REPRODUCED, SAME), (INCONCLUSIVE, UNDECIDED)
DECIDED = (*HOLDS, CONTRADICTED, OPPOSITE, SMALLER, APART)
KINDS = {  # whose a claim is: `of` in a paper's file
    "paper": "claims of the paper",
    "margin": "claims with a margin of ours",
    "control": "controls of ours",
}


def meaning(verdict: str) -> str:
    """The verdict in the words for the paper's models."""
    return OF_STAND_INS.get(verdict, verdict)


def of_stand_ins(verdict: str, high_of_all: float, near: bool) -> str:
    """The verdict in the words for stand-ins, by the upper end of the wider interval (NaN where nothing was judged).

    The direction of a contradicted claim is opposite where this whole interval is below 0. Between 0 and the threshold
    the effect is smaller than claimed, and arms that should be near each other (`near`) are farther apart.
    """
    if verdict == CONTRADICTED:
        return APART if near else SMALLER if high_of_all >= 0 else OPPOSITE
    return {REPRODUCED: SAME, INCONCLUSIVE: UNDECIDED}.get(verdict, verdict)


def verdict_of(estimate: Estimate, threshold: float, near: bool) -> str:
    """The verdict on one contrast. `near`: it should be within the threshold of 0, else above the threshold.

    Reproduced if the whole interval lies in the claimed region, contradicted if the whole wider interval lies outside.
    """
    low, high = (-threshold, threshold) if near else (threshold, float("inf"))
    inside = estimate.low >= low and estimate.high <= high if near else estimate.low > low
    if inside:
        return REPRODUCED
    outside = estimate.high_of_all < low or estimate.low_of_all > high
    return CONTRADICTED if outside else INCONCLUSIVE


def together(verdicts: list[str]) -> str:
    """The verdict on a claim: reproduced if all its contrasts are, contradicted if one is.

    The first is an intersection-union test and needs no correction; the second uses the wider intervals of all.
    Contrasts that did not run, or have no comparison, do not count.
    """
    judged = [verdict for verdict in verdicts if verdict not in (NOT_RUN, NOT_COMPARABLE)]
    if not judged:
        return NOT_COMPARABLE if NOT_COMPARABLE in verdicts else NOT_RUN
    if CONTRADICTED in judged:
        return CONTRADICTED
    return REPRODUCED if set(judged) == {REPRODUCED} else INCONCLUSIVE


def p_of_claim(estimates: list[Estimate]) -> float:
    """The two-sided p of a claim's verdict: at most 1 - confidence where it is reproduced or contradicted.

    It is the smaller of two: twice the largest one-sided p of the contrasts (intersection-union: it holds everywhere),
    which needs the p of all, and the smallest joint p (it fails somewhere). NaN where no estimate has a p.
    """
    known = [one for one in estimates if not math.isnan(one.p)]
    if not known:
        return math.nan
    holds = 2 * max(one.p for one in known) if len(known) == len(estimates) else 1.0
    return min(1.0, holds, min(one.p_of_all for one in known))


def false_discoveries(p: pd.Series) -> pd.Series:
    """Benjamini & Yekutieli's (2001) adjusted p, for claims that depend on each other in any way; NaN stays NaN."""
    return adjusted(p, "fdr_by")
