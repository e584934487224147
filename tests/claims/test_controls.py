"""Controls: comparisons whose result is known. Where one is not found, `snakemake claims` fails."""

import pandas as pd
import pytest
from conftest import ROOT
from support.claims_by_hand import SCORES, noisy, plain

from rlvr.claims import found_controls, mechanism_table, mechanisms
from rlvr.claims.controls import CONTROL, ControlSpec, judged, layout, missed
from rlvr.claims.mechanisms import COLUMNS, REGIME
from rlvr.items.contrast import Evidence
from rlvr.planning.expansion import make_plan


def rows(arms: tuple[str, str], expected: str, scores=SCORES) -> list[dict]:
    spec = ControlSpec(kind=CONTROL, name="known", arm=arms[0], expected=expected, claim=plain(arms=arms))
    return judged(spec, Evidence(scores), "smoke")


@pytest.mark.parametrize(
    ("arms", "met"),
    [
        (("high", "low"), {"above": "yes", "below": "no", "undecided": "no"}),
        (("low", "high"), {"above": "no", "below": "yes", "undecided": "no"}),
        (("mid", "bold"), {"above": "no", "below": "no", "undecided": "yes"}),
    ],
)
def test_what_is_expected_is_met_or_not(arms, met):
    for expected, answer in met.items():
        (row,) = rows(arms, expected)
        assert row["met"] == answer and row["low"] <= row["measured"] <= row["high"] and row["seeds"] == 3


def test_equal_laws_are_undecided_and_flipped_ones_below():
    scores = noisy(3, arms=("left", "right"), seeds=5, problems=60, shift=-0.2, samples=16)
    assert rows(("left", "right"), "below", scores)[0]["met"] == "yes"
    scores = noisy(3, arms=("left", "right"), seeds=5, problems=60, samples=16)
    assert rows(("left", "right"), "undecided", scores)[0]["met"] == "yes"


def test_its_table_has_the_columns_of_the_mechanisms():
    assert COLUMNS == mechanisms.COLUMNS


def written(tmp_path, *expected: str):
    files = []
    for i, (arms, one) in enumerate(zip((("high", "low"), ("low", "high")), expected, strict=True)):
        files.append(tmp_path / f"{i}.csv")
        pd.DataFrame(rows(arms, one), columns=[*COLUMNS]).to_csv(files[-1], index=False)
    return files, tmp_path / "all.csv"


def test_a_control_that_is_not_found_fails_with_its_estimate_and_interval(tmp_path, capsys):
    files, out = written(tmp_path, "above", "undecided")
    with pytest.raises(SystemExit, match=r"1 of the controls were not found: .*--config controls=warn goes on"):
        found_controls.main(files, "fail", out)
    said = capsys.readouterr().out
    assert "control not found: P, known: left − right @1 is -50.00 [-50.00, -50.00]" in said and not out.exists()
    found_controls.main(files, "warn", out)
    assert "control not found" in capsys.readouterr().out and len(pd.read_csv(out)) == 2


def test_a_control_that_cannot_be_compared_is_missed_too(tmp_path, capsys):
    blind = {key: frame.assign(chance=0.9) for key, frame in SCORES.items()}
    (row,) = rows(("high", "low"), "above", blind)
    assert row["met"] == "not comparable" and "measured" not in row
    frame = pd.DataFrame([row], columns=[*COLUMNS])
    (line,) = missed(frame)
    assert line == "P, known: left − right @1 is not comparable (x, paper's setting), expected: above 0"
    text = mechanism_table.markdown(frame)
    assert "Met: 0 of 1 control rows. 1 are not comparable." in text and "without runs" not in text


def test_what_the_settings_were_chosen_for_is_told_and_never_missed(tmp_path):
    """`high` is 100 % of one problem in two, `low` 0: an estimate of 50 points."""
    about = {"name": "gains", "arm": "high", "expected": "above", "claim": plain(arms=("high", "low"))}
    (row,) = judged(ControlSpec(kind=REGIME, at_least=10, **about), Evidence(SCORES), "smoke")
    assert (row["kind"], row["bound"], row["met"]) == ("regime", "at least 10", "yes")
    (row,) = judged(ControlSpec(kind=REGIME, at_least=60, **about), Evidence(SCORES), "smoke")
    assert row["met"] == "no" and row["measured"] == pytest.approx(50)
    pd.DataFrame([row], columns=[*COLUMNS]).to_csv(tmp_path / "p.csv", index=False)
    found_controls.main([tmp_path / "p.csv"], "fail", tmp_path / "all.csv")
    kinds = {one.name: one.kind for one in layout(make_plan(ROOT, "laptop", ["ace"]), "ace")}
    assert kinds["gains_pass_at_1"] == kinds["loses_at_large_k"] == REGIME and kinds["smaller_steps"] == CONTROL


def test_placebos_are_compared_where_most_seeds_are_and_at_a_k_that_is_judged():
    plan = make_plan(ROOT, "laptop", ["ace", "fade"])
    placebos = {paper: [one for one in layout(plan, paper) if one.kind == "placebo"] for paper in plan.papers}
    seeds = {part.seeds for one in placebos["ace"] for part in one.claim.contrasts}
    assert seeds == {12}, "`start` has four"
    k = {term.k for one in placebos["fade"] for part in one.claim.contrasts for term in part.terms}
    assert k == {50}, "at 100 blind guesses have a quarter"


def test_controls_that_are_found_fail_nothing(tmp_path, capsys):
    files, out = written(tmp_path, "above", "below")
    found_controls.main(files, "fail", out)
    assert list(pd.read_csv(out)["met"]) == ["yes", "yes"] and not capsys.readouterr().out


def test_a_placebo_that_is_not_beaten_is_no_missed_control():
    frame = pd.DataFrame([{**rows(("low", "high"), "above")[0], "kind": "placebo"}])
    assert missed(frame) == [] and len(missed(frame.assign(kind=CONTROL))) == 1


def test_every_core_has_placebos_and_controls_with_runs():
    plan = make_plan(ROOT, "laptop", ["ace", "agrae", "fade", "lens", "pacs"])
    for paper in plan.papers:
        specs = layout(plan, paper)
        assert {"flipped_rewards"} <= {one.name for one in specs if one.kind == CONTROL}
        assert any(one.kind == "placebo" for one in specs)
        for one in specs:
            assert all(part.terms for part in one.claim.contrasts), one.name
        flipped = next(one for one in specs if one.name == "flipped_rewards").claim.contrasts[0].terms
        rewards = {term.arm: plan.runs[term.policies[0]].reward.flipped for term in flipped}
        assert sorted(rewards.values()) == [0.0, 0.15]
