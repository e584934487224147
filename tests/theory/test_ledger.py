"""The ledger's verdicts."""

import importlib

import pandas as pd
import pytest
from conftest import ROOT

from rlvr.theory import ledger
from rlvr.theory.statement import conditional, fails, holds


@pytest.fixture(scope="module")
def book() -> pd.DataFrame:
    return ledger.run(ledger.statements())


def test_every_paper_has_statements_and_each_its_own_name(book):
    assert book["check"].is_unique and (book.groupby("paper").size() >= 8).all()
    assert set(book["paper"]) == {chapter.paper for chapter in ledger.chapters()}
    assert (book[["place", "statement", "checked_by"]].map(len) > 3).all().all()


def test_what_fails_has_a_counterexample_and_what_is_conditional_its_condition(book):
    judged = book[book["verdict"] != "holds"]
    assert (judged["condition_or_counterexample"].str.len() > 3).all() and (judged["deviation"] > 1e-9).all()
    right = book[book["verdict"] == "holds"]
    rounded = right["check"].isin(["fade.sweet_spot", "fade.known_weights", "fade.estimated_weights"])
    assert (right["deviation"] < 6e-3)[~rounded].all()  # the widest: numbers that are printed to two digits
    assert (right["deviation"] < 0.0125)[rounded].all()  # printed with `about`, in steps of 0.05 or 0.1


def test_findings_are_judged_by_their_deviation():
    assert holds(1e-12).verdict == "holds" and holds(1e-3).verdict == "fails"
    assert conditional(1e-12, 0.2, "x").verdict == "holds under a condition"
    assert conditional(1e-12, 1e-12, "x").verdict == "holds" and conditional(0.1, 0.2, "x").verdict == "fails"
    assert fails(0.3, "x").verdict == "fails" and fails(0.0, "x").verdict == "holds"


def test_the_ledger_reads_well(book):
    text = ledger.markdown(book)
    assert (
        text.count("\n**") == len(book) and all(f"## {paper}" in text for paper in book["paper"]) and " nan" not in text
    )


def test_every_section_of_a_paper_is_in_its_chapter():
    assert len(ledger.CHAPTERS.names()) == len(ledger.chapters()) >= 4
    for paper, chapter in ledger.CHAPTERS.all():
        folder, package = ROOT / f"src/rlvr/papers/{paper}/theory", ledger.CHAPTERS.module(paper)
        names = [path.stem for path in folder.glob("[!_]*.py") if "\nsection = " in path.read_text()]
        sections = [importlib.import_module(f"{package}.{name}").section for name in names]
        if sections:
            assert sum(len(section.statements) for section in sections) == len(chapter.statements)
