"""Analytic tables and figures against hand calculation and scipy."""

import numpy as np
import pandas as pd
import pytest

from rlvr.theory.closed_forms import CLOSED_FORMS


def frame(content: str) -> pd.DataFrame:
    return CLOSED_FORMS.load(content)()


@pytest.mark.parametrize("name", CLOSED_FORMS.names())
def test_every_content_is_a_frame(name):
    table = frame(name)
    assert isinstance(table, pd.DataFrame) and len(table) and not table.isna().any(axis=None)


@pytest.mark.parametrize("name", [name for name in CLOSED_FORMS.names() if "table" not in name])
def test_figures_are_curves_with_names(name):
    table = frame(name)
    assert {"panel", "label", "style", "x", "y", "x_label", "y_label"} == set(table.columns)
    assert np.isfinite(table[["x", "y"]].to_numpy()).all() and table["label"].str.len().min() > 0
