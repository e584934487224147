"""Verdicts on contrasts and claims, and their words.

A verdict is on the paper's models only where these were run. Where a scale has stand-ins, other words say so.
"""

import math
from dataclasses import dataclass

import pandas as pd

from rlvr.items.contrast import Estimate
from rlvr.statistics.table_rows import adjusted

REPRODUCED, CONTRADICTED, INCONCLUSIVE = "reproduced", "contradicted", "inconclusive"
EQUIVALENT = "no practical difference"  # an equivalence test: the difference is smaller than any of practical size
BY_PART = "depends on the part"  # of training that was chosen: another part gives another verdict
IDENTICAL = "identical"  # the arms have equal results, to the last bit
AT_BOUND = "at a bound"  # all scores are near 0 or 100, or the claimed size is out of reach
OTHER_RATES = "other rates"  # stand-ins of the arms train at different learning rates
NOT_COMPARABLE, NOT_RUN = "not comparable", "not run"
NOT_EXERCISED = "not exercised"  # the runs do not meet a criterion of the method's mechanism, whatever scores say
UNJUDGED = (IDENTICAL, AT_BOUND, OTHER_RATES, NOT_EXERCISED, NOT_COMPARABLE, NOT_RUN)
SAME, OPPOSITE, UNDECIDED = "same direction", "opposite direction", "undecided"  # of stand-ins, and
SMALLER, APART = "smaller than claimed", "farther apart"  # where no direction is opposite: a size, or two arms alike
OF_STAND_INS = {SAME: REPRODUCED, OPPOSITE: CONTRADICTED, SMALLER: CONTRADICTED, APART: CONTRADICTED}
OF_STAND_INS |= {UNDECIDED: INCONCLUSIVE}  # with what they mean
JUDGED = (REPRODUCED, INCONCLUSIVE, CONTRADICTED, EQUIVALENT, BY_PART)
VERDICTS = (REPRODUCED, CONTRADICTED, INCONCLUSIVE, *OF_STAND_INS, EQUIVALENT, BY_PART, *UNJUDGED)
HOLDS, OPEN = (REPRODUCED, SAME), (INCONCLUSIVE, UNDECIDED, BY_PART)
DECIDED = (*HOLDS, CONTRADICTED, OPPOSITE, SMALLER, APART, EQUIVALENT)
ORDER = (CONTRADICTED, EQUIVALENT, BY_PART, INCONCLUSIVE, REPRODUCED)  # of contrasts, the worst first
WORST_FIRST = (OPPOSITE, SMALLER, APART, EQUIVALENT, BY_PART, UNDECIDED, SAME)  # the contrast that decides a claim
ABOUT = {  # what a claim of a paper is about: `about`
    "base": "the baseline and its base policy",
    "method": "two methods",
    "mechanism": "what happens in training",
}
OURS = "margins and controls of ours"
IN_WORDS = {  # what a verdict means, for a legend
    REPRODUCED: "the 95 % interval of every contrast lies where the claim says",
    CONTRADICTED: "the interval of a contrast, widened for all contrasts of the claim, lies elsewhere",
    INCONCLUSIVE: "the intervals allow both",
    SAME: "on stand-ins, the 95 % interval of every contrast lies where the claim says",
    OPPOSITE: "on stand-ins, the interval of a contrast, widened for all contrasts, lies on the other side of 0",
    SMALLER: "on stand-ins, the gain is below the claimed size; it may be above 0",
    APART: "on stand-ins, two methods that should be near each other are not",
    UNDECIDED: "on stand-ins, the intervals allow both",
    EQUIVALENT: "one method should be above another, and their difference is too small to matter",
    BY_PART: "over a shorter or longer part of training, the verdict is another",
    IDENTICAL: "the methods' results are equal to the last bit",
    AT_BOUND: "all scores are near 0 or 100, or the claimed size is out of reach",
    OTHER_RATES: "the stand-ins train at different learning rates",
    NOT_EXERCISED: "the runs do not do what the paper proposes, so a comparison with others tests nothing of it",
    NOT_COMPARABLE: "blind guesses score too much at this k, or no learning rate has the baseline's pass@1",
    NOT_RUN: "the claim needs runs that were not made",
}
KINDS = {  # whose a claim is: `of` in a paper's file
    "paper": "claims of the paper",
    "margin": "claims with a margin of ours",
    "control": "controls of ours",
}


def meaning(verdict: str) -> str:
    """The verdict in the words for the paper's models."""
    return OF_STAND_INS.get(verdict, verdict)


@dataclass(frozen=True)
class Rule:
    """What the intervals of a contrast are held against.

    bound   a contrast that holds is above it, or (`near`) within it of 0; with a claimed size it is half of the size
    size    the claimed size, if there is one
    no_effect  the contrast where there is no effect
    margin  a contrast closer to `no_effect` has no practical size; 0: each has
    """

    bound: float = 0.0
    size: float | None = None
    no_effect: float = 0.0
    margin: float = 0.0
    near: bool = False


def of_stand_ins(verdict: str, high_of_all: float, near: bool, no_effect: float = 0.0) -> str:
    """The verdict in the words for stand-ins, by the upper end of the wider interval (NaN where nothing was judged).

    The direction of a contradicted claim is opposite where this whole interval is below `no_effect`. Between it and the
    threshold the effect is smaller than claimed, and arms that should be near each other (`near`) are farther apart.
    """
    if verdict == CONTRADICTED:
        return APART if near else SMALLER if high_of_all >= no_effect else OPPOSITE
    return {REPRODUCED: SAME, INCONCLUSIVE: UNDECIDED}.get(verdict, verdict)


def verdict_of(estimate: Estimate, rule: Rule) -> str:
    """The verdict on one contrast (docs/claims.md, Verdicts).

    Reproduced if the whole interval lies in the claimed region, contradicted if the whole wider interval lies outside.
    A claimed size is reproduced where the interval includes it or lies above it, and excludes half of it. The contrast
    has no practical difference where its wider interval lies within the margin around `no_effect`, and is not judged
    where its scores leave no room for the claim.
    """
    low, high, low_of_all, high_of_all = estimate.low, estimate.high, estimate.low_of_all, estimate.high_of_all
    opposite = high_of_all < rule.no_effect
    if estimate.at_bound or (rule.size is not None and estimate.room < rule.size and not opposite):
        return AT_BOUND
    if estimate.identical:
        return IDENTICAL
    if rule.near:
        if -rule.bound <= low and high <= rule.bound:
            return REPRODUCED
        return CONTRADICTED if high_of_all < -rule.bound or low_of_all > rule.bound else INCONCLUSIVE
    small = rule.no_effect - rule.margin < low_of_all and high_of_all < rule.no_effect + rule.margin
    if small and (rule.size is None or low <= rule.no_effect):
        return EQUIVALENT
    least = rule.bound if rule.size is None else rule.size
    if high_of_all < least:
        return CONTRADICTED
    return REPRODUCED if low > rule.bound and (rule.size is None or high >= rule.size) else INCONCLUSIVE


def together(verdicts: list[str], least: int | None = None) -> str:
    """The verdict on a claim: reproduced if all its contrasts (or `least`) are, contradicted if too few can be.

    The first is an intersection-union test and needs no correction; the second uses the wider intervals of all.
    After these, one without a practical difference, or one that depends on the part of training, decides. Contrasts
    that were not judged do not count; where none was, the claim has their reason, if they have one in common. Fewer
    than `least` that were judged decide nothing.
    """
    judged = [verdict for verdict in verdicts if verdict not in UNJUDGED]
    if not judged:
        reasons = set(verdicts) - {NOT_RUN}
        return NOT_RUN if not reasons else reasons.pop() if len(reasons) == 1 else NOT_COMPARABLE
    if least is not None and len(judged) < least:
        return INCONCLUSIVE
    return sorted(judged, key=ORDER.index)[len(judged) - (least or len(judged))]


def by_parts(verdicts: list[str]) -> str:
    """The verdict on a contrast from those with the chosen parts of training (the first) and with other parts.

    A decided verdict stays where every part gives it. Other parts that were not judged do not count.
    """
    chosen, others = verdicts[0], [verdict for verdict in verdicts[1:] if verdict not in UNJUDGED]
    return chosen if chosen not in (REPRODUCED, CONTRADICTED, EQUIVALENT) or set(others) <= {chosen} else BY_PART


def p_of_claim(estimates: list[Estimate], least: int | None = None) -> float:
    """The two-sided p of a claim's verdict: at most 1 - confidence where it is reproduced or contradicted.

    It is the smaller of two: twice the largest one-sided p of the contrasts (intersection-union: it holds everywhere),
    which needs the p of all, and the smallest joint p (it fails somewhere, or has no practical size there). Where only
    `least` must hold, these are the p of the last one that must, times the number that it could be, and of the first
    that must not fail. NaN where no estimate has a p, 1 where fewer than `least` were judged.
    """
    known = [one for one in estimates if not math.isnan(one.p)]
    if not known:
        return math.nan
    must = least or len(estimates)  # this many hold, or one more than the others fail
    if len(estimates) < must:
        return 1.0
    others = len(estimates) - must
    holds = 2 * (others + 1) * sorted(one.p for one in known)[must - 1] if len(known) == len(estimates) else 1.0
    fails = sorted(min((p for p in (one.p_of_all, one.p_equal) if not math.isnan(p)), default=1.0) for one in known)
    return min(1.0, holds, *fails[others : others + 1])


def false_discoveries(p: pd.Series) -> pd.Series:
    """Benjamini & Yekutieli's (2001) adjusted p, for claims that depend on each other in any way; NaN stays NaN."""
    return adjusted(p, "fdr_by")
