"""The picture of README: methods beside baseline, placebos and published gains (rlvr.report.findings)."""

import pandas as pd
import pytest
from conftest import ROOT
from PIL import Image

from rlvr.files import read_json
from rlvr.report import findings, rerender

RESULTS = ROOT / "docs/results"
PAPERS = [paper["name"] for paper in read_json(RESULTS / "contents.json")["papers"]]
PUBLISHED = {  # by hand from the papers' tables: method - baseline at the largest k
    ("ace", "math-500", "ace_grpo"): 94.3 - 91.3,  # Table 1, pass@32
    ("agrae", "math-test", "a_grae"): 1.5,  # Table 2, pass@64
    ("lens", "math-test", "lens"): 1.77,  # Table 1, pass@16
}


@pytest.fixture(scope="module")
def found():
    return findings.rows(RESULTS, PAPERS)


def test_each_method_with_a_placebo_has_a_row_per_arm_at_the_largest_k(found):
    assert list(dict.fromkeys(found["paper"])) == [paper for paper in PAPERS if (found["paper"] == paper).any()]
    for (_, _, _), rows in found.groupby(["paper", "benchmark", "arm"]):
        assert (~rows["placebo"]).sum() == 1 and rows["placebo"].any() and rows["k"].nunique() == 1
    for paper, rows in found.groupby("paper"):
        read = [of for name, of in rerender.items_of(RESULTS / paper).items() if name.startswith("comparisons")]
        assert set(rows["k"]) == {max(item.layout.k) for item in read}
        every = pd.concat(frame for item in read for frame in item.statistics().values())
        kept = every.set_index(["benchmark", "arm", "against", "k", "effort"])["difference"]
        for row in rows.itertuples():
            assert kept[row.benchmark, row.arm, row.against, row.k, row.effort] == row.difference


@pytest.mark.parametrize("key", PUBLISHED, ids="-".join)
def test_published_gains_are_those_of_the_papers(found, key):
    paper, benchmark, arm = key
    rows = found[(found["paper"] == paper) & (found["benchmark"] == benchmark) & (found["arm"] == arm)]
    assert rows[~rows["placebo"]]["published"].iloc[0] == pytest.approx(PUBLISHED[key], abs=1e-6)
    assert rows[rows["placebo"]]["published"].isna().all(), "placebos are ours"


@pytest.mark.parametrize("name", findings.PICTURES)
def test_equal_numbers_give_equal_pictures(found, tmp_path, name):
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    findings.draw(found, one, dark=findings.PICTURES[name])
    findings.draw(found, two, dark=findings.PICTURES[name])
    assert one.read_bytes() == two.read_bytes()
    with Image.open(one) as picture:
        corner = picture.convert("RGB").getpixel((2, 2))
    assert (sum(corner) < 200) == findings.PICTURES[name], "a dark picture has a dark background"


def test_a_hollow_marker_is_a_mechanism_that_does_not_act(found, tmp_path):
    acting, not_acting = (tmp_path / f"{word}.png" for word in ("yes", "no"))
    row = found[~found["placebo"]].head(1)
    findings.draw(row.assign(acts="yes"), acting, dark=False)
    findings.draw(row.assign(acts="no"), not_acting, dark=False)
    assert acting.read_bytes() != not_acting.read_bytes()


def test_a_snapshot_without_comparisons_has_no_picture(tmp_path):
    findings.publish(tmp_path, PAPERS)
    assert not list(tmp_path.iterdir()) and findings.rows(tmp_path, PAPERS).empty
