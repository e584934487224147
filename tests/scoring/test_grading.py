"""Verdicts: the decisions of docs/grading.md, agreement with math-verify, hostile answers, and `rlvr grade`."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import ROOT
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.records import Problem
from rlvr.scoring.grade import grade
from rlvr.verifiers import VerifierError, choice, exact, kind
from rlvr.verifiers import math as maths
from rlvr.verifiers.pool import Pool, _judge, _outcome

GOOD = {
    "choice": "B", "exact": "Paris", "operators": "1 2 = 3", "math": "5", "math_verify": "5",
    "code": '{"kind": "stdin", "tests": [{"input": "", "output": "1"}]}',
}  # fmt: skip


def boxed(answer: str) -> str:
    return f"so the answer is \\boxed{{{answer}}}"


DECISIONS = [
    ("1,000", "1000", "correct"), ("1{,}000", "1000", "correct"), (r"\pi \approx 3.14", r"\pi", "correct"),
    ("1,0000", "10000", "wrong"), ("5.", "5", "correct"), ("５", "5", "correct"), ("5\x00", "5", "correct"),
    ("\u202e5", "5", "correct"), ("{{5}}", "5", "correct"), ("x = 5", "5", "correct"), ("f(x) = 2x", "2x", "correct"),
    ("2 + 3", "5", "correct"),
    ("5, 6", "6", "wrong"), (r"5 \text{ or } 6", "6", "wrong"), ("0.333333", r"\frac13", "correct"),
    (r"\dfrac{1}{2}", r"\frac12", "correct"), ("0.5", r"\frac12", "correct"), ("007", "7", "correct"),
    ("-0", "0", "correct"), ("−5", "-5", "correct"), ("9" * 1900, "9" * 1900, "correct"),
    ("9" * 1900, "8" * 1900, "wrong"), ("", "5", "unparsable"), ("1" * 2001, "1", "unparsable"),
    (r"\{1,2\}", r"\{2,1\}", "correct"), ("(1,2)", "(2,1)", "wrong"), ("x^2+1", "1+x^2", "correct"),
]  # fmt: skip


@pytest.fixture(scope="module")
def pool():
    with Pool("math", workers=2, seconds=2.0) as made:
        yield made


def test_doubtful_cases_are_decided_as_documented(pool):
    questions = [(boxed(answer), gold) for answer, gold, _ in DECISIONS]
    for (answer, gold, expected), verdict in zip(DECISIONS, pool.judge(questions), strict=True):
        assert verdict.status == expected, (answer[:40], gold[:40], verdict)
    documented = (ROOT / "docs/grading.md").read_text()
    named = (r"1\,000", r"5\%", "1 = 2 = 5", r"5 \approx 6", r"10 \bmod 7")
    assert all(f"`{answer}`" in documented for answer in named)


AGREED = [
    (r"\frac{3}{6}", r"\frac12"), ("12", "12"), ("12", "13"), (r"\sqrt{8}", r"2\sqrt2"), (r"3\pi", r"\pi"),
    ("0.25", "1/4"), (r"\{1,2,3\}", r"\{3,2,1\}"), ("[1,2)", "[1,2)"), ("[1,2)", "(1,2)"), (r"\infty", "-\\infty"),
    (r"x^2-1", "(x-1)(x+1)"), (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt3}"), ("2^{10}", "1024"), (r"5\text{ cm}", "5"),
    (r"\begin{pmatrix}1&2\end{pmatrix}", r"\begin{pmatrix}1&3\end{pmatrix}"), ("y=2x", "2x"), (r"\log_2 8", "3"),
    (r"\sin(\pi/6)", "0.5"), ("1.5", "1.50"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "gold"), AGREED)
def test_elsewhere_the_verdict_is_math_verifys(answer, gold):
    from math_verify import parse, verify

    theirs = verify(parse(f"\\boxed{{{gold}}}"), parse(f"\\boxed{{{answer}}}"))
    assert maths.judge(boxed(answer), gold)[0] == ("correct" if theirs else "wrong")


def hostile() -> list[str]:
    """Answers of every kind known to hang a parser, fill memory or break one; none of them is 7."""
    towers = [f"{b}^{{{b}^{{{b}^{b}}}}}" for b in (5, 7, 9)] + [f"{b}**{b}**{b}**{b}" for b in (6, 8, 9)]
    towers += ["2^{2^{2^{2^{2^2}}}}", "10^{10^{10}}", "(-3)^{3^{3^{3^3}}}", "0.5^{-9^{9^9}}", "x^{9^{9^{9}}}"]
    factorials = ["10^{9}!", "(10^8)!", "99999999!", "((20!)!)!", r"\frac{(10^8)!}{(10^8-1)!}", "3!!!!!"]
    binomials = [rf"\binom{{10^{n}}}{{5\cdot10^{n - 1}}}" for n in (7, 8, 9)]
    numbers = [rf"1.5\times10^{{{e}}}" for e in (99999999, 999999999, -999999999)]
    numbers += [r"\log_2(2^{2^{40}})", r"\sqrt[10^9]{2^{10^9}}", r"\sqrt{10^{10^8}+1}", "e^{10^{12}}", "1e999999999"]
    numbers += [r"\sin(10^{10^{9}})", r"\lfloor \pi^{10^7} \rfloor", r"2^{10^{8}} \bmod 7", r"\frac{1}{10^{-10^9}}"]
    sums = [rf"\sum_{{n=1}}^{{{top}}} \frac{{1}}{{n^2}}" for top in ("10^9", r"\infty", "10^{10^{10}}")]
    sums += [r"\prod_{n=1}^{10^8} n", r"\int_0^{10} e^{\sin(x^x)} dx", r"\int e^{-x^4}\sin(x^5) dx"]
    sums += [r"\lim_{x \to 0} \frac{\sin(x^{x^x})}{x}", r"\frac{d}{dx} x^{x^{x^{x^x}}}"]
    nested = ["(" * n + "5" + ")" * n for n in (100, 300, 900)] + ["{" * 900 + "5" + "}" * 900]
    nested += [r"\frac{1}{" * 200 + "2" + "}" * 200, r"\sqrt{" * 200 + "2" + "}" * 200, "2^{" * 300 + "2" + "}" * 300]
    nested += ["-" * 1000 + "5", "|" * 400 + "5" + "|" * 400, r"\left(" * 200 + "5" + r"\right)" * 200, "(" * 1500]
    rows = [r"\\".join("&".join("1" * size) for _ in range(size)) for size in (20, 30)]
    large = [rf"\begin{{pmatrix}}{row}\end{{pmatrix}}" for row in rows] + [r"\{" + ",".join("12" * 300) + r"\}"]
    large += ["+".join(["x"] * 900), "(a+b+c+d+e)^{400}", "(x+1)(x+2)" * 150, "9" * 1_000_000, "1/" * 900 + "2"]
    large += [f"x_{{{i}}}" * 250 for i in (1, 22)] + [r"\begin{cases}" + "1 & x>0\\\\" * 120 + r"\end{cases}"]
    broken = ["\\" * 900, "$" * 999, "^" * 500, "_{" * 400, "\x00" * 500, "\ud800", "𝟗" * 400]
    broken += ["٣" * 300 + "^" + "٣" * 300]
    repeated = ["{" * 1999, "√" * 1999, "sqrt(" * 399, "**" * 999, "A," * 999, "(A" * 999, "option " * 280]
    repeated += ["1,000 " * 330]
    repeated += [r"\text{ a}" * 220, ",a" * 999, "$ " * 999, r"\in\mathbb{Z}" * 140, "=x" * 999, "1 1/1" * 390]
    return [*repeated, *towers, *factorials, *binomials, *numbers, *sums, *nested, *large, *broken]


@pytest.mark.slow
def test_hostile_answers_are_stopped_and_spare_the_others():
    """At least 60, each between two harmless ones; the limit is met by every one and known by its status."""
    answers, limit = hostile(), 2.0
    assert len(set(answers)) == len(answers) >= 60
    with Pool("math", workers=2, seconds=limit) as pool:
        questions = []
        for i, answer in enumerate(answers):
            questions += [(boxed(answer), "7"), (boxed(rf"\frac{{{10 * i}}}{{2}}"), str(5 * i))]
        verdicts = list(pool.judge(questions))
    assert [v.status for v in verdicts[1::2]] == ["correct"] * len(answers)
    judged = dict(zip(answers, verdicts[::2], strict=True))
    assert not [answer[:60] for answer, verdict in judged.items() if verdict.status == "correct"]
    assert not [(answer[:60], v) for answer, v in judged.items() if v.seconds > limit + 0.5]
    assert {v.status for v in judged.values()} >= {"timeout", "wrong", "unparsable"}


def test_a_worker_over_its_memory_or_taken_down_is_a_status():
    """The limit of the real workers, met by plain allocation: sympy catches some of its own memory errors."""
    with Pool("math", seconds=20.0, memory_mb=1024) as small:
        greedy = small._pool.schedule(bytearray, args=(3 << 30,), timeout=20.0)
        assert _outcome(greedy, 20.0).status == "out_of_memory"
        killed = small._pool.schedule(os._exit, args=(1,), timeout=20.0)
        assert _outcome(killed, 20.0).status == "out_of_memory"
        assert [v.status for v in small.judge([(boxed(r"\frac{4}{2}"), "2")])] == ["correct"]


def test_a_broken_installation_is_no_verdict(monkeypatch):
    """Not "unparsable" for every answer: the stage fails and says what is missing."""
    monkeypatch.setitem(sys.modules, "math_verify", None)
    maths._judged.memory.clear()
    with pytest.raises(ImportError, match="math_verify"):
        _judge("math", boxed(r"\frac{10}{2}"), "5")


def test_the_pool_can_be_used_from_threads(pool):
    def judge(i):
        return [v.status for v in pool.judge([(boxed(rf"\frac{{{2 * i}}}{{2}}"), str(i))] * 3)]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(judge, range(2, 6))) == [["correct"] * 3] * 4


OPTIONS = json.dumps({"letter": "B", "options": ["12 cm", r"\frac{13}{2} cm", "A cycloid with cusps", "Paris"]})


@pytest.mark.parametrize(
    ("text", "gold", "expected"),
    [
        (r"\boxed{B}", "B", "correct"), (r"\boxed{\text{(B)}}", "B", "correct"), (r"\boxed{B. Paris}", "B", "correct"),
        ("The answer is (C).", "C", "correct"), ("A? No, the answer is: D", "D", "correct"), ("B", "B", "correct"),
        (r"\boxed{C}", "B", "wrong"), ("I do not know", "A", "unparsable"), ("answer: **A**", "A", "correct"),
        (r"\boxed{Apple}", "A", "unparsable"), ("A dog", "A", "unparsable"), ("(B)", "B", "correct"),
        # letters that are words
        (r"\boxed{\text{A cycloid with cusps}}", "A", "unparsable"), (r"\boxed{I don't know}", "I", "unparsable"),
        ("The answer is A cycloid.", "A", "unparsable"), ("The answer is A because it is red.", "A", "correct"),
        ("I think the answer is I think", "I", "unparsable"), ("The best answer is I", "I", "correct"),
        # several letters
        (r"\boxed{A or B}", "A", "unparsable"), (r"\boxed{(A), (B)}", "A", "unparsable"),
        ("the answer is (A), (B), and (C)", "A", "unparsable"), ("answer is A and B", "A", "unparsable"),
        ("answer: A/B", "A", "unparsable"), (r"\boxed{\text{B and C}}", "B", "unparsable"),
        ("The answer is C, since D is too large", "C", "correct"),
        # emphasis
        ("**Answer:** **C**", "C", "correct"), (r"Answer: $\mathbf{C}$", "C", "correct"),
        ("**Answer: C**", "C", "correct"),
        ("The answer is **(C) Paris**.", "C", "correct"), (r"\boxed{\textbf{(E)}\ 12}", "E", "correct"),
        (r"Answer: \(B\)", "B", "correct"), (r"\boxed{\text{Option B}}", "B", "correct"),
        # an option's text or value
        (r"\boxed{A cycloid with cusps}", OPTIONS, "wrong"), (r"\boxed{6.5}", OPTIONS, "correct"),
        (r"\boxed{\frac{13}{2}\text{ cm}}", OPTIONS, "correct"), (r"\boxed{12}", OPTIONS, "wrong"),
        (r"\boxed{7}", OPTIONS, "unparsable"), ("The answer is Paris.", OPTIONS, "wrong"),
        (r"\boxed{B}", OPTIONS, "correct"),
        ("The answer is 13/2 cm", OPTIONS, "correct"),
    ],
)  # fmt: skip
def test_choices(text, gold, expected):
    assert choice.judge(text, gold)[0] == expected


@pytest.mark.parametrize(
    ("verifier", "gold"),
    [
        *[("choice", gold) for gold in ("", "5", "K", "AB", "{", '{"letter": 1}')],
        ("choice", '{"letter": "C", "options": ["1", "2"]}'),
        *[("exact", gold) for gold in ("", " ", "$$", "\u202e")],
        *[("operators", gold) for gold in ("", "5", "a b = 3")],
        *[("math", gold) for gold in ("", "$$", "see solution")],
        *[("math_verify", gold) for gold in ("", "$$", "}")],
        *[("code", gold) for gold in ("", "5")],
    ],
)
def test_a_gold_that_cannot_be_read_stops_a_stage_before_any_judgement(verifier, gold, tmp_path):
    """The message names the problem and the gold; each verifier alike."""
    with pytest.raises(VerifierError, match="gold"):
        kind(verifier).check_gold(gold)
    problems = [Problem("p-0", "?", GOOD[verifier], "all"), Problem("p-1", "?", gold, "all")]
    with pytest.raises(VerifierError, match=r"problem p-1: .*gold of the verifier"):
        list(grade([], problems, verifier))


@pytest.mark.parametrize(
    ("verifier", "golds"),
    [
        ("math", {"5": "correct", r"\frac12": "correct", "48+24=72\n#### 72": "text"}),
        ("math", {"9^{9^{9^9}}": "timeout", "": "invalid"}),
        ("math", {"</think>204": "correct", "proof": "invalid", r"\frac{1}{0}": "text"}),
        ("choice", {"B": "correct", "Q": "invalid"}),
        ("exact", {"Paris": "correct", "a}b": "correct", "\\boxed{": "unparsable"}),
    ],
)
def test_golds_are_compared_with_themselves_in_a_worker_that_can_be_killed(verifier, golds):
    with Pool(verifier, seconds=8) as pool:
        assert dict(zip(golds, pool.itself(golds), strict=True)) == golds


def test_golds_that_are_no_answers_are_not_compared():
    with Pool("operators") as pool:
        assert list(pool.itself(["1 2 = 3"])) == []


def test_exact():
    assert exact.judge(boxed("Paris"), "Paris")[0] == "correct" and exact.judge("  Paris\n", "Paris")[0] == "correct"
    assert exact.judge(boxed("paris"), "Paris")[0] == "wrong" and exact.judge(" ", "Paris")[0] == "unparsable"


def run(*lines: object, verifier: str = "math"):
    """`rlvr grade` on some lines, and the lines that it writes; a text is a line as it is."""
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    done = CliRunner().invoke(app, ["grade", "--verifier", verifier], input=text)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def test_the_command_keeps_the_order_and_survives_bad_lines():
    lines = [
        {"id": 1, "completion": boxed("5"), "gold": "5", "extra": [1]},
        "nonsense",
        {"id": 3, "completion": boxed("6"), "gold": "5"},
        {"id": 4, "gold": "5"},
        {"id": 5, "completion": "cut off at \\boxed{", "gold": "5", "finished": False},
        {"id": 6, "completion": 7, "gold": "5"},
        {"id": 7, "completion": boxed(r"\frac{10}{2}"), "gold": "5"},
    ]
    done, made = run(*lines)
    assert done.exit_code == 0 and "3 of 7 lines are not valid" in done.stderr
    assert [m["status"] for m in made] == ["correct", "invalid", "wrong", "invalid", "truncated", "invalid", "correct"]
    assert [m.get("id") for m in made] == [1, None, 3, 4, 5, 6, 7]
    assert made[0]["correct"] is True and made[0]["extra"] == [1] and made[0]["extracted"] == "5"
    assert made[3]["error"].startswith("line 4: completion: is missing") and "must be a text" in made[5]["error"]
    assert all(set(m) >= {"correct", "status", "extracted", "seconds"} for m in made)


def test_the_command_reads_the_answer_of_a_worked_gold_and_warns_of_a_gold_that_is_none():
    lines = [
        {"id": 1, "completion": boxed("72"), "gold": "48+24=72\n#### 72"},
        {"id": 2, "completion": boxed("72"), "gold": "48+24=72\nso 72"},
        {"id": 3, "completion": boxed("1/2"), "gold": "it is \\boxed{\\frac{1}{2}}."},
    ]
    done, made = run(*lines)
    assert done.exit_code == 0, done.output
    assert [line["correct"] for line in made] == [True, False, True]
    assert [line["gold"] for line in made] == [line["gold"] for line in lines]
    assert "1 of 3 golds are not judged equal to themselves (first in line 2), so no response to them" in done.stderr


def test_the_command_names_an_unknown_verifier():
    done, _ = run(verifier="maths")
    assert done.exit_code == 2 and "did you mean 'math'" in done.stderr
