"""The verifier `math_verify`: the library's own verdicts, their statuses, and where `math` says otherwise."""

import threading

import pytest
from conftest import ROOT
from support.own_config import copied, edit, refused
from sympy import Float, Integer, Mul, Pow
from sympy.core.cache import clear_cache
from sympy.core.random import seed

from rlvr.config import identity
from rlvr.planning.expansion import make_plan
from rlvr.verifiers import VerifierError, _math_verify, math_verify, settle
from rlvr.verifiers import math as maths
from rlvr.verifiers.pool import Pool


def boxed(answer: str) -> str:
    return f"so the answer is \\boxed{{{answer}}}"


@pytest.fixture(scope="module")
def pool():
    with Pool("math_verify") as made:
        yield made


MORE = [
    ("5", "5"), ("6", "5"), (r"\frac{3}{6}", r"\frac12"), ("0.5", r"\frac12"), ("x^2-1", "(x-1)(x+1)"), ("x = 5", "5"),
    ("(3,4)", r"\{3,4\}"), ("Mondya", "Monday"), ("9, 18, 27, 36, ...", "36"), (r"x \neq 3", r"x \neq 4"),
    ("x+2", r"\frac{1}{0}"), ("^2", "7"), (r"\{1,2,3\}", r"\{3,2,1\}"), (r"\log_2 8", "3"), ("1 < x < 3", "1, 3"),
]  # fmt: skip
TOO_KIND = [  # the library accepts it, `math` does not
    ("4√2 + 8", "8"), ("6", "6t"), ("6t", "6"), ("5 hours", r"5 \text{ minutes}"), (r"5\%", "0.05"), ("1 = 5", "5"),
    ("7 5", "12"), (r"\gcd(m,n)", "1"), (r"10 \bmod 7", "7"), ("25_3", "25_6"),
    (r"\frac{1}{2064!}", r"\frac{1}{2004!}"),
    ("2 + sqrt(3), 2 - sqrt(3)", "2"), (r"5\text{0}", "5"),
]  # fmt: skip
TOO_STRICT = [  # the library rejects it, `math` does not
    (r"1\,000", "1000"), ("1 000", "1000"), ("5.", "5"), ("５", "5"), (r"0.\overline{3}", r"\frac13"),
    ("2 < x < 3", "(2,3)"), ("√2", r"\sqrt2"), ("2pi", r"2\pi"), (r"\frac\pi3", r"\frac{\pi}{3}"),
]  # fmt: skip
PROSE = [
    ("The answer is 42 apples.", "42"), ("Final answer: 2 2/3", "8/3"), ("Final answer: 2 2/3", "2"), ("", "5"),
    ("I do not know", "5"), (r"\boxed{5} and \boxed{6}", "6"), (r"\boxed{5} then \boxed{", "5"), ("x = 7", "7"),
    (r"\boxed{5}. Final answer is $6$. I hope it is correct.", "6"), (r"\fbox{204}", "204"),
]  # fmt: skip


def library(text: str, gold: str) -> bool:
    """The library's metric, called as verl calls it."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig
    from math_verify.metric import math_metric

    answers = (ExprExtractionConfig(), LatexExtractionConfig())
    return bool(math_metric((LatexExtractionConfig(),), answers)([f"\\boxed{{{gold}}}"], [text])[0])


@pytest.mark.parametrize(
    ("text", "gold"),
    [*PROSE, *((boxed(answer), gold) for answer, gold in [*MORE, *TOO_KIND, *TOO_STRICT])],
)
def test_the_verdict_is_the_librarys(text, gold):
    assert (math_verify.judge(text, gold)[0] == "correct") == library(text, gold)


def test_where_the_projects_own_verifier_differs(pool):
    """As docs/grading.md lists it."""
    asked = {
        **{(boxed(answer), gold): ("correct", "wrong") for answer, gold in TOO_KIND},
        **{(boxed(answer), gold): ("wrong", "correct") for answer, gold in TOO_STRICT},
        (r"\boxed{5} and \boxed{6}", "6"): ("wrong", "correct"),
        (r"\boxed{5} then \boxed{", "5"): ("correct", "unparsable"),
        (r"\fbox{204}", "204"): ("unparsable", "correct"),
        (r"\boxed{5}. Final answer is $6$. I hope it is correct.", "6"): ("correct", "wrong"),
    }
    with Pool("math") as own:
        found = zip(asked, pool.judge(asked), own.judge(asked), strict=True)
        assert {question: (theirs.status, ours.status) for question, theirs, ours in found} == asked
    section = (ROOT / "docs/grading.md").read_text().partition("\n## math_verify\n")[2].partition("\n## ")[0]
    assert not [answer for answer, _ in [TOO_KIND[0], *TOO_KIND[2:], *TOO_STRICT] if f"`{answer}`" not in section]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (boxed("5"), ("correct", "5")), (boxed("6"), ("wrong", "6")), ("I do not know", ("unparsable", None)),
        ("", ("unparsable", None)), (boxed(""), ("unparsable", None)), ("\x00\ufffd" * 50, ("unparsable", None)),
        (boxed("\ud800"), ("wrong", "\ud800")), ("$" * 3000, ("unparsable", None)),
        ("The answer is 42.", ("wrong", "42")),
    ],
)  # fmt: skip
def test_the_statuses_and_what_was_found(text, expected, pool):
    (verdict,) = pool.judge([(text, "5")])
    assert (verdict.status, verdict.extracted) == expected and verdict.reason is None
    status = "truncated" if expected[0] == "unparsable" else expected[0]
    assert settle((verdict.status, verdict.extracted), finished=False) == (status, expected[1])


HANGS = [boxed("9^{9^{9^9}}"), boxed("(" * 900 + "5" + ")" * 900)]  # in a comparison, and in the parser


def test_what_the_library_stops_is_a_timeout_and_its_worker_goes_on():
    """Of an answer in the comparison and in the parser, and of a gold; each as long as the library's own limit."""
    questions = [*((text, "7") for text in HANGS), (boxed("7"), HANGS[1].partition("{")[2][:-1]), (boxed("7"), "7")]
    with Pool("math_verify", workers=3) as three:
        verdicts = list(three.judge(questions))
    assert [verdict.status for verdict in verdicts] == ["timeout"] * 3 + ["correct"]
    assert [verdict.extracted for verdict in verdicts[:3]] == ["9^{9^{9^9}}", None, None]


def test_a_judgement_that_the_librarys_limit_cannot_stop_is_killed_by_the_pool():
    """As in a thread, where the library has no limit: its worker is replaced, and the next question answered."""
    with Pool("math_verify", seconds=2.0) as small:
        questions = [(HANGS[0], "7"), (boxed("7"), "7"), (HANGS[0], "8"), (boxed("8"), "8")]
        assert [v.status for v in small.judge(questions)] == ["timeout", "correct"] * 2


def test_a_judgement_over_its_memory_is_a_status():
    text = boxed("+".join(f"x_{{{i}}}" for i in range(40)))
    with Pool("math_verify", memory_mb=1) as small:
        assert [v.status for v in small.judge([(text, "7")])] == ["out_of_memory"]


def test_outside_of_the_main_thread_it_judges_without_the_librarys_limit():
    """The limit is a signal, which only the main thread gets."""
    found = []
    thread = threading.Thread(target=lambda: found.append(math_verify.judge(boxed(r"\frac{10}{2}"), "5")))
    thread.start()
    thread.join()
    assert found == [("correct", r"\frac{10}{2}")]


GOLDS = ["5", r"\frac12", "x", "Monday", "{", "5}", "%", ",", r"\frac{1}{0}", "|x|", r"\{x \mid -2\le x<1\}", "$5$"]
NONE = ["", " ", "$", "$$", "}", r"\text{ }", r"\!"]


@pytest.mark.parametrize("gold", [*GOLDS, *NONE])
def test_a_gold_is_refused_where_the_library_reads_none(gold):
    if gold in GOLDS:
        math_verify.check_gold(gold)
        assert math_verify.judge(boxed("7"), gold)[0] == "wrong"
        return
    for reading in (lambda: math_verify.check_gold(gold), lambda: math_verify.judge(boxed("7"), gold)):
        with pytest.raises(VerifierError, match="not a gold of the verifier `math_verify`"):
            reading()


def test_golds_are_compared_with_themselves(pool):
    expected = {"5": "correct", r"\frac{1}{0}": "correct", "{": "text", "%": "text", "": "invalid"}
    assert dict(zip(expected, pool.itself(expected), strict=True)) == expected


def test_another_version_of_the_library_makes_other_runs(monkeypatch):
    """LENS trains with this verifier: the versions of what decides its verdicts are in a run's identity."""
    from importlib.metadata import version

    run = next(iter(make_plan(ROOT, "paper", ["lens"]).runs.values()))
    assert identity.rewarded_by(run) == {"verifier_version": math_verify.VERSION}
    assert all(version(name) in math_verify.VERSION for name in ("math-verify", "latex2sympy2_extended"))
    before = identity.digest(run)
    monkeypatch.setitem(vars(math_verify.VERIFIER), "version", "1, math-verify 0.9.1, latex2sympy2_extended 1.11.0")
    assert identity.digest(run) != before


def test_it_judges_every_published_set_of_a_paper_that_names_it_and_no_task():
    """Training, probes and evaluation of LENS alone; its stand-ins keep the verifiers of their tasks."""
    plan = make_plan(ROOT, "paper", ["lens", "agrae"])
    lens = make_plan(ROOT, "paper", ["lens"])
    for spec in lens.runs.values():
        assert {spec.data.verifier, spec.validation.verifier} == {"math_verify"}
    assert {spec.data.verifier for spec in lens.evaluations.values()} == {"math_verify"}
    others = {name: spec for name, spec in plan.evaluations.items() if name not in lens.evaluations}
    assert {spec.data.verifier for spec in others.values()} >= {"math"} and "math_verify" not in {
        spec.data.verifier for spec in others.values()
    }
    laptop = make_plan(ROOT, "laptop", ["lens"])
    assert {spec.data.verifier for spec in laptop.runs.values()} == {"operator_chain", "reasoning_gym"}
    assert maths.VERIFIER.version == 8, "and `math` is as it was"


def test_a_set_that_wants_the_answer_behind_a_thought_cannot_have_it(tmp_path):
    """The verifier looks for no thoughts: an error of the plan, not a set without its `thinks`."""
    copied(tmp_path)
    first = '  files: ["*/train-00000'
    edit(tmp_path, "datasets.yaml", first, f"  thinks: true\n{first}")
    message = "lens/paper.yaml: verifiers: math-.*thinks: the verifier math_verify does not look for thoughts"
    refused(tmp_path, message, "lens", scale="paper")


def test_a_verdict_does_not_depend_on_the_order_in_which_sympy_asks():
    """Of 0.0 * 10**6, not simplified, sympy finds in some of its random orders that it is even and that it is not."""
    for order in range(200):
        seed(order)
        clear_cache()
        number = Mul(Float("0.0"), Pow(Integer(10), Integer(6), evaluate=False), evaluate=False)
        assert _math_verify._not_close(Integer(5), number)
