"""The ledger's verdicts."""

import importlib

import pandas as pd
import pytest
from conftest import ROOT

from rlvr.theory import ledger
from rlvr.theory.statement import conditional, fails, holds

CONDITIONAL = """
ace.decomposition ace.reverse_kl ace.variance_necessarily agrae.logit_update agrae.sampled_positives fade.chen
fade.constant_weights_groups fade.constant_weights_stale fade.constant_weights_tokens
fade.delta_and_rank fade.enrichment fade.fade_masses fade.failure_modes fade.median fade.mix fade.mode_variance
fade.projection fade.resampling lens.consistency lens.difficulty_range lens.policy_preference
pacs.effective_advantage pacs.first_step pacs.vanishing
"""
FAILS = """
ace.exploratory ace.quality_improves agrae.negative_dominant_positives agrae.negative_dominant_unsampled
agrae.unsampled_probabilities fade.advantage_ratio fade.entropy_change fade.ha_dw
fade.log_mean_exp fade.log_mean_exp_limits fade.mean_advantage fade.moving_average fade.quantile_rule
fade.softmax_limits fade.uncorrelated_residuals fade.update_quality lens.derivative_line pacs.diverse_minimum
pacs.gibbs_form pacs.minimised_sign pacs.printed_derivative pacs.rloo_variance
"""


@pytest.fixture(scope="module")
def book() -> pd.DataFrame:
    return ledger.run(ledger.statements())


def test_every_paper_has_statements_and_each_its_own_name(book):
    assert len(book) >= 35 and book["check"].is_unique
    assert set(book["paper"]) == {"ACE", "FADE", "LENS", "A-GRAE", "PACS"} and (book.groupby("paper").size() >= 8).all()
    assert (book[["place", "statement", "checked_by"]].map(len) > 3).all().all()


def test_the_verdicts_are_these(book):
    """A change of a verdict is a change of what we say about a paper: it is made here too."""
    verdicts = book.set_index("check")["verdict"]
    assert set(verdicts[verdicts == "holds under a condition"].index) == set(CONDITIONAL.split())
    assert set(verdicts[verdicts == "fails"].index) == set(FAILS.split())
    assert (verdicts == "holds").sum() == len(book) - len(CONDITIONAL.split()) - len(FAILS.split())


def test_what_fails_has_a_counterexample_and_what_is_conditional_its_condition(book):
    judged = book[book["verdict"] != "holds"]
    assert (judged["condition_or_counterexample"].str.len() > 3).all() and (judged["deviation"] > 1e-9).all()
    exact = book[(book["verdict"] == "holds") & ~book["check"].isin(["fade.delta_method", "fade.sweet_spot"])]
    assert (exact["deviation"] < 6e-3).all()  # the widest: numbers that are printed to two digits


def test_findings_are_judged_by_their_deviation():
    assert holds(1e-12).verdict == "holds" and holds(1e-3).verdict == "fails"
    assert conditional(1e-12, 0.2, "x").verdict == "holds under a condition"
    assert conditional(1e-12, 1e-12, "x").verdict == "holds" and conditional(0.1, 0.2, "x").verdict == "fails"
    assert fails(0.3, "x").verdict == "fails" and fails(0.0, "x").verdict == "holds"


def test_the_ledger_reads_well(book):
    text = ledger.markdown(book)
    assert text.count("\n**") == len(book) and "A-GRAE" in text and " nan" not in text


def test_every_section_of_a_paper_is_in_its_chapter():
    assert len(ledger.CHAPTERS.names()) == len(ledger.chapters()) == 5
    for paper, chapter in ledger.CHAPTERS.all():
        folder, package = ROOT / f"src/rlvr/papers/{paper}/theory", ledger.CHAPTERS.module(paper)
        names = [path.stem for path in folder.glob("[!_]*.py") if "\nsection = " in path.read_text()]
        sections = [importlib.import_module(f"{package}.{name}").section for name in names]
        if sections:
            assert sum(len(section.statements) for section in sections) == len(chapter.statements)
