"""Golds that accept an answer behind the response's thought alone: programs and mathematical answers."""

import json

import pytest
from support.published_sets import GOOD, QUESTION, SETS, lines, loaded

from rlvr.config.schema.models_and_data import Published
from rlvr.data.published import fields_of
from rlvr.verifiers import code, math
from rlvr.verifiers.pool import Pool

PROGRAM = "```python\nprint(int(input()) + 1)\n```"
WRONG = "```python\nprint(0)\n```"
ANSWERS = {"code": (PROGRAM, WRONG), "math": ("It is \\boxed{204}.", "It is \\boxed{3}.")}
PLAIN = {"code": json.dumps({"kind": "stdin", "tests": [{"input": "1", "output": "2"}]}), "math": "204"}
RESPONSES = [  # with the right answer in place of R, a wrong one in place of W; the statuses without and with a thought
    ("R", "correct", "unparsable"),
    ("<think> R", "correct", "unparsable"),  # never closed
    ("<think> W </think> R", "correct", "correct"),
    ("W </think> R", "correct", "correct"),  # the prompt opens it
    ("R </think> W", "wrong", "wrong"),
    ("<think> R </think> so it is", "correct", "unparsable"),
    ("<think> W </think> W <think> </think> R", "correct", "correct"),
    ("<think> R </think> R <think> W </think> none", "wrong", "unparsable"),  # the last mark counts
    ("<think> W </think> W <think> R", "correct", "unparsable"),  # opened again, never closed
]


@pytest.mark.parametrize("name", ["code", "math"])
def test_an_answer_counts_behind_the_thought_alone(name):
    """In one pool: a verdict that is remembered for one gold is none for the other."""
    verifier, (right, wrong) = {"code": code, "math": math}[name], ANSWERS[name]
    golds = (PLAIN[name], verifier.after_think(PLAIN[name]))
    texts = [text.replace("R", f"\n{right}\n").replace("W", f"\n{wrong}\n") for text, *_ in RESPONSES]
    with Pool(name, workers=2) as pool:
        found = [verdict.status for verdict in pool.judge((text, gold) for text in texts for gold in golds)]
    expected = [status for _, *both in RESPONSES for status in both]
    assert found == expected
    assert [verifier.judge(text, gold)[0] for text in texts[:5] for gold in golds] == expected[:10]


def test_golds_that_want_a_thought_are_checked_as_the_others():
    math.check_gold(math.after_think("204"))
    assert math.itself(math.after_think("204")) == "correct"
    with pytest.raises(math.VerifierError, match="not a gold"):
        math.check_gold(math.after_think("proof"))
    code.check_gold(code.after_think(PLAIN["code"]))


@pytest.mark.parametrize(
    "name",
    ["livecodebench-v5-fade", "code-contests-train-fade", "taco-train-fade", "aime-2024-fade", "code-contests-train"],
)
def test_sets_that_think_have_such_golds(tmp_path, name):
    spec = SETS[name]
    row = {
        published: GOOD[spec.adapter][ours] for ours, published in fields_of(spec).items() if ours in GOOD[spec.adapter]
    }
    (problem,), _ = loaded(name, lines(tmp_path / "rows.jsonl", [row]))
    assert problem.prompt.startswith(QUESTION)
    if spec.verifier == "math":
        assert problem.gold == "</think>7"
    else:
        assert json.loads(problem.gold).get("form") == ("block_after_think" if spec.thinks else None)


def test_a_verifier_that_knows_no_thoughts_is_refused():
    content = SETS["gpqa-diamond"].model_dump()
    with pytest.raises(ValueError, match="the verifier choice does not look for thoughts; code, math do"):
        Published.model_validate({**content, "thinks": True})
