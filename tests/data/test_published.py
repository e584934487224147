"""How many problems a set has, and what it is compared to."""

import pytest
from conftest import spec_file
from support.published_sets import SETS, dapo_row, lines, parquet, rlvr

from rlvr.data import prepare, published
from rlvr.data.rows import DataError
from rlvr.files import read_json


def test_a_file_with_another_number_of_problems_is_an_error_unless_asked_for(here):
    rows = [{"problem": f"p{i}", "answer": str(i) if i % 5 < 3 else "x"} for i in range(30)]
    lines(here / "a.jsonl", rows)
    done = rlvr("prepare", "aime-2025", "--from", "a.jsonl")
    assert done.exit_code == 2 and done.stderr.count("\n") == 1 and not list((here / "data").rglob("*"))
    for part in ("18 problems, and 30 are published", "12 left out, answer is no integer: rows 4, 5, 9, 10, 14, ..."):
        assert part in done.stderr
    assert "--any-count" in done.stderr and "`slack`" in done.stderr
    done = rlvr("prepare", "aime-2025", "--from", "a.jsonl", "--any-count")
    assert done.exit_code == 0 and "18 problems" in done.stdout and "published are 30" in done.stdout
    # What was asked for by hand is not taken by a run, unless the entry says so.
    spec = SETS["aime-2025"]
    with pytest.raises(SystemExit, match="aime-2025: 18 problems, and 30 are published"):
        prepare.main(spec_file(spec), here / "results" / "a")
    (here / "data" / "aime-2025" / "problems.jsonl").unlink()
    lines(here / "data" / "aime-2025" / "test.jsonl", rows)
    with pytest.raises(SystemExit, match="aime-2025: 18 problems, and 30 are published"):
        prepare.main(spec_file(spec), here / "results" / "a")
    assert not (here / "results" / "a" / "problems.jsonl").exists()
    prepare.main(spec_file(spec.model_copy(update={"slack": 0.4})), here / "results" / "a")
    assert read_json(here / "results" / "a" / "card.json")["problems"] == 18


def test_more_problems_than_published_are_an_error_too_and_repeated_rows_are_none(tmp_path):
    rows = [{"problem": f"p{i}", "answer": "1"} for i in range(31)]
    with pytest.raises(DataError, match="31 problems, and 30 are published"):
        published.write(SETS["aime-2025"], (lines(tmp_path / "a.jsonl", rows),), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    tally = published.write(SETS["aime-2025"], (lines(tmp_path / "a.jsonl", rows[:30] * 32),), tmp_path / "out")
    assert (tally.rows, tally.problems, tally.repeated) == (960, 30, 930)
    few = [{"problem": f"p{i}", "answer": "1"} for i in range(490)]
    published.write(SETS["math-500"], (lines(tmp_path / "a.jsonl", few),), tmp_path / "out")
    with pytest.raises(DataError, match="489 problems, and 500"):
        published.write(SETS["math-500"], (lines(tmp_path / "a.jsonl", few[:489]),), tmp_path / "out")


def test_a_file_in_another_sets_format_is_refused(tmp_path):
    aime = parquet(tmp_path / "aime-2024.parquet", [dapo_row(f"p{i}", str(i)) for i in range(30)])
    for name, message in (
        ("dapo-math-17k-raw", "30 problems, and 17917 are published"),
        ("dapo-math-17k", r"no field \['solution'\]"),
        ("aime-2024", r"no field \['problem'\]"),
        ("gpqa-diamond", "no field"),
    ):
        with pytest.raises(DataError, match=message):
            published.write(SETS[name], (aime,), tmp_path / "out")
    words = lines(tmp_path / "math.jsonl", [{"problem": f"p{i}", "answer": "1", "solution": "s"} for i in range(500)])
    for name in ("aime-2025", "beyond-aime", "math-test", "geometry3k-test"):
        with pytest.raises(DataError, match=r"500 problems|no problem in 500 rows|no field"):
            published.write(SETS[name], (words,), tmp_path / "out")
