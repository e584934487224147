"""Adapters of sets of programs: tests, packed texts, dates."""

import base64
import json
import os
import pickle
import zlib
from pathlib import Path

import pytest
from support.published_sets import SETS, lines, livecodebench_row, loaded, packed, parquet, rlvr

from rlvr.data import adapters, published
from rlvr.data.adapters import LeftOut, taco
from rlvr.data.rows import DataError
from rlvr.records import Problem, read_records


def test_livecodebench_tests_are_read_from_json_and_from_packed_texts(tmp_path):
    hidden = [{"input": "5 6\n", "output": "11\n", "testtype": "stdin"}]
    called = [
        {"input": '[1, 2]\n"x"', "output": "[2]", "testtype": "functional"},
        {"input": "[1]\nNaN", "output": "[1]", "testtype": "functional"},
        {"input": "[1", "output": "[1]", "testtype": "functional"},
    ]
    starter = "class Solution:\n    def f(self, a, b):\n        "
    function = {"public_test_cases": "[]", "starter_code": starter, "metadata": '{"func_name": "f"}'}
    rows = [
        livecodebench_row("a", json.dumps(hidden)),
        livecodebench_row("b", packed(json.dumps(hidden))),
        livecodebench_row("c", packed(json.dumps(called)), **function),
    ]
    problems, tally = loaded("livecodebench-v6", lines(tmp_path / "test6.jsonl", rows))
    tests = [{"input": "1 2\n", "output": "3\n"}, {"input": "5 6\n", "output": "11\n"}]
    assert [json.loads(p.gold) for p in problems[:2]] == [{"kind": "stdin", "tests": tests, "memory_mb": 1024}] * 2
    called_test = {"input": [[1, 2], "x"], "output": [2]}
    expected = {"kind": "call", "entry": "f", "tests": [called_test], "memory_mb": 1024}
    assert json.loads(problems[2].gold) == expected
    assert tally.tests_dropped == {"out of range": 1, "no list of arguments": 1}
    assert "standard input" in problems[0].prompt and "def f(self, a, b):" in problems[2].prompt
    assert [p.level for p in problems] == ["easy"] * 3


class Malicious:
    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_a_pickle_that_calls_code_is_refused_and_not_run(tmp_path):
    trace = tmp_path / "executed"
    path = lines(tmp_path / "test6.jsonl", [livecodebench_row("a", packed(Malicious(trace)))])
    with pytest.raises(adapters.UntrustedFile, match="more than a text"):
        loaded("livecodebench-v6", path)
    done = rlvr("prepare", "livecodebench-v6", "--from", str(path), "--out", str(tmp_path / "out"))
    assert done.exit_code == 2 and "more than a text" in done.stderr and not (tmp_path / "out").exists()
    assert not trace.exists()
    for content in (["no", "text"], {"a": 1}, os.system, 5):
        with pytest.raises(adapters.UntrustedFile, match="more than a text"):
            loaded("livecodebench-v6", lines(tmp_path / "t.jsonl", [livecodebench_row("a", packed(content))]))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_text_is_read_from_a_pickle_of_any_protocol(protocol):
    from rlvr.data.adapters.livecodebench import pickled_text

    for text in ("", "[1]", "é\n\\ \u2028 \U0001f600", "x" * 300):
        assert pickled_text(pickle.dumps(text, protocol)) == text
    with pytest.raises(adapters.UntrustedFile):
        pickled_text(pickle.dumps(os.system, protocol))


def test_packed_tests_that_are_not_what_they_say(tmp_path, monkeypatch):
    damaged = base64.b64encode(zlib.compress(pickle.dumps("[" * 10)[:-4])).decode()
    no_zlib = base64.b64encode(b"no zlib").decode()
    rows = [livecodebench_row(content[:4], content) for content in ("not base64!", no_zlib, damaged, packed("no json"))]
    message = "no problem in 4 rows; 4 left out, private tests not readable: rows 1, 2, 3, 4"
    with pytest.raises(DataError, match=message):
        published.write(SETS["livecodebench-v6"], (lines(tmp_path / "t.jsonl", rows),), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]
    from rlvr.data.adapters import livecodebench

    monkeypatch.setattr(livecodebench, "LARGEST", 100)
    with pytest.raises(adapters.UntrustedFile, match="larger than 100 bytes"):
        livecodebench.private(packed("x" * 10_000))


def test_livecodebench_is_cut_by_dates_both_included(tmp_path):
    dates = ["2024-06-30", "2024-07-01", "2024-08-01", "2025-01-01", "2025-01-02", "2025-05-31", "2025-06-01"]
    rows = [livecodebench_row(day, "[]", f"{day}T00:00:00") for day in dates]
    path = lines(tmp_path / "test.jsonl", rows)
    windows = {"livecodebench-v6": (0, 7), "livecodebench-v6-fade": (2, 6), "livecodebench-v6-pacs": (1, 4)}
    for name, (first, last) in windows.items():
        problems, tally = loaded(name, path)
        assert [p.prompt[:10] for p in problems] == dates[first:last]
        assert tally.left_out["outside the dates"] == 7 - (last - first)


def test_taco_without_eval(tmp_path):
    long = "9" * 5000

    def row(name, tests, **more):
        return {"question": name, "input_output": tests, "starter_code": "", "difficulty": "EASY", **more}

    stdin = {"inputs": ["1\n", "2\n", "3\n"], "outputs": ["1\n", "", "3\n"]}
    call = {"fn_name": "f", "inputs": [[1], [2]], "outputs": [[[1]], [[2]]]}
    rows = [
        row("stdin", json.dumps(stdin), time_limit="2.0 seconds"),
        row("lines", '{"inputs": [["1", "2"]], "outputs": [["3"]]}', memory_limit="512 mb", time_limit="12.0 seconds"),
        row("literal", "{'inputs': ['1'], 'outputs': ['2']}", time_limit="None"),
        row("wrapped", json.dumps(call), starter_code="def f(x):\n"),
        row("mixed", json.dumps({**call, "outputs": [[1], [2, 3]]})),
        row("long", f'{{"fn_name": "f", "inputs": [[{long}], [1]], "outputs": [[1], [NaN]]}}'),
        row("some", f'{{"fn_name": "f", "inputs": [[{long}], [1]], "outputs": [1, 2]}}'),
        row("code", "__import__('os').system('false')"),
        row("unequal", json.dumps({"inputs": ["1"], "outputs": []})),
        row("none", ""),
        row("numbers", '{"inputs": [[NaN, 1], "1"], "outputs": ["1", "1"]}'),
    ]
    problems, tally = loaded("taco-train", lines(tmp_path / "t.jsonl", rows))
    found = {p.prompt.split("\n")[0]: json.loads(p.gold) for p in problems}
    assert list(found) == ["stdin", "lines", "literal", "wrapped", "mixed", "some", "numbers"]
    one, three = {"input": "1\n", "output": "1\n"}, {"input": "3\n", "output": "3\n"}
    assert found["stdin"] == {"kind": "stdin", "tests": [one, three], "seconds": 4.0}  # of its runner; 2 s of the site
    lines_read = {"kind": "stdin", "tests": [{"input": "1\n2", "output": "3"}], "seconds": 12.0, "memory_mb": 512}
    assert found["lines"] == lines_read
    assert found["literal"]["tests"] == [{"input": "1", "output": "2"}]
    assert found["wrapped"]["tests"] == [{"input": [1], "output": [1]}, {"input": [2], "output": [2]}]
    assert found["mixed"]["tests"] == [{"input": [1], "output": [1]}, {"input": [2], "output": [2, 3]}]
    assert found["some"] == {"kind": "call", "entry": "f", "tests": [{"input": [1], "output": 2}]}
    assert found["numbers"]["tests"] == [{"input": "1", "output": "1"}]
    assert tally.tests_dropped == {"empty output": 1, "out of range": 1, "not a text": 1}
    reasons = ("no usable test", "tests not readable", "inputs and outputs do not match", "no tests")
    assert tally.left_out == dict.fromkeys(reasons, 1)


def test_code_contests_takes_all_three_kinds_of_tests(tmp_path):
    def tests(*pairs):
        return {"input": [i for i, _ in pairs], "output": [o for _, o in pairs]}

    base = {
        "public_tests": tests(("1", "1")),
        "private_tests": tests(("2", "2"), ("3", "")),
        "generated_tests": tests(),
        "time_limit": {"seconds": 12, "nanos": 500_000_000},
        "memory_limit_bytes": 512_000_000,
        "input_file": "",
        "output_file": "",
    }
    empty = {"public_tests": tests(), "private_tests": tests(), "generated_tests": tests()}
    rows = [
        {"description": "all", **base},
        {"description": "file", **base, "input_file": "in.txt"},
        {"description": "none", **base, **empty},
        {"description": "free", **base, "time_limit": None, "memory_limit_bytes": 0},
    ]
    for path in (lines(tmp_path / "c.jsonl", rows), parquet(tmp_path / "c.parquet", rows)):
        problems, tally = loaded("code-contests-train", path)
        pairs = [{"input": "1", "output": "1"}, {"input": "2", "output": "2"}]
        same = {"kind": "stdin", "tests": pairs, "checker": "tokens", "tolerance": 1e-5}
        assert json.loads(problems[0].gold) == {**same, "seconds": 12.5, "memory_mb": 512}
        assert json.loads(problems[1].gold) == {**same, "seconds": 10.0}
        assert tally.left_out == {"reads or writes a file": 1, "no usable test": 1}
        assert tally.tests_dropped == {"empty output": 2}


def test_open_code_reasoning_takes_questions_from_the_original_sets(tmp_path):
    def row(dataset, split, index, response="<think>...", **more):
        found = {"question": "-", "dataset": dataset, "split": split, "index": index, "r1_generation": response}
        return found | {"judgement": "right", "difficulty": "EASY"} | more

    brought = tmp_path / "data"
    parquet(brought / "taco-train" / "train-00000-of-00001.parquet", [{"question": "T0", "input_output": ""}] * 1)
    parquet(brought / "code-contests-train" / "train-0.parquet", [{"description": "C0"}, {"description": "C1"}])
    parquet(brought / "code-contests-valid" / "valid-0.parquet", [{"description": "V0"}])
    lines(brought / "apps-train" / "train.jsonl", [{"question": "A0"}])
    lines(brought / "apps-test" / "test.jsonl", [{"question": "B0"}])
    rows = [
        row("taco", "train", "0", "wrong one", judgement="wrong"),
        row("taco", "train", "0", "first"),
        row("taco", "train", "0", "second"),
        row("code_contests", "train", "1", "third"),
        row("apps", "test", "0", "fourth"),
        row("apps", "test", "1"),
        row("open-r1/codeforces", "train", "0"),
        row("taco", "train", "-"),
    ]
    path = parquet(tmp_path / "r.parquet", rows)
    tally = published.write(SETS["open-code-reasoning-2"], (path,), tmp_path / "out", brought, any_count=True)
    assert [p.prompt for p in read_records(tmp_path / "out" / "problems.jsonl", Problem)] == ["T0", "C1", "B0"]
    shown = [json.loads(line) for line in (tmp_path / "out" / "demonstrations.jsonl").read_text().splitlines()]
    assert [d["response"] for d in shown] == ["first", "third", "fourth"]
    assert [d["id"] for d in shown] == [f"open-code-reasoning-2-{i}" for i in range(3)]
    assert tally.left_out == {"judged wrong": 1, "question not found in its original set": 3}
    assert (tally.repeated, tally.contradicting, tally.demonstrations) == (1, 0, 3)


def test_problems_of_taco_that_need_a_special_judge_are_left_out(tmp_path):
    tests = json.dumps({"inputs": ["1"], "outputs": ["1"]})
    rows = [{"question": f"q{i}", "input_output": tests} for i in range(1000)]
    tally = published.write(SETS["taco-test"], (lines(tmp_path / "t.jsonl", rows),), tmp_path / "out")
    assert tally.left_out == {"needs a special judge": 218} and tally.problems == 782
    kept = {p.prompt.split("\n")[0] for p in read_records(tmp_path / "out" / "problems.jsonl", Problem)}
    assert "q4" in kept and not kept & {"q5", "q10", "q992"}
    with pytest.raises(DataError, match=r"3 problems, and 1000 are published, without those .* 782"):
        published.write(SETS["taco-test"], (lines(tmp_path / "t.jsonl", rows[:3]),), tmp_path / "out")


def test_limits_of_taco_are_read_with_their_units():
    for text, seconds in {"2.0 seconds": 2.0, "500 ms": 0.5, "0": None, "": None}.items():
        assert taco.limit(text, taco.SECONDS) == seconds
    for text, memory in {"256.0 megabytes": 256.0, "1.5 gigabytes": 1536.0, "268435456 bytes": 256.0}.items():
        assert taco.limit(text, taco.MEGABYTES) == memory
    with pytest.raises(LeftOut, match="unknown unit"):
        taco.limit("2 fortnights", taco.SECONDS)
