"""Diagrams by choice: the computation, the pictures, false steps, and the form of a response."""

from io import BytesIO

import pytest
from PIL import Image

from rlvr.data import prepare
from rlvr.data.tasks import geometry_choice as task
from rlvr.data.tasks.geometry_choice import chance, false_working, steps
from rlvr.records import Demonstration, Problem, read_records, sum_of_pictures, with_paths
from rlvr.verifiers._form import well_formed

NAME = "easy-plain area 3,4: <image> area ? A 14 B 63 C 12 D 40 E 8"


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


def test_a_guess_at_an_open_question_is_the_result_of_other_labels():
    assert chance("<image> diameter ?") == 1 / 8 and chance("<image> area ? A 1") == 1 / 5


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
