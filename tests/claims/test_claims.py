"""Claims: each predicate on scores whose truth is known, intervals, and laws of verdicts."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from rlvr.claims._contrast import Estimate, Evidence
from rlvr.claims.contrasts import EQUAL, PAPER, contrasts, layout
from rlvr.claims.evaluate import FAILS, HOLDS, SILENT, evaluate, published, summarise
from rlvr.claims.verdicts import (
    CONTRADICTED,
    INCONCLUSIVE,
    NOT_COMPARABLE,
    NOT_RUN,
    OF_STAND_INS,
    REPRODUCED,
    false_discoveries,
    p_of_claim,
    together,
    verdict_of,
)
from rlvr.config.plan import Cell, Item, PaperPlan, Plan
from rlvr.config.schema.items import Claim, Row
from rlvr.config.schema.names import About
from rlvr.config.schema.paper import Paper
from rlvr.config.schema.settings import Statistics
from rlvr.figures import over_steps
from rlvr.files import RecordError
from rlvr.planning.expansion import make_plan
from rlvr.statistics.intervals import SeedsAndProblems, linearised, spread
from rlvr.statistics.pass_at_k import pass_at_k as pass_at_k_of
from rlvr.tables import pass_at_k

# ---- claims about scores made by hand ----

PROBLEMS, SAMPLES = 60, 4
HARD = np.arange(PROBLEMS) % 2 == 0
# Correct ones of four samples on each problem: pass@1, pass@2, pass@4 are c/4, 1 - C(4 - c, 2)/6, c > 0.
COUNTS = {
    "base": np.ones(PROBLEMS, int),
    "low": np.ones(PROBLEMS, int),
    "mid": np.full(PROBLEMS, 2),
    "high": np.full(PROBLEMS, 3),
    "bold": np.where(HARD, 0, 4),  # half of the problems, always: the same at every k
    "steep": np.where(HARD, 3, 2),  # above `low` by more where it is hard
}


def frame(policy: str, correct) -> pd.DataFrame:
    problems = [f"p{i}" for i in range(len(correct))]
    made = {"policy": policy, "evaluation": "x", "problem": problems, "n": SAMPLES, "correct": correct}
    return pd.DataFrame({**made, "level": np.where(HARD, "hard", "easy")[: len(correct)]})


SCORES = {(f"{arm}{seed}", "x"): frame(f"{arm}{seed}", counts) for arm, counts in COUNTS.items() for seed in (1, 2, 3)}


def item(content, arms) -> Item:
    cells = tuple(
        Cell("M", Row(arm=arm, label=arm), tuple((f"{arm}{s}", s) for s in ((1,) if arm == "base" else (1, 2, 3))))
        for arm in arms
    )
    if isinstance(content, over_steps.Config):
        return Item("figures", "t", content, cells)
    return Item("tables", "t", content, cells, {"M": ("x",)}, ("b",))


TABLE = pass_at_k.Config(title="T", kind="pass_at_k", benchmark="b", models=["M"], every_arm=True, k=[1, 2, 4])
MEASURES = ["probe.entropy", "metrics.correct"]
CURVES = over_steps.Config(title="C", kind="over_steps", models=["M"], arms=["high"], measures=MEASURES)


def described(claim: Claim, content=TABLE, resamples=400, runs=None, **changes) -> list[dict]:
    """The layout of a claim, by the real thing, over a table or a figure with every arm of COUNTS."""
    paper = Paper(name="p", short="P", title="", authors="", year=2026, claims=[claim])
    plan = Plan("smoke", "", {"M": "m"}, {}, None, None)  # type: ignore[arg-type]
    plan.runs.update(runs or {})
    plan.evaluations["x"] = SimpleNamespace(data=SimpleNamespace(name="x", about=About(hard_levels=["hard"])))  # type: ignore[assignment]
    made = PaperPlan(paper)
    if not isinstance(content, over_steps.Config):
        made.tables["t"] = item(content, COUNTS)
    else:
        made.figures["t"] = item(content, [arm for arm in COUNTS if arm != "base"])
    statistics = Statistics(**{"resamples": resamples, "confidence": 0.95, "seed": 7, "largest_chance": 0.2, **changes})
    made.settings["M"] = SimpleNamespace(statistics=statistics)  # type: ignore[assignment]
    plan.papers["p"] = made
    return layout(plan, "p")


def claim(predicate: str, **given) -> Claim:
    return Claim(name="c", says="S", place="P", over="t", predicate=predicate, **given)  # type: ignore[arg-type]


def found(made: Claim, scores=None, **options) -> list[dict]:
    (one,) = described(made, **options)
    return evaluate(one, Evidence(scores or SCORES))


@pytest.mark.parametrize(
    ("made", "estimates", "verdict"),
    [
        (claim("greater", left="high", right=["low", "mid"], k=[1]), [50, 25], REPRODUCED),
        (claim("greater", left="high", right=["low"]), [50, 50, 0], INCONCLUSIVE),  # a tie at k = 4 is not above
        (claim("greater", left="high", right=["low"], k=[1], threshold=49.9), [50], REPRODUCED),
        (claim("greater", left="high", right=["low"], k=[1], threshold=50.1), [50], CONTRADICTED),
        (claim("greater", left="low", right=["high", "base"], k=[2]), [-50, 0], CONTRADICTED),
        (claim("within", left="low", right=["base"], k=[1]), [0], REPRODUCED),
        (claim("within", left="mid", right=["high", "low"], k=[2], threshold=33.4), [-50 / 3, 100 / 3], REPRODUCED),
        (claim("within", left="mid", right=["high", "low"], k=[2], threshold=33.3), [-50 / 3, 100 / 3], CONTRADICTED),
        (claim("ordering", arms=["high", "mid", "low"], k=[1]), [25, 25], REPRODUCED),
        (claim("ordering", arms=["high", "low", "mid"], k=[1]), [50, -25], CONTRADICTED),
        (claim("crossing", left="low", right=["bold"], k=[1, 4]), [25, 50], REPRODUCED),
        (claim("crossing", left="bold", right=["low"], k=[1, 4]), [-25, -50], CONTRADICTED),
        (claim("crossing", left="high", right=["low"], k=[1, 2]), [-50, 50], CONTRADICTED),  # never behind
        (claim("slope", left="low", right=["bold"], k=[1, 4]), [75], REPRODUCED),
        (claim("slope", left="high", right=["low"], k=[1, 4]), [-50], CONTRADICTED),
        (claim("slope", left="high", right=["low"], k=[1, 2]), [0], INCONCLUSIVE),  # 50 points at both
        (claim("harder", left="steep", right=["low"], k=[1]), [12.5], REPRODUCED),  # 50 where it is hard, 37.5 on all
        (claim("harder", left="bold", right=["low"], k=[1]), [-50], CONTRADICTED),
        (claim("harder", left="high", right=["low"], k=[1]), [0], INCONCLUSIVE),
        (claim("greater", weights={"high": 1, "mid": -0.5, "low": -0.5}, k=[1]), [37.5], REPRODUCED),
        (claim("greater", weights={"mid": 1, "high": -0.5, "low": -0.5}, k=[1]), [0], INCONCLUSIVE),
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
    assert [words for words, _ in said(claim("greater", left="high", right=["low"], k=[2, 4, 8]))] == [
        "high − low @2",
        "high − low @4",
    ]
    crossing = said(claim("crossing", left="high", right=["low"], k=[1, 8]))
    assert [words for words, _ in crossing] == ["reversed: high − low @1", "high − low @4"]
    assert crossing[0][1] == [(-1, "high", 1, False), (1, "low", 1, False)]
    assert said(claim("slope", left="high", right=["low"], k=[1, 8]))[0][0] == "high − low, @4 against @1"
    assert [t for _, terms in said(claim("harder", left="high", right=["low"], k=[1])) for t in terms] == [
        *((1, "high", 1, True), (-1, "low", 1, True), (-1, "high", 1, False), (1, "low", 1, False))
    ]
    weighted = said(claim("greater", weights={"high": 1, "mid": -0.5}, k=[1]))
    assert weighted[0][0] == "1 high − 0.5 mid @1"


def noisy(seed: int, arms=("left", "right"), seeds=3, problems=40, shift=0.0, between_runs=0.0, samples=8):
    """Scores of arms with one law (but for `shift`): problems of any difficulty, runs that differ by chance."""
    generator, scores = np.random.default_rng(seed), {}
    difficulty_N = generator.beta(0.8, 0.8, problems)
    for i, arm in enumerate(arms):
        for run in range(1, seeds + 1):
            ability = generator.normal(shift * (i == 0), between_runs)
            chance_N = np.clip(difficulty_N + ability + generator.normal(0, 0.05, problems), 0, 1)
            made = frame(f"{arm}{run}", generator.binomial(samples, chance_N))
            scores[f"{arm}{run}", "x"] = made.assign(n=samples)
    return scores


def plain(ks=(1,), arms=("left", "right"), seeds=3, resamples=400, predicate="greater", threshold=0.0, seed=7) -> dict:
    """The layout of left − right at each k."""

    def term(weight, arm, k):
        rates = [
            {"learning_rate": None, "policies": [f"{arm}{s}" for s in range(1, (seeds if arm != "base" else 1) + 1)]}
        ]
        return {"weight": weight, "arm": arm, "label": arm, "k": k, "levels": None, "evaluation": "x", "rates": rates}

    return {
        **{"paper": "p", "short": "P", "claim": "c", "says": "S", "place": "P", "over": "t", "effort": PAPER},
        **{
            "predicate": predicate,
            "threshold": threshold,
            "measure": None,
            "during": [0, 1],
            "reference": None,
            "module": "rlvr.claims.of_scores",
        },
        "contrasts": [
            {
                **{"says": f"left − right @{k}", "model": "M", "stand_in": "m", "benchmark": "b", "data": "x"},
                "terms": [term(1.0, arms[0], k), term(-1.0, arms[1], k)],
            }
            for k in ks
        ],
        "published": [],
        "statistics": {"resamples": resamples, "confidence": 0.95, "seed": seed, "largest_chance": 0.2},
    }


def values(scores, arm: str, k: int, seeds: int) -> np.ndarray:
    frames = [scores[f"{arm}{s}", "x"] for s in range(1, seeds + 1)]
    return np.stack([pass_at_k_of(one["n"], one["correct"], k) for one in frames])


@pytest.mark.parametrize("right", ["right", "base"])
@pytest.mark.parametrize("k", [1, 4])
def test_a_plain_difference_has_the_interval_of_the_tables(k, right):
    scores = noisy(1, ("left", "right"), shift=0.05) | noisy(2, ("base",), seeds=1)
    (row,) = evaluate(plain((k,), ("left", right), resamples=2000), Evidence(scores))
    left, other = values(scores, "left", k, 3), values(scores, right, k, 1 if right == "base" else 3)
    expected = SeedsAndProblems(0.95).of_difference(left, other)
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx(
        (100 * expected.estimate, 100 * expected.low, 100 * expected.high), abs=1e-9
    )
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
    assert (row["high"] - row["low"]) / 2 == pytest.approx(100 * spread(hard_SN - gain_SN).half_width(0.025))


def test_several_contrasts_widen_the_interval_that_contradicts_and_no_other():
    """Max-t: wider than one alone, narrower than Bonferroni's, since pass@k of several k vary together."""
    one, three = (evaluate(plain(ks, resamples=20_000), Evidence(noisy(5))) for ks in ((1,), (1, 2, 4)))
    assert (one[0]["low"], one[0]["high"]) == pytest.approx((three[0]["low"], three[0]["high"]))
    gain_SN = 100 * (values(noisy(5), "left", 1, 3) - values(noisy(5), "right", 1, 3))
    of = spread(gain_SN)
    widened = three[0]["high_of_all"] - three[0]["estimate"]
    assert 1.02 * of.half_width(0.025) < widened < of.half_width(0.025 / 3)


def test_scores_of_other_problems_or_without_hard_ones_are_refused():
    other = {**SCORES, ("low2", "x"): frame("low2", [1, 2])}
    with pytest.raises(RecordError, match="low2 has scores on other problems"):
        found(claim("greater", left="high", right=["low"], k=[1]), other)
    easy = {key: one.assign(level="easy") for key, one in SCORES.items()}
    with pytest.raises(RecordError, match="no problems of the levels hard"):
        found(claim("harder", left="high", right=["low"], k=[1]), easy)


# ---- claims about curves ----


def curve(values_T, name="entropy") -> list[dict]:
    """A probe before training, which no mean is over, and one at each tenth step."""
    return [{"step": 0, name: 99.0}, *({"step": 10 * (t + 1), name: v} for t, v in enumerate(values_T))]


def test_curves_have_students_interval_over_paired_seeds():
    generator = np.random.default_rng(0)
    probes = {
        f"{arm}{s}": curve(generator.normal(i, 0.3, 10)) for i, arm in enumerate(("low", "high")) for s in (1, 2, 3)
    }
    made = claim("greater", left="high", right=["low"], measure="probe.entropy", during=(0.5, 1.0))
    (one,) = described(made, CURVES)
    (row,) = evaluate(one, Evidence({}, probes, {}))
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
    assert (first["low_of_all"], first["high_of_all"]) == pytest.approx((wide.low, wide.high), rel=0.1), (
        "two that vary apart"
    )
    assert (second["estimate"], second["verdict"]) == (0, INCONCLUSIVE)


def test_the_part_of_training_and_the_rows_that_a_measure_is_from():
    rising = {
        f"{arm}{s}": curve(np.linspace(0, 9, 10) + s / 100 + (arm == "high") * 2)
        for arm in ("low", "high")
        for s in (1, 2)
    }
    rising |= {f"{arm}3": rising[f"{arm}1"] for arm in ("low", "high")}
    made = claim("greater", left="high", right=["low"], measure="probe.entropy", during=(0.0, 0.2))
    (row,) = evaluate(described(made, CURVES)[0], Evidence({}, rising, {}))
    assert row["estimate"] == pytest.approx(2) and row["verdict"] == REPRODUCED
    batches = {run: [{"step": r["step"], "correct": -r["entropy"]} for r in rows] for run, rows in rising.items()}
    made = claim("greater", left="high", right=["low"], measure="metrics.correct")
    (row,) = evaluate(described(made, CURVES)[0], Evidence({}, {}, batches))
    assert row["estimate"] == pytest.approx(-2) and row["verdict"] == CONTRADICTED
    near = claim("within", left="high", right=["low"], measure="metrics.correct", threshold=2.5)
    assert evaluate(described(near, CURVES)[0], Evidence({}, {}, batches))[0]["verdict"] == REPRODUCED


def with_grid(made: Claim, content=CURVES, every=10) -> dict:
    """The layout of a claim over curves whose runs are probed every so many steps, with one hard level."""
    probe = SimpleNamespace(every=every)
    run = SimpleNamespace(probe=probe, validation=SimpleNamespace(about=About(hard_levels=["5"])))
    runs = {f"{arm}{seed}": run for arm in COUNTS for seed in (1, 2, 3)}
    return described(made, content, runs=runs)[0]


def test_a_claim_over_a_figures_first_steps_reads_no_later_one():
    first = CURVES.model_copy(update={"up_to_step": 40})
    probes = {
        f"{arm}{s}": curve([*(level + s / 100,) * 4, *(-level,) * 6])
        for arm, level in (("high", 2.0), ("low", 1.0))
        for s in (1, 2, 3)
    }
    made = claim("greater", left="high", right=["low"], measure="probe.entropy")
    whole, part = (evaluate(with_grid(made, figure), Evidence({}, probes, {}))[0] for figure in (CURVES, first))
    assert whole["estimate"] == pytest.approx(-0.2) and part["estimate"] == pytest.approx(1)
    late = made.model_copy(update={"during": (0.75, 1.0)})
    probes = {
        run: [{**row, "entropy": row["step"] * (run[:3] != "low")} for row in rows] for run, rows in probes.items()
    }
    (row,) = evaluate(with_grid(late, first), Evidence({}, probes, {}))
    assert row["estimate"] == pytest.approx(35), "shares of the figure's steps: 30 and 40"


def test_a_change_is_the_late_mean_minus_the_early_one():
    probes = {
        f"{arm}{s}": curve(np.linspace(0, 9, 10) * slope + s)
        for arm, slope in (("high", 2), ("low", 1))
        for s in (1, 2, 3)
    }
    parts = {"measure": "probe.entropy", "during": (0.9, 1.0), "since": (0.0, 0.2)}  # values 8 and 9 against 0 and 1
    one = with_grid(claim("greater", weights={"high": 1.0}, **parts))
    (row,) = evaluate(one, Evidence({}, probes, {}))
    assert (row["estimate"], row["verdict"]) == (16, REPRODUCED)
    assert row["says"] == "1 high, probe.entropy, late against early"
    (row,) = evaluate(with_grid(claim("greater", left="low", right=["high"], **parts)), Evidence({}, probes, {}))
    assert (row["estimate"], row["verdict"]) == (-8, CONTRADICTED)


def test_every_checkpoint_counts_and_dense_first_steps_do_not():
    """Ahead at each of ten checkpoints but one; behind at the dense steps, which are no checkpoints."""
    generator = np.random.default_rng(3)

    def probed(lead_T) -> dict:
        noise = {s: generator.normal(0, 0.01, 10) for s in (1, 2, 3)}
        high = {f"high{s}": curve(np.asarray(lead_T) + noise[s]) for s in noise}
        dense = [{"step": step, "entropy": -50.0} for step in range(1, 10)]
        rows = {run: [rows[0], *dense, *rows[1:]] for run, rows in high.items()}
        return rows | {
            f"low{s}": curve(np.zeros(10)) + [{"step": d, "entropy": 0.0} for d in range(1, 10)] for s in noise
        }

    made = claim("greater", left="high", right=["low"], measure="probe.entropy", each_checkpoint=True)
    one = with_grid(made)
    ahead, once_behind = [1.0] * 10, [1.0] * 9 + [-1.0]
    probes = probed(ahead)
    (row,) = evaluate(one, Evidence({}, probes, {}))
    assert row["verdict"] == REPRODUCED and row["estimate"] == pytest.approx(1, abs=0.03)
    assert row["says"].endswith("lowest of all checkpoints")
    values_SC = np.array(
        [[r["entropy"] for r in probes[f"high{s}"] if r["step"] and r["step"] % 10 == 0] for s in (1, 2, 3)]
    )
    every = [stats.ttest_1samp(values_S, 0).confidence_interval(0.95) for values_S in values_SC.T]
    assert (row["low"], row["high"]) == pytest.approx((min(i.low for i in every), min(i.high for i in every)))
    wide = [stats.ttest_1samp(values_S, 0).confidence_interval(1 - 0.05 / 10) for values_S in values_SC.T]
    assert row["high"] < row["high_of_all"] <= min(i.high for i in wide) + 1e-9, (
        "at most Bonferroni's of ten checkpoints"
    )
    behind = probed(once_behind)
    (row,) = evaluate(one, Evidence({}, behind, {}))
    assert row["verdict"] == CONTRADICTED and row["estimate"] == pytest.approx(-1, abs=0.03)
    early = with_grid(made.model_copy(update={"during": (0.0, 0.9)}))
    assert evaluate(early, Evidence({}, behind, {}))[0]["verdict"] == REPRODUCED, "the last checkpoint is outside"
    for rows in behind.values():
        rows[:] = [{**r, "entropy": None if r["step"] == 100 else r["entropy"]} for r in rows]
    assert evaluate(one, Evidence({}, behind, {}))[0]["verdict"] == REPRODUCED, "no value, no checkpoint"
    (row,) = evaluate(with_grid(made, every=1000), Evidence({}, probes, {}))
    assert row["verdict"] == INCONCLUSIVE and math.isnan(row["estimate"]), "no checkpoint at this scale"
    behind["low1"] = [r for r in behind["low1"] if r["step"] != 50]
    with pytest.raises(RecordError, match=r"low1: checkpoints at steps \[10, 20, 30, 40, 60"):
        evaluate(one, Evidence({}, behind, {}))


def test_a_claim_about_hard_levels_reads_them_from_the_rates_by_level():
    hard = CURVES.model_copy(update={"measures": ["probe.hard_pass_rate"]})

    def rows(easy: float, rate: float) -> list[dict]:
        levels = {"pass_rate_by_level": {"1": easy, "5": rate}, "problems_by_level": {"1": 3, "5": 1}}
        return [{"step": step, **levels} for step in (0, 10, 20)]

    probes = {f"high{s}": rows(0.0, 0.6 + s / 100) for s in (1, 2, 3)} | {f"low{s}": rows(1.0, 0.5) for s in (1, 2, 3)}
    made = claim("greater", left="high", right=["low"], measure="probe.hard_pass_rate", each_checkpoint=True)
    (row,) = evaluate(with_grid(made, hard), Evidence({}, probes, {}))
    assert row["estimate"] == pytest.approx(0.12) and row["verdict"] == REPRODUCED


def test_a_slope_over_several_k_is_each_against_the_first():
    table, arms = TABLE.model_copy(update={"k": [1, 2, 4, 8, 16]}), item(TABLE, COUNTS)
    made = claim("slope", left="low", right=["bold"], k=[1, 2, 4])
    assert [row["estimate"] for row in found(made)] == pytest.approx([25, 75])
    words = [c.says for c in contrasts(claim("slope", left="high", right=["low"], k=[1, 4, 8, 16]), arms, [1, 2, 4])]
    assert words == ["high − low, @4 against @1"], "the largest k of the scale takes the place of three"
    assert len(contrasts(made, arms, table.k)) == 2


def test_one_seed_of_a_curve_decides_nothing():
    made = claim("greater", left="high", right=["low"], measure="probe.entropy")
    (one,) = described(made, CURVES)
    for term in one["contrasts"][0]["terms"]:
        term["rates"][0]["policies"] = term["rates"][0]["policies"][:1]
    (row,) = evaluate(one, Evidence({}, {"high1": curve([5.0]), "low1": curve([1.0])}, {}))
    assert (row["estimate"], row["verdict"]) == (4, INCONCLUSIVE) and math.isnan(row["low"])


# ---- claims about runs that collapse ----


def batches(shares) -> list[dict]:
    """Training batches with these shares of prompts unsolved."""
    return [{"step": i + 1, "unsolved": 100 * share, "prompts_drawn": 100} for i, share in enumerate(shares)]


def test_shares_of_collapsed_runs_have_newcombes_interval():
    """Three of ten runs against none: from the two Wilson intervals (Newcombe 1998, method 10)."""
    healthy, collapsed = (
        batches(np.linspace(0.6, 0.2, 40)),
        batches([*np.linspace(0.6, 0.2, 20), *np.linspace(0.3, 0.9, 20)]),
    )
    one, rule = {**plain(("",)), "module": "rlvr.claims.of_collapse"}, {"window": 0.1, "factor": 1.5, "share": 0.1}
    for term, arm in zip(one["contrasts"][0]["terms"], ("left", "right"), strict=True):
        term["rates"][0]["policies"] = [f"{arm}{s}" for s in range(10)]
    metrics = {
        f"{arm}{s}": collapsed if arm == "left" and s < 3 else healthy for arm in ("left", "right") for s in range(10)
    }
    (row,) = evaluate({**one, "collapse": rule}, Evidence({}, {}, metrics))
    wilson = [stats.binomtest(c, 10).proportion_ci(0.95, "wilson") for c in (3, 0)]
    low = 0.3 - math.hypot(0.3 - wilson[0].low, wilson[1].high - 0)
    high = 0.3 + math.hypot(wilson[0].high - 0.3, 0 - wilson[1].low)
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx((0.3, low, high))
    assert (row["verdict"], row["seeds"], row["problems"]) == (INCONCLUSIVE, 10, None), "as in the paper: p = 0.21"
    all_of_them = {run: collapsed if run.startswith("left") else healthy for run in metrics}
    assert evaluate({**one, "collapse": rule}, Evidence({}, {}, all_of_them))[0]["verdict"] == REPRODUCED
    swapped = {run: healthy if run.startswith("left") else collapsed for run in metrics}
    assert evaluate({**one, "collapse": rule}, Evidence({}, {}, swapped))[0]["verdict"] == CONTRADICTED


# ---- laws of verdicts ----

numbers = st.floats(-50, 50, allow_nan=False).map(lambda x: round(x, 3))


@st.composite
def estimates(draw_):
    low_of_all, low, value, high, high_of_all = sorted(draw_(st.lists(numbers, min_size=5, max_size=5)))
    return Estimate(value, low, high, low_of_all, high_of_all, 3, 40, "u")


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
    low_of_all, low, high, high_of_all = bounds
    estimate = Estimate((low + high) / 2, low, high, low_of_all, high_of_all, 3, 40, "u")
    assert (verdict_of(estimate, threshold, near=False), verdict_of(estimate, threshold, near=True)) == (above, near)


@given(estimates(), numbers.map(abs), numbers.map(abs))
def test_a_verdict_is_monotone_in_its_threshold(estimate, one, other):
    small, large = sorted((one, other))
    above = [ORDER.index(verdict_of(estimate, threshold, near=False)) for threshold in (small, large)]
    near = [ORDER.index(verdict_of(estimate, threshold, near=True)) for threshold in (small, large)]
    assert above[0] >= above[1] and near[0] <= near[1]


@given(estimates())
def test_swapping_left_and_right_turns_one_verdict_into_the_other(estimate):
    single = Estimate(estimate.value, estimate.low, estimate.high, estimate.low, estimate.high, 3, 40, "u")
    swapped = Estimate(-single.value, -single.high, -single.low, -single.high, -single.low, 3, 40, "u")
    assume(single.low != 0 and single.high != 0)
    turned = {REPRODUCED: CONTRADICTED, CONTRADICTED: REPRODUCED, INCONCLUSIVE: INCONCLUSIVE}
    assert verdict_of(swapped, 0.0, near=False) == turned[verdict_of(single, 0.0, near=False)]
    assert verdict_of(swapped, 1.0, near=True) == verdict_of(single, 1.0, near=True)


def test_swapped_arms_of_scores():
    for seed, shift in ((1, 0.3), (2, -0.3), (3, 0.0)):
        scores = noisy(seed, shift=shift)
        (row,), (swapped,) = (
            evaluate(plain(arms=arms), Evidence(scores)) for arms in (("left", "right"), ("right", "left"))
        )
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
    one["contrasts"][2]["terms"] = []
    rows = evaluate(one, Evidence(noisy(5)))
    two = evaluate(plain((1, 2), resamples=1000), Evidence(noisy(5)))
    assert [row["verdict"] for row in rows[2:]] == [NOT_RUN]
    assert [row["low_of_all"] for row in rows[:2]] == pytest.approx([row["low_of_all"] for row in two])
    summary = summarise(one, rows, "smoke")
    assert (summary["contrasts"], summary["run"]) == (3, 2)
    none = {**one, "contrasts": [{**contrast, "terms": []} for contrast in one["contrasts"]]}
    summary = summarise(none, evaluate(none, Evidence({})), "smoke")
    assert (summary["verdict"], summary["run"], summary["deciding"]) == (NOT_RUN, 0, "")
    assert math.isnan(summary["p"])


def test_the_deciding_contrast_has_the_worst_verdict_and_then_the_smallest_margin():
    rows = found(made := claim("greater", left="high", right=["low", "base", "mid"], k=[1]))
    summary = summarise(described(made)[0], rows, "smoke")
    assert (summary["deciding"], summary["estimate"], summary["verdict"]) == (
        "high − mid @1 with m on x, in place of M and b",
        25,
        "same direction",
    )
    made = claim("within", left="mid", right=["high", "low"], k=[2], threshold=40)
    assert summarise(described(made)[0], found(made), "smoke")["deciding"].startswith("mid − low @2 with"), (
        "33.3 is nearer to 40"
    )
    made = claim("within", left="mid", right=["low", "high"], k=[2], threshold=20)
    summary = summarise(described(made)[0], found(made), "smoke")
    assert summary["deciding"].startswith("mid − low @2 with") and summary["verdict"] == "opposite direction"
    assert (summary["reproduced_contrasts"], summary["contradicted_contrasts"]) == (1, 1)


@pytest.mark.parametrize(
    ("ks", "between_runs", "most"), [((1,), 0.0, 0.05), ((1, 2, 4), 0.0, 0.05), ((1,), 0.02, 0.05), ((1,), 0.1, 0.08)]
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
    assert summarise(one, rows, "laptop")["verdict"] == OF_STAND_INS[rows[0]["verdict"]] == "same direction"
    for contrast in one["contrasts"]:
        contrast["stand_in"] = contrast["model"]
    summary = summarise(one, evaluate(one, Evidence(noisy(1, shift=0.4))), "paper")
    assert (summary["verdict"], summary["deciding"]) == (REPRODUCED, "left − right @1 with M on x, in place of b")


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
    assert [row["low_of_all"] for row in evaluate(plain((1, 2)), Evidence(scores))] == pytest.approx(
        [row["low_of_all"] for row in rows[:2]]
    ), "what is not judged widens nothing"


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
    assert math.isnan(p_of_claim([]))


# ---- equal pass@1 ----


def at_equal_pass_1(ks=(2,)) -> dict:
    """left − right where each has the pass@1 of right at its own rate; left was trained at two rates."""
    one = {**plain(ks), "effort": EQUAL}
    for contrast in one["contrasts"]:
        left, right = contrast["terms"]
        contrast |= {"at": ["right1", "right2", "right3"], "at_label": "right"}
        start = {"learning_rate": 0.0, "policies": ["base1"]}
        left["rates"] = [
            start,
            {"learning_rate": 1e-5, "policies": ["left1", "left2", "left3"]},
            {"learning_rate": 2e-5, "policies": ["bolder1", "bolder2", "bolder3"]},
        ]
        right["rates"] = [start, {"learning_rate": 1e-5, "policies": ["right1", "right2", "right3"]}]
    return one


def constant(arm: str, correct, seeds=(1, 2, 3)) -> dict:
    return {(f"{arm}{s}", "x"): frame(f"{arm}{s}", correct) for s in seeds}


def test_a_claim_at_equal_pass_1_by_hand():
    """Pass@1 of left is 3/4 at its first rate, of right 1/2, of the base 1/4: left stands half way there."""
    ones = np.ones(PROBLEMS, int)
    scores = constant("base", ones, (1,)) | constant("right", 2 * ones) | constant("left", 3 * ones)
    scores |= constant("bolder", 4 * ones)
    (row,) = evaluate(at_equal_pass_1(), Evidence(scores))
    assert row["estimate"] == pytest.approx(100 * ((1 / 2 + 1) / 2 - 5 / 6))
    assert "bolder1" in row["policies"] and row["verdict"] == CONTRADICTED
    low = scores | constant("left", ones) | constant("bolder", ones)
    (row,) = evaluate(at_equal_pass_1(), Evidence(low))
    assert (row["verdict"], row["reason"]) == (NOT_COMPARABLE, "no learning rate of left has the pass@1 of right")


def test_what_has_no_meaning_at_equal_pass_1_is_left_out():
    laid = {(one["claim"], one["effort"]): one for one in layout(make_plan(ROOT, "smoke", ["agrae"]), "agrae")}
    assert ("entropy_order", EQUAL) not in laid and ("collapse", EQUAL) not in laid, "they are over no such table"
    both = [laid["a_grae_over_others", effort]["contrasts"] for effort in (PAPER, EQUAL)]
    ks = [{term["k"] for contrast in part for term in contrast["terms"]} for part in both]
    assert ks[0] - ks[1] == {1}, "methods are equal there"
    assert all(contrast["at"] for contrast in both[1]) and not any("at" in contrast for contrast in both[0])
    assert [{len(t["rates"]) for contrast in part for t in contrast["terms"]} for part in both] == [{1}, {5}]
    for (_, effort), one in laid.items():
        arms = {term["arm"] for contrast in one["contrasts"] for term in contrast["terms"]}
        assert effort == PAPER or "base" not in arms, "the base policy has one pass@1"
        assert effort == PAPER or one["predicate"] != "crossing"


def test_at_paper_scale_equal_pass_1_is_asked_for_apart():
    laid = layout(make_plan(ROOT, "paper", ["agrae"]), "agrae")
    assert {one["effort"] for one in laid if any(c["terms"] for c in one["contrasts"])} == {PAPER}


# ---- published numbers, and hard levels ----


def test_published_cells_that_a_table_lacks_are_no_evidence():
    one = plain((1, 2), predicate="within", threshold=1.0)
    one["published"] = [
        {
            **{"says": f"@{k}", "model": "M", "benchmark": "MATH 500"},
            "terms": [{"weight": w, "k": k, "hard": False, "method": m} for w, m in ((1.0, "A"), (-1.0, "B"))],
        }
        for k in (1, 2)
    ]
    rows = {"model": ["m"] * 3, "method": ["A", "B", "A"], "benchmark": ["math500"] * 3, "k": [1, 1, 2], "ci": ""}
    made = published(one, pd.DataFrame({**rows, "value": [50.3, 51.3, 60.0]}))
    assert (made["published"], made["published_cells"]) == (HOLDS, "1 of 1"), "a point apart, as printed, is within it"
    made = published(one, pd.DataFrame({**rows, "value": [50.3, 51.4, 60.0]}))
    assert (made["published"], made["published_exceptions"]) == (FAILS, "M, MATH 500: @1 = -1.1")
    assert published(one, None)["published"] == SILENT


def test_a_claim_over_a_table_of_hard_levels_is_of_those():
    hard = TABLE.model_copy(update={"hard_levels": True, "reference": "lens_table1.csv"})
    (one,) = described(made := claim("greater", left="steep", right=["low"], k=[1]), hard)
    assert {tuple(term["levels"]) for term in one["contrasts"][0]["terms"]} == {("hard",)} and one["reference"] is None
    assert found(made, content=hard)[0]["estimate"] == pytest.approx(50) and found(made)[0]["estimate"] == 37.5


def test_weights_are_of_greater_alone():
    with pytest.raises(ValidationError, match="or greater `weights`"):
        claim("within", weights={"high": 1.0})


def test_a_claim_at_equal_pass_1_takes_the_rates_that_the_scale_runs():
    """ACE's Table 1 has four rates in its sweep; the laptop's core runs three of them, and the base policies."""
    laid = {(one["claim"], one["effort"]): one for one in layout(make_plan(ROOT, "laptop", ["ace"]), "ace")}
    contrasts_ = [contrast for contrast in laid["larger_k_gain", EQUAL]["contrasts"] if contrast["terms"]]
    assert [contrast["stand_in"] for contrast in contrasts_] == ["qwen2-chain"], "of the three families one"
    rates = [[rate["learning_rate"] for rate in term["rates"]] for term in contrasts_[0]["terms"]]
    assert rates == [pytest.approx([0, 1.75e-5, 5e-5, 1e-4])] * 2
    assert not any(contrast["terms"] for contrast in laid["softplus", EQUAL]["contrasts"]), "ReLU is in no core table"
