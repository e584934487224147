"""Claims about scores: each predicate on scores whose truth is known, and their intervals."""

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy import stats
from support.claims_by_hand import (
    COUNTS,
    HARD,
    PROBLEMS,
    SCORES,
    TABLE,
    claim,
    described,
    found,
    frame,
    item,
    noisy,
    plain,
    values,
)

from rlvr.claims import score_claims
from rlvr.claims.contrasts import contrasts
from rlvr.claims.evaluate import FAILS, HOLDS, SILENT, evaluate, published
from rlvr.claims.verdicts import CONTRADICTED, EQUIVALENT, IDENTICAL, REPRODUCED, together
from rlvr.config.layers import ConfigError
from rlvr.config.schema.items import Claim
from rlvr.files import RecordError
from rlvr.items.contrast import ClaimSpec, Evidence
from rlvr.statistics.aggregate import RunsAndProblemsByBenchmark, mean
from rlvr.statistics.intervals import SeedsAndProblems, linearised, two_way
from rlvr.statistics.references import Reference


@pytest.mark.parametrize(
    ("made", "estimates", "verdict"),
    [
        (claim("greater", left="high", right=["low", "mid"], k=[1]), [50, 25], REPRODUCED),
        (claim("greater", left="high", right=["low"]), [50, 50, 0], REPRODUCED),  # both are right at k = 4: no room
        (claim("greater", left="high", right=["low"], k=[1], threshold=49.9), [50], REPRODUCED),
        (claim("greater", left="high", right=["low"], k=[1], threshold=50.1), [50], CONTRADICTED),
        (claim("greater", left="low", right=["high", "base"], k=[2]), [-50, 0], CONTRADICTED),
        (claim("within", left="low", right=["base"], k=[1]), [0], IDENTICAL),
        (claim("within", left="mid", right=["high", "low"], k=[2], threshold=33.4), [-50 / 3, 100 / 3], REPRODUCED),
        (claim("within", left="mid", right=["high", "low"], k=[2], threshold=33.3), [-50 / 3, 100 / 3], CONTRADICTED),
        (claim("ordering", arms=["high", "mid", "low"], k=[1]), [25, 25], REPRODUCED),
        (claim("ordering", arms=["high", "low", "mid"], k=[1]), [50, -25], CONTRADICTED),
        (claim("crossing", left="low", right=["bold"], k=[1, 4]), [25, 50], REPRODUCED),
        (claim("crossing", left="bold", right=["low"], k=[1, 4]), [-25, -50], CONTRADICTED),
        (claim("crossing", left="high", right=["low"], k=[1, 2]), [-50, 50], CONTRADICTED),  # never behind
        (claim("slope", left="low", right=["bold"], k=[1, 4]), [75], REPRODUCED),
        (claim("slope", left="high", right=["low"], k=[1, 4]), [-50], CONTRADICTED),
        (claim("slope", left="high", right=["low"], k=[1, 2]), [0], EQUIVALENT),  # 50 points at both
        (claim("harder", left="steep", right=["low"], k=[1]), [12.5], REPRODUCED),  # 50 where it is hard, 37.5 on all
        (claim("harder", left="bold", right=["low"], k=[1]), [-50], CONTRADICTED),
        (claim("harder", left="high", right=["low"], k=[1]), [0], EQUIVALENT),
        (claim("greater", weights={"high": 1, "mid": -0.5, "low": -0.5}, k=[1]), [37.5], REPRODUCED),
        (claim("greater", weights={"mid": 1, "high": -0.5, "low": -0.5}, k=[1]), [0], EQUIVALENT),
    ],
    ids=lambda value: f"{value.predicate}-{value.threshold}" if isinstance(value, Claim) else None,
)
def test_predicates_by_hand(made, estimates, verdict):
    rows = found(made)
    assert [row["estimate"] for row in rows] == pytest.approx(estimates, abs=1e-9)
    assert together([row["verdict"] for row in rows]) == verdict
    assert all(row["low_of_all"] <= row["low"] <= row["high"] <= row["high_of_all"] for row in rows)
    assert {(row["seeds"], row["problems"]) for row in rows} == {(3, PROBLEMS)}


def test_contrasts_in_words_and_at_the_largest_k_that_a_scale_has():
    table, arms = TABLE.model_copy(update={"k": [1, 2, 4, 8]}), item(TABLE, COUNTS)

    def said(made, ks=None):
        return [(c.says, [(t.weight, t.arm, t.k, t.hard) for t in c.terms]) for c in contrasts(made, arms, ks)]

    last = claim("greater", left="high", right=["low"], k=[8])
    assert said(last, table.k) == [("high − low @8", [(1, "high", 8, False), (-1, "low", 8, False)])]
    assert said(last)[0][0] == "high − low @4", "this scale has no larger one"
    three = said(claim("greater", left="high", right=["low"], k=[2, 4, 8]))
    assert [words for words, _ in three] == ["high − low @2", "high − low @4"]
    crossing = said(claim("crossing", left="high", right=["low"], k=[1, 8]))
    assert [words for words, _ in crossing] == ["reversed: high − low @1", "high − low @4"]
    assert crossing[0][1] == [(-1, "high", 1, False), (1, "low", 1, False)]
    assert said(claim("slope", left="high", right=["low"], k=[1, 8]))[0][0] == "high − low, @4 against @1"
    assert [t for _, terms in said(claim("harder", left="high", right=["low"], k=[1])) for t in terms] == [
        *((1, "high", 1, True), (-1, "low", 1, True), (-1, "high", 1, False), (1, "low", 1, False))
    ]
    weighted = said(claim("greater", weights={"high": 1, "mid": -0.5}, k=[1]))
    assert weighted[0][0] == "high − 0.5 mid @1"


@pytest.mark.parametrize("right", ["right", "base"])
@pytest.mark.parametrize("k", [1, 4])
def test_a_plain_difference_has_the_interval_of_the_tables(k, right):
    scores = noisy(1, ("left", "right"), shift=0.05) | noisy(2, ("base",), seeds=1)
    (row,) = evaluate(plain((k,), ("left", right), resamples=2000), Evidence(scores))
    left, other = values(scores, "left", k, 3), values(scores, right, k, 1 if right == "base" else 3)
    expected = SeedsAndProblems(0.95).of_difference(100 * left, 100 * other)
    ends = expected.estimate, expected.low, expected.high
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx(ends, abs=1e-9)
    assert (row["low"], row["high"]) == (row["low_of_all"], row["high_of_all"]), "one contrast needs no correction"
    assert min(2 * row["p"], row["p_of_all"]) == pytest.approx(expected.p)


def test_where_runs_lie_far_apart_it_is_nearly_students_interval():
    scores = noisy(9, between_runs=0.2)
    (row,) = evaluate(plain(), Evidence(scores))
    difference_SN = values(scores, "left", 1, 3) - values(scores, "right", 1, 3)
    t = stats.ttest_1samp(100 * difference_SN.mean(axis=1), 0).confidence_interval()
    assert (row["low"], row["high"]) == pytest.approx((t.low, t.high), rel=0.1)


def test_versions_of_a_problem_are_one_unit():
    scores = {key: one.assign(cluster=[f"c{i // 2}" for i in range(40)]) for key, one in noisy(3).items()}
    (row,) = evaluate(plain(), Evidence(scores))
    by_cluster = [values(scores, arm, 1, 3).reshape(3, 20, 2).mean(2) for arm in ("left", "right")]
    expected = SeedsAndProblems(0.95).of_difference(*by_cluster)
    assert (row["low"], row["high"]) == pytest.approx((100 * expected.low, 100 * expected.high), abs=1e-9)


def test_harder_has_the_interval_of_a_difference_of_means_over_hard_problems_and_all():
    """Seeds alone vary where each problem gains the same: Student's t over the seeds' differences."""
    scores = noisy(4, ("steep", "low"), problems=PROBLEMS, shift=0.1)
    (row,) = found(claim("harder", left="steep", right=["low"], k=[1]), scores)
    gain_SN = values(scores, "steep", 1, 3) - values(scores, "low", 1, 3)
    assert row["estimate"] == pytest.approx(100 * (gain_SN[:, HARD].mean() - gain_SN.mean()))
    hard_SN = linearised(np.where(HARD, gain_SN, np.nan))
    assert (row["high"] - row["low"]) / 2 == pytest.approx(100 * two_way(hard_SN - gain_SN).half_width(0.025))


def test_several_contrasts_widen_the_interval_that_contradicts_and_no_other():
    """Max-t: wider than one alone, narrower than Bonferroni's, since pass@k of several k vary together."""
    one, three = (evaluate(plain(ks, resamples=20_000), Evidence(noisy(5))) for ks in ((1,), (1, 2, 4)))
    assert (one[0]["low"], one[0]["high"]) == pytest.approx((three[0]["low"], three[0]["high"]))
    gain_SN = 100 * (values(noisy(5), "left", 1, 3) - values(noisy(5), "right", 1, 3))
    of = two_way(gain_SN)
    widened = three[0]["high_of_all"] - three[0]["estimate"]
    assert 1.02 * of.half_width(0.025) < widened < of.half_width(0.025 / 3)


def test_scores_of_other_problems_or_without_hard_ones_are_refused():
    other = {**SCORES, ("low2", "x"): frame("low2", [1, 2])}
    with pytest.raises(RecordError, match="low2 has scores on other problems"):
        found(claim("greater", left="high", right=["low"], k=[1]), other)
    easy = {key: one.assign(level="easy") for key, one in SCORES.items()}
    with pytest.raises(RecordError, match="no problems of the levels hard"):
        found(claim("harder", left="high", right=["low"], k=[1]), easy)


def test_a_slope_over_several_k_is_each_against_the_first():
    table, arms = TABLE.model_copy(update={"k": [1, 2, 4, 8, 16]}), item(TABLE, COUNTS)
    made = claim("slope", left="low", right=["bold"], k=[1, 2, 4])
    assert [row["estimate"] for row in found(made)] == pytest.approx([25, 75])
    words = [c.says for c in contrasts(claim("slope", left="high", right=["low"], k=[1, 4, 8, 16]), arms, [1, 2, 4])]
    assert words == ["high − low, @4 against @1"], "the largest k of the scale takes the place of three"
    assert len(contrasts(made, arms, table.k)) == 2


# ---- published numbers, and hard levels ----


def test_published_cells_that_a_table_lacks_are_no_evidence():
    head = {"hard": False, "benchmark": "MATH 500"}

    def at(k: int) -> dict:
        terms = [{"weight": w, "k": k, "method": m, **head} for w, m in ((1.0, "A"), (-1.0, "B"))]
        return {"says": f"@{k}", "model": "M", "benchmark": "MATH 500", "terms": terms, "of": ("M", "b")}

    one = plain((1, 2), predicate="within", threshold=1.0)
    one = ClaimSpec.model_validate({**one.model_dump(), "published": [at(1), at(2)]})
    rows = {"model": ["m"] * 3, "method": ["A", "B", "A"], "benchmark": ["math500"] * 3, "k": [1, 1, 2], "ci": ""}
    made = published(one, Reference(pd.DataFrame({**rows, "value": [50.3, 51.3, 60.0]})))
    assert (made["published"], made["published_cells"]) == (HOLDS, "1 of 1"), "a point apart, as printed, is within it"
    made = published(one, Reference(pd.DataFrame({**rows, "value": [50.3, 51.4, 60.0]})))
    assert (made["published"], made["published_exceptions"]) == (FAILS, "M, MATH 500: @1 = -1.1")
    assert published(one, None)["published"] == SILENT


def test_a_claim_over_a_table_of_hard_levels_is_of_those():
    hard = TABLE.model_copy(update={"hard_levels": True, "reference": "lens/reference/table1.csv"})
    (one,) = described(made := claim("greater", left="steep", right=["low"], k=[1]), hard)
    assert {term.levels for term in one.contrasts[0].terms} == {("hard",)} and one.reference is None
    assert found(made, content=hard)[0]["estimate"] == pytest.approx(50) and found(made)[0]["estimate"] == 37.5


def test_weights_are_of_greater_alone():
    with pytest.raises(ValidationError, match="or greater `weights`"):
        claim("within", weights={"high": 1.0})


# ---- the mean over benchmarks --------------------------------------------------------------------


def on_two(**given):
    """A claim over a table of two benchmarks, `b` of 60 problems (set x) and `c` of 20 (set y)."""
    made = claim("greater", average=True, **given)
    content = TABLE.model_copy(update={"benchmark": None, "benchmarks": ["b", "c"]})
    (one,) = described(made, content, evaluations=("x", "y"))
    return one


def test_a_mean_over_benchmarks_weighs_each_alike_whatever_its_problems():
    """high - low: 50 points at pass@1 on x; on y, where `low` solves all, -25: the mean is 12.5."""
    counts = {"high": 3, "low": 4}
    few = {(f"{arm}{s}", "y"): frame(f"{arm}{s}", np.full(20, n)) for arm, n in counts.items() for s in (1, 2, 3)}
    made = on_two(left="high", right=["low"], k=[1])
    (contrast,) = made.contrasts
    assert contrast.benchmark == "b, c" and contrast.data == "x, y"
    (row,) = evaluate(made, Evidence(SCORES | few))
    assert row["estimate"] == pytest.approx(12.5) and (row["seeds"], row["problems"]) == (3, 80)
    assert row["says"] == "mean over 2 benchmarks of high − low @1" and row["verdict"] == REPRODUCED


def test_its_interval_is_that_of_the_table_over_benchmarks():
    """Other runs, and other problems of each benchmark, not other benchmarks."""
    generator = np.random.default_rng(3)
    scores = {
        (f"{arm}{s}", name): frame(f"{arm}{s}", generator.integers(low, 4, size))
        for arm, low in (("high", 2), ("low", 0))
        for s in (1, 2, 3)
        for name, size in (("x", PROBLEMS), ("y", 30))
    }
    (row,) = evaluate(on_two(left="high", right=["low"], k=[1]), Evidence(scores))
    matrices = [
        [np.stack([100 * scores[f"{arm}{s}", name]["correct"] / 4 for s in (1, 2, 3)]) for name in ("x", "y")]
        for arm in ("high", "low")
    ]
    expected = RunsAndProblemsByBenchmark(3, 0.95).of_difference(mean, *matrices)
    made = [row[key] for key in ("estimate", "low", "high")]
    assert made == pytest.approx([expected.estimate, expected.low, expected.high])


def test_one_benchmark_has_no_mean_over_benchmarks():
    made = claim("greater", left="high", right=["low"], average=True)
    with pytest.raises(ConfigError, match="average: remove this key: one benchmark"):
        score_claims.check(made, item(TABLE, COUNTS), TABLE, None, "p")
