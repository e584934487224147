"""The table of programs: different ones of one problem, right and wrong, with its tests."""

import json

from support.layouts_by_hand import typed

from rlvr.papers.fade.tables import programs

GOLD = json.dumps({"tests": [{"input": [[1, 2]], "output": [2, 1]}, {"input": [[3]], "output": [3]}]})
LAYOUT = typed(
    programs.ProgramsLayout,
    title="Programs",
    scale="laptop",
    about_scale="Tiny.",
    right=2,
    wrong=1,
    panels=[{"name": "set", "evaluations": {"m": "e"}}],
    cells=[{"model": "m", "arm": "fade", "label": "FADE", "policies": ["p1", "p2"]}],
)


def graded(problem, *verdicts):
    return [
        {"problem": problem, "sample": i, "status": status, "extracted": text}
        for i, (status, text) in enumerate(verdicts)
    ]


def test_the_first_problem_with_enough_different_programs_is_shown():
    grades = [
        *graded("a", ("correct", "x"), ("correct", "x"), ("wrong", "y")),
        *graded("b", ("correct", "x"), ("wrong", "y"), ("correct", "z"), ("timeout", "w"), ("unparsable", None)),
        *graded("c", ("correct", "x"), ("correct", "z"), ("wrong", "y")),
    ]
    problems = [{"id": name, "prompt": f"prompt {name}", "gold": GOLD} for name in "abc"]
    frame = programs.statistics(LAYOUT, {("p1", "e"): (grades, grades, problems)})
    assert frame["problem"].unique().tolist() == ["b"]
    shown = frame[["program", "status", "sample"]].to_numpy().tolist()
    assert shown == [["x", "correct", 0], ["z", "correct", 2], ["y", "wrong", 1]]
    assert frame["tests"].iloc[0] == "f([1, 2]) = [2, 1]; f([3]) = [3]"
    table = programs.render(LAYOUT, frame).frame
    assert table["Problem"].tolist() == ["prompt b", "", ""]
    assert table["Verdict"].tolist() == ["correct", "correct", "wrong"] and (frame["policies"] == "p1").all()
