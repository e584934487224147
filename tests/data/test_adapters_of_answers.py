"""Adapters of sets with an answer: mathematics, integers, options."""

import csv
import json

import pytest
from support.published_sets import SETS, dapo_row, golds, gpqa_row, lines, loaded, parquet

from rlvr import verifiers
from rlvr.data import published
from rlvr.data.rows import DataError, read
from rlvr.records import Demonstration, Problem, read_records


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
    worked = [{"problem": "clips", "answer": "48+24=<<48+24=72>>72\n#### 72"}, {"problem": "no", "answer": "None"}]
    problems, tally = loaded("deepscaler", lines(tmp_path / "g.jsonl", worked))
    assert golds(problems) == [("clips", "72")] and tally.left_out == {"answer not found": 1}
    no_level = lines(tmp_path / "y.jsonl", [{"problem": "p", "answer": "1", "solution": "long"}])
    assert loaded("deepscaler", no_level)[0] == [Problem("deepscaler-0", "p", "1", "all")]


def test_competition_answers_become_integers(tmp_path):
    published_as = ("25", "025", 27.0, "27.0", "336^\\circ", "336^{\\circ}", "$70$", "\\boxed{204}", "000", "-3")
    rows = [{"problem": f"p{i}", "answer": answer} for i, answer in enumerate(published_as)]
    problems, _ = loaded("aime-2025", lines(tmp_path / "a.jsonl", rows))
    assert [problem.gold for problem in problems] == ["25", "25", "27", "27", "336", "336", "70", "204", "0", "-3"]


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
    rows = [{"question": "p", "answer": "12.5"}, {"question": "q", "answer": "12"}, {"question": "r", "answer": "x"}]
    problems, tally = loaded("amc-23", parquet(tmp_path / "a.parquet", rows))
    assert golds(problems) == [("q", "12")] and tally.left_out == {"answer is no integer": 2}


def test_math_golds_come_from_the_original_solution(tmp_path):
    rows = [
        {"problem": "a", "level": "Level 5", "solution": "so $\\boxed{\\frac{1}{2}}$.", "answer": "12"},
        {"problem": "b", "level": "Level 1", "solution": "it is $\\boxed 5$.", "answer": ""},
        {"problem": "c", "level": "Level ?", "solution": "it is $\\fbox{7}$.", "answer": ""},
        {"problem": "d", "level": "Level 2", "solution": "first \\boxed{1}, then \\boxed{2}"},
        {"problem": "e", "level": "Level 2", "solution": "nothing"},
    ]
    problems, tally = loaded("math-train", lines(tmp_path / "m.jsonl", rows))
    assert golds(problems) == [("a", "\\frac{1}{2}"), ("b", "5"), ("c", "7"), ("d", "2")]
    assert [p.level for p in problems] == ["5", "1", "?", "2"] and tally.left_out == {"solution boxes nothing": 1}


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

    answers = ("4", "proof", "notfound", "Proof omitted", "unknown", "None", "\\text{not found}", None)
    rows = [*map(row, answers), row("B", kind="MCQ"), row("proof", kind="proof")]
    rows += [row("5", valid="Incomplete"), row("5", solved="Problem not solved")]
    problems, tally = loaded("numina-math-1.5", parquet(tmp_path / "n.parquet", rows))
    assert [p.gold for p in problems] == ["4", "B"]
    marked = {"problem marked invalid": 1, "solution marked invalid": 1}
    assert tally.left_out == {"proof": 3, "answer not found": 4, "no answer": 1, **marked}


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


def test_open_math_reasoning_takes_no_chain_of_another_model(tmp_path):
    """The first row of `p` is QwQ-32B's; without `subset` it would be the demonstration."""
    common = {"expected_answer": "1", "problem_type": "has_answer_extracted"}
    rows = [
        {"problem": "p", "generated_solution": "a", "generation_model": "QwQ-32B", **common},
        {"problem": "p", "generated_solution": "b", "generation_model": "DeepSeek-R1", **common},
        {"problem": "q", "generated_solution": "c", "generation_model": "QwQ-32B", **common},
    ]
    path, spec = parquet(tmp_path / "o.parquet", rows), SETS["open-math-reasoning"]
    found = {}
    for subset in ("DeepSeek-R1", None):
        of_subset = spec.model_copy(update={"subset": subset})
        tally = published.write(of_subset, (path,), tmp_path / "out", any_count=True)
        shown = read_records(tmp_path / "out" / "demonstrations.jsonl", Demonstration)
        found[subset] = [d.response for d in shown], dict(tally.left_out)
    assert found == {"DeepSeek-R1": (["b"], {"by another model": 2}), None: (["a", "c"], {})}
    assert spec.subset == "DeepSeek-R1"


def test_open_math_reasoning_keeps_problems_with_an_answer_and_their_first_response(tmp_path):
    rows = [
        {"problem": "p", "expected_answer": "1", "problem_type": "has_answer_extracted", "generated_solution": "a"},
        {"problem": "p", "expected_answer": "1", "problem_type": "has_answer_extracted", "generated_solution": "b"},
        {"problem": "q", "expected_answer": "x", "problem_type": "converted_proof", "generated_solution": "c"},
        {"problem": "r", "expected_answer": "x", "problem_type": "no_answer_extracted", "generated_solution": "d"},
    ]
    rows = [row | {"generation_model": "DeepSeek-R1"} for row in rows]
    tally = published.write(
        SETS["open-math-reasoning"], (parquet(tmp_path / "o.parquet", rows),), tmp_path / "out", any_count=True
    )
    assert golds(read_records(tmp_path / "out" / "problems.jsonl", Problem)) == [("p", "1")]
    assert '"response": "a"' in (tmp_path / "out" / "demonstrations.jsonl").read_text()
    assert tally.left_out == {"converted proof": 1, "no answer extracted": 1} and tally.demonstrations == 1
