"""A claim that a method is above its baseline holds only if the method is above its placebos too."""

import shutil

import pytest
from conftest import ROOT
from support.claims_by_hand import SCORES, noisy, plain

from rlvr.claims.contrasts import EQUAL, PAPER, layout
from rlvr.claims.evaluate import beside_placebos, evaluate, summarise
from rlvr.claims.placebos import NO_TABLE
from rlvr.claims.verdicts import AT_BOUND, CONTRADICTED, OPPOSITE, SAME, UNDECIDED
from rlvr.config.layers import ConfigError
from rlvr.items.contrast import Evidence
from rlvr.planning.expansion import make_plan


def judged(arms: tuple[str, str], *placebos: str, scores=SCORES) -> dict:
    """The row of left - right where left has placebos."""
    parts = tuple(part for placebo in placebos for part in plain(arms=(arms[0], placebo)).contrasts)
    claim, inputs = plain(arms=arms).model_copy(update={"placebos": parts}), Evidence(scores)
    return beside_placebos(claim, summarise(claim, evaluate(claim, inputs), "smoke"), inputs)[0]


def test_it_holds_where_the_method_is_above_every_placebo():
    """75 % against 25 %, and a placebo with 50 %."""
    assert judged(("high", "low"), "mid")["verdict"] == judged(("high", "low"))["verdict"] == SAME


@pytest.mark.parametrize("placebos", [("high",), ("mid", "high")])
def test_it_does_not_where_a_placebo_has_as_much(placebos):
    row = judged(("high", "low"), *placebos)
    assert row["verdict"] == UNDECIDED
    assert row["reason"] == "not above the placebo: left − right @1 is 0.00 [0.00, 0.00]"


def test_it_does_not_where_a_placebo_was_not_run():
    claim, inputs = plain(arms=("high", "low")).model_copy(update={"placebos": (NO_TABLE,)}), Evidence(SCORES)
    row, _ = beside_placebos(claim, summarise(claim, evaluate(claim, inputs), "smoke"), inputs)
    assert row["verdict"] == UNDECIDED and row["reason"] == "the placebo was not compared (its placebo: not run)"


def test_where_scores_leave_no_room_a_placebo_counts_for_nothing():
    """At k = 4 `mid` and `high` solve all problems: what is left is k = 1, where `high` is above `mid`."""
    parts = plain(ks=(1, 4), arms=("high", "mid")).contrasts
    claim, inputs = plain(arms=("high", "low")).model_copy(update={"placebos": parts}), Evidence(SCORES)
    row, found = beside_placebos(claim, summarise(claim, evaluate(claim, inputs), "smoke"), inputs)
    assert row["verdict"] == SAME and [one["verdict"] for one in found][1] == AT_BOUND
    assert all(one["placebo"] for one in found)


def test_a_placebo_refutes_nothing():
    """`low` is below `high`, and above no placebo: opposite, as without one."""
    assert judged(("low", "high"), "mid")["verdict"] == judged(("low", "high"))["verdict"] == OPPOSITE
    assert CONTRADICTED != judged(("mid", "low"), "high")["verdict"] == UNDECIDED


def test_the_p_of_a_claim_that_holds_is_the_largest_of_all():
    scores = noisy(1, arms=("left", "right", "placebo"), seeds=5, problems=60, shift=0.15, samples=16)
    scores = {(policy.replace("left", "l"), on): one for (policy, on), one in scores.items()}
    alone, beside = judged(("l", "right"), scores=scores), judged(("l", "right"), "placebo", scores=scores)
    assert alone["verdict"] == beside["verdict"] == SAME and alone["p"] <= beside["p"] < 0.05


@pytest.fixture(scope="module")
def laptop():
    return make_plan(ROOT, "laptop", ["ace", "lens"])


def test_methods_are_held_against_their_placebos_and_ablations_are_not(laptop):
    claims = {claim.claim: claim for claim in layout(laptop, "ace") if claim.effort == PAPER}
    for name in ("larger_k_gain", "gain_size", "larger_k_gain_harder_set"):
        arms = [[term.arm for term in part.terms] for part in claims[name].placebos]
        assert arms == [["ace_grpo", "ace_grpo_mean"], ["ace_grpo", "ace_grpo_shuffled"]]
        terms = [term for part in claims[name].placebos for term in part.terms]
        assert {term.k for term in terms} == {term.k for part in claims[name].contrasts for term in part.terms} == {32}
        own = {term.evaluation for part in claims[name].contrasts for term in part.terms}
        assert {term.evaluation for term in terms} <= own
    (of_dapo,) = claims["larger_k_gain_dapo"].placebos
    assert [term.arm for term in of_dapo.terms] == ["ace_dapo", "ace_dapo_mean"]
    for name in ("softplus", "gain_grows"):
        assert claims[name].placebos == ()
    assert all(claim.placebos for claim in layout(laptop, "ace") if claim.effort == EQUAL and claim.claim == "all_k")


def test_a_scale_without_controls_has_no_arm_row_or_run_of_them():
    plan = make_plan(ROOT, "paper", ["ace", "fade"])
    for made in plan.papers.values():
        assert not made.paper.placebos and not made.paper.controls
        arms = {cell.row.arm for name in made.all_items() for cell in made.item(name).cells}
        assert not arms & {"ace_grpo_mean", "grpo_flipped", "grpo_09", "psr", "fade_constant", "mean_flipped"}
    assert not any(run.reward.flipped for run in plan.runs.values())
    assert all(claim.placebos == () for claim in layout(plan, "ace"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda text: text.replace("ace_grpo: [ace_grpo_mean,", "ace_grpo: [ace_grpo_meen,"),
            "placebos.ace_grpo: unknown arm",
        ),
        (lambda text: text.replace("ace_grpo: [ace_grpo_mean,", "ace_grpo: [dapo,"), "dapo needs `control: true`"),
        (lambda text: text.replace("name: flipped_rewards", "name: smaller_steps"), "another control has this name"),
        (
            lambda text: text.replace("    table: core\n    left: nsr", "    table: cores\n    left: nsr"),
            "unknown table 'cores'",
        ),
        (lambda text: text.replace("    expected: below\n", ""), "a control needs `expected`, or `at_least`"),
        (
            lambda text: text.replace("    at_least: 10\n", "    at_least: 10\n    expected: above\n"),
            "a control needs `expected`, or",
        ),
    ],
)
def test_mistakes_in_placebos_and_controls_are_named(tmp_path, change, message):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    file = tmp_path / "config/papers/ace/paper.yaml"
    text = file.read_text()
    file.write_text(change(text))
    assert file.read_text() != text
    with pytest.raises(ConfigError, match=message):
        make_plan(tmp_path, "smoke", ["ace"])
