"""Diagrams by choice: the pictures, the options, and that the text alone tells nothing of the answer."""

import json
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from rlvr.data import prepare
from rlvr.data.tasks import geometry_choice as task
from rlvr.data.tasks.geometry_choice import LETTERS, demonstrate, false_working, generate_problems, options_of, steps
from rlvr.records import Demonstration, Problem, read_records, sum_of_pictures, with_paths
from rlvr.verifiers import load
from rlvr.verifiers._form import well_formed

NAME = "easy-plain area 3,4: <image> area ? A 14 B 63 C 12 D 40 E 8"


def letter_of(problem):
    return json.loads(problem.gold)["letter"]


def made(part="easy", levels=(1, 2, 3), count=60, **family):
    return generate_problems(part, list(levels), count, None, np.random.default_rng(0), **family)


@pytest.mark.parametrize(
    ("asked", "labels", "found"),
    [
        ("diameter", (7,), [(7, "+", 7, 14)]),
        ("angle", (50,), [(180, "-", 50, 130)]),
        ("area", (3, 4), [(3, "*", 4, 12)]),
        ("perimeter", (3, 4), [(3, "+", 4, 7), (7, "+", 7, 14)]),
        ("third", (50, 60), [(180, "-", 50, 130), (130, "-", 60, 70)]),
    ],
)
def test_the_computation(asked, labels, found):
    assert steps(asked, labels) == found


def test_problems_have_one_right_option_and_parts_are_disjoint():
    parts = {part: made(part, count=90) for part in task.PARTS}
    texts = [problem.id.split("-", 1)[1] for problems in parts.values() for problem in problems]
    assert len(set(texts)) == len(texts) == 90 * len(task.PARTS)
    for problem in parts["easy"]:
        values = list(options_of(problem.prompt).values())
        assert len(set(values)) == len(LETTERS) and letter_of(problem) in LETTERS
    assert [problem.level for problem in parts["train"][:4]] == ["m=1", "m=2", "m=3", "m=1"]
    assert not generate_problems("easy", [1], 5, None, np.random.default_rng(0), max_chance=0.1)


def test_the_text_alone_tells_nothing_of_the_answer():
    """All options are drawn alike: the right one has each letter, and each rank by size, equally often."""
    problems = made("train", count=3000)
    letters = [LETTERS.index(letter_of(problem)) for problem in problems]
    ranks = [sorted(v := options_of(p.prompt), key=v.get).index(letter_of(p)) for p in problems]  # type: ignore[arg-type]
    for places in (letters, ranks):
        shares = np.bincount(places, minlength=5) / len(places)
        assert np.abs(shares - 0.2).max() < 4 * np.sqrt(0.2 * 0.8 / len(places))


def test_open_questions_have_no_options_and_box_the_value():
    problems, judge = made("sft", levels=[4], count=200), load(task.VERIFIER)
    assert len({problem.id for problem in problems}) == 200 and len({p.prompt for p in problems}) == 5
    for share in (0.0, 1.0):
        shown = demonstrate(problems, 400, share, np.random.default_rng(1))
        assert not any(false_working(d.prompt, d.response) for d in shown)
        right = [judge(d.response, problems[i % 200].gold)[0] == "correct" for i, d in enumerate(shown)]
        expected = np.mean([task.chance(problem.prompt) for problem in problems]) if share else 1.0
        assert np.mean(right) == pytest.approx(expected, abs=0.06)
    assert task.chance("<image> diameter ?") == 1 / 8 and task.chance("<image> area ? A 1") == 1 / 5


def test_a_picture_is_of_its_labels_alone():
    problem = Problem(NAME, NAME.split(": ")[1], "C", "m=2")
    image = Image.open(BytesIO(task.picture(problem)))
    assert image.size == (56, 56) and task.picture(problem) == task.picture(problem)
    others = [
        NAME.replace("3,4", "3,5"),
        *(NAME.replace("plain", family) for family in task.UNSEEN),
        NAME.replace(" area 3", " third 3"),
    ]
    drawn = {task.picture(Problem(name, "", "C", "m=2")) for name in (NAME, *others)}
    assert len(drawn) == 5
    same = NAME.replace("A 14", "A 15")
    assert task.picture(Problem(same, "", "C", "m=2")) == task.picture(problem)


def test_demonstrations_are_true_in_form_and_as_often_right_as_asked():
    problems, judge = made("sft", count=300), load(task.VERIFIER)
    golds = {problem.id: problem.gold for problem in problems}
    for share, right in ((0.0, 1.0), (0.5, 0.6), (1.0, 0.2)):
        shown = demonstrate(problems, 900, share, np.random.default_rng(1))
        assert not any(false_working(d.prompt, d.response) for d in shown)
        assert all(well_formed(d.response) for d in shown)
        found = np.mean([judge(d.response, golds[d.id])[0] == "correct" for d in shown])
        assert found == pytest.approx(right, abs=0.05)
        assert {word for d in shown for word in d.response.split()} <= set(task.VOCABULARY)


@pytest.mark.parametrize(
    ("response", "false"),
    [
        ("<think> 3 * 4 = 12 </think> \\boxed{ 12 }", False),
        ("<think> 2 * 4 = 8 </think> \\boxed{ 8 }", False),  # of another picture
        ("<think> 3 * 4 = 13 </think> \\boxed{ 13 }", True),
        ("<think> 3 + 4 = 7 </think> \\boxed{ 7 }", True),
        ("<think> 3 * 4 = 12 </think> \\boxed{ 14 }", True),  # another value than the result
        ("<think> 3 * 4 = 12 \\boxed{ 12 }", True),
        ("\\boxed{ C }", True),
        ("", True),
    ],
)
def test_false_working(response, false):
    assert false_working(NAME.split(": ")[1], response) == false


@pytest.mark.parametrize(
    ("text", "formed"),
    [
        ("<think> 3 </think> \\boxed{ C }", True),
        (" <think>a\nb</think> so \\boxed{C}.", True),
        ("\\boxed{ C }", False),
        ("<think> 3 \\boxed{ C }", False),
        ("<think> \\boxed{ C } </think> C", False),
        ("I <think> 3 </think> \\boxed{ C }", False),
    ],
)
def test_the_form_of_a_response(text, formed):
    assert well_formed(text) == formed


def test_prepared_problems_have_their_pictures(tmp_path):
    from conftest import ROOT

    from rlvr.config.load import read_data

    data = read_data(ROOT / "config", ROOT)["diagram-sft-smoke"]
    prepare.make(data, tmp_path)
    problems = read_records(tmp_path / "problems.jsonl", Problem)
    shown = with_paths(
        tmp_path / "demonstrations.jsonl", read_records(tmp_path / "demonstrations.jsonl", Demonstration)
    )
    assert len(problems) == 48 and len(shown) == 96
    for problem in problems:
        assert (tmp_path / problem.images[0]).read_bytes() == task.picture(problem)
    assert shown[50].images == (str(tmp_path.resolve() / problems[2].images[0]),)
    before = sum_of_pictures(shown)
    (tmp_path / problems[2].images[0]).write_bytes(b"another")
    assert sum_of_pictures(shown) != before and sum_of_pictures([Problem("a", "b", "c", "")]) == ""
