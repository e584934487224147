"""Adapters of sets with pictures."""

import pytest
from support.published_sets import JPEG, PNG, SETS, golds, lines, loaded, parquet, picture

from rlvr import verifiers
from rlvr.data import published
from rlvr.files import RecordError
from rlvr.records import Problem, publish_records, read_records, row_of


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
        names = {"sample_index": "1", "problem_index": index, "problem_version": version}
        return {**names, "question": question, "image": picture(data), "answer": "A"}

    rows = [
        row("1", "Text Dominant", "Long text.", PNG),
        row("1", "Vision Only", "", JPEG),
        row("2", "Text Lite", "t", PNG),
    ]
    problems, _ = loaded("math-verse", parquet(tmp_path / "m.parquet", rows))
    assert [p.cluster for p in problems] == ["math-verse-problem-1"] * 2 + ["math-verse-problem-2"]
    assert [p.level for p in problems] == ["Text Dominant", "Vision Only", "Text Lite"]
    assert problems[1].prompt == "The question stands in the picture."


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
