"""Published data sets: each format from small files made here, what is left out, cards, overlap, and the command."""

import base64
import csv
import gzip
import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from conftest import ROOT, run_module
from typer.testing import CliRunner

from rlvr import verifiers
from rlvr.commands import app
from rlvr.config.identity import data_id
from rlvr.config.load import ConfigError, named_entries, read_data, read_sources, read_yaml
from rlvr.config.schema.names import ADAPTERS, Mixture, Prompt, Published, Share
from rlvr.data import adapters, card, overlap, prepare, published, similarity, sources
from rlvr.data.adapters import LeftOut, boxed, taco
from rlvr.data.rows import DataError, read
from rlvr.data.sources import DataUnavailable
from rlvr.files import RecordError, read_json
from rlvr.planning.expansion import make_plan
from rlvr.records import Problem, publish_records, read_records, row_of

DATA = read_data(ROOT / "config", ROOT)
SETS = {name: data for name, data in DATA.items() if isinstance(data, Published)}
PNG, JPEG = b"\x89PNG one", b"\xff\xd8\xff two"


def lines(path: Path, rows: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(path: Path, rows: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(path)
    return path


def loaded(name: str | Published, *paths: Path):
    """What is written of some files, and the tally."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        tally = published.write(SETS[name] if isinstance(name, str) else name, paths, out, any_count=True)
        return read_records(out / "problems.jsonl", Problem), tally


def small(name: str) -> Published:
    """A set of which a file of a few rows is as good as the whole."""
    return SETS[name].model_copy(update={"slack": 1.0})


def golds(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.prompt, problem.gold) for problem in problems]


# ---- the entries ----


def test_every_entry_names_an_adapter_a_licence_its_papers_and_their_prompts():
    prompts = named_entries(Prompt, read_yaml(ROOT / "config" / "prompts.yaml", ROOT))
    for name, data in SETS.items():
        assert data.about.papers, name
        assert data.about.licence not in ("", "not stated"), name
        assert published.fields_of(data)
        for paper, prompt in data.about.papers.items():
            assert paper in ("ace", "fade", "lens", "agrae", "pacs")
            assert prompt in prompts or prompt.startswith("not "), (name, prompt)
    assert set(ADAPTERS) == {data.adapter for data in SETS.values()}


def test_the_sets_of_a_paper_file_say_that_the_paper_uses_them():
    for path in (ROOT / "config" / "papers").glob("*.yaml"):
        paper = read_yaml(path, ROOT).content
        named = [paper.get("data"), paper.get("validation_data"), *paper.get("benchmarks", [])]
        for name in set(named) & set(SETS):
            assert paper["name"] in SETS[name].about.papers or paper["name"] == "methods"


def test_what_is_pinned_is_a_commit_and_only_these_are_not():
    assert {name for name, data in SETS.items() if not data.pinned} == {"math-vision", "math-verse"}
    for data in SETS.values():
        assert all(len(original.revision) == 40 for original in data.originals.values())


def test_identities_of_the_embedded_sets_and_models_are_what_they_were():
    """What was made with them stays valid. Facts about a set are in no identity."""
    plan = make_plan(ROOT, "laptop", ["ace"])
    assert {
        "operators-easy-9207694358",
        "operators-hard-95939a95cb",
        "operators-sft-66bef5b463",
        "operators-train-2cc63c8061",
        "operators-validation-7bb22ec696",
    } == set(plan.data)
    assert set(plan.models) == {"llama-tiny-00e0cf2db4", "qwen2-tiny-b70a1eb2b6", "qwen3-tiny-8239efcde5"}
    published_models = {"qwen2.5-math-7b-18d59814bd", "qwen3-8b-base-a22f5fc6c5", "llama-3.1-8b-instruct-b77011fe34"}
    assert set(make_plan(ROOT, "paper", ["ace"]).models) == published_models
    spec = SETS["aime-2024"]
    about = spec.about.model_copy(update={"licence": "another", "defects": "another"})
    assert data_id(spec.model_copy(update={"about": about})) == data_id(spec)
    assert data_id(spec.model_copy(update={"revision": "main"})) != data_id(spec)
    assert data_id(spec.model_copy(update={"since": "2024-01-01"})) != data_id(spec)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("adapter: gpqa", "adapter: gpqq", r"config/datasets.yaml: gpqa-diamond.adapter: "),
        ("shuffle_seed:", "shufle_seed:", r"gpqa-diamond.shufle_seed: unknown key; did you mean 'shuffle_seed'"),
        ('since: "2024-08-01"', 'since: "2024-08-32"', r"livecodebench-v6-fade.since: "),
        (
            "licence: MIT\n    papers: {pacs",
            "license: MIT\n    papers: {pacs",
            r"about.license: unknown key; did you mean",
        ),
    ],
)
def test_a_mistake_in_an_entry_is_named(tmp_path, old, new, message):
    text = (ROOT / "config" / "datasets.yaml").read_text()
    assert old in text
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "datasets.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        read_data(tmp_path / "config", tmp_path)


# ---- prompts ----


@pytest.fixture
def config(tmp_path):
    import shutil

    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


def edited(root: Path, file: str, old: str, new: str) -> Path:
    path = root / "config" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return root


def test_models_have_the_text_of_the_prompt_that_they_name():
    models = read_sources(ROOT, "paper", ["ace"]).models
    assert models["qwen3-8b-base"].template.endswith("within \\boxed{}.\n")
    assert models["qwen2.5-math-7b"].template == models["qwen2.5-0.5b-instruct"].template
    assert models["llama-3.1-8b-instruct"].template.startswith("<|begin_of_text|>")


def test_a_paper_may_name_another_prompt_and_its_stand_in_keeps_its_own(config):
    edited(
        config, "papers/ace.yaml", "qwen2.5-math-7b:\n    settings", "qwen2.5-math-7b:\n    prompt: pacs\n    settings"
    )
    chosen = next(m for m in make_plan(config, "paper", ["ace"]).models.values() if m.name == "qwen2.5-math-7b")
    assert "You are a helpful assistant." in chosen.template
    for scale in ("gpu", "smoke"):
        assert set(make_plan(config, scale, ["ace"]).models) == set(make_plan(ROOT, scale, ["ace"]).models)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "models.yaml",
            "prompt: qwen3-plain",
            "prompt: qwen3-plane",
            r"config/models.yaml: qwen3-8b-base.prompt: unknown prompt 'qwen3-plane'; did you mean 'qwen3-plain'",
        ),
        (
            "papers/ace.yaml",
            "qwen3-8b-base:\n",
            "qwen3-8b-base:\n    prompt: pax\n",
            r"config/papers/ace.yaml: models.qwen3-8b-base.prompt: unknown prompt 'pax'; did you mean 'pacs'",
        ),
        (
            "models.yaml",
            "prompt: qwen3-plain",
            'prompt: qwen3-plain\n  template: "{problem}"',
            r"config/models.yaml: qwen3-8b-base.prompt: unknown key",
        ),
        ("prompts.yaml", "{problem}\\nPlease", "Please", r"prompts.yaml: qwen3-plain.*: the text has no {problem}"),
    ],
)
def test_an_unknown_prompt_is_named(config, file, old, new, message):
    edited(config, file, old, new)
    for scale in ("paper", "gpu"):  # also where a stand-in would not use it
        with pytest.raises(ConfigError, match=message):
            make_plan(config, scale, ["ace"])


# ---- formats ----


def test_word_problems_from_lines_lists_and_parquet(tmp_path):
    rows = [
        {"problem": "1+1?", "answer": "2", "level": 3},
        {"problem": "1+1? ", "answer": "2", "level": 3},
        {"problem": " 1+1?", "answer": "3", "level": 3},
        {"problem": "", "answer": "3", "level": 1},
        {"problem": "No answer", "answer": None, "level": 1},
        {"problem": "A half?", "answer": "\\boxed{\\frac{1}{2}}", "level": 5},
    ]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    for path in (lines(tmp_path / "x.jsonl", rows), parquet(tmp_path / "x.parquet", rows), tmp_path / "x.json"):
        problems, tally = loaded("math-500", path)
        assert golds(problems) == [("1+1?", "2"), ("A half?", "\\frac{1}{2}")]
        assert [(p.id, p.level) for p in problems] == [("math-500-0", "3"), ("math-500-1", "5")]
        assert (tally.rows, tally.repeated, tally.contradicting, tally.problems) == (6, 2, 1, 2)
        assert tally.left_out == {"no question": 1, "no answer": 1}
    no_level = lines(tmp_path / "y.jsonl", [{"problem": "p", "answer": "1", "solution": "long"}])
    assert loaded("deepscaler", no_level)[0] == [Problem("deepscaler-0", "p", "1", "all")]


@pytest.mark.parametrize(
    ("published_as", "gold"),
    [
        ("25", "25"),
        ("025", "25"),
        (27.0, "27"),
        ("27.0", "27"),
        ("336^\\circ", "336"),
        ("336^{\\circ}", "336"),
        ("$70$", "70"),
        ("\\boxed{204}", "204"),
        ("000", "0"),
        ("-3", "-3"),
    ],
)
def test_competition_answers_become_integers(tmp_path, published_as, gold):
    path = lines(tmp_path / "a.jsonl", [{"problem": "p", "answer": published_as}])
    assert loaded("aime-2025", path)[0][0].gold == gold


def test_competitions_are_read_from_copies_with_an_answer_a_boxed_solution_or_both(tmp_path):
    worked = "First $x = \\boxed{5}$ steps, ... so the area is $\\frac{408}{2}$, written $\\frac{m}{n}$."
    boxed_only = [{"problem": f"p{i}", "solution": f"\\boxed{{{i}}}"} for i in range(30)]
    both = [{"problem": f"p{i}", "answer": str(i), "solution": worked} for i in range(30)]
    expected = [(f"p{i}", str(i)) for i in range(30)]
    for rows in (boxed_only, both, [{"problem": row["problem"], "answer": row["answer"]} for row in both]):
        tally = published.write(SETS["aime-2024"], (lines(tmp_path / "a.jsonl", rows),), tmp_path / "out")
        assert golds(read_records(tmp_path / "out" / "problems.jsonl", Problem)) == expected and not tally.left_out
    with pytest.raises(DataError, match="no problem in 1 rows; 1 left out, no answer: row 1"):
        loaded("aime-2024", lines(tmp_path / "a.jsonl", [{"problem": "p"}]))


def test_other_answers_of_competitions_are_left_out(tmp_path):
    rows = [{"question": "p", "answer": 12.5}, {"question": "q", "answer": "12"}, {"question": "r", "answer": "x"}]
    problems, tally = loaded(
        "amc-23", parquet(tmp_path / "a.parquet", [{**r, "answer": str(r["answer"])} for r in rows])
    )
    assert golds(problems) == [("q", "12")] and tally.left_out == {"answer is no integer": 2}


def test_math_golds_come_from_the_original_solution(tmp_path):
    rows = [
        {
            "problem": "a",
            "level": "Level 5",
            "type": "Algebra",
            "solution": "so $\\boxed{\\frac{1}{2}}$.",
            "answer": "12",
        },
        {"problem": "b", "level": "Level 1", "solution": "it is $\\boxed 5$.", "answer": ""},
        {"problem": "c", "level": "Level ?", "solution": "it is $\\fbox{7}$.", "answer": ""},
        {"problem": "d", "level": "Level 2", "solution": "first \\boxed{1}, then \\boxed{2}"},
        {"problem": "e", "level": "Level 2", "solution": "nothing"},
    ]
    problems, tally = loaded("math-train", lines(tmp_path / "m.jsonl", rows))
    assert golds(problems) == [("a", "\\frac{1}{2}"), ("b", "5"), ("c", "7"), ("d", "2")]
    assert [p.level for p in problems] == ["5", "1", "?", "2"] and tally.left_out == {"solution boxes nothing": 1}


def dapo_row(text: str, gold: str) -> dict:
    wrapped = f"Solve the following math problem step by step. (...)\n\n{text}\n\nRemember to put your answer (...)"
    return {
        "data_source": "math_dapo",
        "prompt": [{"role": "user", "content": wrapped}],
        "ability": "MATH",
        "reward_model": {"ground_truth": gold, "style": "rule"},
        "extra_info": {"index": "x"},
    }


def test_dapo_as_first_published_is_unwrapped_and_each_problem_kept_once(tmp_path):
    rows = [dapo_row(f"Two\n\nparagraphs {i}", str(i)) for i in range(3)] * 100
    for path in (parquet(tmp_path / "d.parquet", rows), lines(tmp_path / "d.jsonl", rows)):
        problems, tally = loaded("dapo-math-17k-raw", path)
        assert golds(problems) == [(f"Two\n\nparagraphs {i}", str(i)) for i in range(3)]
        assert (tally.rows, tally.repeated, tally.problems) == (300, 297, 3)
    processed = lines(tmp_path / "p.jsonl", [{"prompt": "Two\n\nparagraphs 0", "solution": "0"}])
    assert golds(loaded("dapo-math-17k", processed)[0]) == golds(problems)[:1]


def test_parquet_is_read_in_pieces_and_without_the_columns_that_nobody_asked_for(tmp_path):
    path = parquet(
        tmp_path / "big.parquet", [{"problem": f"p{i}", "answer": "1", "long": "x" * 100} for i in range(1000)]
    )
    rows = read(path, {"prompt": "problem", "gold": "answer"}, ())
    assert next(rows) == {"prompt": "p0", "gold": "1"} and sum(1 for _ in rows) == 999


def test_numina_without_proofs_answers_not_found_and_invalid_ones(tmp_path):
    def row(answer, kind="math-word-problem", valid="Yes", solved="Yes"):
        flags = {"question_type": kind, "problem_is_valid": valid, "solution_is_valid": solved}
        return {"problem": f"{answer} {kind} {valid} {solved}", "answer": answer, **flags, "solution": "s"}

    rows = [
        row("4"),
        row("B", kind="MCQ"),
        row("proof", kind="proof"),
        row("proof"),
        row("notfound"),
        row("5", valid="Incomplete"),
        row("5", solved="Problem not solved"),
        row(None),
    ]
    problems, tally = loaded("numina-math-1.5", parquet(tmp_path / "n.parquet", rows))
    assert [p.gold for p in problems] == ["4", "B"]
    assert tally.left_out == {
        "proof": 2,
        "answer not found": 1,
        "problem marked invalid": 1,
        "solution marked invalid": 1,
        "no answer": 1,
    }


def gpqa_row(question: str) -> dict:
    return {
        "Question": question,
        "Correct Answer": "right",
        "Incorrect Answer 1": "wrong one",
        "Incorrect Answer 2": "wrong two",
        "Incorrect Answer 3": "wrong, three",
        "High-level domain": "Physics",
        "Explanation": "not read",
    }


def test_gpqa_options_have_an_order_of_the_seed_and_the_question_alone(tmp_path):
    rows = [gpqa_row(f"Question {i}?") for i in range(40)]
    with open(tmp_path / "gpqa_diamond.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    problems, _ = loaded("gpqa-diamond", tmp_path / "gpqa_diamond.csv")
    stated = [json.loads(problem.gold) for problem in problems]
    for problem, gold in zip(problems, stated, strict=True):
        assert f"{gold['letter']}) right" in problem.prompt.split("\n") and problem.level == "Physics"
        assert [f"{letter}) {text}" for letter, text in zip("ABCD", gold["options"], strict=True)] == (
            problem.prompt.split("\n")[2:]
        )
    assert {gold["letter"] for gold in stated} == set("ABCD")
    backwards, _ = loaded("gpqa-diamond", lines(tmp_path / "b.jsonl", rows[::-1]))
    assert sorted(golds(backwards)) == sorted(golds(problems))
    other = SETS["gpqa-diamond"].model_copy(update={"shuffle_seed": 1})
    changed, _ = loaded(other, tmp_path / "gpqa_diamond.csv")
    assert [p.gold for p in changed] != [p.gold for p in problems]
    for answer in (stated[0]["letter"], r"\text{right}"):
        assert verifiers.load("choice")(f"\\boxed{{{answer}}}", problems[0].gold)[0] == "correct"


# ---- programs ----


def packed(content: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(content))).decode()


def livecodebench_row(name: str, private: str, date: str = "2024-09-01T00:00:00", **more) -> dict:
    public = [{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]
    return {
        "question_title": name,
        "question_content": f"{name}: add.",
        "platform": "atcoder",
        "question_id": name,
        "contest_date": date,
        "starter_code": "",
        "difficulty": "easy",
        "public_test_cases": json.dumps(public),
        "private_test_cases": private,
        "metadata": "{}",
    } | more


def test_livecodebench_tests_are_read_from_json_and_from_packed_texts(tmp_path):
    hidden = [{"input": "5 6\n", "output": "11\n", "testtype": "stdin"}]
    called = [
        {"input": '[1, 2]\n"x"', "output": "[2]", "testtype": "functional"},
        {"input": "[1]\nNaN", "output": "[1]", "testtype": "functional"},
        {"input": "[1", "output": "[1]", "testtype": "functional"},
    ]
    function = {
        "public_test_cases": "[]",
        "starter_code": "class Solution:\n    def f(self, a, b):\n        ",
        "metadata": '{"func_name": "f"}',
    }
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
    with pytest.raises(adapters.Refused, match="more than a text"):
        loaded("livecodebench-v6", path)
    done = rlvr("prepare", "livecodebench-v6", "--from", str(path), "--out", str(tmp_path / "out"))
    assert done.exit_code == 2 and "more than a text" in done.stderr and not (tmp_path / "out").exists()
    assert not trace.exists()
    for content in (["no", "text"], {"a": 1}, os.system, 5):
        with pytest.raises(adapters.Refused, match="more than a text"):
            loaded("livecodebench-v6", lines(tmp_path / "t.jsonl", [livecodebench_row("a", packed(content))]))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_text_is_read_from_a_pickle_of_any_protocol(protocol):
    from rlvr.data.adapters.livecodebench import pickled_text

    for text in ("", "[1]", "é\n\\ \u2028 \U0001f600", "x" * 300):
        assert pickled_text(pickle.dumps(text, protocol)) == text
    with pytest.raises(adapters.Refused):
        pickled_text(pickle.dumps(os.system, protocol))


def test_packed_tests_that_are_not_what_they_say(tmp_path, monkeypatch):
    damaged = base64.b64encode(zlib.compress(pickle.dumps("[" * 10)[:-4])).decode()
    no_zlib = base64.b64encode(b"no zlib").decode()
    rows = [livecodebench_row(content[:4], content) for content in ("not base64!", no_zlib, damaged, packed("no json"))]
    with pytest.raises(
        DataError, match=r"no problem in 4 rows; 4 left out, private tests not readable: rows 1, 2, 3, 4"
    ):
        published.write(SETS["livecodebench-v6"], (lines(tmp_path / "t.jsonl", rows),), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]
    from rlvr.data.adapters import livecodebench

    monkeypatch.setattr(livecodebench, "LARGEST", 100)
    with pytest.raises(adapters.Refused, match="larger than 100 bytes"):
        livecodebench.private(packed("x" * 10_000))


def test_livecodebench_is_cut_by_dates_both_included(tmp_path):
    dates = ["2024-06-30", "2024-07-01", "2024-08-01", "2025-01-01", "2025-01-02", "2025-05-31", "2025-06-01"]
    rows = [livecodebench_row(day, "[]", f"{day}T00:00:00") for day in dates]
    path = lines(tmp_path / "test.jsonl", rows)
    for name, first, last in (
        ("livecodebench-v6", 0, 7),
        ("livecodebench-v6-fade", 2, 6),
        ("livecodebench-v6-pacs", 1, 4),
    ):
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
        row(
            "lines",
            json.dumps({"inputs": [["1", "2"]], "outputs": [["3"]]}),
            memory_limit="512.0 megabytes",
            time_limit="12.0 seconds",
        ),
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
    assert tally.left_out == {
        "no usable test": 1,
        "tests not readable": 1,
        "inputs and outputs do not match": 1,
        "no tests": 1,
    }


def test_code_contests_takes_all_three_kinds_of_tests(tmp_path):
    def tests(*pairs):
        return {"input": [i for i, _ in pairs], "output": [o for _, o in pairs]}

    base = {
        "name": "n",
        "public_tests": tests(("1", "1")),
        "private_tests": tests(("2", "2"), ("3", "")),
        "generated_tests": tests(),
        "time_limit": {"seconds": 12, "nanos": 500_000_000},
        "memory_limit_bytes": 512_000_000,
        "input_file": "",
        "output_file": "",
        "solutions": {"language": [3], "solution": ["x"]},
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
    assert [(d["id"], d["response"]) for d in shown] == [
        ("open-code-reasoning-2-0", "first"),
        ("open-code-reasoning-2-1", "third"),
        ("open-code-reasoning-2-2", "fourth"),
    ]
    assert tally.left_out == {"judged wrong": 1, "question not found in its original set": 3}
    assert (tally.repeated, tally.contradicting, tally.demonstrations) == (1, 0, 3)


def test_open_math_reasoning_keeps_problems_with_an_answer_and_their_first_response(tmp_path):
    rows = [
        {"problem": "p", "expected_answer": "1", "problem_type": "has_answer_extracted", "generated_solution": "a"},
        {"problem": "p", "expected_answer": "1", "problem_type": "has_answer_extracted", "generated_solution": "b"},
        {"problem": "q", "expected_answer": "x", "problem_type": "converted_proof", "generated_solution": "c"},
        {"problem": "r", "expected_answer": "x", "problem_type": "no_answer_extracted", "generated_solution": "d"},
    ]
    tally = published.write(
        SETS["open-math-reasoning"], (parquet(tmp_path / "o.parquet", rows),), tmp_path / "out", any_count=True
    )
    assert golds(read_records(tmp_path / "out" / "problems.jsonl", Problem)) == [("p", "1")]
    assert '"response": "a"' in (tmp_path / "out" / "demonstrations.jsonl").read_text()
    assert tally.left_out == {"converted proof": 1, "no answer extracted": 1} and tally.demonstrations == 1


def test_problems_of_taco_that_need_a_special_judge_are_left_out(tmp_path):
    tests = json.dumps({"inputs": ["1"], "outputs": ["1"]})
    rows = [{"question": f"q{i}", "input_output": tests} for i in range(1000)]
    tally = published.write(SETS["taco-test"], (lines(tmp_path / "t.jsonl", rows),), tmp_path / "out")
    assert tally.left_out == {"needs a special judge": 218} and tally.problems == 782
    kept = {p.prompt.split("\n")[0] for p in read_records(tmp_path / "out" / "problems.jsonl", Problem)}
    assert "q4" in kept and not kept & {"q5", "q10", "q992"}
    with pytest.raises(DataError, match=r"3 problems, and 1000 are published, without those .* 782"):
        published.write(SETS["taco-test"], (lines(tmp_path / "t.jsonl", rows[:3]),), tmp_path / "out")


# ---- pictures ----


def picture(data: bytes, path: str = "../../evil.png") -> dict:
    return {"bytes": data, "path": path}


def test_geometry_pictures_stand_beside_the_problems(tmp_path):
    rows = [
        {"images": [picture(PNG)], "problem": "<image>Find x.", "answer": "5"},
        {"images": [picture(JPEG)], "problem": "<image>Find x.", "answer": "6"},  # another picture, another problem
        {"images": [picture(PNG)], "problem": "<image>Find x.", "answer": "5"},
        {"images": [picture(PNG), picture(JPEG)], "problem": "Two.", "answer": "7"},
        {"images": [picture(b"text")], "problem": "Damaged.", "answer": "7"},
        {"images": [], "problem": "None.", "answer": "7"},
    ]
    tally = published.write(
        SETS["geometry3k-test"], (parquet(tmp_path / "g.parquet", rows),), tmp_path / "out", any_count=True
    )
    problems = read_records(tmp_path / "out" / "problems.jsonl", Problem)
    assert [(p.gold, p.images) for p in problems] == [
        ("5", ("images/geometry3k-test-0.png",)),
        ("6", ("images/geometry3k-test-1.jpg",)),
        ("7", ("images/geometry3k-test-2-1.png", "images/geometry3k-test-2-2.jpg")),
    ]
    assert (tmp_path / "out" / problems[1].images[0]).read_bytes() == JPEG
    assert (tally.repeated, tally.left_out) == (1, {"no picture": 2})
    assert len(list((tmp_path / "out" / "images").iterdir())) == 4 and not list(tmp_path.parent.glob("evil*"))


def test_math_vision_lists_options_unless_they_stand_in_the_picture(tmp_path):
    def row(question, options, answer):
        return {"question": question, "options": options, "answer": answer, "level": 2, "decoded_image": picture(PNG)}

    rows = [row("Which?", ["1", "2"], "B"), row("Drawn?", ["A", "B", "C"], "C"), row("How many?", [], "14")]
    problems, _ = loaded("math-vision", parquet(tmp_path / "v.parquet", rows))
    assert golds(problems) == [("Which?\n(A) 1\n(B) 2", "B"), ("Drawn?", "C"), ("How many?", "14")]
    assert problems[0].level == "2" and problems[0].images == ("images/math-vision-0.png",)
    assert verifiers.load("math")("\\boxed{B}", "B")[0] == "correct"


def test_math_verse_versions_share_a_cluster(tmp_path):
    def row(index, version, question, data):
        return {
            "sample_index": "1",
            "problem_index": index,
            "problem_version": version,
            "question": question,
            "image": picture(data),
            "answer": "A",
        }

    rows = [
        row("1", "Text Dominant", "Long text.", PNG),
        row("1", "Vision Only", "", JPEG),
        row("2", "Text Lite", "t", PNG),
    ]
    problems, _ = loaded("math-verse", parquet(tmp_path / "m.parquet", rows))
    assert [p.cluster for p in problems] == ["math-verse-problem-1"] * 2 + ["math-verse-problem-2"]
    assert [p.level for p in problems] == ["Text Dominant", "Vision Only", "Text Lite"]
    assert problems[1].prompt == "The question stands in the picture."


# ---- records ----


def test_a_problem_without_the_new_fields_is_written_as_before(tmp_path):
    plain = Problem("a", "p é", "1", "all")
    publish_records(tmp_path / "p.jsonl", [plain])
    assert (tmp_path / "p.jsonl").read_bytes() == '{"id": "a", "prompt": "p é", "gold": "1", "level": "all"}\n'.encode()
    full = Problem("b", "p", "1", "all", ("images/b.png",), "c")
    publish_records(tmp_path / "p.jsonl", [plain, full])
    assert read_records(tmp_path / "p.jsonl", Problem) == [plain, full]
    for bad in ({"id": "a", "prompt": "p", "gold": "1"}, {**row_of(plain), "picture": 1}):
        with pytest.raises(RecordError, match="line 1"):
            read_records(lines(tmp_path / "bad.jsonl", [bad]), Problem)


# ---- where files are ----


@pytest.fixture
def offline(monkeypatch):
    import huggingface_hub

    def unreachable(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", unreachable)


ROW = {"problem": "p", "answer": "1"}


def test_a_missing_set_says_what_to_bring(tmp_path, offline):
    revision = SETS["aime-2025"].revision
    expected = rf"cannot be reached \(OSError\); bring math-ai/aime25/test.jsonl \(revision {revision}\) as .*aime-2025"
    with pytest.raises(DataUnavailable, match=expected):
        sources.find(SETS["aime-2025"], tmp_path)
    with pytest.raises(DataUnavailable, match=r"as .*/math-train/\*/train-00000-of-00001.parquet"):
        sources.find(SETS["math-train"], tmp_path)


def test_brought_files_are_found_by_name_else_the_only_one(tmp_path, offline):
    spec, home = SETS["aime-2025"], tmp_path / "aime-2025"
    for ours in sources.OURS:
        lines(home / ours, [ROW])  # what preparing wrote there is no published file
    assert sources.brought(spec, home) == []
    other = lines(home / "copy.jsonl", [ROW])
    assert sources.find(spec, tmp_path).paths == (other,)
    lines(home / "third.jsonl", [ROW])
    with pytest.raises(DataUnavailable, match=r"which of copy.jsonl, third.jsonl is the set\? bring"):
        sources.brought(spec, home)
    named = lines(home / "test.jsonl", [ROW])
    found = sources.find(spec, tmp_path)
    assert found.paths == (named,) and found.commit is None
    assert found.sums == {"aime-2025/test.jsonl": hashlib.sha256(named.read_bytes()).hexdigest()}


def test_several_files_are_read_in_order_and_none_may_lack(tmp_path, offline):
    home = tmp_path / "math-train"
    for subject in ("geometry", "algebra"):
        parquet(home / subject / "train-00000-of-00001.parquet", [{"problem": subject, "solution": "\\boxed{1}"}])
    found = sources.find(SETS["math-train"], tmp_path)
    assert [path.parent.name for path in found.paths] == ["algebra", "geometry"] and len(found.sums) == 2
    lines(tmp_path / "livecodebench-v5" / "test.jsonl", [ROW])
    with pytest.raises(DataUnavailable, match=r"test2.jsonl is missing beside the other files; bring "):
        sources.find(SETS["livecodebench-v5"], tmp_path)


def test_a_row_that_is_left_out_of_one_of_several_files_is_named(tmp_path):
    rows = {"algebra": ["\\boxed{1}", "none"], "geometry": ["none", "\\boxed{1}"]}
    paths = [
        parquet(
            tmp_path / name / "train.parquet", [{"problem": f"{name} {i}", "solution": s} for i, s in enumerate(made)]
        )
        for name, made in rows.items()
    ]
    _, tally = loaded("math-train", *paths)
    assert tally.reasons() == (
        "4 rows; 2 left out, solution boxes nothing: rows algebra/train.parquet:2, geometry/train.parquet:1"
    )


def test_a_checksum_that_differs_is_an_error(tmp_path):
    path = lines(tmp_path / "aime-2025" / "test.jsonl", [ROW])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    spec = SETS["aime-2025"].model_copy(update={"sha256": {"test.jsonl": digest}})
    assert sources.find(spec, tmp_path).paths == (path,)
    spec = SETS["aime-2025"].model_copy(update={"sha256": {"test.jsonl": "0" * 64}})
    with pytest.raises(DataError, match=f"aime-2025/test.jsonl has the SHA-256 {digest}, and must have 0000"):
        sources.find(spec, tmp_path)


class Hub:
    """A hub that knows one commit, and a cache that may have it."""

    def __init__(self, folder: Path, monkeypatch):
        import huggingface_hub

        self.commit, self.folder, self.reachable, self.cached = "0123456789" * 4, folder, True, True
        self.asked: dict = {}
        monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda *_, **options: self.info(**options))
        monkeypatch.setattr(huggingface_hub, "snapshot_download", self.snapshot)

    def info(self, **options):
        self.asked.update(options)
        if not self.reachable:
            raise ConnectionError("no network")
        return SimpleNamespace(sha=self.commit)

    def snapshot(self, repo, *, revision, local_files_only=False, **options):
        self.asked.update(options, repo=repo, local=local_files_only, commit=revision)
        if local_files_only and not self.cached:
            raise FileNotFoundError("not in the cache")
        parquet(self.folder / self.commit / "testmini.parquet", [{"x": 1}])
        return str(self.folder / self.commit)


def test_the_hubs_commit_is_recorded(tmp_path, monkeypatch):
    hub = Hub(tmp_path, monkeypatch)
    found = sources.find(SETS["math-verse"], tmp_path / "data")
    assert found.commit == hub.commit and [path.name for path in found.paths] == ["testmini.parquet"]
    assert (hub.asked["repo"], hub.asked["repo_type"]) == ("AI4Math/MathVerse", "dataset")
    assert (hub.asked["revision"], hub.asked["commit"]) == ("main", hub.commit)
    with pytest.raises(DataUnavailable, match=r"the hub gave no test\.jsonl of HuggingFaceH4/MATH-500; bring "):
        sources.find(SETS["math-500"], tmp_path / "data")


def test_without_a_network_what_was_downloaded_before_serves(tmp_path, monkeypatch):
    hub = Hub(tmp_path, monkeypatch)
    hub.reachable = False
    assert sources.find(SETS["math-verse"], tmp_path / "data").commit == hub.commit and hub.asked["local"]
    hub.cached = False
    with pytest.raises(
        DataUnavailable, match=r"the hub cannot be reached \(ConnectionError\); bring AI4Math/MathVerse"
    ):
        sources.find(SETS["math-verse"], tmp_path / "data")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"question": "x", "answer": "1"}\n', r"a.jsonl: no field \['problem'\]; the file has \['answer'"),
        ("a.jsonl", '{"problem": "x", "answer": "1"}\n{"problem"\n', r"a.jsonl, line 2: not valid JSON"),
        ("a.jsonl", "[1, 2]\n", "rows must be JSON objects"),
        ("a.jsonl", "", "no rows"),
        ("a.json", '[{"problem": ', "a.json: "),
        ("a.parquet", "PAR1 not really", "a.parquet: "),
        ("a.txt", "x", r"expected a file that ends in .jsonl"),
    ],
)
def test_an_unfit_file_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        loaded("aime-2025", tmp_path / name)


def test_a_row_of_another_form_is_named(tmp_path):
    path = lines(tmp_path / "t.jsonl", [livecodebench_row("a", "[]", public_test_cases="[{}]")])
    with pytest.raises(DataError, match=r"t.jsonl, row 1: not as livecodebench is published \(KeyError: 'testtype'\)"):
        loaded("livecodebench-v6", path)
    spec = SETS["aime-2025"].model_copy(update={"fields": {"golden": "answer"}})
    with pytest.raises(DataError, match="the adapter integers has no 'golden'"):
        loaded(spec, path)


# ---- rows of other types ----

QUESTION = "What is it?"
TESTS = json.dumps({"inputs": ["1"], "outputs": ["2"]})
MCQ = {"right": "a", "wrong1": "b", "wrong2": "c", "wrong3": "d", "level": "Physics"}
PAIRS = {"input": ["1"], "output": ["2"]}
# A good row for each adapter, by our names.
GOOD = {
    "boxed": {"prompt": QUESTION, "gold": "\\boxed{7}", "level": "Level 5"},
    "code_contests": {
        **{"prompt": QUESTION, "public": PAIRS, "private": PAIRS, "generated": PAIRS, "memory": 256_000_000},
        **{"seconds": {"seconds": 2, "nanos": 0}, "input_file": "", "output_file": ""},
    },
    "dapo_raw": {"prompt": [{"role": "user", "content": QUESTION}], "gold": {"ground_truth": "7"}},
    "geometry3k": {"prompt": QUESTION, "gold": "7", "pictures": [{"bytes": PNG, "path": "x"}]},
    "gpqa": {"prompt": QUESTION, **MCQ},
    "integers": {"prompt": QUESTION, "gold": "7", "solution": "\\boxed{7}"},
    "livecodebench": {
        **{"prompt": QUESTION, "starter": "", "date": "2024-09-01T00:00:00", "private": "[]", "metadata": "{}"},
        **{"public": '[{"input": "1", "output": "2", "testtype": "stdin"}]', "level": "easy"},
    },
    "math_verse": {"prompt": QUESTION, "gold": "A", "pictures": PNG, "cluster": "1", "level": "Text Lite"},
    "math_vision": {"prompt": QUESTION, "gold": "A", "options": ["1", "2"], "pictures": PNG, "level": 2},
    "numina_math": {
        **{"prompt": QUESTION, "gold": "7", "kind": "MCQ", "problem_valid": "Yes", "solution_valid": "Yes"},
    },
    "open_code_reasoning": {
        **{"prompt": QUESTION, "dataset": "taco", "split": "train", "index": "0", "response": "r"},
        **{"judgement": "right", "level": "EASY"},
    },
    "open_math_reasoning": {"prompt": QUESTION, "gold": "7", "kind": "has_answer_extracted", "response": "r"},
    "taco": {
        "prompt": QUESTION,
        "tests": TESTS,
        "starter": "",
        "level": "EASY",
        "seconds": "2.0 seconds",
        "memory": "256 MB",
    },
    "words": {"prompt": QUESTION, "gold": "7", "level": 5},
}
ODD = ({"odd": 1}, [None], [["odd"]], [{"odd": 1}], True, float("nan"), float("inf"), 10**400, 7.25e300, b"odd", None)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_value_of_another_type_never_becomes_a_text(name):
    adapter, spec = adapters.load(name), next(data for data in SETS.values() if data.adapter == name)
    assert set(GOOD[name]) == set(adapter.FIELDS)
    good = adapter.adapt(adapters.Row(GOOD[name], adapter.FIELDS), spec)
    assert good.prompt.startswith(QUESTION)
    refused = 0
    for field in set(GOOD[name]) - {"dataset", "split", "index"}:  # those are looked up by rlvr.data.joins
        for value in ODD:
            try:
                made = adapter.adapt(adapters.Row({**GOOD[name], field: value}, adapter.FIELDS), spec)
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
    assert golds(loaded("math-500", lines(tmp_path / "a.jsonl", rows))[0]) == [
        ("2", "2"),
        ("2.0", "2"),
        ("2.5", "2.5"),
        ("-3", "-3"),
    ]


def damaged(name: str) -> bytes:
    """A file of 30 good rows of aime-2025 with one fault."""
    good = "".join(json.dumps({"problem": f"p{i}", "answer": "1"}) + "\n" for i in range(30)).encode()
    deep = b'{"problem": ' + b"[" * 100_000
    return {
        "surrogate.jsonl": good + b'{"problem": "\\ud800", "answer": "1"}\n',
        "surrogate in a list.json": b'[{"problem": "\\udfff", "answer": "1"}]',
        "deep.jsonl": good + deep,
        "deep.json": b"[" + deep,
        "long integer.jsonl": good + b'{"problem": "p", "answer": ' + b"9" * 5000 + b"}\n",
        "cut.jsonl.gz": gzip.compress(good)[:-20],
        "damaged.jsonl.gz": gzip.compress(good)[:30] + bytes(60),
        "no gzip.jsonl.gz": good,
        "not utf-8.jsonl": good + b'{"problem": "\xff", "answer": "1"}\n',
        "too many fields.csv": b"problem,answer\np,1\nq,1,2\n",
        "a long field.csv": b"problem,answer\np," + b"1" * 200_000,
        "cut.parquet": b"PAR1" + bytes(100) + b"PAR1",
    }[name]


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("surrogate.jsonl", "row 31"),
        ("surrogate in a list.json", "row 1"),
        ("deep.jsonl", "after row 30"),
        ("deep.json", ""),
        ("long integer.jsonl", "after row 30"),
        ("cut.jsonl.gz", ""),
        ("damaged.jsonl.gz", ""),
        ("no gzip.jsonl.gz", ""),
        ("not utf-8.jsonl", ""),
        ("too many fields.csv", "after row 1"),
        ("a long field.csv", ""),
        ("cut.parquet", ""),
    ],
)
def test_a_damaged_file_is_one_line_that_names_it(here, name, row):
    (here / name).write_bytes(damaged(name))
    done = rlvr("prepare", "aime-2025", "--from", name, "--any-count")
    assert done.exit_code == 2 and done.stdout == "", (done.output, done.exception)
    assert done.stderr.startswith(f"rlvr data prepare: aime-2025: {name}") and done.stderr.count("\n") == 1
    assert row in done.stderr and not list((here / "data").rglob("*"))


# ---- how many problems there are ----


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
        prepare.main(spec.model_dump_json(), here / "results" / "a")
    (here / "data" / "aime-2025" / "problems.jsonl").unlink()
    lines(here / "data" / "aime-2025" / "test.jsonl", rows)
    with pytest.raises(SystemExit, match="aime-2025: 18 problems, and 30 are published"):
        prepare.main(spec.model_dump_json(), here / "results" / "a")
    assert not (here / "results" / "a" / "problems.jsonl").exists()
    prepare.main(spec.model_copy(update={"slack": 0.4}).model_dump_json(), here / "results" / "a")
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


# ---- overlap ----

LONG = "A train leaves the station at noon with forty passengers and arrives at the next one in " + " ".join(
    f"stop {i} then" for i in range(20)
)


def test_equal_texts_are_equal_without_case_spaces_and_marks():
    a = {"a1": "Find $x$, if  X+1 = 2.", "a2": "other"}
    b = {"b1": "find x if x + 1 = 2", "b2": "find x if x - 1 = 2"}
    assert similarity.equal(a, b) == [("a1", "b1")]
    assert similarity.near(a, b) == []


def test_near_duplicates_are_those_with_a_jaccard_similarity_of_080():
    words = LONG.split()
    close, far = " ".join([*words[:-1], "end"]), " ".join([w if i % 8 else "x" for i, w in enumerate(words)])
    a = {"a": LONG, "same": "quite another text of more than five words"}
    b = {"close": close, "far": far, "equal": LONG.upper()}
    runs = [similarity.runs(text) for text in (LONG, close)]
    by = len(runs[0] & runs[1]) / len(runs[0] | runs[1])
    assert by > 0.9 and similarity.near(a, b) == [("a", "close", by)]
    assert similarity.near(b, a) == [("close", "a", by)]


def test_near_duplicates_are_those_of_every_pair_counted():
    """The filter and the hashing lose none of the pairs that comparing all of them gives."""
    import random

    generator = random.Random(0)
    vocabulary = [f"w{i}" for i in range(50)]
    base = {f"a{i}": " ".join(generator.choices(vocabulary, k=60)) for i in range(40)}
    changed = {}
    for name, text in base.items():
        words = text.split()
        for place in generator.sample(range(60), generator.choice([1, 2, 3])):
            words[place] = "changed"
        changed[name.replace("a", "b")] = " ".join(words)
    expected = {
        (one, other)
        for one, text in base.items()
        for other, found in changed.items()
        if similarity.jaccard(similarity.runs(text), similarity.runs(found)) >= 0.8
    }
    assert 5 < len(expected) < 40
    assert {(one, other) for one, other, _ in similarity.near(base, changed)} == expected


def test_equal_captions_under_other_pictures_are_no_overlap(tmp_path):
    for name, data in (("a", PNG), ("b", JPEG), ("c", PNG)):
        publish_records(tmp_path / name / "problems.jsonl", [Problem("p", "Find x.", "1", "all", ("images/p.png",))])
        (tmp_path / name / "images").mkdir()
        (tmp_path / name / "images" / "p.png").write_bytes(data)
    found = {n: similarity.texts(tmp_path / n / "problems.jsonl") for n in "abc"}
    assert similarity.equal(found["a"], found["b"]) == [] and similarity.equal(found["a"], found["c"]) == [("p", "p")]


def test_the_overlap_stage_reports_near_duplicates_where_asked(tmp_path):
    sets = []
    for name, texts in (("train", [LONG, "1 + 1 = 2"]), ("test", [LONG + " more", "1+1=2"])):
        sets.append(tmp_path / name / "problems.jsonl")
        publish_records(sets[-1], [Problem(f"{name}-{i}", text, "1", "all") for i, text in enumerate(texts)])
    out = tmp_path / "overlap.json"
    overlap.main(sets, out, tolerate=True, near=True)
    found = read_json(out)
    assert found["shared"] == {"test & train": 1} and found["problems"] == {"train": 2, "test": 2}
    compared = found["compared"]["test & train"]
    assert compared["equal_examples"] == [["test-1", "train-1"]] and compared["near"] == 1
    assert compared["near_examples"][0][:2] == ["test-0", "train-0"] and 0.9 < compared["near_examples"][0][2] < 1
    overlap.main(sets, out, tolerate=True)
    assert "compared" not in read_json(out)
    with pytest.raises(SystemExit, match="share problems"):
        overlap.main(sets, out)
    with pytest.raises(SystemExit, match="share problems"):
        overlap.main(sets, out, training=sets[:1])
    overlap.main(sets, out, training=sets)
    assert read_json(out)["shared"] == {"test & train": 1}


# ---- cards and the command ----


def rlvr(*arguments: str):
    return CliRunner().invoke(app, ["data", *arguments])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_prepare_writes_problems_and_cards_with_the_overlap(here):
    parquet(here / "aime24.parquet", [{"problem": LONG, "solution": "\\boxed{204}"}, {"problem": "b", "solution": "x"}])
    lines(here / "brought.jsonl", [{"problem": LONG.upper(), "answer": "204"}, {"problem": "c", "answer": "070"}])
    first = rlvr("prepare", "aime-2024", "--from", "aime24.parquet", "--any-count")
    assert first.exit_code == 0, first.stderr
    assert first.stdout == (
        "aime-2024: 1 problems from 2 rows, 1 left out, 0 repeated; published are 30; see data/aime-2024/card.md\n"
    )
    assert rlvr("prepare", "aime-2025", "--from", "brought.jsonl", "--any-count").exit_code == 0
    made = read_json(here / "data" / "aime-2025" / "card.json")
    assert made["licence"] == "Apache-2.0" and made["source"] == "https://huggingface.co/datasets/math-ai/aime25"
    assert made["revision"] == {"asked": SETS["aime-2025"].revision, "pinned": True, "resolved": None}
    assert (made["rows"], made["problems"], made["expected"], made["differs"]) == (2, 2, 30, True)
    assert (
        made["fields"] == {"prompt": "problem", "gold": "answer", "solution": "solution"}
        and made["prompts"]["pacs"] == "pacs"
    )
    assert list(made["files"].values()) == [hashlib.sha256((here / "brought.jsonl").read_bytes()).hexdigest()]
    problems = here / "data" / "aime-2025" / "problems.jsonl"
    assert made["sha256"] == hashlib.sha256(problems.read_bytes()).hexdigest()
    assert made["overlap"] == {
        "aime-2024": {"equal": 1, "near": 0, "equal_examples": [["aime-2025-0", "aime-2024-0"]], "near_examples": []}
    }
    text = (here / "data" / "aime-2025" / "card.md").read_text()
    for part in ("published: 30, so the numbers DIFFER", "got unknown", "| aime-2024 | 1 | 0 |", "336^\\circ"):
        assert part in text
    first_text = (here / "data" / "aime-2024" / "card.md").read_text()
    assert "Left out, answer is no integer: 1 (row 2)" in first_text and "Overlap" not in first_text


def test_the_folder_may_be_this_one_and_what_was_there_is_replaced(here):
    row = {"images": [picture(PNG)], "problem": "Find x.", "answer": "5"}
    parquet(here / "in" / "g.parquet", [row, {**row, "problem": "Find y."}])
    assert rlvr("prepare", "geometry3k-test", "--from", "in/g.parquet", "--out", ".", "--any-count").exit_code == 0
    assert sorted(path.name for path in (here / "images").iterdir()) == [f"geometry3k-test-{i}.png" for i in (0, 1)]
    parquet(here / "in" / "g.parquet", [row])
    assert rlvr("prepare", "geometry3k-test", "--from", "in/g.parquet", "--out", ".", "--any-count").exit_code == 0
    assert [path.name for path in (here / "images").iterdir()] == ["geometry3k-test-0.png"]
    assert {path.name for path in here.iterdir()} == {"in", "images", "problems.jsonl", "card.json", "card.md"}


def test_list_shows_sources_and_what_is_here(here):
    lines(here / "data" / "aime-2025" / "test.jsonl", [ROW])
    assert rlvr("prepare", "operators-validation-smoke").exit_code == 0
    done = rlvr("list")
    assert done.exit_code == 0, done.stderr
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert set(DATA) <= set(rows)
    assert "math-ai/aime25" in rows["aime-2025"] and rows["aime-2025"].endswith("brought (1 file)")
    assert "pinned" in rows["aime-2025"] and " main " in rows["math-verse"]
    assert (
        rows["operators-validation-smoke"].endswith("prepared (8)")
        and "made here" in rows["operators-validation-smoke"]
    )
    for name in ("math-held-out", "math-rest", "math-dapo", "math-numina"):
        assert "do not redistribute" in rows[name] and "made here" not in rows[name] and "lens" in rows[name]
    assert "1000, 218 left out" in rows["taco-test"]
    assert "fade" in rows["livecodebench-v6-fade"] and "454" in rows["livecodebench-v6-fade"]


def as_published(spec: Published, folder: Path) -> Path:
    """A file of one row, with the fields and in the format in which the set is published."""
    row = {published.fields_of(spec)[ours]: value for ours, value in GOOD[spec.adapter].items()}
    name = "small-" + Path(spec.files[0].replace("*", "0")).name  # a file of the set's own name has its checksum
    if name.endswith(".parquet"):
        return parquet(folder / name, [row])
    if name.endswith(".csv"):
        (folder / name).write_text(pd.DataFrame([row]).to_csv(index=False))
        return folder / name
    path = lines(folder / name, [row])
    return path if name.endswith(".jsonl") else path.rename(path.with_suffix(".json"))


@pytest.mark.parametrize("name", sorted(SETS))
def test_each_set_is_prepared_from_a_small_file_in_its_published_format(here, name):
    originals = {"taco-train": "question", "apps-train": "question", "apps-test": "question"}
    originals |= {"code-contests-train": "description", "code-contests-valid": "description"}
    for original, field in originals.items():
        if name == "open-code-reasoning-2":
            lines(here / "data" / original / "x.jsonl", [{field: QUESTION}])
    path = as_published(SETS[name], here)
    refused = rlvr("prepare", name, "--from", path.name)
    done = rlvr("prepare", name, "--from", path.name, "--any-count")
    assert done.exit_code == 0 and done.stdout.startswith(f"{name}: 1 problems from 1 rows, 0 left out"), done.stderr
    (problem,) = read_records(here / "data" / name / "problems.jsonl", Problem)
    assert problem.prompt.startswith(QUESTION) and len(problem.images) == len(list((here / "data").rglob("*.png")))
    made = read_json(here / "data" / name / "card.json")
    assert made["problems"] == 1 and made["licence"] == SETS[name].about.licence
    if SETS[name].problems is None:
        assert refused.exit_code == 0
    else:
        assert refused.exit_code == 2 and f"1 problems, and {SETS[name].problems} are published" in refused.stderr


@pytest.mark.parametrize("content", ["[]", "{}", "not JSON", '{"name": "x", "spec": {}}', "[" * 100_000])
def test_a_damaged_card_is_said(here, content):
    lines(here / "data" / "aime-2025" / "problems.jsonl", [ROW])
    (here / "data" / "aime-2025" / "card.json").write_text(content)
    done = rlvr("list")
    assert done.exit_code == 0 and "a damaged card" in done.stdout
    lines(here / "a.jsonl", [ROW])
    done = rlvr("prepare", "aime-2024", "--from", "a.jsonl", "--any-count")
    assert done.exit_code == 2 and done.stderr.count("\n") == 1 and "aime-2025/card.json: not a card" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("aime-2052",), "unknown data set 'aime-2052'; did you mean 'aime-2025'?"),
        (("aime-2025",), "aime-2025: no file in data/aime-2025/ and the hub cannot be reached (OSError); bring "),
        (("aime-2025", "--from", "none.jsonl"), "aime-2025: none.jsonl: no such file"),
        (("operators-easy", "--from", "x.jsonl"), "operators-easy is made by this project"),
        (("operators-easy", "--any-count"), "operators-easy is made by this project"),
        (("math-rest", "--from", "x.jsonl"), "math-rest is mixed of other sets"),
        (("aime-2025", "--config-folder", "nowhere"), "nowhere/datasets.yaml: no such file"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(here, offline, arguments, message):
    done = rlvr("prepare", *arguments)
    assert done.exit_code == 2 and done.stdout == "" and message in done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("rlvr data prepare: ")
    assert not (here / "data").exists()


def test_without_a_network_the_command_says_so_as_its_own_process(here):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(here / "hf")}
    command = [str(Path(sys.executable).with_name("rlvr")), "data", "prepare", "gpqa-diamond"]
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "bring Idavidrein/gpqa/gpqa_diamond.csv" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "data/gpqa-diamond/gpqa_diamond.csv" in done.stderr


def test_the_stage_takes_brought_files_then_what_was_prepared_and_writes_the_same(here, offline):
    spec = SETS["aime-2025"]
    path = lines(here / "elsewhere.jsonl", [{"problem": f"p{i}", "answer": "007"} for i in range(30)])
    assert rlvr("prepare", "aime-2025", "--from", str(path)).exit_code == 0
    prepare.main(spec.model_dump_json(), here / "results" / "a")
    expected = (here / "data" / "aime-2025" / "problems.jsonl").read_bytes()
    assert (here / "results" / "a" / "problems.jsonl").read_bytes() == expected
    assert read_json(here / "results" / "a" / "card.json")["problems"] == 30
    # A changed entry is another set, and a damaged file none.
    changed = spec.model_copy(update={"fields": {"gold": "other"}})
    with pytest.raises(SystemExit, match="bring math-ai/aime25"):
        prepare.main(changed.model_dump_json(), here / "results" / "b")
    (here / "data" / "aime-2025" / "problems.jsonl").write_text("{}\n")
    with pytest.raises(SystemExit, match="bring math-ai/aime25"):
        prepare.main(spec.model_dump_json(), here / "results" / "c")
    lines(here / "data" / "aime-2025" / "test.jsonl", [{"problem": f"q{i}", "answer": "8"} for i in range(30)])
    prepare.main(spec.model_dump_json(), here / "results" / "d")
    assert golds(read_records(here / "results" / "d" / "problems.jsonl", Problem))[0] == ("q0", "8")


def test_what_is_said_about_a_set_reaches_its_card_by_the_file_not_by_the_parameter(here):
    spec = small("aime-2025")
    lines(here / "data" / "aime-2025" / "test.jsonl", [ROW])
    told = spec.model_dump_json(exclude={"about"})
    assert "Apache" not in told
    prepare.main(told, here / "a")
    edited_text = (ROOT / "config" / "datasets.yaml").read_text().replace("licence: Apache-2.0", "licence: another")
    (here / "config").mkdir()
    (here / "config" / "datasets.yaml").write_text(edited_text)
    prepare.main(told, here / "b")
    cards = [read_json(here / name / "card.json") for name in "ab"]
    assert [made["licence"] for made in cards] == ["Apache-2.0", "another"]
    assert cards[0]["identity"] == cards[1]["identity"] == data_id(spec)


def test_the_embedded_task_is_prepared_as_before(tmp_path):
    spec = DATA["operators-validation-smoke"]
    run_module("rlvr.data.prepare", "--spec", spec.model_dump_json(), "--out", str(tmp_path))
    made = read_json(tmp_path / "card.json")
    # The same bytes as before published sets had formats of their own.
    assert made["sha256"] == "7d0b9fa275c5bed8c8b473d4953d81880e926d45449c3daa2bb0b71225f9b428"
    assert made["problems"] == 8 and "Problems: 8\n" in (tmp_path / "card.md").read_text()


def test_golds_are_put_to_their_own_verifier_and_counted_on_the_card(here):
    """As mathematics, or as text alone; a gold that says nothing makes no problem."""
    answers = ["5", r"\frac{1}{2}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"1+2+\cdots+n", "see solution", "5"]
    rows = [{"problem": f"{LONG} {i}", "answer": answer} for i, answer in enumerate(answers)]
    done = rlvr("prepare", "math-500", "--from", str(lines(here / "x.jsonl", rows)), "--any-count")
    assert done.exit_code == 0, done.stderr
    made = read_json(here / "data" / "math-500" / "card.json")
    assert made["golds"] == {"verifier": "math", "different": 4, "asked": 4, "correct": 3, "text": 1}
    assert made["left_out"] == {"gold that the verifier math cannot read": 1}
    said = (here / "data" / "math-500" / "card.md").read_text()
    assert "- Golds put to the verifier `math`, each against itself: 4 of 4; correct 3, text 1" in said.splitlines()


def test_a_card_names_the_seed_and_the_dates(tmp_path):
    path = lines(tmp_path / "x.jsonl", [gpqa_row("q")])
    found = sources.Found((path,), {"x.jsonl": "0"}, None)
    tally = published.write(SETS["gpqa-diamond"], found.paths, tmp_path / "a", any_count=True)
    card.write(tmp_path / "a", card.of_published(SETS["gpqa-diamond"], found, tally))
    assert "SHA-256 of seed 20240101" in (tmp_path / "a" / "card.md").read_text()
    path = lines(tmp_path / "y.jsonl", [livecodebench_row("a", "[]")])
    tally = published.write(SETS["livecodebench-v6-fade"], (path,), tmp_path / "b", any_count=True)
    card.write(tmp_path / "b", card.of_published(SETS["livecodebench-v6-fade"], found, tally))
    assert "Dates: 2024-08-01 to 2025-05-31" in (tmp_path / "b" / "card.md").read_text()


@pytest.mark.parametrize(
    ("text", "units", "value"),
    [
        ("2.0 seconds", taco.SECONDS, 2.0),
        ("500 ms", taco.SECONDS, 0.5),
        ("256.0 megabytes", taco.MEGABYTES, 256.0),
        ("1.5 gigabytes", taco.MEGABYTES, 1536.0),
        ("268435456 bytes", taco.MEGABYTES, 256.0),
        ("0", taco.SECONDS, None),
        (None, taco.SECONDS, None),
    ],
)
def test_limits_of_taco_are_read_with_their_units(text, units, value):
    assert taco.limit(text, units) == value


def test_a_limit_in_an_unknown_unit_leaves_the_problem_out():
    with pytest.raises(LeftOut, match="unknown unit"):
        taco.limit("2 fortnights", taco.SECONDS)


@pytest.mark.parametrize(
    ("solution", "gold"),
    [
        (r"so \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"so $\boxed 2.5$.", "2.5"),
        (r"first \boxed{3}, then $\boxed 7$.", "7"),
        (r"first \boxed 3, then \fbox{7}", "7"),
        (r"so \boxed 5.", "5"),
        ("nothing", None),
    ],
)
def test_the_last_box_of_a_solution(solution, gold):
    assert boxed.boxed(solution) == gold


def test_different_numbers_are_not_equal_texts():
    assert similarity.normal("x = 1.5") != similarity.normal("x=15")
    assert similarity.normal("12 3 = 6") != similarity.normal("1 23 = 6")
    assert similarity.normal("Find  $x$!") == similarity.normal("find x")


def test_a_row_that_lacks_a_field_is_named(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text('{"q": "1", "a": "2"}\n{"q": "1"}\n')
    with pytest.raises(DataError, match=r"set.jsonl, row 2: no field \['a'\]"):
        list(read(path, {"prompt": "q", "gold": "a"}, set()))
    path.write_text('{"q": "1", "a": "2"}\n[1]\n')
    with pytest.raises(DataError, match="row 2: must be a JSON object"):
        list(read(path, {"prompt": "q", "gold": "a"}, set()))


# ---- mixtures ----


@pytest.fixture
def at_hand(tmp_path, monkeypatch):
    """Thirty problems of MATH and twenty of DAPO, as published, where a user would lay them."""
    rows = [{"problem": f"m{i}", "level": f"Level {i % 5 + 1}", "solution": f"\\boxed{{{i}}}"} for i in range(30)]
    lines(tmp_path / "data/math-train/m.jsonl", rows)
    parquet(tmp_path / "data/dapo-math-17k-raw/d.parquet", [dapo_row(f"d{i}", str(i)) for i in range(20)] * 3)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mixture(name: str, seed: int = 0, **shares: dict) -> Mixture:
    """Of sets named as in Python: math_train, dapo_math_17k_raw."""
    made = [Share(data=small(of.replace("_", "-")), **given) for of, given in shares.items()]
    return Mixture(name=name, task="mixture", shares=made, seed=seed)


def mixed(spec: Mixture, out: Path) -> list[Problem]:
    out.mkdir(parents=True)
    card.write(out, prepare.make(spec, out))
    return read_records(out / "problems.jsonl", Problem)


def test_a_mixture_takes_its_shares_and_says_so(at_hand):
    spec = mixture("both", math_train={"skip": 10}, dapo_math_17k_raw={"problems": 7})
    problems = mixed(spec, at_hand / "out")
    made = read_json(at_hand / "out/card.json")
    assert made["shares"] == {"math-train": 20, "dapo-math-17k-raw": 7} and made["problems"] == 27 == len(problems)
    assert len({p.id for p in problems}) == 27 and {p.id.split("/")[0] for p in problems} == set(made["shares"])
    origin = {problem.id: problem for problem in loaded("math-train", at_hand / "data/math-train/m.jsonl")[0]}
    for problem in problems:
        if problem.id.startswith("math-train/"):
            before = origin[problem.id.partition("/")[2]]
            assert (problem.prompt, problem.gold, problem.level) == (before.prompt, before.gold, before.level)
    kinds = [problem.id.split("/")[0] for problem in problems]
    assert kinds != sorted(kinds) and kinds != sorted(kinds, reverse=True), "in one order, not set after set"
    assert "Of math-train: 20" in (at_hand / "out/card.md").read_text()
    assert (
        SETS["math-train"].about.licence in made["licence"]
        and SETS["dapo-math-17k-raw"].about.licence in made["licence"]
    )


def test_two_mixtures_with_one_seed_divide_a_set(at_hand):
    held_out = mixture("held-out", math_train={"problems": 10})
    rest = mixture("rest", math_train={"skip": 10})
    with_more = mixture("more", math_train={"skip": 10}, dapo_math_17k_raw={"problems": 5})
    a, b, c = (mixed(spec, at_hand / spec.name) for spec in (held_out, rest, with_more))
    ids = [{problem.id for problem in problems if problem.id.startswith("math-train/")} for problems in (a, b, c)]
    assert len(ids[0]) == 10 and len(ids[0] | ids[1]) == 30 and not ids[0] & ids[1]
    assert ids[2] == ids[1], "what else is mixed in changes no share"
    assert ids[0] != {f"math-train/math-train-{i}" for i in range(10)}, "a draw, not the first ten"
    other = {p.id for p in mixed(mixture("other", seed=1, math_train={"problems": 10}), at_hand / "other")}
    assert other != ids[0]


def test_the_division_that_the_papers_use(at_hand):
    """math-held-out and math-rest: one seed, and what is passed over is what is held out."""
    held_out, rest = DATA["math-held-out"], DATA["math-rest"]
    (first,), (second,) = held_out.shares, rest.shares
    assert held_out.seed == rest.seed and first.data == second.data == SETS["math-train"]
    assert (first.skip, first.problems, second.skip, second.problems) == (0, 500, 500, None)
    assert held_out.problems + rest.problems == SETS["math-train"].problems
    for name in ("math-dapo", "math-numina"):
        assert DATA[name].seed == rest.seed and DATA[name].shares[0] == second
        assert DATA[name].problems == rest.problems + DATA[name].shares[1].problems


def test_the_same_mixture_is_the_same_bytes(at_hand):
    spec = mixture("both", math_train={"skip": 3, "problems": 9}, dapo_math_17k_raw={})
    for folder in ("one", "two"):
        mixed(spec, at_hand / folder)
    first, second = ((at_hand / folder / "problems.jsonl").read_bytes() for folder in ("one", "two"))
    assert first == second
    about = spec.about.model_copy(update={"note": "another"})
    assert data_id(spec.model_copy(update={"about": about})) == data_id(spec)
    assert data_id(mixture("both", seed=2, math_train={"skip": 3, "problems": 9}, dapo_math_17k_raw={})) != data_id(
        spec
    )
    assert data_id(mixture("both", math_train={"skip": 4, "problems": 9}, dapo_math_17k_raw={})) != data_id(spec)


@pytest.mark.parametrize("share", [{"problems": 31}, {"skip": 25, "problems": 6}, {"skip": 30}])
def test_a_share_of_more_than_there_is_is_an_error(at_hand, share):
    with pytest.raises(DataError, match="math-train has 30 problems, too few to skip"):
        mixed(mixture("large", math_train=share), at_hand / "out")


def test_a_mixture_has_one_verifier_and_no_mixture_in_it(tmp_path):
    with pytest.raises(ValueError, match="the sets of a mixture need one verifier"):
        mixture("two", math_train={}, gpqa_diamond={})
    text = (ROOT / "config" / "datasets.yaml").read_text()
    (tmp_path / "config").mkdir()
    entry = "math-held-out: {task: mixture, shares: [{set: math-train, "
    for new, message in [
        (
            "set: math-trian, ",
            r"config/datasets.yaml: math-held-out.shares.0.set: unknown data set 'math-trian'; .*'math-train'",
        ),
        ("set: math-rest, ", r"math-held-out.shares.0.set: unknown data set 'math-rest'"),
        ("set: math-train, skp: 1, ", r"math-held-out.shares.0.skp: unknown key; did you mean 'skip'"),
    ]:
        assert entry in text
        changed = text.replace(entry, entry.replace("set: math-train, ", new), 1)
        (tmp_path / "config" / "datasets.yaml").write_text(changed)
        with pytest.raises(ConfigError, match=message):
            read_data(tmp_path / "config", tmp_path)


def test_a_mixture_of_a_set_that_is_not_whole_is_an_error_unless_asked_for(at_hand):
    done = rlvr("prepare", "math-rest")
    assert done.exit_code == 2 and "math-rest: math-train: 30 problems, and 7500 are published" in done.stderr
    done = rlvr("prepare", "math-rest", "--any-count")
    assert done.exit_code == 2 and "math-train has 30 problems, too few to skip 500" in done.stderr


def test_a_mixture_is_made_by_the_stages_command(at_hand):
    spec = mixture("both", math_train={"problems": 5}, dapo_math_17k_raw={"problems": 5})
    command = [
        sys.executable,
        "-m",
        "rlvr.data.prepare",
        "--spec",
        spec.model_dump_json(),
        "--out",
        str(at_hand / "x"),
    ]
    done = subprocess.run(command, cwd=at_hand, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    mixed(spec, at_hand / "y")
    assert (at_hand / "x/problems.jsonl").read_bytes() == (at_hand / "y/problems.jsonl").read_bytes()
