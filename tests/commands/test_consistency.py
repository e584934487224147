"""Laws of pass@k, on rows that keep them, rows that break each, and the published tables."""

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from typer.testing import CliRunner, Result

from rlvr.commands import app
from rlvr.items.layout import of as layout_of
from rlvr.planning.expansion import make_plan
from rlvr.statistics.consistency import (
    UNCERTAINTY,
    Printed,
    beyond_problems,
    beyond_range,
    check,
    check_table,
    granularity,
    in_words,
    of_uncertainty,
    pass_at_k_cells,
)
from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.tables.pass_at_k import _consistency, published

REFERENCE = sorted((ROOT / "config" / "papers").glob("*/reference/*.csv"))


def laws(values: dict[int, str]) -> set[str]:
    return {finding.law for finding in check([Printed.of(k, value) for k, value in values.items()])}


def consistency(*words) -> Result:
    return CliRunner().invoke(app, ["consistency", *map(str, words)])


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


def width(value: str, half: str, law, *size: int):
    return law(Printed.of(256, value), Printed.of(256, half), *size)


def test_an_uncertainty_stays_within_0_and_100():
    """100.0 is at least 99.95 and 1.9 at least 1.85, so they reach 101.8; 98.2 ± 1.9 may end at 100."""
    assert width("100.0", "1.9", beyond_range).by == pytest.approx(1.8)
    assert width("98.1", "1.9", beyond_range) is None and width("98.2", "1.9", beyond_range) is None
    assert width("98.3", "1.9", beyond_range).by == pytest.approx(0.1)
    assert width("0.3", "0.3", beyond_range) is None and width("0.3", "0.5", beyond_range).by == pytest.approx(0.1)
    assert width("100", "0.0", beyond_range) is None, "0.0 may be 0"


def test_an_uncertainty_is_no_wider_than_problems_and_samples_make_it():
    """1.96 sqrt(96.25 x 3.75 / 5000) = 0.527; 1.96 sqrt(99.95 x 0.05 / 40) = 0.693; at 50 % of 25 problems 19.6."""
    assert width("96.3", "1.3", beyond_problems, 5000).by == pytest.approx(1.25 - 0.52660, abs=1e-4)
    assert width("96.3", "0.5", beyond_problems, 5000) is None
    assert width("100.0", "1.9", beyond_problems, 40).by == pytest.approx(1.85 - 0.69277, abs=1e-4)
    assert width("97.5", "1.8", beyond_problems, 40) is None, "1.96 sqrt(97.45 x 2.55 / 40) = 4.9"
    assert width("50", "20", beyond_problems, 25) is None and width("50", "21", beyond_problems, 25) is not None


@pytest.mark.parametrize(("n", "a", "b"), [(1, 0.2, 0.2), (8, 0.3, 1.0), (64, 1.0, 1.0), (64, 5.0, 0.2)])
def test_real_errors_keep_the_bound_at_every_k(n, a, b):
    """Over sets of 60 problems, drawn and sampled n times. At k = n a problem has 0 or 1: the bound is reached."""
    generator = np.random.Generator(np.random.Philox(11))
    c_SN = generator.binomial(n, generator.beta(a, b, size=(4000, 60)))
    for k in (k for k in (1, 4, 16, 64) if k <= n):
        means = 100 * pass_at_k(n, c_SN.ravel(), k).reshape(c_SN.shape).mean(axis=1)
        bound = np.sqrt(means.mean() * (100 - means.mean()) / 60)
        assert means.std() <= 1.03 * bound, "1.03: of 4,000 sets"
        if k == n:
            assert means.std() >= 0.97 * bound


def test_uncertainties_are_checked_beside_a_value_and_in_their_column(tmp_path):
    for text in ("k,value\n1,90\n256,100.0 ± 1.9\n", "k,value,ci\n1,90,\n256,100.0,1.9\n"):
        table = tmp_path / "row.csv"
        table.write_text(text)
        done = consistency(table)
        assert done.exit_code == 0 and "not ± within 0 and 100: k = 256: 100 ± 1.9, by at least 1.8" in done.stdout
        assert "0 of 1 rows" in done.stdout and "1 of 1 rows with a ± have one" in done.stdout
    table.write_text("benchmark,k,value,ci\nAIME,64,50,30\n")  # one k is enough, and --samples is not needed
    assert "0 of 1 rows with a ±" in consistency(table).stdout
    assert "of 30 problems, at most 18" in consistency(table, "--problems", "AIME=30").stdout
    table.write_text("k,value,ci\n1,0.90,0.20\n2,0.95,\n")
    assert "k = 1: 90 ± 20, by at least 9" in consistency(table).stdout, "fractions"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("256,97.5,wide", "line 2: ci: must be a number such as 0.2"),
        ("256,97.5,-1", "line 2: ci: must be a number such as 0.2"),
        ("256,97.5 ± 1.2,1.4", "line 2: ci: the value has a ± of its own (1.2); remove one of them"),
    ],
)
def test_an_uncertainty_that_cannot_be_read_is_an_error(tmp_path, line, message):
    table = tmp_path / "row.csv"
    table.write_text(f"k,value,ci\n{line}\n")
    done = consistency(table)
    assert done.exit_code == 2 and message in done.stderr, done.stderr


def test_the_published_uncertainties():
    """A-GRAE's version 3: all of MATH from k = 32 on, and where AMC23 is at 100.0. ACE's keep both laws."""
    sizes = {"MATH": 5000, "AIME2025": 30, "AMC23": 40, "MATH-500": 500}
    frames = [pass_at_k_cells(pd.read_csv(path, dtype=str, keep_default_na=False)) for path in REFERENCE]
    assert {frame["paper"].iloc[0] for frame in frames if len(frame) and frame["ci"].any()} == {"ACE", "A-GRAE"}
    found = pd.concat([check_table(frame, sizes) for frame in frames])
    found = found[of_uncertainty(found)]
    assert set(found["paper"]) == {"A-GRAE"} and set(found["table"]) == {"T2"} and set(found["law"]) == set(UNCERTAINTY)
    at = found["where"].str.extract(r"k = (\d+)")[0].astype(int)
    math = found["benchmark"] == "MATH"
    assert {9} == {(math & (at == k)).sum() for k in (32, 64, 128, 256)} and set(at[~math]) == {256}
    beyond = found[found["law"] == UNCERTAINTY[0]]
    assert set(beyond["method"]) == {"Base Model", "DAPO + A-GRAE", "Dr.GRPO + A-GRAE"}
    assert set(beyond["benchmark"]) == {"AMC23"} and len(beyond) == 3


def test_the_published_tables():
    """Five rows of ACE's Table 2 (all of Llama), eight of A-GRAE, one of PACS; found by hand before."""
    found = []
    for path in REFERENCE:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        frame = frame[frame["k"].str.fullmatch(r"\d+") & frame["value"].str.fullmatch(r"\d+(\.\d+)?")]
        found.append(check_table(frame))
    every = pd.concat(found)
    rows = (
        every[~of_uncertainty(every)].groupby(["paper", "table", "model", "method", "benchmark"]).size().reset_index()
    )
    assert rows.groupby("paper").size().to_dict() == {"ACE": 5, "A-GRAE": 8, "PACS": 1}
    ace = rows[rows["paper"] == "ACE"]
    assert set(ace["model"]) == {"Llama-3.1-8B-Instruct"} and set(ace["table"]) == {"T2"}


def test_the_command_lists_findings_and_counts_rows():
    done = consistency(*REFERENCE)
    assert done.exit_code == 0, done.output
    assert "ACE  T2  Llama-3.1-8B-Instruct  GRPO" in done.stdout and "\n14 of " in done.stdout
    table = ROOT / "config/papers/agrae/reference/table2.csv"
    sized = consistency(table, "--samples", "256", "--problems", "AIME2025=30", "--csv")
    assert "a multiple of 1 / problems" in sized.stdout and "47.3" in sized.stdout


def test_k_and_value_are_enough_of_a_single_row(tmp_path):
    table = tmp_path / "row.csv"
    table.write_text("k,value\n1,10\n2,30\n4,31\n")
    done = consistency(table)
    assert done.exit_code == 0 and "the row without a name\n    not pass@mk at most m pass@k" in done.stdout
    assert "1 of 1 rows" in done.stdout


def test_the_command_names_what_is_wrong(tmp_path):
    bad = tmp_path / "bad.csv"
    for header, message in (
        ("paper,k", "the column value is missing; valid keys: "),
        ("modle,k,value", 'the column model is missing; unknown key "modle"; did you mean "model"?'),
    ):
        bad.write_text(f"{header}\nA,1,2\n")
        done = consistency(bad)
        assert done.exit_code == 2 and message in done.stderr
    done = consistency(tmp_path / "none.csv")
    assert done.exit_code == 2 and "none.csv" in done.stderr
    for word in ("AIME", "=3", "AIME=0", "AIME=²", "AIME=" + "9" * 5000):
        done = consistency(bad, "--problems", word)
        assert done.exit_code == 2 and "BENCHMARK=N" in done.stderr


# ---- what is printed in tables ----


def checked(tmp_path, *lines: str, options: tuple[str, ...] = (), encoding: str = "utf-8"):
    """The command on a table of these lines (k and value, or whole lines)."""
    file = tmp_path / "table.csv"
    whole = [line if line.count(",") > 2 else f"P,T1,model,method,AIME,{line}" for line in lines]
    file.write_text("\n".join(["paper,table,model,method,benchmark,k,value", *whole, ""]), encoding=encoding)
    return consistency(file, *options)


@pytest.mark.parametrize(
    ("first", "half"),
    [
        ("28.81", 0.005), ("28.81%", 0.005), (r"28.81\%", 0.005), (" 28.81 ", 0.005), ("28.81 ± 0.2", 0.005),
        ("28.81%±0.2%", 0.005), ("28.81 +/- 1", 0.005), (r"28.81 \pm 0.25", 0.005), ("28.8", 0.05), ("29", 0.5),
    ],
)  # fmt: skip
def test_a_value_is_read_as_it_is_printed(tmp_path, first, half):
    """The next value is lower: by how much at least says how the first was read."""
    done = checked(tmp_path, f"1,{first}", "2,20.000", options=("--csv",))
    assert done.exit_code == 0, done.stderr
    by = float(done.stdout.splitlines()[1].rsplit(",", 1)[1])
    value = float(first.split("%")[0].split("\\")[0].split("±")[0].split("+")[0])
    assert by == pytest.approx(value - half - 20.0005, abs=1e-9)


def test_fractions_are_read_as_such_where_all_of_a_file_are(tmp_path):
    done = checked(tmp_path, "1,0.40", "2,0.30")
    assert "read as fractions" in done.stderr and "k = 1, 2: 40, 30, by at least 9 points" in done.stdout
    for more in ("4,1.5", "4,0.9%"):  # one value over 1, or a percent sign: all are in percent
        done = checked(tmp_path, "1,0.40", "2,0.30", more)
        assert "read as fractions" not in done.stderr and "k = 1, 2: 0.4, 0.3, by at least 0.09 points" in done.stdout
    sizes = ("--samples", "2", "--problems", "AIME=30")
    sized = checked(tmp_path, "1,0.40", "2,0.50", options=sizes)
    assert "0 of 1 rows" in sized.stdout and "1 values at k = 2 were compared" in sized.stderr
    assert "a multiple of 1 / problems" in checked(tmp_path, "1,0.40", "2,0.52", options=sizes).stdout


@pytest.mark.parametrize("k", ["8", " 8 ", "8.0", "pass@8"])
def test_k_is_read_as_it_is_printed(tmp_path, k):
    done = checked(tmp_path, "1,50", f"{k},40")
    assert "k = 1, 8: 50, 40" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('2,"30,0"', "line 3: value: must be a number such as"),
        ("2,about 30", "line 3: value: must be a number such as"),
        ("2,-3", "line 3: value: must be a number such as"),
        ("2,100.5", "line 3: value: pass@k is at most 100 percent (got '100.5')"),
        ("2," + "9" * 5000, "line 3: value: must be a number such as"),
        ("2,0." + "9" * 5000, "line 3: value: must be a number such as"),
        ("9" * 5000 + ",30", "line 3: k: must be between 1 and 999,999,999"),
        ("0,30", "line 3: k: must be between 1 and 999,999,999"),
        ("1,30", "line 3: k = 1 of this row is in line 2 too"),
        ("P,T1,model,method,AIME,2,30,more", "line 3: has 8 fields, the header has 7"),
        ("P,T1,model,method,AIME,2", "line 3: has 6 fields, the header has 7"),
        ('P,T1,"model,method,AIME,2,30', "line 3: unexpected end of data"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_line(tmp_path, line, message):
    done = checked(tmp_path, "1,20", line)
    assert done.exit_code == 2 and done.stdout == "" and message in done.stderr, done.stderr[:300]
    assert len(done.stderr) < 400 and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (("1,20",), (), "nothing to check: no row has a value at two k"),
        (("10k,20", ",20", "8,", "16,-"), (), "nothing to check"),
        ((), (), "nothing to check"),
        (("1,20", "2,30"), ("--problems", "AIM=30", "--samples", "2"), "no row has the benchmark 'AIM'; did you mean"),
        (("1,20", "2,30"), ("--problems", "AIME=30"), "--samples and --problems: each needs the other"),
        (("1,20", "2,30"), ("--samples", "2"), "--samples and --problems: each needs the other"),
        (("1,20", "2,30"), ("--samples", "4", "--problems", "AIME=30"), "--samples: no row of AIME has k = 4"),
        (("1,20", "2,30"), ("--samples", "2", *2 * ("--problems", "AIME=30")), "--problems: 'AIME' is given twice"),
    ],
)
def test_nothing_checked_is_an_error(tmp_path, lines, options, message):
    done = checked(tmp_path, *lines, options=options)
    assert done.exit_code == 2 and done.stdout == "" and message in done.stderr, done.stderr


def test_what_is_not_checked_is_counted(tmp_path):
    done = checked(tmp_path, "1,20", "2,30", "4,-", "10k,5", "P,T1,model,other,AIME,1,20")
    assert done.exit_code == 0 and "0 of 1 rows in 1 files" in done.stdout
    assert "not checked: 1 rows with a single k, 2 lines without a whole k or a value" in done.stderr


def test_a_table_from_a_spreadsheet(tmp_path):
    """With a byte order mark, in UTF-16, or with a column twice."""
    assert "1 of 1 rows" in checked(tmp_path, "1,30", "2,20", encoding="utf-8-sig").stdout
    done = checked(tmp_path, "1,30", "2,20", encoding="utf-16")
    assert done.exit_code == 2 and "table.csv: not UTF-8: byte 0" in done.stderr
    file = tmp_path / "twice.csv"
    file.write_text("paper,table,model,method,benchmark,k,value,value\nP,T1,model,method,AIME,1,20,30\n")
    assert "the column 'value' is there twice" in consistency(file).stderr


def test_findings_are_footnotes_where_the_numbers_stand():
    frame = pd.read_csv(ROOT / "config/papers/ace/reference/table2.csv", dtype=str, keep_default_na=False)
    words = in_words(check_table(pass_at_k_cells(frame)))
    assert len(words) == 5 and "0.7 > 2 x 0.2" in words[0]
    assert words[0].startswith("Llama-3.1-8B-Instruct, Base on AIME2025: not ")


def test_a_table_has_footnotes_on_its_own_benchmarks_alone():
    """MATH's row is not concave, and neither is one of AIME 2025."""
    plan, reference = make_plan(ROOT, "paper", ["agrae"]), ROOT / "config/papers/agrae/reference/table6.csv"
    (of_math,), (of_all,) = (_consistency(layout_of(plan, "agrae", name), reference) for name in ("core", "table6"))
    assert "(group level) on MATH: not concave" in of_math and "AIME" not in of_math
    assert of_all.startswith(of_math.removesuffix(".")) and "Easy-Focused on AIME2025: not concave" in of_all


def test_a_table_with_uncertainties_says_which_of_them_no_range_has():
    plan, reference = make_plan(ROOT, "paper", ["agrae"]), ROOT / "config/papers/agrae/reference/table2.csv"
    layout = layout_of(plan, "agrae", "table2")
    values, widths = _consistency(layout, reference, with_width=True)
    assert widths.startswith("Published ± that no range of pass@k has") and "100 ± 1.9" in widths
    assert [values] == _consistency(layout, reference), "without ± in the statistics they are not spoken of"
    assert "version 3" in layout.published_width


def test_a_row_has_the_numbers_of_a_table_of_its_own():
    plan, reference = make_plan(ROOT, "laptop", ["agrae"]), ROOT / "config/papers/agrae/reference/table6.csv"
    table = published(layout_of(plan, "agrae", "core"), reference)
    full = table[(table["method"] == "GRPO + A-GRAE") & (table["benchmark"] == "MATH") & (table["k"] == 1)]
    assert full["value"].tolist() == [78.3] and full["table"].tolist() == ["T2"]
    assert table.groupby(["method", "benchmark", "k"]).size().eq(1).all(), "no number is there twice"
    references = plan.papers["agrae"].item("core").references()
    assert references == ["agrae/reference/table6.csv", "agrae/reference/table2.csv"]
