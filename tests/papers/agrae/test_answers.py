"""Pictures beside answers: which problems and samples are shown, and that a page can hold them."""

import base64
import json
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from PIL import Image
from support.layouts_by_hand import typed

from rlvr.items import inputs
from rlvr.papers.agrae.figures import answers
from rlvr.planning.expansion import make_plan

LAYOUT = typed(
    answers.AnswersLayout,
    panels=[{"name": "geo", "evaluations": {"M": "e"}}],
    cells=[
        {"arm": arm, "label": label, "learning_rate": 1.0, "policies": [arm, "another"]}
        for arm, label in (("base", "Base"), ("grpo", "GRPO"))
    ],
    problems=2,
    data={"e": "set-1"},
)
GOLD = json.dumps({"letter": "B", "options": ["12", "14"]})
PROBLEMS = [
    {"id": "a", "prompt": "<image> area ? A 12 B 14", "gold": GOLD, "images": ["images/a.png"]},
    {"id": "b", "prompt": "how much is $2^3$ ?", "gold": "8"},
    {"id": "c", "prompt": "beyond", "gold": "1"},
]


def drawn(texts, statuses):
    rows = [{"problem": p, "sample": s} for p in "abc" for s in (0, 1)]
    completions = [{**row, "text": text} for row, text in zip(rows, texts, strict=True)]
    return completions, [{**row, "status": status} for row, status in zip(rows, statuses, strict=True)], PROBLEMS


@pytest.fixture
def frame(tmp_path):
    (tmp_path / "images").mkdir()
    Image.new("RGB", (600, 300), (0, 90, 0)).save(tmp_path / "images" / "a.png")
    samples = {
        ("base", "e"): drawn("012345", ["wrong"] * 6),
        ("grpo", "e"): drawn("678901", ["correct", "wrong", "unparsable", *["wrong"] * 3]),
    }
    return answers.statistics(LAYOUT, samples, {"set-1": tmp_path})


def test_the_first_problems_are_shown_with_each_policys_first_sample(frame):
    shown = frame[["arm", "policies", "problem", "prompt", "gold", "response", "status"]].to_numpy().tolist()
    assert shown == [
        ["base", "base", "a", "area ? A 12 B 14", "14", "0", "wrong"],
        ["base", "base", "b", "how much is $2^3$ ?", "8", "2", "wrong"],
        ["grpo", "grpo", "a", "area ? A 12 B 14", "14", "6", "correct"],
        ["grpo", "grpo", "b", "how much is $2^3$ ?", "8", "8", "unparsable"],
    ]
    picture = Image.open(BytesIO(base64.b64decode(frame["picture"].iloc[0])))
    assert picture.size == (280, 140) and picture.getpixel((9, 9)) == (0, 90, 0)
    assert frame["picture"].iloc[1] == ""


def test_the_figure_has_a_row_a_problem_and_survives_its_file(frame, tmp_path):
    frame.to_csv(tmp_path / "answers.csv", index=False)
    figure = answers.draw(LAYOUT, [pd.read_csv(tmp_path / "answers.csv")])
    pictures, texts = figure.axes[::2], figure.axes[1::2]
    assert [len(axes.images) for axes in pictures] == [1, 0]
    said = [text.get_text() for text in texts[0].texts]
    assert said == ["geo: area ? A 12 B 14", "right: 14", "Base: 0  (wrong)", "GRPO: 6  (correct)"]
    assert texts[0].texts[2].get_color() != texts[0].texts[3].get_color()
    figure.savefig(tmp_path / "answers.png")
    assert np.asarray(Image.open(tmp_path / "answers.png")).std() > 5


def test_the_paper_plans_pictures_of_each_task():
    plan = make_plan(ROOT, "smoke", ["agrae"])
    for name, benchmarks in (("answers", 3), ("answers_medical", 3)):
        item = plan.papers["agrae"].figures[name]
        layout = answers.lay_out(item, plan, "agrae")
        assert len(layout.panels) == benchmarks == len(layout.data)
        assert [cell.label for cell in layout.cells] == ["Base", "GRPO", "GRPO + A-GRAE"]
    assert set(inputs.INPUTS) >= {"samples", "folders"}
