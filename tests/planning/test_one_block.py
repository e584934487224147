"""Models that a scale maps to one another: their runs are one block of a table, and one contrast of a claim."""

import pandas as pd
import pytest
from conftest import ROOT

from rlvr.claims import contrasts
from rlvr.items import layout
from rlvr.planning.expansion import make_plan
from rlvr.statistics.references import Reference
from rlvr.statistics.table_rows import published_of


@pytest.fixture(scope="module")
def plans():
    return {scale: make_plan(ROOT, scale, ["ace"]) for scale in ("gpu", "paper", "laptop")}


def test_models_with_the_same_runs_are_one_block(plans):
    table = plans["gpu"].papers["ace"].tables["table1"]
    models = plans["paper"].papers["ace"].tables["table1"].content.models
    assert [*dict.fromkeys(cell.model for cell in table.cells)] == models[:1]
    assert table.shown_by == dict.fromkeys(models[1:], models[0])
    laid = layout.of(plans["gpu"], "ace", "table1")
    assert {cell.model for cell in laid.cells} == {", ".join(models)} == set(laid.panels[0].evaluations)


@pytest.mark.parametrize("scale", ["paper", "laptop"])
def test_models_with_other_runs_keep_their_blocks(plans, scale):
    items = [*plans[scale].papers["ace"].tables.values(), *plans[scale].papers["ace"].figures.values()]
    assert not any(item.shown_by for item in items)


def test_all_blocks_again_are_those_of_each_model(plans):
    table = plans["gpu"].papers["ace"].tables["table1"]
    whole = table.in_all_blocks()
    assert len(whole.cells) == 3 * len(table.cells) and whole.in_one_block() == table
    assert [cell.model for cell in whole.cells[:: len(table.cells)]] == table.content.models


def test_a_claim_counts_equal_runs_once_and_all_models_of_the_paper(plans):
    by_scale = {scale: contrasts.layout(plan, "ace") for scale, plan in plans.items()}
    for gpu, paper in zip(by_scale["gpu"], by_scale["paper"], strict=True):
        assert gpu.published == paper.published
        asked = {contrast.model for contrast in paper.contrasts}
        assert len({contrast.model for contrast in gpu.contrasts}) == min(1, len(asked))


def test_a_block_of_several_models_has_no_published_value(plans):
    cell = layout.of(plans["gpu"], "ace", "table1").cells[1]
    file = Reference(pd.read_csv(ROOT / "config/papers/ace/reference/table1.csv"))
    of_one = cell.model_copy(update={"published_model": "Qwen2.5-Math-7B"})
    assert published_of(file, cell, "MATH-500", 1)["published"] is None
    assert published_of(file, of_one, "MATH-500", 1)["published"] is not None


def test_a_claim_counts_benchmarks_with_one_stand_in_once():
    """AIME 2024 and AIME 2025 are one set at smoke scale; at laptop and paper scale they are two."""
    contrasts_of = {}
    for scale in ("smoke", "laptop", "paper"):
        laid = contrasts.layout(make_plan(ROOT, scale, ["fade"]), "fade")
        contrasts_of[scale] = next(one for one in laid if one.claim == "failures_generalise_less").contrasts
    (one,) = contrasts_of["smoke"]
    assert one.benchmark == "aime-2024-fade, aime-2025-fade" and one.data == "program-unseen-smoke"
    for scale in ("laptop", "paper"):
        assert [part.benchmark for part in contrasts_of[scale]] == ["aime-2024-fade", "aime-2025-fade"]
