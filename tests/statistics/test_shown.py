"""Intervals end where a measure's range ends, and one that is too wide is not shown."""

import re

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from scipy import stats
from support.scores_by_hand import LAYOUT, on_x

from rlvr.claims.table import numbers
from rlvr.config.measures import ANY, PERCENTAGE, SHARE, of_difference, possible
from rlvr.report import rerender
from rlvr.show.highlight import percent, signed
from rlvr.statistics.intervals import Interval, SeedsAndProblems, over_seeds
from rlvr.statistics.shown import brackets, is_withheld
from rlvr.statistics.table_rows import pass_at_k_rows
from rlvr.tables import _scored
from rlvr.tables.pass_at_k import WORDS


def test_an_interval_ends_where_its_range_ends():
    """Student's t of two seeds, 0.4 and 0.6, is 0.5 +- 1.27."""
    scores_SN = np.array([[0.4, 0.4], [0.6, 0.6]])
    half = stats.t.ppf(0.975, 1) * 0.1
    assert SeedsAndProblems(0.95).of(scores_SN).high == pytest.approx(0.5 + half)
    of = SeedsAndProblems(0.95, SHARE)
    assert of.of(scores_SN) == Interval(pytest.approx(0.5), 0.0, 1.0)
    difference = of.of_difference(scores_SN, np.zeros((2, 2)))
    assert (difference.low, difference.high) == (pytest.approx(0.5 - half), 1.0)
    assert over_seeds(np.array([0.4, 0.6]), 0.95, possible("all_wrong")).low == 0.0
    assert over_seeds(np.array([0.4, 0.6]), 0.95, possible("entropy")).low < 0.0


def test_an_interval_within_its_range_stays_as_it_is_and_none_stays_none():
    generator = np.random.default_rng(1)
    scores_SN = generator.uniform(0.3, 0.7, (8, 50))
    assert SeedsAndProblems(0.95, SHARE).of(scores_SN) == SeedsAndProblems(0.95).of(scores_SN)
    assert np.isnan(over_seeds(np.array([0.5]), 0.95, SHARE).low)


def test_cutting_loses_no_coverage():
    """True pass rates near 1, three seeds and ten problems: as often covered as by the whole interval."""
    generator, whole, cut = np.random.default_rng(2), 0, 0
    for _ in range(300):
        scores_SN = generator.binomial(8, 0.97, (3, 10)) / 8
        ends = [SeedsAndProblems(0.95, of).of(scores_SN) for of in (ANY, SHARE)]
        whole, cut = (n + (one.low <= 0.97 <= one.high) for n, one in zip((whole, cut), ends, strict=True))
    assert whole == cut > 270


def test_one_that_covers_more_than_half_of_the_range_is_withheld():
    assert brackets(48.0, 98.0, ".1f", PERCENTAGE) == " [48.0, 98.0]"
    assert brackets(47.9, 98.0, ".1f", PERCENTAGE) == " [withheld]"
    assert brackets(-50.0, 50.1, "+.1f", of_difference(PERCENTAGE)) == " [withheld]"
    assert brackets(float("nan"), float("nan"), ".1f", PERCENTAGE) == ""
    assert not is_withheld(-1e9, 1e9, ANY)
    assert percent(Interval(0.5, 0.0, 1.0)) == "50.0 [withheld]"
    assert signed(Interval(0.1, -0.2, 0.4)) == "+10.0 [-20.0, +40.0]"


def test_a_table_says_why_an_interval_is_withheld():
    rows = pass_at_k_rows(LAYOUT, on_x({"a1": [1, 4], "a2": [4, 0], "b1": [2, 2], "b2": [2, 2]}), None)
    assert rows["value_low"].min() >= 0 and rows["value_high"].max() <= 100
    text = _scored.render(WORDS, LAYOUT, rows).markdown()
    assert "[withheld]" in text and "too few repetitions: 2 training seeds and 2 problems." in text
    assert not re.search(r"\[−|, 1[0-9]{2}\.[1-9]\]", text)


def test_a_claim_says_why_too():
    row = {"estimate": 20.0, "low": -90.0, "high": 95.0, "low_of_all": -100.0, "high_of_all": 100.0, "run": 1}
    row |= {"unit": "training seeds × problems", "seeds": 2, "problems": 10, "verdict": "inconclusive"}
    assert numbers(pd.Series(row)) == "+20.0 [withheld] (2 seeds, 10 problems are too few)"
    assert numbers(pd.Series({**row, "low": -20.0, "high": 60.0})).startswith("+20.0 [−20.0, +60.0]")


def test_no_committed_percentage_is_outside_0_and_100():
    files = [path for folder in (ROOT / "docs").glob("*/") for path in folder.glob(f"*/{rerender.DATA}/*.csv*")]
    assert len(files) > 50
    for path in files:
        frame = pd.read_csv(path)
        if "score" in frame and "value_low" in frame:
            shown = frame[frame["score"].isin(["pass", "avg", "maj", "mean", "iqm"])]
            assert not (shown["value_low"] < 0).any() and not (shown["value_high"] > 100).any(), path
