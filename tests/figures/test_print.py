"""What every figure needs for print: its width, its letters, and methods that are told apart without colour.

One figure of each kind, the one with the most methods, from made-up statistics; all figures of all papers are slow.
"""

import functools
import io
import itertools
from textwrap import wrap

import numpy as np
import pytest
from conftest import ROOT
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from support.figures_by_hand import PAPERS, laid_out, of_figure

from rlvr.config.colors import COLORS
from rlvr.config.layouts import Looks
from rlvr.figures._looks import looks
from rlvr.figures._panels import WIDTH
from rlvr.items import figure as stage
from rlvr.planning.expansion import make_plan

COLUMN, LEAST = 5.5, 6.0  # inches of a page's text with one column; points of the smallest letters there
CLOSE = 20.0  # CIE 1976 distance of colours below which a line or a marker must differ; Okabe & Ito's have 25
# Machado, Oliveira & Fernandes 2009, Table 1, severity 1.0, for linear RGB.
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
# Linear sRGB to CIE XYZ, white D65 (IEC 61966-2-1).
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


@functools.cache
def plan():
    return make_plan(ROOT, "smoke", list(PAPERS))


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_is_fit_for_print(paper):
    for name in plan().papers[paper].figures:
        check(paper, name)
        plt.close("all")


def check(paper: str, name: str) -> None:
    with plt.style.context(stage.STYLE):
        figure = stage.draw(*of_figure(plan(), paper, name))
        figure.draw_without_rendering()
        inches = figure.get_figwidth()
        assert inches <= WIDTH, f"{name} is {inches} inches wide"
        texts = list(shown(figure))
        small = [text.get_text() for text, _ in texts if text.get_fontsize() * min(1, COLUMN / inches) < LEAST]
        assert not small, f"{name}: letters below {LEAST} points at {COLUMN} inches: {small}"
        page = figure.bbox
        out = [t.get_text() for t, b in texts if b.x0 < -1 or b.y0 < -1 or b.x1 > page.x1 + 1 or b.y1 > page.y1 + 1]
        assert not out, f"{name}: beyond the edge: {out}"
        assert not (hidden := overlaps(texts)), f"{name}: one on the other: {hidden}"
        legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
        assert all(len(legend.get_texts()) > 1 for legend in legends), f"{name}: a legend of one line"


def shown(figure):
    """Each text that is drawn, with its place in pixels; without slanted ones, whose boxes are larger than they are."""
    hidden = {text for axes in figure.axes for text in hidden_of(axes)}
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and text not in hidden and text.get_rotation() % 90 == 0:
            yield text, text.get_window_extent()


def hidden_of(axes):
    """The texts of a panel that is not drawn, and the labels of ticks that are outside of the panel."""
    if not axes.get_visible():
        yield from axes.findobj(Text)
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            if not (axes.axison and low <= tick.get_loc() <= high):
                yield from (tick.label1, tick.label2)


def overlaps(texts) -> list[tuple[str, str]]:
    boxes = np.array([box.extents for _, box in texts])
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    common = np.minimum(high, boxes[None, :, 2:]) - np.maximum(low, boxes[None, :, :2])
    pairs = np.argwhere(np.triu((common > 1).all(axis=2), 1))
    return [(texts[i][0].get_text(), texts[j][0].get_text()) for i, j in pairs]


@pytest.mark.parametrize("letters", range(8, 40))
def test_a_line_is_broken_into_the_fewest_lines_and_even_ones(letters):
    text = "training batches, mean of last 5 steps"
    lines = stage._even(text, letters).splitlines()
    assert " ".join(lines) == text and len(lines) == len(wrap(text, letters))
    longest = max(map(len, lines))
    narrower = wrap(text, longest - 1, break_long_words=False)
    assert longest <= letters and (len(narrower) > len(lines) or longest == len("training"))


def test_a_label_that_is_broken_twice_has_even_lines():
    """The first break takes room from its panel, so that its lines are too long again."""
    figure, axes = plt.subplots()
    unbroken = "entropy, decision tokens (nats)\ntraining batches, mean of last 5 steps"
    label = axes.set_ylabel(unbroken)
    figure.draw_without_rendering()
    whole = label.get_window_extent().height
    assert stage._break(label, 0.7 * whole, unbroken)
    assert label.get_text() == "entropy, decision\ntokens (nats)\ntraining batches,\nmean of last 5 steps"
    assert stage._break(label, 0.4 * whole, unbroken)
    wholes = ("\n".join(stage._even(line, letters) for line in unbroken.splitlines()) for letters in range(8, 17))
    assert label.get_text() in wholes, "not a part of what was broken before"
    plt.close(figure)


def test_labels_that_are_clipped_or_hidden_are_found():
    with plt.style.context(stage.STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(2, 1))
        axes[0].set_title("a title much longer than its panel")
        axes[1].set_title("and another beside it")
        figure.draw_without_rendering()
        assert ("a title much longer than its panel", "and another beside it") in overlaps(list(shown(figure)))


@pytest.mark.parametrize(
    ("name", "change", "type_3"),
    [("weights", {}, False), ("figure6", {}, False), ("figure6", {"pdf.fonttype": 3}, True)],
)
def test_fonts_are_type_42(name, change, type_3):
    """Of Greek letters too; with matplotlib's own setting the same test finds Type 3."""
    out = io.BytesIO()
    with plt.style.context([stage.STYLE, change]):
        stage.draw(*of_figure(plan(), "pacs", name)).savefig(out, format="pdf")
    assert (b"/Type3" in out.getvalue()) == type_3 and (b"/FontFile2" in out.getvalue()) != type_3


def lab(color: str) -> np.ndarray:
    """CIE L*a*b* of a colour as a reader with deuteranopia sees it."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(DEUTERANOPIA @ linear, 0, 1) / XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_the_simulation_of_deuteranopia():
    """White stays white, red and green of one lightness come near, blue and yellow stay apart."""
    assert lab("white") == pytest.approx([100, 0, 0], abs=0.2)
    assert np.linalg.norm(lab("#c00000") - lab("#606000")) < CLOSE < np.linalg.norm(lab("blue") - lab("yellow"))
    assert np.linalg.norm(lab(COLORS["pink"]) - lab(COLORS["grey"])) < CLOSE, "two of the project's colours"


@pytest.mark.parametrize("paper", PAPERS)
def test_methods_that_look_alike_with_deuteranopia_differ_in_line_or_marker(paper):
    for name in plan().papers[paper].figures:
        layout, sources = laid_out(plan(), paper, name)
        of_paper = layout if isinstance(layout, Looks) else Looks()
        method_of = dict.fromkeys(layout.knots, layout.baseline) if layout.kind == "frontier" else {}
        arms = [method_of.get(cell.arm, cell.arm) for of in sources for cell in getattr(of, "cells", ())]
        for (a, left), (b, right) in itertools.combinations(looks(arms, of_paper).items(), 2):
            close = np.linalg.norm(lab(left.color) - lab(right.color)) < CLOSE
            assert not close or (left.linestyle, left.marker) != (right.linestyle, right.marker), f"{name}: {a}, {b}"
