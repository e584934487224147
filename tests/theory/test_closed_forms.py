"""Analytic tables and figures: every content is a frame, and that of a figure is curves with names."""

import numpy as np
import pytest

from rlvr.theory.closed_forms import CLOSED_FORMS


@pytest.mark.parametrize("name", CLOSED_FORMS.names())
def test_every_content_is_a_frame(name):
    table = CLOSED_FORMS.load(name)()
    assert len(table) and not table.isna().any(axis=None)
    if "table" not in name:
        assert {"panel", "label", "style", "x", "y", "x_label", "y_label"} == set(table.columns)
        assert np.isfinite(table[["x", "y"]].to_numpy()).all() and table["label"].str.len().min() > 0
