"""Rows of other types and damaged files."""

import gzip
import json

import pytest
from support.published_sets import (
    GOOD,
    QUESTION,
    SETS,
    TESTS,
    dapo_row,
    golds,
    gpqa_row,
    lines,
    livecodebench_row,
    loaded,
    rlvr,
)

from rlvr.config.registries import ADAPTERS
from rlvr.data import adapters, published
from rlvr.data.adapters import LeftOut
from rlvr.data.rows import DataError, read

ODD = ({"odd": 1}, [None], [["odd"]], [{"odd": 1}], True, float("nan"), float("inf"), 10**400, 7.25e300, b"odd", None)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_value_of_another_type_never_becomes_a_text(name):
    adapter, spec = ADAPTERS.load(name), next(data for data in SETS.values() if data.adapter == name)
    assert set(GOOD[name]) == set(adapter.fields)
    good = adapter.adapt(adapters.Row(GOOD[name], adapter.fields), spec)
    assert good.prompt.startswith(QUESTION)
    refused = 0
    for field in set(GOOD[name]) - {"dataset", "split", "index"}:  # those are looked up by rlvr.data.joins
        for value in ODD:
            try:
                made = adapter.adapt(adapters.Row({**GOOD[name], field: value}, adapter.fields), spec)
            except (LeftOut, *published.UNFIT):
                refused += 1
                continue
            texts = " ".join((made.prompt, made.gold, made.level, made.cluster, made.response or "")).lower()
            assert not any(word in texts for word in ("odd", "none", "nan", "true", "inf")), (field, value, made)
    assert refused > 2 * len(ODD) / 3


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("math-500", {"problem": "p", "answer": {"a": 1}}, "row 1: .*`answer` must be a text, and is an object"),
        ("math-500", {"problem": ["p"], "answer": "1"}, "`problem` must be a text, and is a list"),
        ("math-500", {"problem": "p", "answer": float("nan")}, "1 left out, no answer: row 1"),
        ("dapo-math-17k", {"prompt": [{"content": "p"}], "solution": "1"}, "`prompt` must be a text, and is a list"),
        ("dapo-math-17k-raw", dapo_row("p", "1") | {"prompt": [{"content": None}]}, "1 left out, no question"),
        ("gpqa-diamond", gpqa_row("q") | {"Incorrect Answer 1": "right"}, "1 left out, two options are equal"),
        ("livecodebench-v6", livecodebench_row("a", "[]", 5), "`contest_date` must be a text, and is a number"),
        ("livecodebench-v6", livecodebench_row("a", "[]", "5 May"), "`contest_date` must be a date such as"),
        ("taco-train", {"question": "q", "input_output": TESTS, "memory_limit": "9" * 400}, "a limit out of range"),
        ("taco-train", {"question": "q", "input_output": '["inputs"]'}, "1 left out, tests not readable"),
        ("taco-train", {"question": "q", "input_output": '{"inputs":' * 100_000}, "1 left out, tests not readable"),
        ("livecodebench-v6", livecodebench_row("a", "[" * 100_000), "row 1: .*RecursionError"),
    ],
)
def test_a_row_of_other_types_is_refused_or_left_out(tmp_path, name, row, message):
    with pytest.raises(DataError, match=message):
        loaded(name, lines(tmp_path / "set.jsonl", [row]))


def test_numbers_are_read_as_their_digits(tmp_path):
    rows = [{"problem": str(value), "answer": value} for value in (2, 2.0, 2.5, -3)]
    expected = [("2", "2"), ("2.0", "2"), ("2.5", "2.5"), ("-3", "-3")]
    assert golds(loaded("math-500", lines(tmp_path / "a.jsonl", rows))[0]) == expected


GOOD_ROWS = "".join(json.dumps({"problem": f"p{i}", "answer": "1"}) + "\n" for i in range(30)).encode()
DEEP = b'{"problem": ' + b"[" * 100_000
DAMAGED = {  # contents of files of aime-2025 with one fault, and the row that the message names
    "surrogate.jsonl": (GOOD_ROWS + b'{"problem": "\\ud800", "answer": "1"}\n', "row 31"),
    "surrogate in a list.json": (b'[{"problem": "\\udfff", "answer": "1"}]', "row 1"),
    "deep.jsonl": (GOOD_ROWS + DEEP, "after row 30"),
    "deep.json": (b"[" + DEEP, ""),
    "long integer.jsonl": (GOOD_ROWS + b'{"problem": "p", "answer": ' + b"9" * 5000 + b"}\n", "after row 30"),
    "cut.jsonl.gz": (gzip.compress(GOOD_ROWS)[:-20], ""),
    "damaged.jsonl.gz": (gzip.compress(GOOD_ROWS)[:30] + bytes(60), ""),
    "no gzip.jsonl.gz": (GOOD_ROWS, ""),
    "not utf-8.jsonl": (GOOD_ROWS + b'{"problem": "\xff", "answer": "1"}\n', ""),
    "too many fields.csv": (b"problem,answer\np,1\nq,1,2\n", "after row 1"),
    "a long field.csv": (b"problem,answer\np," + b"1" * 200_000, ""),
    "cut.parquet": (b"PAR1" + bytes(100) + b"PAR1", ""),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_one_line_that_names_it(here, name):
    content, row = DAMAGED[name]
    (here / name).write_bytes(content)
    done = rlvr("prepare", "aime-2025", "--from", name, "--any-count")
    assert done.exit_code == 2 and done.stdout == "", (done.output, done.exception)
    assert done.stderr.startswith(f"rlvr data prepare: aime-2025: {name}") and done.stderr.count("\n") == 1
    assert row in done.stderr and not list((here / "data").rglob("*"))


def test_a_row_that_lacks_a_field_is_named(tmp_path):
    for row, message in (
        ('{"q": "1"}', r"set.jsonl, row 2: no field \['a'\]"),
        ("[1]", "row 2: must be a JSON object"),
    ):
        (tmp_path / "set.jsonl").write_text(f'{{"q": "1", "a": "2"}}\n{row}\n')
        with pytest.raises(DataError, match=message):
            list(read(tmp_path / "set.jsonl", {"prompt": "q", "gold": "a"}, set()))
