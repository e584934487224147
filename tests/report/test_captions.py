"""Captions and alternative texts of figures, by hand."""

import pandas as pd

from rlvr.items import FIGURE_KINDS
from rlvr.report.captions import caption, in_words

HEAD = {"model": "M", "stand_in": "m-tiny", "seeds": 3}


def rows(steps=(0, 10), label="GRPO", measure="entropy"):
    return [{**HEAD, "label": label, "measure": measure, "step": s, "value": 0.5 + s / 100} for s in steps]


def test_a_caption_says_what_lines_and_bands_are():
    frame = pd.DataFrame(rows())
    assert "means over 3 training seeds" in caption("over_steps", [frame])
    assert caption("over_steps", [frame], 5).endswith("Measures of training batches are means of the last 5 steps.")
    assert all(kind.caption for _, kind in FIGURE_KINDS.all())


def test_an_alternative_text_says_where_curves_end():
    frame = pd.DataFrame([*rows(), *rows(label="ACE [c]")])
    assert in_words("A title", [frame]) == "A title. m-tiny, entropy, step 10: GRPO 0.6, ACE (c) 0.6"
    points = pd.DataFrame([*rows(), *rows()])
    assert in_words("A title", [points]) == "A title. GRPO", "several points at a step are no curve"
    assert in_words("A title", [pd.DataFrame({"a": [1]})]) == "A title"
