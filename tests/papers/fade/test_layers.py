"""The figure of changes by matrix and layer."""

import pytest
from support.layouts_by_hand import typed

from rlvr.figures._training import TrainingLayout
from rlvr.papers.fade.figures import layers

NAMES = [f"model.layers.{i}.{matrix}.weight" for i in (0, 1) for matrix in ("mlp.up_proj", "self_attn.q_proj")]
LAYOUT = typed(TrainingLayout, cells=[{"arm": "mean", "label": "Mean", "policies": ["a", "b"]}])


def summary(share: float, rank: float) -> dict:
    ranks = {name: [rank + i / 10, 2.0] for i, name in enumerate(NAMES)} | {"lm_head.weight": [0.9, 3.0]}
    return {"layers": ranks, "shares": {name: share for name in [*NAMES, "lm_head.weight"]}}


def test_shares_and_ranks_of_each_matrix_are_drawn():
    frame = layers.statistics(LAYOUT, {"a": summary(0.1, 0.2), "b": summary(0.3, 0.4)})
    found = frame.set_index(["layer", "matrix", "measure"])["value"]
    assert len(found) == 8 and "lm_head" not in set(frame["matrix"])
    assert found[0, "mlp.up_proj", "share"] == pytest.approx(0.2)
    assert found[1, "self_attn.q_proj", "rank_1_share"] == pytest.approx(0.6)
    shares, ranks = (axes.images[0].get_array() for axes in layers.draw(LAYOUT, [frame]).axes if axes.images)
    assert shares.shape == (2, 2) and ranks.max() == pytest.approx(60)


def test_an_older_summary_is_named():
    old = {run: {"layers": {NAMES[0]: [0.5, 2.0]}} for run in "ab"}
    with pytest.raises(KeyError, match=r"a: no shares in its summary.json, which is older"):
        layers.statistics(LAYOUT, old)
