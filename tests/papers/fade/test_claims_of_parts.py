"""Claims about measures of runs at a part of training: their numbers are those of tables and figures."""

import numpy as np
import pytest
from conftest import ROOT
from scipy import stats

from rlvr.claims import contrasts
from rlvr.claims.evaluate import evaluate, summarise
from rlvr.claims.verdicts import CONTRADICTED, NOT_COMPARABLE, REPRODUCED, meaning
from rlvr.config.layers import ConfigError
from rlvr.items import kind_of
from rlvr.items.contrast import ClaimSpec, Evidence
from rlvr.planning.expansion import make_plan


@pytest.fixture(scope="module")
def plan():
    return make_plan(ROOT, "laptop", ["fade"])


def laid(plan, name: str) -> ClaimSpec:
    (one,) = (one for one in contrasts.layout(plan, "fade") if one.claim == name)
    return one


def runs(one: ClaimSpec, arm: str) -> list[str]:
    (policies,) = {term.policies for contrast in one.contrasts for term in contrast.terms if term.arm == arm}
    return list(policies)


def hidden(right, wrong, ratio=0.5, clt=0.4) -> list[dict]:
    """Rows of the base policy and of the end."""
    end = {"rho_correct_hidden": right, "rho_failed_hidden": wrong, "norm_ratio_hidden": ratio, "clt": clt}
    end |= {"norm_correct_hidden": 1.0, "norm_failed_hidden": ratio}
    return [{"step": 0, **end}, {"step": 50, **end}]


def of_hidden(one: ClaimSpec, rows: dict) -> dict:
    """The claim's only row, from these rows of runs."""
    (row,) = evaluate(one, Evidence(measured={"hidden": rows}))
    return row


def test_correct_responses_are_three_times_as_correlated(plan):
    one = laid(plan, "correct_more_correlated")
    names = runs(one, "mean")
    seeds, rights = len(names), np.linspace(0.3, 0.4, len(names))
    row = of_hidden(one, {run: hidden(rho, 0.1) for run, rho in zip(names, rights, strict=True)})
    expected = stats.t.interval(0.95, seeds - 1, rights.mean() / 0.1, stats.sem(rights) / 0.1)
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx((3.5, *expected))
    assert meaning(row["verdict"]) == REPRODUCED and row["seeds"] == seeds
    fewer = of_hidden(one, {run: hidden(0.106 + d / 100, 0.1) for run, d in zip(names, rights, strict=True)})
    assert fewer["verdict"] == CONTRADICTED and fewer["high_of_all"] > 1, (
        "1.1 times: smaller than claimed, not opposite"
    )
    assert summarise(one, [fewer], "laptop")["verdict"] == "smaller than claimed"
    needed = contrasts.needs([one])
    assert needed.measured == {"hidden": names} and not (needed.runs or needed.scores)
    row = of_hidden(one, {run: hidden(None if run == names[3] else 0.3, 0.1) for run in names})
    assert row["verdict"] == NOT_COMPARABLE and "no value of the measure" in row["reason"]


def test_residuals_against_the_clt(plan):
    one = laid(plan, "failed_residual_beyond_clt")
    names = runs(one, "asym_failures")
    for ratio, verdict in ((0.76, REPRODUCED), (0.3, CONTRADICTED)):
        noise = zip(names, np.linspace(-0.01, 0.01, len(names)), strict=True)
        row = of_hidden(one, {run: hidden(0.1, 0.1, ratio + d) for run, d in noise})
        assert row["estimate"] == pytest.approx(ratio / 0.4) and meaning(row["verdict"]) == verdict


def test_entropy_that_follows_its_covariance_term_alone(plan):
    one, generator = laid(plan, "without_the_drift_term"), np.random.default_rng(0)
    metrics = {}
    for arm in ("asym_failures", "asym_successes"):
        for run in runs(one, arm):
            covariance, drift = generator.normal(0, 1, (2, 50))
            entropy = 10 - np.concatenate([[0], covariance.cumsum()[:-1]])
            keys = ("sequence_entropy", "entropy_drift", "entropy_covariance")
            values = zip(entropy, drift, covariance, strict=True)
            metrics[run] = [{"step": i + 1, **dict(zip(keys, row, strict=True))} for i, row in enumerate(values)]
    (row,) = evaluate(one, Evidence(probes={run: [] for run in metrics}, metrics=metrics))  # type: ignore[arg-type]
    assert row["estimate"] > 0.1 and meaning(row["verdict"]) == REPRODUCED
    assert set(contrasts.needs([one]).runs) == set(metrics)


def test_a_claim_about_a_part_is_checked(plan):
    planned = plan.papers["fade"]
    item, config = planned.item("table10"), planned.paper.tables["table10"]
    (claim,) = (one for one in planned.paper.claims if one.name == "correct_more_correlated")
    for change, message in (
        ({"measure": "norm_ratio"}, "unknown measure"),
        ({"measure": None}, "needs one of rho_correct"),
        ({"part": "ende"}, "did you mean 'end'"),
        ({"predicate": "slope"}, "needs k"),
    ):
        with pytest.raises(ConfigError, match=message):
            kind_of(item).claims.check(claim.model_copy(update=change), item, config, plan, "x")


def test_entropy_that_is_correlated_over_methods_or_is_not():
    """Arms with entropy 1, 2, 3, ... at the end: ratios in the same order, learning speeds in the reverse."""

    def rows(one: ClaimSpec, speeds) -> Evidence:
        probes, metrics = {}, {}
        for place, term in enumerate(one.contrasts[0].terms):
            for run in term.policies:
                masses = {"positive_mass": 0.1 * (place + 1), "negative_mass": 0.1, "pass_rate": 0.5}
                metrics[run] = [{"step": step, "entropy": place + 1.0, **masses} for step in (1, 2)]
                solved = [0, round(32 * speeds[place])]
                probes[run] = [{"step": step, "solve_rates": [32 - c, *[0] * 31, c]} for step, c in enumerate(solved)]
        return Evidence(probes=probes, metrics=metrics)

    plan = make_plan(ROOT, "full-short", ["fade"])
    follows, speed = laid(plan, "entropy_and_ratio"), laid(plan, "entropy_and_speed")
    falling = np.linspace(1, 0, len(follows.contrasts[0].terms))
    (row,) = evaluate(follows, rows(follows, falling))
    assert row["estimate"] == pytest.approx(-1.0) and "Spearman" not in row["says"]
    assert meaning(row["verdict"]) == CONTRADICTED, "entropy rises with the ratio, where it should fall"
    (row,) = evaluate(speed, rows(speed, falling))
    assert row["estimate"] == pytest.approx(-1.0) and meaning(row["verdict"]) == CONTRADICTED


def test_arms_that_differ_in_their_rate_alone_are_judged_on_stand_ins():
    """Figure 14 compares one weight at two rates, where other claims at two rates are not judged."""
    plan = make_plan(ROOT, "full-short", ["fade"])

    def row_of(name: str) -> dict:
        one = laid(plan, name)
        metrics = {}
        for contrast in one.contrasts:
            for term in contrast.terms:
                for run in term.policies:
                    entropy = 1.0 if term.weight > 0 else 0.5
                    metrics[run] = [{"step": step, "entropy": entropy, "pass_rate": 0.5} for step in range(1, 51)]
        (row,) = evaluate(one, Evidence(probes={run: [] for run in metrics}, metrics=metrics))
        return row

    assert meaning(row_of("scale_and_entropy_grpo")["verdict"]) == REPRODUCED
    assert row_of("without_delta_entropy")["verdict"] == REPRODUCED, "equal rates"
    both = laid(plan, "failures_learn_fast")
    assert not any(contrast.of_rates for contrast in both.contrasts), "weights differ too"
