"""Overlap between sets: equal texts and near ones."""

import pytest
from support.published_sets import JPEG, LONG, PNG

from rlvr.data import overlap, similarity
from rlvr.files import read_json
from rlvr.records import Problem, publish_records


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


def test_different_numbers_are_not_equal_texts():
    assert similarity.normal("x = 1.5") != similarity.normal("x=15")
    assert similarity.normal("12 3 = 6") != similarity.normal("1 23 = 6")
    assert similarity.normal("Find  $x$!") == similarity.normal("find x")
