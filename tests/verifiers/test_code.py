"""The code verifier: what counts as an answer, and when outputs are equal."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import ROOT
from support.programs import ADD, FAST, block, call_gold, needs_bubblewrap, stdin_gold

from rlvr.config.load import read_data
from rlvr.data import published
from rlvr.records import Problem, read_records
from rlvr.verifiers import VerifierError, code

pytestmark = needs_bubblewrap


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```python\nprint(1)\n```", "print(1)\n"),
        ("```py\nprint(1)\n```\nor better\n```Python\nprint(2)\n```", "print(2)\n"),
        ("```python\nprint(1)\n```\nIt prints\n```text\n1\n```", "print(1)\n"),
        ("```python\nprint(1)\n```\nIt prints\n```\n1\n```", "print(1)\n"),  # marked goes before unmarked
        ("```\nprint(1)\n```\n```\nprint(2)\n```", "print(2)\n"),
        ("1. Like this:\n   ```python\n   if True:\n       print(1)\n   ```", "if True:\n    print(1)\n"),
        ("```{python}\nprint(1)\n```", "print(1)\n"),
        ("```python3.11 title=x\r\nprint(1)\r\n```\r\n", "print(1)\n"),
        ("```python\n\ufeffprint(1)\n```", "print(1)\n"),
        ("Use ```print(1)``` here", None),
        ("```cpp\nint main() {}\n```", None),
        ("print(1)", None),
        ("```python\nprint(1)\n```\nNo, wait:\n```python\nprint(2)", None),  # cut off: the final answer is missing
        ("~~~python\nprint('```')\n~~~", "print('```')\n"),
        ("````python\ns = '''\n```\n'''\n````", "s = '''\n```\n'''\n"),
        ("```python:main.py\nprint(1)\n```", "print(1)\n"),
        ("```python, main.py\nprint(1)\n```\n```json\n{}\n```", "print(1)\n"),
        ("```{.python .numberLines}\nprint(1)\n```", "print(1)\n"),
        ("```main.py\nprint(1)\n```", "print(1)\n"),
        ("```pycon\n>>> 1\n```", None),
        ("```python-repl\n>>> 1\n```", None),
        ("```python\nprint(1)\n```.", "print(1)\n"),
        ("```python\nprint(1)\nprint(7)```", "print(1)\nprint(7)\n"),
        ("  ```python\n  print(1)\n  print(7)```.\nDone.", "print(1)\nprint(7)\n"),
        ("```python\nprint(1)\n```\n```", "print(1)\n"),  # a stray one opens nothing
        ("```python\nprint(1)\n```\n```.\n\n", "print(1)\n"),
        ("```python\nprint(1)\n```\n```\nOr else", None),
        ("```python\nprint(1)```\nNo, wait:\n```python\nprint(2)", None),
        ("```python\ns = '```'\nprint(s + '```')\n```", "s = '```'\nprint(s + '```')\n"),
        ("```python\n\n```", "\n"),
    ],
)
def test_the_answer_is_the_last_closed_block(text, program):
    assert code.last_program(text) == program


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("a, b = map(int, input().split())\nprint(a + b)", "correct"),
        ("import sys\nprint(sum(map(int, sys.stdin.read().split())))", "correct"),
        ("if __name__ == '__main__':\n    print(sum(map(int, input().split())))", "correct"),
        ("print(7)", "wrong"),  # the first test alone
        ("print(int(input()))", "wrong"),  # an error
        ("def f(:", "wrong"),  # no Python
        ("print(sum(map(int, input().split())))\nraise SystemExit(1)", "correct"),  # what it wrote decides
        ("print(sum(map(int, input().split())))\nexit()", "correct"),
        ("print(sum(map(int, input().split())))\nquit(3)", "correct"),
        ("print(sum(map(int, input().split())))\nimport sys\nsys.exit('done')", "correct"),
        ("def main():\n    print(sum(map(int, input().split())))\n    exit(0)\nmain()", "correct"),
        ("exit()\nprint(sum(map(int, input().split())))", "wrong"),
        ("print(sum(map(int, input().split())))\nraise ValueError", "wrong"),
        ("print(sum(map(int, input().split())))\nimport os\nos._exit(1)", "wrong"),
        ("while True:\n    pass", "timeout"),
        ("x = [0] * 10**9", "out_of_memory"),
    ],
)
def test_programs_that_read_their_input(program, status):
    gold = json.dumps({**json.loads(ADD), **FAST})
    assert code.judge(block(program), gold) == (status, program + "\n")


def test_calls_of_a_function_and_of_a_solution():
    gold = call_gold("top", ([[3, 1, 2], 2], [3, 2]), ([[5], 1], [5]))
    function = "def top(xs: List[int], k: int) -> List[int]:\n    return nlargest(k, xs)"
    body = "print('working')\n        return tuple(sorted(xs)[::-1][:k])"
    method = f"class Solution:\n    def top(self, xs, k):\n        {body}"
    assert code.judge(block(function), gold)[0] == "correct"
    assert code.judge(block(method), gold)[0] == "correct"
    assert code.judge(block(function.replace("nlargest", "nsmallest")), gold)[0] == "wrong"
    assert code.judge(block("def bottom(xs, k):\n    return [3, 2]"), gold)[0] == "wrong"


def test_a_call_is_no_script():
    """As in LiveCodeBench: what stands under __main__ does not run, and a module-level print is no result."""
    gold = call_gold("f", ([1], 2))
    body = "def f(x):\n    return x + 1\n"
    for more in ("input()", "import sys\n    sys.exit(0)", "exit()", "print(f(5))"):
        assert code.judge(block(f"{body}if __name__ == '__main__':\n    {more}"), gold)[0] == "correct"
    assert code.judge(block(f"{body}exit()"), gold)[0] == "wrong"
    pickled = "import pickle\nclass A:\n    pass\ndef f(x):\n    return type(pickle.loads(pickle.dumps(A()))) is A"
    assert code.judge(block(pickled), call_gold("f", ([1], True)))[0] == "correct"
    pooled = "def g(x):\n    return x\ndef f(x):\n    import multiprocessing as m\n    with m.Pool(2) as p:\n"
    assert code.judge(block(f"{pooled}        return p.map(g, [x])"), call_gold("f", ([1], [1])))[0] == "correct"


@pytest.mark.parametrize(
    ("result", "wanted", "status"),
    [
        ("Fraction(1, 2)", 0.5, "correct"),
        ("[fractions.Fraction(1, 2)]", [0.5], "correct"),
        ("__import__('decimal').Decimal('0.1')", 0.1, "correct"),
        ("{1, 2}", [1, 2], "wrong"),
        ("b'0.5'", 0.5, "wrong"),
        ("1j", 1, "wrong"),
    ],
)
def test_results_that_json_does_not_know(result, wanted, status):
    program = f"from fractions import Fraction\ndef f():\n    return {result}"
    assert code.judge(block(program), call_gold("f", ([], wanted)))[0] == status


# Each name is one that LiveCodeBench's or TACO's runner has before the program begins.
PRELUDE = """
x = deepcopy([1]) + [timedelta(1), datetime.datetime(2024, 1, 1), add(1, 2), median([1]), mean([1]), randint(1, 1)]
x += [StringIO('a').read(), findall('a', 'a'), loads(dumps([1])), digits, ascii_lowercase, capwords('a'), maxsize]
x += [gcd(1, 2), heappop([1]), bisect_left([1], 1), Counter('a'), defaultdict(int), deque(), reduce(add, [1]), inf]
x += [list(accumulate([1])), lru_cache(None)(len)('a'), pow(2, 3, 5), sum([1]), List[int], Optional[int], itemgetter(0)]
x += [string.digits, re.sub('a', 'b', 'a'), copy.copy(1), math.pi, random.random(), statistics.mode([1]), time.time()]
x += [itertools.count(), functools.reduce, operator.add, io.StringIO(), sys.argv, json.dumps(1), fractions.Fraction(1)]
x += [collections.deque(), heapq.heapify, bisect.bisect, open, stdin.read(), setrecursionlimit(10**5)]
stdout.write('7\\n')
"""


def test_the_names_of_the_official_runners_are_there():
    assert code.judge(block(PRELUDE), stdin_gold(("", "7")))[0] == "correct"
    method = PRELUDE.replace("stdin.read()", "1").replace("stdout.write('7\\n')", "").replace("\n", "\n    ")
    assert code.judge(block(f"def f():{method}\n    return 7"), call_gold("f", ([], 7)))[0] == "correct"
    assert code.judge(block("print(pow(2, 3, 5))"), stdin_gold(("", "3")))[0] == "correct"  # not that of math


@pytest.mark.parametrize(
    ("output", "wanted", "tolerance", "equal"),
    [
        ("1 2 3", "1 2\n3", 0, True),
        ("Yes\n", "YES", 0, True),
        ("0.333333", "0.3333333333", 1e-5, True),
        ("0.333333", "0.3333333333", 0, False),
        ("0.33332", "0.33334", 1e-5, False),
        ("1000001", "1000000", 1e-5, False),  # absolute, unlike that of lines
        ("1000000.1", "1000000.2", 1e-5, False),
        ("100000.5", "100000.500001", 1e-5, True),
        ("9007199254740993", "9007199254740992", 1e-5, False),  # integers are never near
        ("5", "6", 1.0, False),
        ("5", "5.0", 1e-5, True),
        ("nan", "1", 1.0, False),
        ("inf", "Infinity", 1e-5, True),
        ("inf", "-inf", 1e-5, False),
        ("1e999999999", "inf", 1.0, False),
        ("1 2", "1 2 3", 1e-5, False),
        ("a", "b", 1.0, False),
        ("", "", 0, True),
    ],
)
def test_equal_tokens(output, wanted, tolerance, equal):
    assert code.same_tokens(output, wanted, tolerance) is equal


def test_a_gold_names_its_checker():
    shout = block("print('YES 0.3333333')")
    assert code.judge(shout, stdin_gold(("", "yes\n0.333333"), checker="tokens", tolerance=1e-5))[0] == "correct"
    assert code.judge(shout, stdin_gold(("", "yes\n0.333333"), tolerance=1e-5))[0] == "wrong"


@pytest.mark.parametrize(
    ("output", "wanted", "tolerance", "equal"),
    [
        ("1 2\n3\n", "1 2\n3", 0, True),
        ("  1 2  \n3\n\n", "1 2\n3", 0, True),
        ("1  2\n3", "1 2\n3", 0, True),
        ("1 2 3", "1 2\n3", 0, False),
        ("1.0", "1", 0, True),
        ("0.30000000000000004", "0.3", 0, False),
        ("0.30000000000000004", "0.3", 1e-9, True),
        ("1000001", "1000000", 1e-5, True),  # relative
        ("1000100", "1000000", 1e-5, False),
        ("nan", "nan", 0, True),  # the same text
        ("nan", "1", 10.0, False),
        ("inf", "1", 10.0, False),
        ("inf", "Infinity", 0, True),
        ("-Infinity 1", "-inf 1.0", 0, True),
        ("inf", "-inf", 10.0, False),
        ("information", "inf", 0, False),
        ("YES", "yes", 0, False),
        ("1e999999999", "5", 1e-6, False),
        ("0", "1" + "0" * 400, 1e-6, False),  # beyond a float, where all distances are infinite
        ("0", "1e400", 1e-6, False),
        ("101", "0101", 1e-6, False),
        ("1_000", "1000", 0, False),
        ("١٢", "12", 0, False),
        ("+5", "5", 0, True),
        (".5", "0.50", 0, True),
        ("E5", "5", 1e-6, False),
        ("+", "-", 1e-6, False),
        ("9" * 5000, "9" * 5000, 0, True),
        ("9" * 5000, "8" * 5000, 1e-6, False),
        ("", "", 0, True),
        ("", "0", 0, False),
    ],
)
def test_equal_outputs(output, wanted, tolerance, equal):
    assert code.same_output(output, wanted, tolerance) is equal


def test_the_table_of_the_docs_says_what_is_so():
    text = (ROOT / "docs" / "grading.md").read_text().partition("| output | expected | verdict | why |")[2]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| (correct|wrong) \|", text.partition("\n\n")[0], re.MULTILINE)
    assert len(rows) >= 6
    for output, expected, verdict in rows:
        assert code.same_output(output, expected, 0) is (verdict == "correct"), (output, expected)
    for output, expected in (("YES", "yes"), ("1 2 3", "1 2\n3")):
        assert code.same_tokens(output, expected, 0) and not code.same_output(output, expected, 0)
    assert code.same_output("1000001", "1000000", 1e-5) and not code.same_tokens("1000001", "1000000", 1e-5)


# Right programs, as they are written in contests, for a row of each set as it is published.
ADDS = [{"input": a, "output": b, "testtype": "stdin"} for a, b in (("1 2\n", "3\n"), ("5 6\n", "11\n"))]
THIRDS = {"input": ["1\n", "2\n"], "output": ["0.3333333333\nYes\n", "0.6666666667\nYes\n"]}
CALLS = [{"input": "[1, 2]\n2", "output": "[1.5, 2.5]", "testtype": "functional"}]
LEETCODE = """class Solution:
    def f(self, xs: List[int], n: int) -> List[float]:
        return tuple(Fraction(2 * x + 1, n) for x in xs)
from fractions import Fraction
if __name__ == '__main__':
    print(Solution().f(json.loads(input()), int(input())))
    sys.exit(1)"""
LCB = {"question_content": "q", "starter_code": "", "contest_date": "2024-09-01", "private_test_cases": "[]"}
ADDITION = LCB | {"public_test_cases": json.dumps(ADDS), "metadata": "{}"}
METHOD = LCB | {"public_test_cases": json.dumps(CALLS), "metadata": '{"func_name": "f"}'}
ROOT_OF_INPUT = {"question": "q", "input_output": '{"inputs": ["4\\n"], "outputs": ["2.0\\n"]}'}
ROOT_OF_ARGUMENT = {"question": "q", "input_output": '{"fn_name": "f", "inputs": [[4]], "outputs": [[2.0]]}'}
DIVISION = {"description": "q", "public_tests": THIRDS, "private_tests": None, "generated_tests": None}
RIGHT = [
    ("livecodebench-v6", ADDITION, "print(sum(map(int, input().split())))\nexit()"),
    ("livecodebench-v6", ADDITION, "a, b = map(int, stdin.read().split())\nprint(f'{add(a, b)} ')\nquit()"),
    ("livecodebench-v6", METHOD, LEETCODE),
    ("taco-train", ROOT_OF_INPUT, "print(sqrt(int(input())))\nsys.exit('done')"),
    ("taco-train", ROOT_OF_ARGUMENT, "f = lambda x: sqrt(x)"),
    ("code-contests-train", DIVISION, "print(f'{int(input()) / 3:.6f} YES')"),
]


@pytest.mark.parametrize(("name", "row", "program"), RIGHT)
def test_right_programs_are_right_on_each_set(tmp_path, name, row, program):
    (tmp_path / "set.jsonl").write_text(json.dumps(row) + "\n")
    spec = read_data(ROOT / "config", ROOT)[name]
    published.write(spec, (tmp_path / "set.jsonl",), tmp_path / "out", any_count=True)
    (problem,) = read_records(tmp_path / "out" / "problems.jsonl", Problem)
    assert code.judge(block(program), problem.gold)[0] == "correct"
    for old, new in (("int(", "len("), ("sqrt(", "str("), ("2 * x", "3 * x")):
        program = program.replace(old, new)
    assert code.judge(block(program), problem.gold)[0] == "wrong"


@pytest.mark.parametrize(
    ("result", "wanted", "tolerance", "equal"),
    [
        ("[1, 2]", [1, 2], 0, True),
        ("[1, 2]", [2, 1], 0, False),
        ("[1, 2, 3]", [1, 2], 0, False),
        ("true", True, 0, True),
        ("1", True, 0, True),  # as in Python, and in LiveCodeBench
        ('"1"', 1, 0, False),
        ("null", 0, 0, False),
        ("0.1000001", 0.1, 1e-6, True),
        ("0.1000001", 0.1, 0, False),
        ('{"a": [1.0]}', {"a": [1]}, 0, True),
        ('{"a": 1, "b": 2}', {"a": 1}, 0, False),
        ("NaN", 1, 5.0, False),
        ("[" * 100_000, [1], 0, False),
        ("not JSON", "not JSON", 0, False),
        (str(10**400), 5, 1e-6, False),
        ("0", 10**400, 1e-6, False),
        ("Infinity", 1e308, 1e-6, False),
    ],
)
def test_equal_results(result, wanted, tolerance, equal):
    assert code.same_result(result, wanted, tolerance) is equal


@pytest.mark.parametrize(
    "gold",
    [
        *("5", "{}", "[]", "not JSON", "[" * 100_000),
        '{"kind": "stdin", "tests": []}',
        '{"kind": "stdin", "tests": [{"input": 5, "output": "1"}]}',
        '{"kind": "stdin", "tests": [{"input": "", "output": ""}], "tolerance": NaN}',
        '{"kind": "stdin", "tests": [{"input": "", "output": ""}], "seconds": -1}',
        '{"kind": "stdin", "tests": [{"input": "", "output": ""}], "memory": 64}',
        '{"kind": "call", "tests": [{"input": [], "output": 1}]}',
        '{"kind": "call", "entry": "f", "checker": "tokens", "tests": [{"input": [], "output": 1}]}',
        '{"kind": "stdin", "checker": "words", "tests": [{"input": "", "output": ""}]}',
        '{"kind": "call", "entry": "f", "tests": [{"input": 1, "output": 1}]}',
        '{"kind": "call", "entry": "f()", "tests": [{"input": [1], "output": 1}]}',
    ],
)
def test_a_gold_that_cannot_be_read_is_an_error_and_no_verdict(gold):
    with pytest.raises(VerifierError, match="gold of the verifier"):
        code.judge(block("print(1)"), gold)


def rlvr(*arguments: str, given: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "rlvr", *arguments]
    environment = {**os.environ, **environment}
    return subprocess.run(command, input=given, capture_output=True, text=True, env=environment)


def test_rlvr_grade_judges_code_and_goes_on_after_a_bad_gold():
    lines = [
        {"id": 1, "completion": block("print(sum(map(int, input().split())))"), "gold": ADD},
        {"id": 2, "completion": block("print(7)"), "gold": "5"},
        {"id": 3, "completion": block("print(7)"), "gold": ADD},
    ]
    done = rlvr("grade", "--verifier", "code", given="".join(json.dumps(line) + "\n" for line in lines))
    made = [json.loads(line) for line in done.stdout.splitlines()]
    statuses = [(line["id"], line["status"], line["correct"]) for line in made]
    assert statuses == [(1, "correct", True), (2, "invalid", False), (3, "wrong", False)]
    assert "gold of the verifier" in made[1]["error"]


def test_without_bubblewrap_nothing_is_run(tmp_path):
    line = json.dumps({"id": 1, "completion": block("print(1)"), "gold": ADD})
    done = rlvr("grade", "--verifier", "code", given=line, PATH=str(tmp_path))
    assert done.returncode == 2 and not done.stdout
    assert "bubblewrap (bwrap) is not installed" in done.stderr and "apt-get install bubblewrap" in done.stderr


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n", "does not work on this machine"),
        ("#!/bin/sh\nshift 1000\n", "does not work on this machine"),
        ("#!/no/such/interpreter\n", "cannot be started"),
    ],
)
def test_a_bubblewrap_that_does_not_work_is_refused(script, message):
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is for its owner alone
        os.chmod(folder, 0o755)
        broken = Path(folder, "bwrap")
        broken.write_text(script)
        broken.chmod(0o755)
        line = json.dumps({"id": 1, "completion": block("print(1)"), "gold": ADD})
        done = rlvr("grade", "--verifier", "code", given=line, PATH=f"{folder}:{os.environ['PATH']}")
    assert done.returncode == 2 and not done.stdout
    assert message in done.stderr and "Traceback" not in done.stderr
