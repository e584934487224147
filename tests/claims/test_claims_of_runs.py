"""Claims about curves over training, and about runs that collapse."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from support.claims_by_hand import COUNTS, CURVES, claim, described, each_contrast, of_policies, plain

from rlvr.claims.evaluate import evaluate, summarise
from rlvr.claims.verdicts import CONTRADICTED, IDENTICAL, INCONCLUSIVE, NOT_COMPARABLE, REPRODUCED
from rlvr.config.schema.items import Claim
from rlvr.config.schema.models_and_data import About
from rlvr.files import RecordError
from rlvr.items.contrast import ClaimSpec, Evidence

# ---- claims about curves ----


def curve(values_T, name="entropy") -> list[dict]:
    """A probe before training, which no mean is over, and one at each tenth step."""
    return [{"step": 0, name: 99.0}, *({"step": 10 * (t + 1), name: v} for t, v in enumerate(values_T))]


def three(**arms) -> dict[str, list[dict]]:
    """The probes of three seeds of arms; `arm`: (seed) -> its values."""
    return {f"{arm}{s}": curve(values_T(s)) for arm, values_T in arms.items() for s in (1, 2, 3)}


def judged(one: ClaimSpec, probes=None, metrics=None) -> dict:
    """The row of a claim with one contrast."""
    (row,) = evaluate(one, Evidence(probes=probes or {}, metrics=metrics or {}))
    return row


def test_curves_have_students_interval_over_paired_seeds():
    generator = np.random.default_rng(0)
    probes = three(low=lambda s: generator.normal(0, 0.3, 10), high=lambda s: generator.normal(1, 0.3, 10))
    made = claim("greater", left="high", right=["low"], measure="probe.entropy", during=(0.5, 1.0))
    (one,) = described(made, CURVES)
    row = judged(one, probes)
    means = {run: np.mean([r["entropy"] for r in rows if r["step"] >= 50]) for run, rows in probes.items()}
    high, low = ([means[f"{arm}{s}"] for s in (1, 2, 3)] for arm in ("high", "low"))
    expected = stats.ttest_rel(high, low)
    interval = expected.confidence_interval(0.95)
    assert row["estimate"] == pytest.approx(np.mean(high) - np.mean(low))
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
    assert (row["seeds"], row["problems"], row["unit"]) == (3, None, "training seeds")
    ordering = claim("ordering", arms=["high", "mid", "low"], measure="probe.entropy", during=(0.5, 1.0))
    (one,) = described(ordering, CURVES, resamples=40_000)
    probes |= {f"mid{s}": probes[f"low{s}"] for s in (1, 2, 3)}
    first, second = evaluate(one, Evidence({}, probes, {}))
    wide = expected.confidence_interval(1 - 0.05 / 2)
    ends = first["low_of_all"], first["high_of_all"]
    assert ends == pytest.approx((wide.low, wide.high), rel=0.1), "two that vary apart"
    assert (second["estimate"], second["verdict"]) == (0, IDENTICAL)


def test_the_part_of_training_and_the_rows_that_a_measure_is_from():
    line_T = np.linspace(0, 9, 10)
    rising = three(low=lambda s: line_T + s / 100, high=lambda s: line_T + s / 100 + 2)
    made = claim("greater", left="high", right=["low"], measure="probe.entropy", during=(0.0, 0.2))
    row = judged(described(made, CURVES)[0], rising)
    assert row["estimate"] == pytest.approx(2) and row["verdict"] == REPRODUCED
    batches = {run: [{"step": r["step"], "correct": -r["entropy"]} for r in rows] for run, rows in rising.items()}
    made = claim("greater", left="high", right=["low"], measure="metrics.correct")
    row = judged(described(made, CURVES)[0], metrics=batches)
    assert row["estimate"] == pytest.approx(-2) and row["verdict"] == CONTRADICTED
    near = claim("within", left="high", right=["low"], measure="metrics.correct", threshold=2.5)
    assert judged(described(near, CURVES)[0], metrics=batches)["verdict"] == REPRODUCED


def with_grid(made: Claim, content=CURVES, every=10) -> dict:
    """The layout of a claim over curves whose runs are probed every so many steps, with one hard level."""
    probe = SimpleNamespace(every=every)
    held_out = SimpleNamespace(name="held-out", about=About(hard_levels=["5"]))
    run = SimpleNamespace(probe=probe, validation=held_out, data=SimpleNamespace(name="train"))
    runs = {f"{arm}{seed}": run for arm in COUNTS for seed in (1, 2, 3)}
    return described(made, content, runs=runs)[0]


def test_a_claim_over_a_figures_first_steps_reads_no_later_one():
    first = CURVES.model_copy(update={"up_to_step": 40})
    probes = three(
        high=lambda s: [2.0 + s / 100] * 4 + [-2.0] * 6,
        low=lambda s: [1.0 + s / 100] * 4 + [-1.0] * 6,
    )
    made = claim("greater", left="high", right=["low"], measure="probe.entropy")
    whole, part = (judged(with_grid(made, figure), probes) for figure in (CURVES, first))
    assert whole["estimate"] == pytest.approx(-0.2) and part["estimate"] == pytest.approx(1)
    late = made.model_copy(update={"during": (0.75, 1.0)})
    probes = three(high=lambda s: 10.0 * np.arange(1, 11), low=lambda s: np.zeros(10))
    row = judged(with_grid(late, first), probes)
    assert row["estimate"] == pytest.approx(35), "shares of the figure's steps: 30 and 40"


def test_a_change_is_the_late_mean_minus_the_early_one():
    line_T = np.linspace(0, 9, 10)
    probes = three(high=lambda s: 2 * line_T + s, low=lambda s: line_T + s)
    parts = {"measure": "probe.entropy", "during": (0.9, 1.0), "since": (0.0, 0.2)}  # values 8 and 9 against 0 and 1
    one = with_grid(claim("greater", weights={"high": 1.0}, **parts))
    row = judged(one, probes)
    assert (row["estimate"], row["verdict"]) == (16, REPRODUCED)
    assert (row["says"], row["data"]) == ("high, rise of entropy", "held-out")
    assert summarise(one, [row], "laptop")["deciding"] == "high, rise of entropy with m on held-out, in place of M"
    (of_batches,) = with_grid(claim("greater", weights={"high": 1.0}, measure="metrics.correct")).contrasts
    assert (of_batches.says, of_batches.data) == ("high, correct", "train")
    row = judged(with_grid(claim("greater", weights={"high": -1.0}, **parts)), probes)
    assert (row["says"], row["verdict"]) == ("high, fall of entropy", CONTRADICTED)
    row = judged(with_grid(claim("greater", left="low", right=["high"], **parts)), probes)
    assert (row["estimate"], row["verdict"]) == (-8, CONTRADICTED)
    assert row["says"] == "low − high, change of entropy"


def test_a_part_of_training_without_a_probe_is_not_comparable():
    probes = three(high=lambda s: np.arange(10.0) + s)
    early = {"measure": "probe.entropy", "during": (0.9, 1.0), "since": (0.0, 0.05)}  # the first probe is at a tenth
    row = judged(with_grid(claim("greater", weights={"high": 1.0}, **early)), probes)
    assert row["verdict"] == NOT_COMPARABLE and "no value of the measure" in row["reason"]


def test_every_checkpoint_counts_and_dense_first_steps_do_not():
    """Ahead at each of ten checkpoints but one; behind at the dense steps, which are no checkpoints."""
    generator = np.random.default_rng(3)

    def probed(lead_T) -> dict:
        probes = three(
            high=lambda s: np.asarray(lead_T) + generator.normal(0, 0.01, 10),
            low=lambda s: np.zeros(10),
        )
        dense = {"high": -50.0, "low": 0.0}
        for run, rows in probes.items():
            rows[1:1] = [{"step": step, "entropy": dense[run[:-1]]} for step in range(1, 10)]
        return probes

    made = claim("greater", left="high", right=["low"], measure="probe.entropy", each_checkpoint=True)
    one = with_grid(made)
    ahead, once_behind = [1.0] * 10, [1.0] * 9 + [-1.0]
    probes = probed(ahead)
    row = judged(one, probes)
    assert row["verdict"] == REPRODUCED and row["estimate"] == pytest.approx(1, abs=0.03)
    assert row["says"].endswith("lowest of all checkpoints")
    values_SC = np.array(
        [[r["entropy"] for r in probes[f"high{s}"] if r["step"] and r["step"] % 10 == 0] for s in (1, 2, 3)]
    )
    every = [stats.ttest_1samp(values_S, 0).confidence_interval(0.95) for values_S in values_SC.T]
    assert (row["low"], row["high"]) == pytest.approx((min(i.low for i in every), min(i.high for i in every)))
    wide = [stats.ttest_1samp(values_S, 0).confidence_interval(1 - 0.05 / 10) for values_S in values_SC.T]
    bonferroni = min(i.high for i in wide)
    assert row["high"] < row["high_of_all"] <= bonferroni + 1e-9, "at most that of ten checkpoints"
    behind = probed(once_behind)
    row = judged(one, behind)
    assert row["verdict"] == CONTRADICTED and row["estimate"] == pytest.approx(-1, abs=0.03)
    early = with_grid(made.model_copy(update={"during": (0.0, 0.9)}))
    assert judged(early, behind)["verdict"] == REPRODUCED, "the last checkpoint is outside"
    for rows in behind.values():
        rows[:] = [{**r, "entropy": None if r["step"] == 100 else r["entropy"]} for r in rows]
    assert judged(one, behind)["verdict"] == REPRODUCED, "no value, no checkpoint"
    row = judged(with_grid(made, every=1000), probes)
    assert row["verdict"] == NOT_COMPARABLE and "no value" in row["reason"], "no checkpoint at this scale"
    behind["low1"] = [r for r in behind["low1"] if r["step"] != 50]
    with pytest.raises(RecordError, match=r"low1: checkpoints at steps \[10, 20, 30, 40, 60"):
        judged(one, behind)


def test_a_claim_about_hard_levels_reads_them_from_the_rates_by_level():
    hard = CURVES.model_copy(update={"measures": ["probe.hard_pass_rate"]})

    def rows(easy: float, rate: float) -> list[dict]:
        levels = {"pass_rate_by_level": {"1": easy, "5": rate}, "problems_by_level": {"1": 3, "5": 1}}
        return [{"step": step, **levels} for step in (0, 10, 20)]

    probes = {f"high{s}": rows(0.0, 0.6 + s / 100) for s in (1, 2, 3)} | {f"low{s}": rows(1.0, 0.5) for s in (1, 2, 3)}
    made = claim("greater", left="high", right=["low"], measure="probe.hard_pass_rate", each_checkpoint=True)
    row = judged(with_grid(made, hard), probes)
    assert row["estimate"] == pytest.approx(0.12) and row["verdict"] == REPRODUCED


def test_one_seed_of_a_curve_decides_nothing():
    made = claim("greater", left="high", right=["low"], measure="probe.entropy")
    (one,) = described(made, CURVES)
    one = each_contrast(one, lambda c: {"terms": tuple(of_policies(term, term.policies[0]) for term in c.terms)})
    row = judged(one, {"high1": curve([5.0]), "low1": curve([1.0])})
    assert (row["estimate"], row["verdict"]) == (4, INCONCLUSIVE) and math.isnan(row["low"])


# ---- claims about runs that collapse ----


def of_collapse(one: ClaimSpec) -> ClaimSpec:
    """The same claim over a table of collapses."""
    rule = {"window": 0.1, "factor": 1.5, "share": 0.1}
    return one.model_copy(update={"kind": ("tables", "collapse"), "options": {"collapse": rule}})


def batches(shares) -> list[dict]:
    """Training batches with these shares of prompts unsolved."""
    return [{"step": i + 1, "unsolved": 100 * share, "prompts_drawn": 100} for i, share in enumerate(shares)]


HEALTHY = batches(np.linspace(0.6, 0.2, 40))
COLLAPSED = batches([*np.linspace(0.6, 0.2, 20), *np.linspace(0.3, 0.9, 20)])


def test_shares_of_collapsed_runs_have_newcombes_interval():
    """Three of ten runs against none: from the two Wilson intervals (Newcombe 1998, method 10)."""
    one, runs = of_collapse(plain((None,), seeds=10)), [f"{arm}{s}" for arm in ("left", "right") for s in range(1, 11)]

    def with_collapsed(*lost: str) -> dict:
        return judged(one, metrics={run: COLLAPSED if run in lost else HEALTHY for run in runs})

    row = with_collapsed("left1", "left2", "left3")
    wilson = [stats.binomtest(c, 10).proportion_ci(0.95, "wilson") for c in (3, 0)]
    low = 0.3 - math.hypot(0.3 - wilson[0].low, wilson[1].high - 0)
    high = 0.3 + math.hypot(wilson[0].high - 0.3, 0 - wilson[1].low)
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx((0.3, low, high))
    assert (row["verdict"], row["seeds"], row["problems"]) == (INCONCLUSIVE, 10, None), "as in the paper: p = 0.21"
    assert with_collapsed(*runs[:10])["verdict"] == REPRODUCED
    assert with_collapsed(*runs[10:])["verdict"] == CONTRADICTED


def test_the_share_of_one_method_has_the_interval_of_its_table():
    """None of eight runs collapses: Clopper and Pearson's upper end is 36.9 %, so fewer than half do."""
    one = of_collapse(plain((None,), predicate="not_below", threshold=0.5))
    one = each_contrast(one, lambda c: {"terms": (of_policies(c.terms[0], *"abcdefgh", weight=-1.0),)})
    for lost, verdict in (("", REPRODUCED), ("abc", INCONCLUSIVE), ("abcdefgh", CONTRADICTED)):
        row = judged(one, metrics={run: COLLAPSED if run in lost else HEALTHY for run in "abcdefgh"})
        ends = stats.binomtest(len(lost), 8).proportion_ci(0.95, "exact")
        assert (row["estimate"], row["low"], row["high"]) == pytest.approx((-len(lost) / 8, -ends.high, -ends.low))
        assert row["verdict"] == verdict
        assert row["p"] == pytest.approx(stats.binomtest(len(lost), 8, 0.5, "less").pvalue)


# ---- claims about a time ----


def test_sooner_is_the_share_of_training_at_which_both_reach_the_last_value_of_the_right_one():
    """`high` reaches 5, the last value of `low`, halfway between shares 0.4 and 0.5; `mid` never does: it is at 1."""
    rises = {"high": [1, 2, 3, 4, 6, 7, 8, 9, 9, 9], "low": [0, 1, 1, 2, 2, 3, 3, 4, 4, 5], "mid": [0] * 10}
    probes = {f"{arm}{s}": [{"step": 0, "entropy": 0.0}, *curve(v)[1:]] for arm, v in rises.items() for s in (1, 2, 3)}
    made = claim("sooner", left="high", right=["low"], measure="probe.entropy")
    row = judged(with_grid(made), probes)
    assert (row["estimate"], row["verdict"]) == (pytest.approx(1 - 0.45), REPRODUCED)
    row = judged(with_grid(made.model_copy(update={"left": "mid"})), probes)
    assert (row["estimate"], row["verdict"]) == (0.0, INCONCLUSIVE), "both at the end"
    probes |= {f"high{s}": curve([math.nan] * 10)[1:] for s in (1, 2, 3)}
    assert judged(with_grid(made), probes)["verdict"] == NOT_COMPARABLE
    for wrong in ({"during": (0.5, 1.0)}, {"since": (0.0, 0.0)}, {"each_checkpoint": True}):
        with pytest.raises(ValueError, match="whole of training"):
            claim("sooner", left="high", right=["low"], measure="probe.entropy", **wrong)


def test_two_arms_of_one_law_are_equally_soon_in_the_mean():
    generator = np.random.default_rng(0)
    many = [[f"{arm}{s}" for s in range(1, 2001)] for arm in ("high", "low")]
    probes = {run: curve(generator.normal(0, 1, 10))[1:] for runs in many for run in runs}
    one = with_grid(claim("sooner", left="high", right=["low"], measure="probe.entropy"))
    one = each_contrast(one, lambda c: {"terms": tuple(of_policies(t, *p) for t, p in zip(c.terms, many, strict=True))})
    row = judged(one, probes)
    assert abs(row["estimate"]) < 0.03 and row["low"] < 0 < row["high"]
