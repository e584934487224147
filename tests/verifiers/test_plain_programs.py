"""Plain programs: what counts as plain, equal verdicts alone and together, and hostile programs among them."""

import copy
import json
import time
from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlvr.verifiers import _plain, code, sandbox, sandbox_plain
from rlvr.verifiers.pool import Pool

GOLD = json.dumps(
    {
        **{"kind": "call", "entry": "f", "together": True, "form": "after_think", "seconds": 1.0, "memory_mb": 64},
        "tests": [{"input": [[3, 1, 2]], "output": [2, 1, 3]}, {"input": [[5, 9, 4]], "output": [4, 9, 5]}],
    }
)
PLAIN = [
    "def f(x): x=x[::-1]; return x",
    "def f(x): return x",
    "def f(x): return [a for a in reversed(x)]",
    "def f(x): y = sorted(x); return x[1]",
    "def f(x): return x[7]",  # fails on these inputs
    "def f(x): return x // 0",
    "def f(x): x=[(a+1)%(10)for(a)in(x)]; return x",
    "def f(x): return (1, 2)",
    "def f(x, y): return x",  # called with too few arguments
    "def f(x): pass",
    "def f(x): sorted = x; return sorted",
    "def f(x): return (",
    "def f(x): return for x",
    "def f(x): for a in x: x[0:0] = [a] if len(x) < 9 else []",
]
NOT_PLAIN = [
    "import os\ndef f(x): return x",
    "def f(x): return x.__class__",
    "def f(x): return __import__('os')",
    "def f(x): return open('/etc/passwd')",
    "def f(x): return f(x)",  # a name that is no built-in
    "def f(x, y=[]): return x",
    "@sorted\ndef f(x): return x",
    "def f(x):\n  while True: pass",
    "def g(x): return x",
    "def f(x): return x[::-1]\nprint(1)",
    "def f(x): return lambda: x",
    "def f(x): return 'text'",
    "def f(x): return 10**9",
    "def f(x): return 9999999999",
    "def f(x): return x;\n",
    "def f(x): return x@x",
    "def f(x): return 2**9",
    "def f(x): return 1.5",
    "def f(x): import x",
    "def f(x): def g(x): return x",
    "def f(x): return lambda x: x",
    "def f(return): return x",
]


def told(program: str) -> str:
    return f"<think> 1 </think> {program}"


def judged(programs: Iterable[str], *golds: str) -> list[str]:
    """The statuses of each gold's programs, together."""
    with Pool("code") as pool:
        asked = [(told(program), gold) for gold in golds or [GOLD] for program in programs]
        return [verdict.status for verdict in pool.judge(asked)]


@pytest.fixture(autouse=True)
def runs(monkeypatch):
    """The programs that the sandbox runs from now on; nothing is remembered of earlier ones."""
    code._RUNS.clear()
    runs, real = [], sandbox.run
    monkeypatch.setattr(sandbox, "run", lambda *given, **more: runs.append(given[0]) or real(*given, **more))
    return runs


def test_what_is_plain():
    assert [p for p in PLAIN if not _plain.is_plain(p, "f")] == []
    assert [p for p in NOT_PLAIN if _plain.is_plain(p, "f")] == []


def test_verdicts_are_those_of_each_program_alone():
    together = judged([*PLAIN, *NOT_PLAIN])
    code._RUNS.clear()
    alone = [code.judge(told(p), GOLD)[0] for p in [*PLAIN, *NOT_PLAIN]]
    assert together == alone and together[0] == "correct" and together.count("correct") == 3


ENDLESS = "def f(x): return sum([a for a in range(999999) if not [b for b in range(999999) if b < 0]])"
BOMB = f"def f(x): {'x=x+x; ' * 24}return x"  # 400 MB in a few copies: out of memory long before any limit of time


@pytest.fixture(scope="module")
def alone():
    """The verdict of each program alone, with a limit of 0.15 s."""
    gold = other_gold(json.loads(GOLD)["tests"], seconds=0.15)
    return gold, {program: code.judge(told(program), gold) for program in [*PLAIN, ENDLESS, BOMB]}


@settings(max_examples=12, derandomize=True)
@given(st.data())
def test_a_result_does_not_depend_on_the_programs_that_share_its_sandbox(alone, data):
    gold, verdicts = alone
    programs = data.draw(st.lists(st.sampled_from(sorted(verdicts)), min_size=2, max_size=8, unique=True))
    code._RUNS.clear()
    with Pool("code") as pool:
        together = [(v.status, v.extracted) for v in pool.judge((told(program), gold) for program in programs)]
    assert together == [verdicts[program] for program in programs]


STATEMENTS = [
    *("x=x[::-1]", "x=x[1:]+x[:1]", "x=[(a+1)%(10)for(a)in(x)]", "x=[x for x in x]", "x = [x]", "x=x[0]", "x=*x,"),
    *("x=x+[x]", "x=x==[1]", "x=x<=[3]>=x!=0", "x=0", "x=x[9]", "x=x//0", "x=y", "x=list", "x=max(x)"),
    *("x[0]=9", "x+=[1]", "x=y=x", "y=x", "x=[y:=3]", "x=y:=3", "x=[y:=a for a in x]", "x=(y:=3)", "x=sorted(x,k=1)"),
    *("x=1)+(2", "x==[3]", "x=(", "x=", "", "return x", "return 0", "return", "pass", "x=return x", "x=x if x else 0"),
    *("x:=3", "x=x=[1]", "sorted=x", "x=sorted(x)", "x=[a for a in x", "for a in x: x=a", "x=not x", "x=x[:]=[4]"),
]


def called(function, program: str, arguments: list) -> str:
    """What the sandbox writes for a call of a program, or that it fails."""
    try:
        return sandbox_plain.as_json(function(program)(*copy.deepcopy(arguments)))
    except Exception:
        return sandbox_plain.FAILED


def test_statements_one_by_one_give_what_the_whole_program_gives():
    """All pairs of statements, so that one of them may give another its names; all ends and openings of one."""
    ends = ["return x", "return x ", "return x[0]", "return", "return x;", "x=1", "return x; x=0"]
    openings = ["def f(x):", "def f(y):", "def f(x, y):"]
    sources = [f"def f(x): {a}; {b}; return x" for a, b in product(STATEMENTS, repeat=2)]
    sources += [f"{opening} {a};{end}" for opening, a, end in product(openings, STATEMENTS, ends)]
    plain = [source for source in sources if _plain.is_plain(source, "f")]
    functions = sandbox_plain.Functions("f")
    assert len(plain) > len(sources) // 2
    for source, arguments in product(plain, ([[3, 1, 2]], [5], [])):
        assert called(functions.of, source, arguments) == called(functions._compiled, source, arguments), source


def test_statements_of_plain_programs_are_compiled_once(monkeypatch):
    functions = sandbox_plain.Functions("f")
    compiled, real = [], functions._compiled
    monkeypatch.setattr(functions, "_compiled", lambda program: compiled.append(program) or real(program))
    sources = [f"def f(x): {'; '.join(chosen)}; return x" for chosen in product(STATEMENTS[:3], repeat=3)]
    assert [functions.of(source)([1, 2, 3]) for source in sources][:2] == [[3, 2, 1], [2, 3, 1]]
    assert sorted(compiled) == [f"def f(x): {statement}; return x" for statement in sorted(STATEMENTS[:3])]


@pytest.mark.parametrize("value", [[], [1, -20], [True], [1.0], [[1, 2]], (1, 2), [None], 7, [10**99]])
def test_results_are_json(value):
    assert sandbox_plain.as_json(value) == json.dumps(value)


def test_one_worker_here_and_two_elsewhere_agree():
    questions = [(told(p), GOLD) for p in PLAIN]
    with Pool("code") as here, Pool("code", workers=2) as elsewhere:
        assert here._here and not elsewhere._here
        assert [v.status for v in here.judge(questions)] == [v.status for v in elsewhere.judge(questions)]


def test_plain_programs_share_a_sandbox_and_are_not_run_again(runs):
    assert judged(PLAIN) == judged(PLAIN) and len(runs) == 1


def other_gold(tests: list, **more) -> str:
    return json.dumps({**json.loads(GOLD), "tests": tests, **more})


def test_programs_of_several_problems_share_a_sandbox_each_with_its_own_inputs(runs):
    reverses, sorts = PLAIN[0], "def f(x): return sorted(x)"
    golds = [other_gold([{"input": [[a, b]], "output": [b, a]}]) for a, b in ((7, 8), (8, 7))]
    found = judged([reverses, sorts], GOLD, *golds)
    assert found == ["correct", "wrong", "correct", "wrong", "correct", "correct"] and len(runs) == 1


def test_of_several_problems_one_that_takes_long_costs_the_others_no_verdict(runs):
    """All up to it share a sandbox, it runs alone, and those behind it share another."""
    assert _plain.is_plain(ENDLESS, "f")
    golds = [GOLD, other_gold([{"input": [[7, 8]], "output": [8, 7]}])]
    programs = [PLAIN[0], ENDLESS, PLAIN[0], PLAIN[1]]
    asked = [(told(program), golds[i // 2]) for i, program in enumerate(programs)]
    with Pool("code") as pool:
        assert [v.status for v in pool.judge(asked)] == ["correct", "timeout", "correct", "wrong"]
    assert runs == ["", ENDLESS, ""], "the shared sandbox gets its programs as input"


def test_a_plain_program_that_takes_all_memory_ends_the_shared_sandbox_and_no_verdict_changes():
    assert _plain.is_plain(BOMB, "f")
    statuses = judged([PLAIN[0], BOMB, PLAIN[1]])
    assert statuses[0] == "correct" and statuses[1] in ("timeout", "out_of_memory") and statuses[2] == "wrong"


def test_a_program_cannot_change_what_the_next_one_computes():
    """Each has names of its own; the values that it is given are made anew for each call."""
    takes = "def f(x): x[0] = 9; return x"
    assert _plain.is_plain(takes, "f")
    assert judged([takes, PLAIN[0], takes, PLAIN[0]]) == ["wrong", "correct", "wrong", "correct"]


def test_nothing_after_the_thought_is_no_program():
    assert code.judge("<think> def f(x): return x", GOLD) == ("unparsable", None)
    assert code.judge("<think> 1 </think> ", GOLD) == ("unparsable", None)
    both = f"{told(PLAIN[1])} </think> {PLAIN[0]}"
    assert code.judge(both, GOLD) == ("correct", PLAIN[0]), "the last mark counts"


@pytest.mark.parametrize("bad", [{"together": True, "kind": "stdin"}, {"form": "anywhere"}])
def test_a_gold_with_a_key_that_means_nothing_is_refused(bad):
    content = {"kind": "stdin", "tests": [{"input": "1", "output": "1"}], **bad}
    with pytest.raises(code.GoldError):
        code.check_gold(json.dumps(content))


HOSTILE = {
    "endless": "def f(x):\n  while True: pass",
    "fork": "import os\ndef f(x):\n  while True: os.fork()",
    "memory": "def f(x):\n  y = [x]\n  while True: y += y",
    "files": "def f(x):\n  open('/work/forged', 'w').write('correct')\n  return x",
    "network": "import socket\ndef f(x):\n  socket.create_connection(('127.0.0.1', 80))\n  return x",
    "verdict": "import os\ndef f(x):\n  for fd in range(3, 64):\n    try: os.write(fd, b'correct')\n"
    "    except OSError: pass\n  os._exit(0)",
}


def test_hostile_programs_among_rollouts_cost_at_most_their_limit():
    """Those of a training step: every other rollout keeps its verdict, and to write a verdict makes none."""
    began = time.process_time()
    found = judged([PLAIN[0], *HOSTILE.values(), PLAIN[1], PLAIN[0]])
    by_name = dict(zip(HOSTILE, found[1:-2], strict=True))
    assert (found[0], found[-2], found[-1]) == ("correct", "wrong", "correct")
    assert by_name["endless"] == "timeout" and by_name["memory"] == "out_of_memory"
    assert by_name["fork"] in ("timeout", "out_of_memory", "wrong")
    assert by_name["files"] == by_name["network"] == by_name["verdict"] == "wrong"
    assert time.process_time() - began < 5, "of this process; each program has one second of its own"
