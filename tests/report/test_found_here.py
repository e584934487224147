"""What was found, in words: from statistics of pass@k and of comparisons to lines of a page."""

import pandas as pd
import yaml
from conftest import ROOT

from rlvr.claims.contrasts import EQUAL, PAPER
from rlvr.report import answers, readme

MODEL = {"model": "M", "stand_in": "m", "benchmark": "B", "data": "b", "score": "pass", "seeds": 4}
ARMS = {  # pass@1, then the difference at k = 8, with its interval
    "base": (20.0, -3.0, -4.0, -2.0),
    "grpo": (30.0, None, None, None),
    "method": (31.0, 1.0, 0.5, 1.5),
    "placebo": (30.5, 0.25, -0.5, 1.0),
}


def scores(**changes) -> pd.DataFrame:
    rows = []
    for arm, (value, *difference) in ARMS.items():
        of = dict(zip(answers.DIFFERENCE, difference, strict=True))
        rows += [{**MODEL, "arm": arm, "label": arm.upper(), "k": k, "value": value * k, **of} for k in (1, 8)]
    return pd.DataFrame(rows).assign(**changes)


def comparisons() -> pd.DataFrame:
    row = {**MODEL, "arm": "method", "label": "METHOD", "k": 8, "effort": PAPER, "acts": "no"}
    against = [("grpo", "GRPO", -0.04, -1.5), ("placebo", "PLACEBO", 5.0, 4.0)]
    rows = [
        {**row, "against": arm, "against_label": label, "difference": value, "difference_low": low}
        for arm, label, value, low in against
    ]
    at_equal = {**rows[0], "effort": EQUAL, "difference": 9.0}
    return pd.DataFrame([*rows, at_equal, {**rows[0], "k": 1}]).assign(difference_high=0.5)


def test_a_line_has_the_gain_of_the_baseline_and_each_method_minus_it():
    (line,) = answers.lines([scores()], {"method": ["placebo"]})
    assert line == (
        "**m on b**, in place of M on B: GRPO 20.0 → 30.0 pass@1 (base policy, then trained). "
        r"Pass@8 minus that of GRPO: METHOD +1.0 \[+0.5, +1.5\], **higher**."
    )
    (with_all,) = answers.lines([scores()], {})
    assert r"PLACEBO +0.2 \[−0.5, +1.0\], **undecided**" in with_all and "BASE" not in with_all
    (here,) = answers.lines([scores(stand_in="M", data="B")], {})
    assert here.startswith("**M on B**: GRPO") and "in place of" not in here


def test_comparisons_say_which_methods_there_are_and_whether_they_act():
    (line,) = answers.lines([scores(), comparisons()], {})
    assert line.endswith(
        r"Pass@8 minus that of GRPO: METHOD −0.0 \[−1.5, +0.5\], **undecided** (its mechanism does not act)."
    ), "at the paper's setting, minus the baseline"
    assert "20.0 → 30.0" in line
    for blind, end in ((0.8, " Blind guesses have 80 % at this k."), (0.1, ""), (None, "")):
        assert answers.lines([scores(), comparisons().assign(blind=blind)], {}) == [line + end]
    (of_others,) = answers.lines([scores(seeds=2), comparisons()], {})
    assert "→" not in of_others, "fewer seeds are another experiment"


def test_guesses_that_are_told_are_those_that_no_claim_is_judged_beside():
    defaults = yaml.safe_load((ROOT / "config/defaults.yaml").read_text())
    assert defaults["statistics"]["largest_chance"] == answers.MANY


def test_there_is_no_line_without_a_comparison():
    assert answers.lines([], {}) == []
    assert answers.lines([scores(difference=None)], {}) == []
    assert answers.lines([pd.DataFrame({"step": [1]})], {}) == []


def test_the_committed_results_have_a_line_for_each_set_of_each_paper():
    for paper, count in {"ace": 4, "agrae": 3, "fade": 1, "lens": 3, "pacs": 7}.items():
        lines = readme.found(ROOT / "docs/results" / paper)
        assert len(lines) == count and all("minus that of" in line for line in lines)
        with_base = [line for line in lines if paper == "ace" or "-path on" not in line]
        assert with_base and all("→" in line for line in with_base), paper
