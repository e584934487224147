"""Agreement of two scales: hand-made verdicts, counted by hand."""

import pandas as pd
import pytest

from rlvr.claims import agreement
from rlvr.claims.verdicts import NOT_RUN, OPPOSITE, SAME, SMALLER, UNDECIDED

CLAIMS = {  # predicate, threshold, then verdict and estimate at laptop and at pretrained
    "both hold": ("greater", 0.0, SAME, 2.0, SAME, 1.0),
    "neither holds": ("greater", 5.0, SMALLER, 2.0, OPPOSITE, -1.0),
    "one holds": ("greater", 0.0, SAME, 2.0, OPPOSITE, -1.0),
    "one is open": ("greater", 0.0, SAME, 2.0, UNDECIDED, 0.5),
    "near each other": ("within", 1.0, SAME, 0.5, SAME, -0.5),
    "not run at one": ("greater", 0.0, SAME, 2.0, NOT_RUN, float("nan")),
}


@pytest.fixture
def frame() -> pd.DataFrame:
    rows = []
    for number, scale in enumerate(("laptop", "pretrained")):
        for claim, (predicate, threshold, *results) in CLAIMS.items():
            verdict, estimate = results[2 * number : 2 * number + 2]
            names = {"scale": scale, "paper": "ace", "short": "ACE", "claim": claim, "says": claim}
            found = {"predicate": predicate, "threshold": threshold, "verdict": verdict, "estimate": estimate}
            rows.append({**names, "of": "paper", "effort": "equal pass@1", **found})
    return pd.DataFrame(rows)


def test_decided_claims_and_directions_are_counted(frame):
    pairs = agreement.both(frame, "laptop", "pretrained")
    assert set(pairs["claim"]) == set(CLAIMS) - {"not run at one"}
    assert agreement.counts(pairs, "laptop", "pretrained") == {
        "judged at both": 5,
        "decided at both": 4,
        "decided alike": 3,
        "estimates on the same side": "3 of 4",  # of 2 > 0 and -1 < 0 the sides differ; those of "near" have none
    }


def test_the_section_names_claims_that_are_decided_both_ways(frame):
    text = "\n".join(agreement.lines(frame))
    assert "## laptop and pretrained" in text
    assert f"- ACE, equal pass@1: one holds: {SAME} at laptop, {OPPOSITE} at pretrained." in text
    assert "both hold:" not in text and "one is open:" not in text


def test_one_scale_has_no_section(frame):
    assert agreement.lines(frame[frame["scale"] == "laptop"]) == []
    alone = frame[(frame["scale"] == "laptop") | (frame["claim"] == "not run at one")]
    assert agreement.lines(alone) == [], "nothing was judged at both"


def test_snapshots_of_two_scales_are_compared_as_a_run_compares_them(frame, tmp_path, capsys):
    files = [tmp_path / f"{scale}.csv" for scale in ("laptop", "pretrained")]
    for file in files:
        frame[frame["scale"] == file.stem].to_csv(file, index=False)
    agreement.main(files)
    assert capsys.readouterr().out == "\n".join(agreement.lines(frame)) + "\n"
    agreement.main(files[:1])
    assert "No claim was judged at two scales" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"none\.csv is no file"):
        agreement.main([tmp_path / "none.csv"])
