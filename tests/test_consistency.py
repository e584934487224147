"""Laws of pass@k, on rows that keep them, rows that break each, and the published tables."""

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.statistics.consistency import Printed, check, check_table, granularity
from rlvr.statistics.pass_at_k import pass_at_k

REFERENCE = sorted((ROOT / "config" / "reference").glob("*.csv"))


def printed(values: dict[int, str]) -> list[Printed]:
    return [Printed.of(k, value) for k, value in values.items()]


def laws(values: dict[int, str]) -> set[str]:
    return {finding.law for finding in check(printed(values))}


@pytest.mark.parametrize("digits", [0, 1, 2])
def test_real_rows_keep_the_laws_however_rounded(digits):
    generator = np.random.Generator(np.random.Philox(3))
    for _ in range(100):
        c = generator.binomial(64, generator.beta(0.3, 1.0, size=40))
        row = {k: f"{100 * pass_at_k(64, c, k).mean():.{digits}f}" for k in (1, 2, 4, 8, 16, 32, 64)}
        assert not laws(row)


def test_each_law_is_found_broken():
    assert laws({1: "50.0", 2: "49.8"}) >= {"non-decreasing in k"}
    assert laws({1: "50.0", 2: "49.9"}) == set(), "within the rounding of both"
    assert laws({1: "10.0", 2: "12.0", 4: "40.0"}) == {"concave in k", "pass@mk at most m pass@k"}
    assert laws({1: "0.2", 2: "0.7"}) == {"pass@mk at most m pass@k"}
    assert laws({1: "0.2", 2: "0.4"}) == set()
    assert laws({4: "20", 1: "10", 2: "15"}) == set(), "any order of rows; rounded to whole points"


def test_granularity_at_k_equal_to_n():
    assert granularity(Printed.of(256, "46.7"), 30) is None and granularity(Printed.of(256, "47.3"), 30) is not None
    assert granularity(Printed.of(256, "97.5"), 40) is None and granularity(Printed.of(256, "92.3"), 40) is not None


def test_the_published_tables():
    """Five rows of ACE's Table 2 (all of Llama), eight of A-GRAE, one of PACS; found by hand before."""
    found = []
    for path in REFERENCE:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        frame = frame[frame["k"].str.fullmatch(r"\d+") & frame["value"].str.fullmatch(r"\d+(\.\d+)?")]
        found.append(check_table(frame))
    rows = pd.concat(found).groupby(["paper", "table", "model", "method", "benchmark"]).size().reset_index()
    assert rows.groupby("paper").size().to_dict() == {"ACE": 5, "A-GRAE": 8, "PACS": 1}
    ace = rows[rows["paper"] == "ACE"]
    assert set(ace["model"]) == {"Llama-3.1-8B-Instruct"} and set(ace["table"]) == {"T2"}


def test_the_command_lists_findings_and_counts_rows():
    done = CliRunner().invoke(app, ["consistency", *map(str, REFERENCE)])
    assert done.exit_code == 0, done.output
    assert "ACE  T2  Llama-3.1-8B-Instruct  GRPO" in done.stdout and "\n14 of " in done.stdout
    table = ROOT / "config/reference/agrae_table2.csv"
    sized = CliRunner().invoke(
        app, ["consistency", str(table), "--samples", "256", "--problems", "AIME2025=30", "--csv"]
    )
    assert "a multiple of 1 / problems" in sized.stdout and "47.3" in sized.stdout


def test_the_command_names_what_is_wrong(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("paper,k,value\nA,1,2\n")
    done = CliRunner().invoke(app, ["consistency", str(bad)])
    assert done.exit_code == 2 and "no column 'table'" in done.stderr
    done = CliRunner().invoke(app, ["consistency", str(tmp_path / "none.csv")])
    assert done.exit_code == 2 and "none.csv" in done.stderr
    done = CliRunner().invoke(app, ["consistency", str(bad), "--problems", "AIME"])
    assert done.exit_code == 2 and "BENCHMARK=N" in done.stderr


def test_findings_are_footnotes_where_the_numbers_stand():
    from rlvr.statistics.consistency import in_words, pass_at_k_cells

    frame = pd.read_csv(ROOT / "config/reference/ace_table2.csv", dtype=str, keep_default_na=False)
    words = in_words(check_table(pass_at_k_cells(frame)))
    assert len(words) == 5 and words[0].startswith("Llama-3.1-8B-Instruct, Base: not ") and "0.7 > 2 x 0.2" in words[0]
