"""The picture of all claims: every paper has its place, and no two share one."""

from itertools import combinations, pairwise

import pandas as pd
import pytest
from conftest import ROOT

from rlvr.claims import grid
from rlvr.claims.verdicts import VERDICTS

CLAIMS = pd.read_csv(ROOT / "docs" / "results" / "claims.csv.xz")
ACE = CLAIMS[CLAIMS["paper"] == "ace"]


@pytest.mark.broad
def test_papers_stand_beside_and_below_each_other_with_a_line_of_one_height_for_each_claim():
    figure = grid.draw(CLAIMS)
    panels = {axes.get_title(): axes.get_position() for axes in figure.axes}
    assert set(panels) == set(CLAIMS["short"])
    for (_, one), (_, other) in combinations(panels.items(), 2):
        apart = one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0
        assert apart
    assert all(0 <= box.x0 < box.x1 <= 1.001 and 0 <= box.y0 < box.y1 <= 1 for box in panels.values())
    assert len({round(box.x0, 3) for box in panels.values()}) == grid.ACROSS
    tall = figure.get_size_inches()[1]
    for axes in figure.axes:
        claims = CLAIMS[CLAIMS["short"] == axes.get_title()]["claim"].nunique()
        assert len(axes.get_yticks()) == claims
        assert abs(axes.get_position().height * tall / claims - grid.ROW) < 1e-6


def test_every_verdict_has_a_look_of_its_own():
    looks = {verdict: tuple(sorted(grid._look(verdict).items())) for verdict in VERDICTS}
    assert len(set(looks.values())) == len(grid.LOOKS) and set(looks) == {v for look in grid.LOOKS for v in look[0]}


def test_no_two_claims_of_a_paper_look_alike():
    for _, claims in CLAIMS.groupby("paper"):
        sentences = list(dict.fromkeys(claims["says"]))
        shown = [grid._wrapped(text) for text in sentences]
        assert len(set(shown)) == len(sentences) and all(text.count("\n") < grid.LINES for text in shown)
    long = "word " * 40
    assert grid._wrapped(long).endswith(" …") and grid._wrapped("A is above B") == "A is above B"


def test_a_picture_names_what_was_run_and_explains_each_marker():
    figure = grid.draw(ACE)
    (axes,) = figure.axes
    assert "qwen2-chain on chain-easy, chain-unseen-operand" in grid.what_ran(ACE)
    assert any(" ".join(text.get_text().split()) == grid.what_ran(ACE) for text in axes.texts)
    entries = {text.get_text() for text in figure.legends[0].get_texts()}
    assert entries == set(ACE["published"]) | set(ACE["verdict"])
    drawn = sum(bool(line.get_xdata()[0] == 0) for line in axes.lines)
    assert drawn == ACE["claim"].nunique(), "a claim without published numbers has a marker too"


@pytest.mark.broad
def test_headings_of_columns_stand_apart():
    for scale in ("laptop", "pretrained", "pretrained-smoke"):
        figure = grid.draw(ACE.assign(scale=scale))
        figure.canvas.draw()
        (axes,) = figure.axes
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
        letter = boxes[0].height / 2 / 1.2  # of a heading of two lines, about
        assert all(right.x0 - left.x1 > letter for left, right in pairwise(boxes))
