"""Sets with other pictures or none: the questions and golds of the set itself, and what a reader scores on them."""

import json

import pytest
from conftest import ROOT

from rlvr.config.load import read_data
from rlvr.data import overlap, prepare
from rlvr.data.rows import DataError
from rlvr.data.swapped import swapped
from rlvr.data.tasks import geometry_choice, scan_choice
from rlvr.data.tasks._choice import asked_of, options_of
from rlvr.planning.expansion import make_plan
from rlvr.records import Problem, read_records
from rlvr.verifiers import load


def problem(name, level, *images):
    return Problem(name, "<image> a <image1> ?", "A", level, images)


def test_another_picture_is_the_next_of_the_level_that_differs():
    problems = [problem("a", "1", "x"), problem("b", "2", "y"), problem("c", "1", "x"), problem("d", "1", "z")]
    problems.append(problem("e", "2", "w"))
    found = swapped(problems, "other")
    assert [p.images for p in found] == [("z",), ("w",), ("z",), ("x",), ("y",)]
    assert [(p.id, p.prompt, p.gold) for p in found] == [(p.id, p.prompt, p.gold) for p in problems]
    assert swapped(problems, "own") is problems
    with pytest.raises(DataError, match="b is alone with its picture in the level 2"):
        swapped(problems[:4], "other")


def test_without_a_picture_there_is_no_mark():
    (found,) = swapped([problem("a", "1", "x", "y")], "none")
    assert found.images == () and found.prompt == "a  ?"


def chosen(p):
    gold = json.loads(p.gold)
    return options_of(p.prompt)[gold["letter"]]


@pytest.mark.parametrize(("task", "own"), [(geometry_choice, "diagram-easy"), (scan_choice, "scan-mri")])
def test_a_perfect_reader_is_at_chance_with_another_picture(task, own, tmp_path):
    """It answers as the set does for this picture and question, and guesses where no option is that."""
    data, judge = read_data(ROOT / "config", ROOT), load("choice")
    for name in (own, f"{own}-other", f"{own}-blind"):
        prepare.make(data[name], tmp_path / name)
    whole = read_records(tmp_path / own / "problems.jsonl", Problem)
    answers = {(p.images, asked_of(p.prompt)): chosen(p) for p in whole}

    def score(problems):
        answered = [(p, answers.get((p.images, asked_of(p.prompt)), "")) for p in problems]
        options = [set(options_of(p.prompt).values()) for p in problems]
        right = [
            judge(f"\\boxed{{ {answer} }}", p.gold)[0] == "correct" if answer in of else 0.2
            for (p, answer), of in zip(answered, options, strict=True)
        ]
        return sum(right) / len(right)

    assert score(whole) == 1.0
    assert 0.1 < score(read_records(tmp_path / f"{own}-other" / "problems.jsonl", Problem)) < 0.3
    blind = read_records(tmp_path / f"{own}-blind" / "problems.jsonl", Problem)
    assert not any(p.images or "<image>" in p.prompt for p in blind) and [p.id for p in blind] == [p.id for p in whole]
    assert all(task.chance(p.prompt) == 0.2 for p in blind)


def test_what_must_be_disjoint_leaves_out_the_sets_with_other_pictures(tmp_path):
    """Another's picture under a question may be a problem of the set itself, which is no overlap of its own."""
    planned = make_plan(ROOT, "laptop", ["agrae"]).papers["agrae"]
    left_out = {data.name for data in planned.data} - {data.name for data in planned.disjoint}
    assert left_out == {f"{name}-{how}" for name in ("diagram-easy", "scan-mri") for how in ("other", "blind")}
    data = read_data(ROOT / "config", ROOT)
    sets = ["scan-mri", "scan-train", "scan-mri-other"]
    for name in sets:
        prepare.make(data[name], tmp_path / name)
    files = [tmp_path / name / "problems.jsonl" for name in sets]
    overlap.main(files[:2], tmp_path / "overlap.json", [files[1]])
    with pytest.raises(SystemExit, match="scan-mri & scan-mri-other"):
        overlap.main(files, tmp_path / "overlap.json", [files[1]])
