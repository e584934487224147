"""Verdicts: laws, words, chance, how often they err, and many claims at once."""

import math
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.claims_by_hand import claim, described, each_contrast, found, noisy, plain

from rlvr.claims.contrasts import EQUAL, PAPER
from rlvr.claims.evaluate import evaluate, judged, summarise
from rlvr.claims.table import CHOSEN, cautions, counted, counts, discoveries, sentence
from rlvr.claims.verdicts import (
    CONTRADICTED,
    INCONCLUSIVE,
    NOT_COMPARABLE,
    NOT_EXERCISED,
    NOT_RUN,
    OPPOSITE,
    REPRODUCED,
    SAME,
    SMALLER,
    UNDECIDED,
    Rule,
    false_discoveries,
    of_stand_ins,
    p_of_claim,
    together,
    verdict_of,
)
from rlvr.items.contrast import Estimate, Evidence

# ---- laws of verdicts ----

numbers = st.floats(-50, 50, allow_nan=False).map(lambda x: round(x, 3))


def estimate_of(low_of_all: float, low: float, high: float, high_of_all: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, low_of_all, high_of_all, 3, 40, "u")


estimates = st.lists(numbers, min_size=4, max_size=4).map(lambda ends: estimate_of(*sorted(ends)))


ORDER = [CONTRADICTED, INCONCLUSIVE, REPRODUCED]


@pytest.mark.parametrize(
    ("bounds", "threshold", "above", "near"),
    [
        ((1, 2, 4, 5), 0, REPRODUCED, CONTRADICTED),
        ((-1, 2, 4, 5), 0, REPRODUCED, INCONCLUSIVE),  # the wider interval decides against a claim alone
        ((-5, -4, -2, 1), 0, INCONCLUSIVE, INCONCLUSIVE),
        ((-5, -4, -2, -1), 0, CONTRADICTED, CONTRADICTED),
        ((-5, -4, -2, -1), 4, CONTRADICTED, REPRODUCED),
        ((-5, -4, -2, -1), 3.9, CONTRADICTED, INCONCLUSIVE),
        ((0, 0, 0, 0), 0, INCONCLUSIVE, REPRODUCED),
        ((2, 2, 3, 3), 2, INCONCLUSIVE, INCONCLUSIVE),
    ],
)
def test_a_contrasts_verdict_by_hand(bounds, threshold, above, near):
    estimate = estimate_of(*bounds)
    assert verdict_of(estimate, Rule(threshold)) == above
    assert verdict_of(estimate, Rule(threshold, near=True)) == near


@given(estimates, numbers.map(abs), numbers.map(abs))
def test_a_verdict_is_monotone_in_its_threshold(estimate, one, other):
    small, large = sorted((one, other))
    above = [ORDER.index(verdict_of(estimate, Rule(threshold))) for threshold in (small, large)]
    near = [ORDER.index(verdict_of(estimate, Rule(threshold, near=True))) for threshold in (small, large)]
    assert above[0] >= above[1] and near[0] <= near[1]


@given(estimates)
def test_swapping_left_and_right_turns_one_verdict_into_the_other(estimate):
    low, high = estimate.low, estimate.high
    single, swapped = estimate_of(low, low, high, high), estimate_of(-high, -high, -low, -low)
    assume(single.low != 0 and single.high != 0)
    turned = {REPRODUCED: CONTRADICTED, CONTRADICTED: REPRODUCED, INCONCLUSIVE: INCONCLUSIVE}
    assert verdict_of(swapped, Rule()) == turned[verdict_of(single, Rule())]
    assert verdict_of(swapped, near := Rule(1.0, near=True)) == verdict_of(single, near)


def test_swapped_arms_of_scores():
    for seed, shift in ((1, 0.3), (2, -0.3), (3, 0.0)):
        scores = Evidence(noisy(seed, shift=shift))
        (row,), (swapped,) = (evaluate(plain(arms=arms), scores) for arms in (("left", "right"), ("right", "left")))
        assert (row["low"], row["high"]) == pytest.approx((-swapped["high"], -swapped["low"]))
        assert {row["verdict"], swapped["verdict"]} in ({REPRODUCED, CONTRADICTED}, {INCONCLUSIVE})


@given(st.lists(st.sampled_from([REPRODUCED, CONTRADICTED, INCONCLUSIVE, NOT_RUN]), max_size=6), st.randoms())
def test_laws_of_a_claims_verdict(verdicts, chance):
    whole = together(verdicts)
    shuffled = chance.sample(verdicts, len(verdicts))
    assert together(shuffled) == whole and together([*verdicts, NOT_RUN]) == whole, "what was not run says nothing"
    assert (whole == NOT_RUN) == (set(verdicts) <= {NOT_RUN})
    assert (whole == CONTRADICTED) == (CONTRADICTED in verdicts)
    assert (whole == REPRODUCED) == (set(verdicts) - {NOT_RUN} == {REPRODUCED}), "intersection-union"
    if whole != NOT_RUN:
        assert ORDER.index(together([*verdicts, INCONCLUSIVE])) <= ORDER.index(whole)


def test_what_was_not_run_counts_in_no_correction():
    one = plain((1, 2, 4), resamples=1000)
    one = each_contrast(one, lambda contrast: {} if contrast.says != "left − right @4" else {"terms": ()})
    rows = evaluate(one, Evidence(noisy(5)))
    two = evaluate(plain((1, 2), resamples=1000), Evidence(noisy(5)))
    assert [row["verdict"] for row in rows[2:]] == [NOT_RUN]
    assert [row["low_of_all"] for row in rows[:2]] == pytest.approx([row["low_of_all"] for row in two])
    summary = summarise(one, rows, "smoke")
    assert (summary["contrasts"], summary["run"]) == (3, 2)
    none = each_contrast(one, lambda contrast: {"terms": ()})
    summary = summarise(none, evaluate(none, Evidence({})), "smoke")
    assert (summary["verdict"], summary["run"], summary["deciding"]) == (NOT_RUN, 0, "")
    assert math.isnan(summary["p"])


def test_the_deciding_contrast_has_the_worst_verdict_and_then_the_smallest_margin():
    def summed(made):
        return summarise(described(made)[0], found(made), "smoke")

    summary = summed(claim("greater", left="high", right=["low", "base", "mid"], k=[1]))
    assert summary["deciding"] == "high − mid @1 with m on x, in place of M and b"
    assert (summary["estimate"], summary["verdict"]) == (25, "same direction")
    summary = summed(claim("within", left="mid", right=["high", "low"], k=[2], threshold=40))
    assert summary["deciding"].startswith("mid − low @2 with"), "33.3 is nearer to 40"
    summary = summed(claim("within", left="mid", right=["low", "high"], k=[2], threshold=20))
    assert summary["deciding"].startswith("mid − low @2 with") and summary["verdict"] == "farther apart"
    assert (summary["reproduced_contrasts"], summary["contradicted_contrasts"]) == (1, 1)


@pytest.mark.broad
@pytest.mark.parametrize(
    ("ks", "between_runs", "most"),
    [
        pytest.param((1,), 0.0, 0.05, marks=pytest.mark.slow),
        ((1, 2, 4), 0.0, 0.05),
        pytest.param((1,), 0.02, 0.05, marks=pytest.mark.slow),
        pytest.param((1,), 0.1, 0.08, marks=pytest.mark.slow),
    ],
)
def test_equal_arms_are_seldom_called_different(ks, between_runs, most):
    """The rule under the null, 300 times: three seeds, 40 problems, few draws. 5 % of 300, with room for chance."""
    verdicts = []
    for trial in range(300):
        scores = noisy(1000 + trial, between_runs=between_runs)
        rows = evaluate(plain(ks, resamples=200, seed=trial), Evidence(scores))
        verdicts.append(together([row["verdict"] for row in rows]))
    reproduced, contradicted = (verdicts.count(verdict) / 300 for verdict in (REPRODUCED, CONTRADICTED))
    print(f"{len(ks)} contrasts, {between_runs} between runs: {reproduced:.3f} and {contradicted:.3f} of 300")
    assert reproduced + contradicted <= most


@pytest.mark.broad
@pytest.mark.parametrize(("seeds", "least"), [(3, 36), (6, 54)])
def test_different_arms_are_told_apart(seeds, least):
    """The same simulation with a true gain of 10 points: it has power, more with more seeds, and never says no."""
    verdicts = [
        evaluate(plain(resamples=200, seed=t, seeds=seeds), Evidence(noisy(t, shift=0.1, seeds=seeds)))[0]["verdict"]
        for t in range(60)
    ]
    assert verdicts.count(REPRODUCED) >= least and CONTRADICTED not in verdicts


# ---- words, chance, many claims ----


def test_words_are_of_the_papers_models_where_these_were_run():
    rows = evaluate(one := plain((1,)), Evidence(noisy(1, shift=0.4)))
    assert (rows[0]["verdict"], summarise(one, rows, "laptop")["verdict"]) == (REPRODUCED, "same direction")
    one = each_contrast(one, lambda contrast: {"stand_in": contrast.model})
    summary = summarise(one, evaluate(one, Evidence(noisy(1, shift=0.4))), "paper")
    assert (summary["verdict"], summary["deciding"]) == (REPRODUCED, "left − right @1 with M on x, in place of b")


@pytest.mark.parametrize(
    ("bounds", "threshold", "near", "said"),
    [
        ((0.3, 1.9), 10.2, False, "smaller than claimed"),
        ((-0.2, 0.3), 2.2, False, "smaller than claimed"),
        ((-0.9, 0.0), 2.2, False, "smaller than claimed"),
        ((-0.9, -0.1), 2.2, False, "opposite direction"),
        ((-0.9, -0.1), 0.0, False, "opposite direction"),
        ((-0.9, -0.6), 0.5, True, "farther apart"),
        ((0.6, 0.9), 0.5, True, "farther apart"),
        ((2.3, 2.4), 2.2, False, "same direction"),
        ((2.1, 2.4), 2.2, False, "undecided"),
    ],
)
def test_a_direction_is_opposite_only_below_0(bounds, threshold, near, said):
    low, high = bounds
    rule = Rule(threshold, near=near)
    assert of_stand_ins(verdict_of(estimate_of(low, low, high, high), rule), high, near) == said


def test_not_below_allows_the_threshold():
    """At most two points below: reproduced from the lower end on, contradicted by the upper end of all."""
    for shift, expected in ((0.0, REPRODUCED), (-0.4, CONTRADICTED)):
        scores = noisy(5, shift=shift)
        (row,) = evaluate(plain(predicate="not_below", threshold=15.0), Evidence(scores))
        assert row["verdict"] == expected and (row["p"] <= 0.025) == (expected == REPRODUCED)
        assert (row["low"] > -15, row["high_of_all"] < -15) == (expected == REPRODUCED, expected == CONTRADICTED)
    summary = summarise(one := plain(predicate="not_below", threshold=15.0), evaluate(one, Evidence(scores)), "laptop")
    assert summary["verdict"] == "opposite direction" and summary["p"] <= 0.05


def test_an_opposite_direction_decides_before_a_small_size():
    ends = ("estimate", "low", "high", "low_of_all", "high_of_all")
    small, opposite = (-0.5, -1.2, 0.2, -1.3, 0.3), (-0.4, -0.6, -0.2, -0.7, -0.1)
    head, *rows = evaluate(one := plain((1, 2, 4), threshold=2.2), Evidence(noisy(1)))
    for row, values in zip(rows, (small, opposite), strict=True):
        row.update(zip(ends, values, strict=True), verdict=CONTRADICTED)
    found = summarise(one, [head, *rows], "laptop")
    assert (found["verdict"], found["estimate"]) == ("opposite direction", -0.4)
    assert summarise(one, [head, rows[0]], "laptop")["verdict"] == "smaller than claimed"


def test_where_blind_guesses_score_much_nothing_is_judged():
    scores = {key: one.assign(chance=0.1) for key, one in noisy(1, shift=0.4).items()}
    one = plain((1, 2, 4))
    rows = evaluate(one, Evidence(scores))
    assert [row["verdict"] == NOT_COMPARABLE for row in rows] == [False, False, True], "0.1, 0.19, 1 - 0.9^4 = 0.34"
    assert rows[2]["reason"] == "blind guesses score 34 % at k = 4, more than 20 %"
    summary = summarise(one, rows, "laptop")
    assert (summary["verdict"], summary["run"], summary["not_comparable_contrasts"]) == ("same direction", 2, 1)
    assert summary["reason"] == rows[2]["reason"]
    alone = evaluate(plain((4,)), Evidence(scores))
    assert summarise(plain((4,)), alone, "laptop")["verdict"] == NOT_COMPARABLE
    two = [row["low_of_all"] for row in evaluate(plain((1, 2)), Evidence(scores))]
    assert two == pytest.approx([row["low_of_all"] for row in rows[:2]]), "what is not judged widens nothing"


def test_the_p_of_a_claim_is_small_where_it_is_decided():
    for shift, seed in ((0.4, 1), (-0.4, 2), (0.0, 3), (0.03, 4)):
        one = plain((1, 2, 4), resamples=4000)
        rows = evaluate(one, Evidence(noisy(seed, shift=shift)))
        summary = summarise(one, rows, "laptop")
        assert (summary["p"] <= 0.05) == (summary["verdict"] != "undecided"), (shift, summary)


def test_false_discoveries_are_benjamini_and_yekutielis():
    """By hand: three tests, each p times 3 (1 + 1/2 + 1/3) over its rank; a blank is no test."""
    p = pd.Series([0.01, np.nan, 0.5, 0.02])
    c = 1 + 1 / 2 + 1 / 3
    np.testing.assert_allclose(false_discoveries(p), [0.03 * c, np.nan, 0.5 * c, 0.03 * c])


def kinds(*rows: tuple[str, str, str]) -> pd.DataFrame:
    """Claims as whose and about what ("paper", or "paper, base"), effort and verdict."""
    frame = pd.DataFrame(rows, columns=["of", "effort", "verdict"])
    parts = frame["of"].str.split(", ")
    frame = frame.assign(of=parts.str[0], about=parts.str[1].fillna("method"))
    names = {"scale": "laptop", "short": "P", "model": "M", "stand_in": "m", "data": "d", "p": 0.04}
    return frame.assign(**names, p_of_all_claims=0.9, distinct=2, distinct_decided=1)


def test_claims_are_counted_by_kind_with_what_remains_and_distinct_contrasts():
    claims = ("paper", SAME), ("paper", UNDECIDED), ("paper, mechanism", OPPOSITE), ("margin", SAME), ("control", SAME)
    frame = kinds(*((of, PAPER, verdict) for of, verdict in claims))
    frame.loc[0, "p_of_all_claims"] = 0.04
    found = counts(frame, ["effort"]).set_index("claims")
    assert [*found.index] == ["two methods", "what happens in training", "margins and controls of ours"]
    of_methods = found.loc["two methods"]
    names = ["judged", "decided", "remain", "contrasts", "contrasts that differ", SAME, UNDECIDED, OPPOSITE]
    assert [of_methods[name] for name in names] == [2, 1, 1, 4, 2, 1, 1, 0]
    assert found.loc["margins and controls of ours", ["judged", "decided", "remain"]].tolist() == [2, 2, 0]
    assert sentence(frame).endswith(
        "on two methods 1 same direction, 1 undecided, on what happens in training 1 opposite direction, on "
        "margins and controls of ours 2 same direction."
    )
    (text,) = discoveries(frame)
    assert text.startswith("laptop, paper's setting: 4 of 5 (with 2 margins and controls of ours) are decided, each")
    assert text.endswith("They have 10 contrasts, each counted once; 5 differ from no effect, each at 5 %.")


def test_what_the_settings_were_chosen_for_does_not_count_as_found():
    frame = kinds(("paper", PAPER, SAME), ("paper, base", PAPER, SAME), ("paper", EQUAL, OPPOSITE))
    assert cautions(frame) == [CHOSEN] and sentence(frame).endswith(CHOSEN) and len(counted(frame)) == 2
    texts = discoveries(frame)
    assert [text.split(" are decided")[0] for text in texts[:2]] == [
        "laptop, paper's setting: 1 of 1 claims",
        "laptop, equal pass@1: 1 of 1 claims",
    ]
    assert "the baseline and its base policy" in set(counts(frame, ["effort"])["claims"]), "and is still in the table"
    of_papers_models = frame.assign(stand_in="M")
    assert cautions(of_papers_models) == [] and len(counted(of_papers_models)) == 3
    assert cautions(frame.assign(verdict=UNDECIDED)) == []


def test_a_contrast_of_two_claims_is_counted_once_whatever_its_sign():
    swapped = plain(arms=("right", "left"))
    claims = [plain(), plain().model_copy(update={"claim": "again"}), swapped, plain(ks=(1, 2))]
    csv, _ = judged(claims, Evidence(noisy(0, shift=0.4)), Path(), "laptop")
    frame = pd.read_csv(StringIO(csv))
    assert frame["distinct"].tolist() == [1, 0, 0, 1] and frame["run"].tolist() == [1, 1, 1, 2]
    assert frame["distinct_decided"].tolist() == [1, 0, 0, 1]
    at_equal = plain().model_copy(update={"effort": EQUAL})
    csv, _ = judged([plain(), at_equal], Evidence(noisy(0)), Path(), "laptop")
    assert pd.read_csv(StringIO(csv))["distinct"].tolist() == [1, 1], "another effort is another contrast"
    of_base = plain().model_copy(update={"about": "base"})
    csv, _ = judged([of_base, plain(threshold=50.0)], Evidence(noisy(0, shift=0.4)), Path(), "laptop")
    frame = pd.read_csv(StringIO(csv))
    assert frame["distinct"].tolist() == [1, 1] and frame["distinct_decided"].tolist() == [1, 1], "whatever is claimed"


def test_contrasts_of_what_is_not_exercised_do_not_count():
    criteria = pd.DataFrame([{"kind": "criterion", "arm": "left", "label": "L", "criterion": "c", "measured": 0.0}])
    criteria = criteria.assign(bound="at least 1", met="no", model="M")
    claim = plain().model_copy(update={"acting": ("left",)})
    csv, _ = judged([claim], Evidence(noisy(0, shift=0.4)), Path(), "laptop", criteria)
    frame = pd.read_csv(StringIO(csv))
    assert frame["verdict"].tolist() == [NOT_EXERCISED] and frame["distinct"].tolist() == [0]


def test_all_scales_and_efforts_are_corrected_together_too():
    """Two of four are decided; each family keeps its own, together none (0.01 x 4 x (1 + 1/2 + 1/3 + 1/4) = 0.083)."""
    head = {"scale": "laptop", "published": "", "p_of_all_claims": 0.03, "of": "paper", "about": "method"}
    head |= {"model": "M", "stand_in": "m", "distinct": 1, "distinct_decided": 0}
    rows = [("a", 0.01, SAME), ("a", 0.9, UNDECIDED), ("b", 0.02, SMALLER), ("b", 0.8, UNDECIDED)]
    frame = pd.DataFrame([{**head, "effort": effort, "p": p, "verdict": verdict} for effort, p, verdict in rows])
    *families, of_all = discoveries(frame)
    assert all("1 of 2 claims are decided, each at 5 %; 1 of them remain" in text for text in families)
    assert of_all == "All of these together: 2 of 4 are decided, and 0 remain."
    assert discoveries(frame[frame["effort"] == "a"]) == families[:1], "one family has no other beside it"


def test_a_claim_holds_everywhere_only_where_each_contrast_has_a_p():
    def estimate(p: float, p_of_all: float) -> Estimate:
        return Estimate(1.0, 0.5, 1.5, 0.4, 1.6, 3, 40, "u", p, p_of_all)

    assert p_of_claim([estimate(0.01, 0.9), estimate(0.002, 1.0)]) == pytest.approx(0.02), "twice the largest"
    assert p_of_claim([estimate(0.99, 0.03), estimate(0.002, 1.0)]) == 0.03, "it fails somewhere"
    assert p_of_claim([estimate(0.002, 0.9), estimate(math.nan, math.nan)]) == 0.9, "one says nothing of holding"
    assert math.isnan(p_of_claim([estimate(math.nan, math.nan)])) and math.isnan(p_of_claim([]))
