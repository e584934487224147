"""What a verdict follows from: sizes, practical margins, bounds, equal arms, learning rates and parts of training."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.claims_by_hand import (
    CURVES,
    PROBLEMS,
    claim,
    described,
    each_contrast,
    frame,
    noisy,
    of_policies,
    plain,
)

from rlvr.claims.evaluate import FAILS, HOLDS, evaluate, published, summarise
from rlvr.claims.verdicts import (
    AT_BOUND,
    BY_PART,
    CONTRADICTED,
    EQUIVALENT,
    IDENTICAL,
    INCONCLUSIVE,
    NOT_COMPARABLE,
    NOT_RUN,
    OTHER_RATES,
    REPRODUCED,
    Rule,
    by_parts,
    of_stand_ins,
    together,
    verdict_of,
)
from rlvr.items.contrast import ClaimSpec, Estimate, Evidence, PublishedContrast
from rlvr.statistics.references import Reference


def estimate(low: float, high: float, **more) -> Estimate:
    """One contrast alone: its wider interval is its interval."""
    return Estimate((low + high) / 2, low, high, low, high, 3, 40, "u", **more)


# ---- a claimed size, and a practical margin ----


@pytest.mark.parametrize(
    ("low", "high", "verdict", "of_others"),
    [
        (1.2, 3.0, REPRODUCED, "same direction"),  # includes the size and excludes half of it
        (2.4, 3.0, REPRODUCED, "same direction"),  # above it
        (1.0, 3.0, INCONCLUSIVE, "undecided"),  # half of it is included
        (1.2, 1.9, CONTRADICTED, "smaller than claimed"),
        (0.1, 0.3, CONTRADICTED, "smaller than claimed"),  # small, but above 0
        (-0.2, 0.3, EQUIVALENT, EQUIVALENT),
        (-0.2, 0.6, CONTRADICTED, "smaller than claimed"),  # the margin is 0.5
        (-0.9, -0.6, CONTRADICTED, "opposite direction"),
        (-0.3, -0.1, EQUIVALENT, EQUIVALENT),
    ],
)
def test_a_claimed_size_of_two_points(low, high, verdict, of_others):
    found = verdict_of(estimate(low, high), Rule(bound=1.0, size=2.0, margin=0.5))
    assert found == verdict and of_stand_ins(found, high, near=False) == of_others


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 0.3, EQUIVALENT),  # surely above 0, and of no practical size
        (-0.3, -0.1, EQUIVALENT),
        (0.1, 0.6, REPRODUCED),
        (-0.6, -0.1, CONTRADICTED),
        (-0.1, 0.6, INCONCLUSIVE),
    ],
)
def test_a_difference_below_half_a_point_is_no_difference_of_practical_size(low, high, verdict):
    assert verdict_of(estimate(low, high), Rule(margin=0.5)) == verdict
    assert verdict_of(estimate(low, high), Rule()) != EQUIVALENT, "without a margin each difference counts"


def test_a_factor_is_held_against_its_own_null():
    """Three times are claimed: 1.06 times are fewer, not the reverse, and 0.8 times are the reverse."""
    three_times = Rule(bound=2.0, size=3.0, no_effect=1.0, margin=0.5)
    for (low, high), said in {
        (1.02, 1.11): "smaller than claimed",
        (0.7, 0.9): EQUIVALENT,
        (0.2, 0.4): "opposite",
    }.items():
        found = verdict_of(estimate(low, high), three_times)
        assert of_stand_ins(found, high, near=False, no_effect=1.0).startswith(said)
    assert verdict_of(estimate(2.1, 3.2), three_times) == REPRODUCED


@given(
    *(st.floats(-20, 20).map(lambda x: round(x, 2)) for _ in range(2)), st.floats(0.1, 10).map(lambda x: round(x, 2))
)
def test_laws_of_sizes(one, other, size):
    low, high = sorted((one, other))
    found = verdict_of(estimate(low, high), Rule(bound=size / 2, size=size, margin=min(0.5, size / 4)))
    assert (found == REPRODUCED) == (low > size / 2 and high >= size)
    assert found != CONTRADICTED or high < size, "an interval that includes the size does not refute it"
    assert found != EQUIVALENT or -0.5 < low <= 0 <= high + 0.5
    if low <= size <= high:
        assert found in (REPRODUCED, INCONCLUSIVE)


def with_reference(one: ClaimSpec, value: float) -> tuple[ClaimSpec, Reference]:
    """The claim, with a published difference of its one contrast."""
    terms = [{"weight": w, "k": 1, "method": m, "hard": False, "benchmark": "B"} for w, m in ((1.0, "A"), (-1.0, "C"))]
    contrast = {"says": one.contrasts[0].says, "model": "M", "benchmark": "B", "terms": terms, "of": ("M", "b")}
    rows = {"model": ["M"] * 2, "method": ["A", "C"], "benchmark": ["B"] * 2, "k": [1, 1], "ci": ""}
    made = ClaimSpec.model_validate({**one.model_dump(), "published": [contrast]})
    return made, Reference(pd.DataFrame({**rows, "value": [50 + value, 50.0]}))


def test_on_the_papers_models_a_practical_size_is_at_most_a_quarter_of_the_papers_own():
    """Three seeds of many problems: a difference of 0.4 points that the paper prints is no "no difference"."""
    generator = np.random.default_rng(3)
    chance_N = generator.beta(2, 2, 4000)
    scores = {}
    for arm, shift in (("left", 0.004), ("right", 0.0)):
        for seed in (1, 2, 3):
            correct = np.round(2000 * np.clip(chance_N + shift, 0, 1)).astype(int)
            made = {"policy": arm, "evaluation": "x", "problem": [f"p{i}" for i in range(4000)], "level": "easy"}
            scores[f"{arm}{seed}", "x"] = pd.DataFrame({**made, "n": 2000, "correct": correct})
    one = plain().model_copy(update={"margin": 0.5})
    (row,) = evaluate(one, Evidence(scores))
    assert row["verdict"] == EQUIVALENT and 0 < row["low"] < 0.4 and row["p"] <= 0.05
    assert summarise(one, [row], "laptop")["verdict"] == EQUIVALENT
    own = each_contrast(one, lambda contrast: {"stand_in": contrast.model})
    made, reference = with_reference(own, 0.4)
    assert evaluate(made, Evidence(scores), reference)[0]["verdict"] == REPRODUCED
    made, reference = with_reference(one, 0.4)
    assert evaluate(made, Evidence(scores), reference)[0]["verdict"] == EQUIVALENT, (
        "a stand-in's practical size is ours"
    )


@pytest.mark.parametrize(
    ("value", "size", "verdict"), [(2.15, 2.2, HOLDS), (2.14, 2.2, FAILS), (6.38, 6.4, HOLDS), (4.6, 5.0, HOLDS)]
)
def test_a_published_size_is_rounded_as_the_paper_rounds_it(value, size, verdict):
    made, reference = with_reference(plain().model_copy(update={"size": size}), value)
    assert published(made, reference)["published"] == verdict


# ---- what is not judged ----


def constant(share: float, arm: str, seed: int) -> pd.DataFrame:
    return frame(f"{arm}{seed}", np.where(np.arange(60) < share * 60, 4, 0))


def test_two_arms_that_trained_one_policy_are_identical_and_decide_nothing():
    scores = noisy(1)
    one = plain((1, 4))
    twins = each_contrast(one, lambda c: {"terms": (c.terms[0], of_policies(c.terms[1], "left1", "left2", "left3"))})
    rows = evaluate(twins, Evidence(scores))
    assert [row["verdict"] for row in rows] == [IDENTICAL] * 2
    assert summarise(twins, rows, "laptop")["verdict"] == IDENTICAL
    within = twins.model_copy(update={"predicate": "within", "threshold": 1.0})
    assert evaluate(within, Evidence(scores))[0]["verdict"] == IDENTICAL, "nor are they close to each other"
    means = [{"step": step, "entropy": 1.0 / (1 + step)} for step in range(1, 11)]
    (curves,) = described(claim("greater", left="high", right=["low"], measure="probe.entropy"), CURVES)
    runs = {f"{arm}{s}": means for arm in ("high", "low") for s in (1, 2, 3)}
    assert evaluate(curves, Evidence({}, runs, {}))[0]["verdict"] == IDENTICAL


def test_at_a_ceiling_or_a_floor_there_is_no_room_for_a_difference():
    one = plain().model_copy(update={"margin": 0.5})
    for share in (0.0, 1.0):
        scores = {(f"{arm}{s}", "x"): constant(share, arm, s) for arm in ("left", "right") for s in (1, 2, 3)}
        (row,) = evaluate(one, Evidence(scores))
        assert row["verdict"] == AT_BOUND and "all scores are between" in row["reason"]
    scores = {(f"{a}{s}", "x"): constant(b, a, s) for a, b in (("left", 0.5), ("right", 1.0)) for s in (1, 2, 3)}
    assert evaluate(one, Evidence(scores))[0]["verdict"] == CONTRADICTED, "one at the ceiling, and the other far below"


def test_a_size_that_the_other_arm_leaves_no_room_for_is_not_judged():
    """95 % are right without the method: nothing can be ten points above; a clear loss is still the opposite."""
    rule = Rule(bound=5.0, size=10.0, margin=0.5)
    assert verdict_of(estimate(1.0, 3.0, room=5.0), rule) == AT_BOUND
    assert verdict_of(estimate(1.0, 3.0, room=12.0), rule) == CONTRADICTED
    assert verdict_of(estimate(-3.0, -1.0, room=5.0), rule) == CONTRADICTED
    scores = {}
    for arm, share in (("left", 58 / 60), ("right", 57 / 60)):
        scores |= {(f"{arm}{s}", "x"): constant(share, arm, s) for s in (1, 2, 3)}
    (row,) = evaluate(plain().model_copy(update={"size": 10.0, "margin": 0.5}), Evidence(scores))
    assert row["verdict"] == AT_BOUND and row["reason"] == "there is room for 5.0 points, less than is claimed"


def at_rates(one: ClaimSpec, *rates: float) -> ClaimSpec:
    def change(contrast):
        terms = zip(contrast.terms, rates, strict=True)
        return {"terms": tuple(term.model_copy(update={"learning_rate": rate}) for term, rate in terms)}

    return each_contrast(one, change)


def test_stand_ins_at_different_learning_rates_are_not_judged():
    scores, one = Evidence(noisy(1, shift=0.4)), plain((1,))
    (row,) = evaluate(at_rates(one, 1e-5, 0.5e-5), scores)
    assert row["verdict"] == OTHER_RATES and "different learning rates" in row["reason"]
    assert evaluate(at_rates(one, 1e-5, 1.067e-5), scores)[0]["verdict"] == REPRODUCED
    own = each_contrast(at_rates(one, 1e-5, 0.5e-5), lambda contrast: {"stand_in": contrast.model})
    assert evaluate(own, scores)[0]["verdict"] == REPRODUCED, "the paper's own models train at the paper's own rates"


# ---- a part of training that is ours ----


def curve_of(values) -> list[dict]:
    return [{"step": step + 1, "entropy": float(value)} for step, value in enumerate(values)]


@pytest.mark.parametrize(
    ("late", "verdict"),
    [
        ([1.0] * 20, REPRODUCED),  # above at each step
        ([-3.0] * 12 + [1.0] * 8, BY_PART),  # in the last two fifths only; in the last three fifths below
    ],
)
def test_a_verdict_that_another_part_would_not_give_depends_on_the_part(late, verdict):
    noise = np.random.default_rng(5)
    probes = {}
    for seed in (1, 2, 3):
        base_T = noise.normal(10, 0.01, 20)
        probes |= {f"low{seed}": curve_of(base_T), f"high{seed}": curve_of(base_T + late + noise.normal(0, 0.01, 20))}
    made = claim("greater", left="high", right=["low"], measure="probe.entropy", during=(0.6, 1.0))
    (one,) = described(made, CURVES)
    (row,) = evaluate(one, Evidence({}, probes, {}))
    assert row["verdict"] == verdict
    assert (row["reason"] == "other parts: reproduced, contradicted") == (verdict == BY_PART)
    (whole,) = described(made.model_copy(update={"during": (0.0, 1.0)}), CURVES)
    assert evaluate(whole, Evidence({}, probes, {}))[0]["verdict"] != BY_PART, "no part was chosen"


verdicts = st.lists(st.sampled_from([REPRODUCED, CONTRADICTED, INCONCLUSIVE, EQUIVALENT, NOT_COMPARABLE]), min_size=1)


@given(verdicts)
def test_laws_of_parts(several):
    found = by_parts(several)
    assert found in (several[0], BY_PART)
    assert (found == BY_PART) <= (len({*several} - {NOT_COMPARABLE}) > 1)
    assert by_parts([several[0]] * 3) == several[0]


@given(
    st.lists(
        st.sampled_from([IDENTICAL, AT_BOUND, OTHER_RATES, NOT_COMPARABLE, NOT_RUN, REPRODUCED, EQUIVALENT, BY_PART])
    )
)
def test_what_was_not_judged_decides_nothing(several):
    judged = [verdict for verdict in several if verdict in (REPRODUCED, EQUIVALENT, BY_PART)]
    found = together(several)
    if judged:
        assert found == together(judged) and found == min(judged, key=[EQUIVALENT, BY_PART, REPRODUCED].index)
    else:
        assert found in {*several, NOT_COMPARABLE, NOT_RUN} and not {found} & {REPRODUCED, INCONCLUSIVE, CONTRADICTED}
        assert (found == NOT_RUN) == (set(several) <= {NOT_RUN})


def test_p_bounds_each_decided_verdict():
    """An equivalence has a p of its own, so that the correction over all claims counts it."""
    assert math.isnan(estimate(0, 1).p_equal)
    (row,) = evaluate(plain().model_copy(update={"margin": 40.0}), Evidence(noisy(2)))
    assert row["verdict"] == EQUIVALENT and row["p_equal"] <= 0.05


def test_the_chance_of_no_practical_difference_is_of_the_margin_that_the_verdict_has():
    """On the papers' own models the margin is a quarter of the printed difference: 1 point of 4, where 40 are given."""
    one = plain().model_copy(update={"margin": 40.0})
    (own,) = [contrast.model_copy(update={"stand_in": contrast.model}) for contrast in one.contrasts]
    printed = {"says": own.says, "model": None, "benchmark": "", "terms": (), "of": (own.model, own.benchmark)}
    printed = PublishedContrast(**printed, value=4.0)  # type: ignore[arg-type]
    narrow = one.model_copy(update={"contrasts": (own,), "published": (printed,)})
    (row,), (wide,) = evaluate(narrow, Evidence(noisy(2))), evaluate(one, Evidence(noisy(2)))
    assert wide["verdict"] == EQUIVALENT and wide["p_equal"] <= 0.05
    assert row["verdict"] == INCONCLUSIVE and row["p_equal"] > 0.05 and row["low"] == wide["low"]


# ---- claims of several contrasts, of shares, and of levels ----


@pytest.mark.parametrize(
    ("verdicts", "least", "whole"),
    [
        ([REPRODUCED, REPRODUCED, CONTRADICTED], 2, REPRODUCED),
        ([REPRODUCED, INCONCLUSIVE, CONTRADICTED], 2, INCONCLUSIVE),
        ([REPRODUCED, CONTRADICTED, CONTRADICTED], 2, CONTRADICTED),
        ([REPRODUCED, AT_BOUND], 2, INCONCLUSIVE),  # fewer judged than must hold
        ([REPRODUCED, *[NOT_RUN] * 4], 3, INCONCLUSIVE),
        ([CONTRADICTED, NOT_RUN], 2, INCONCLUSIVE),
        ([NOT_RUN, NOT_RUN], 2, NOT_RUN),
        ([REPRODUCED, CONTRADICTED], None, CONTRADICTED),
    ],
)
def test_a_claim_of_several_cases_needs_so_many(verdicts, least, whole):
    assert together(verdicts, least) == whole


def test_several_cases_are_each_tested_as_one_of_all():
    one = plain((1, 2, 4))
    any_of_them, differ = one.model_copy(update={"at_least": 1}), 0
    for seed in range(40):
        scores = Evidence(noisy(seed, shift=0.06))
        rows = zip(evaluate(one, scores), evaluate(any_of_them, scores), strict=True)
        for row, other in rows:
            between = row["low"] > 0 >= row["low_of_all"]
            assert (row["verdict"] == REPRODUCED) == (row["low"] > 0)
            assert (other["verdict"] == REPRODUCED) == (row["low_of_all"] > 0)
            differ += between
    assert differ, "some contrast is reproduced alone, and not as one of three"


def test_a_share_that_is_left_is_the_later_mean_over_the_earlier_one():
    falls = [*[2.0] * 10, *[0.5] * 10]
    probes = {f"{arm}{s}": curve_of([v * (1 + s / 1000) for v in falls]) for arm in ("high", "low") for s in (1, 2, 3)}
    made = claim("not_below", weights={"low": -1.0}, threshold=0.3, measure="probe.entropy")
    made = made.model_copy(update={"since": (0.0, 0.5), "during": (0.6, 1.0), "relative": True})
    (one,) = described(made, CURVES)
    (row,) = evaluate(one, Evidence({}, probes, {}))
    assert row["estimate"] == pytest.approx(-0.25) and row["verdict"] == REPRODUCED
    with pytest.raises(ValueError, match="relative: needs `since`"):
        claim("greater", weights={"low": 1.0}, measure="probe.entropy", relative=True)


def test_a_level_of_the_papers_data_is_not_judged_on_stand_ins():
    one = plain().model_copy(update={"own_models": True})
    scores = Evidence(noisy(1, shift=0.4))
    (row,) = evaluate(one, scores)
    assert row["verdict"] == NOT_COMPARABLE and "own models" in row["reason"]
    own = each_contrast(one, lambda contrast: {"stand_in": contrast.model})
    assert evaluate(own, scores)[0]["verdict"] == REPRODUCED


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 2.0, "threshold": 1.0}, "no threshold beside it"),
        ({"size": 1.0, "no_effect": 1.0}, "above `no_effect`"),
        ({"predicate": "within", "size": 2.0}, "within has a threshold"),
        ({"predicate": "harder", "no_effect": 1.0}, "harder has a threshold"),
    ],
)
def test_a_size_that_makes_no_sense_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        claim(**{"predicate": "greater", "left": "high", "right": ["low"], **given})


# ---- equal results, and arms that differ in their rate ----


def test_results_are_identical_where_their_counts_are_and_not_where_one_pass_at_k_is():
    """Half of the problems: 4 of 4 right, or 1 of 4. Pass@4 is 100 and 100, pass@1 differs by 37.5 points."""

    def scores(of_right: int) -> Evidence:
        halves = {"left": 4, "right": of_right}
        correct = {arm: [n] * (PROBLEMS // 2) + [0] * (PROBLEMS - PROBLEMS // 2) for arm, n in halves.items()}
        policies = {f"{arm}{seed}": counts for arm, counts in correct.items() for seed in (1, 2, 3)}
        return Evidence({(policy, "x"): frame(policy, counts) for policy, counts in policies.items()})

    one = plain((4,)).model_copy(update={"margin": 0.5})
    (row,) = evaluate(one, scores(4))
    assert row["verdict"] == IDENTICAL
    (row,) = evaluate(one, scores(1))
    assert row["verdict"] == EQUIVALENT and row["estimate"] == 0
