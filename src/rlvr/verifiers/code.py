r"""Programs, judged by unit tests as LiveCodeBench poses them: standard input and output, or calls of a function.

The gold is JSON: {"kind": "stdin" | "call", "entry": NAME, "tests": [{"input": ..., "output": ...}, ...]}, with
"seconds" and "memory_mb" per test, a "tolerance" and a "checker" if the set has them, and its "form": whether a
response ends in a code block, in one behind its thought, or is a program after its </think>. The program runs in
`sandbox` once per test, or once for all calls ("together"), and sees only inputs; this module compares its output. A
run of a program on an input is remembered, since the rollouts of tiny policies repeat each other. docs/grading.md says
when two outputs are equal.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rlvr.verifiers import THOUGHT, Judgement, VerifierError, _plain, behind_thought, sandbox
from rlvr.verifiers.memory import Memory, remembered

VERSION = 2
SLOW = True
ISOLATED = True
THINKS = True
SECONDS = 600.0  # of a whole judgement; each test has its own limit
MEMORY_MB = None  # a worker waits for sandboxes, and a test's own limit may be higher
LONGEST = 200_000  # characters of a program worth running
TOGETHER = 0.1  # seconds of CPU for plain programs in one sandbox; those of a training step take 0.02
REMEMBERED = 32 << 20  # bytes of programs with their inputs and outputs
GOLDS = 1 << 20  # bytes of small golds that are kept as read
_RUNS: Memory[tuple[str, str, sandbox.Limits, str], tuple[str, str]] = Memory(REMEMBERED)

# A file may follow a block's language: python:main.py
_PYTHON = re.compile(r"\{?\.?(?:py|python)[\d.]*(?![\w+#-])|[^\s:]+\.py$", re.IGNORECASE)
_POINTS = ".,;:!?"  # punctuation of a sentence behind a fence
# ASCII, without a leading zero, so that 0101 is no number: "101" and "0101" may be two answers.
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(
    r"[+-]?(?:(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?|inf(?:inity)?)", re.IGNORECASE
)


class GoldError(VerifierError):
    """A gold that is not of the form above: a defect of the data set, not a verdict on an answer."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class _Test(_Strict):
    input: Any
    output: Any


class Gold(_Strict):
    """Unit tests. With `stdin` input and output are texts; with `call` they are a list of arguments and a value.

    `checker` compares texts line by line, as LiveCodeBench does, or as one row of tokens, as CodeContests does.
    `together` makes all calls in one process, within the limits of one test. `form`: the program is the response's
    last code block, the last one that follows its thought, or all that follows its last </think>.
    """

    kind: Literal["stdin", "call"]
    entry: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    tests: Annotated[tuple[_Test, ...], Field(min_length=1, strict=False)]
    seconds: Annotated[float, Field(gt=0, le=600)] | None = None
    memory_mb: Annotated[int, Field(ge=16, le=65_536)] | None = None
    tolerance: Annotated[float, Field(ge=0, le=1)] | None = None
    checker: Literal["lines", "tokens"] = "lines"
    together: bool = False
    form: Literal["block", "block_after_think", "after_think"] = "block"

    @model_validator(mode="after")
    def kinds_agree(self):
        if (self.kind == "call") != (self.entry is not None):
            raise ValueError("kind `call` needs `entry`; kind `stdin` must not have it")
        if self.kind == "stdin" and self.together:
            raise ValueError("kind `stdin` must not have `together`")
        if self.kind == "call" and self.checker != "lines":
            raise ValueError("kind `call` must not have `checker`")
        wanted = str if self.kind == "stdin" else list
        if any(not isinstance(test.input, wanted) for test in self.tests):
            raise ValueError(f"the input of a test must be a {'text' if wanted is str else 'list of arguments'}")
        if self.kind == "stdin" and any(not isinstance(test.output, str) for test in self.tests):
            raise ValueError("the output of a test must be a text")
        return self

    def program(self, text: str) -> str | None:
        """The program of a response; None if it has none."""
        if self.form == "after_think":
            return after_thought(text)
        answer = text if self.form == "block" else behind_thought(text)
        return None if answer is None else last_program(answer)

    def runs(self) -> Iterator[tuple[_Test, ...]]:
        """The tests of each run of the program."""
        return iter([self.tests] if self.together else [(test,) for test in self.tests])

    @cached_property
    def calls(self) -> str:
        """The arguments of all tests, as JSON."""
        return _calls(self.tests)

    @cached_property
    def results(self) -> str:
        """What a right program of calls writes, as long as it writes numbers as Python does."""
        return "".join(f"{json.dumps(test.output)}\n" for test in self.tests)

    @cached_property
    def limits(self) -> sandbox.Limits:
        settings = {"seconds": self.seconds, "memory_mb": self.memory_mb}
        return sandbox.Limits(**{name: value for name, value in settings.items() if value})


check = sandbox.check


def check_gold(gold: str) -> None:
    read_gold(gold)


def after_think(gold: str) -> str:
    return json.dumps({**json.loads(gold), "form": "block_after_think"}, ensure_ascii=False)


prepare, close = sandbox.adopt, sandbox.close


def reads(text: str) -> tuple[str, ...]:
    return tuple(program or "" for program in (last_program(text), after_thought(text)))


def judge(text: str, gold: str) -> Judgement:
    """`correct` if every test passes; stops at the first failure. `extracted` is the program."""
    tests = read_gold(gold)
    program = tests.program(text)
    if program is None or len(program) > LONGEST:
        return "unparsable", None
    for run in tests.runs():
        data = (tests.calls if tests.together else _calls(run)) if tests.entry else run[0].input
        stopped, output = _ran(program, data, tests.limits, tests.entry or "")
        right = not stopped and ((tests.together and output == tests.results) or _as_wanted(output, run, tests))
        status = stopped or ("correct" if right else "wrong")
        if status != "correct":
            return status, program
    return "correct", program


def ahead(questions: Sequence[tuple[str, str]]) -> None:
    """Run the plain programs of these questions in one sandbox, and remember their outputs.

    A program that takes long or takes memory ends the sandbox: then it runs alone, and those behind it share another.
    So it costs its own limit and TOGETHER at most.
    """
    waiting: dict[tuple[sandbox.Limits, str], dict[_plain.Run, None]] = {}
    for text, gold in dict.fromkeys(questions):
        tests = read_gold(gold)
        program = tests.program(text) if tests.together else None
        if program is None or tests.entry is None:
            continue
        known = _RUNS.get((program, tests.calls, tests.limits, tests.entry))
        if known is None and _plain.is_plain(program, tests.entry):
            waiting.setdefault((tests.limits, tests.entry), {})[program, tests.calls] = None
    for (limits, entry), runs in waiting.items():
        _run_together(list(runs), limits, entry)


def _run_together(runs: list[_plain.Run], limits: sandbox.Limits, entry: str) -> None:
    """Run plain programs, the last one or one that ends a shared sandbox alone; remember what they gave."""
    shared = replace(limits, seconds=min(limits.seconds, TOGETHER))
    while runs:
        outputs = _plain.results(runs, entry, shared) if len(runs) > 1 else []
        for (program, data), output in zip(runs, outputs, strict=False):
            _RUNS.put((program, data, limits, entry), ("wrong", "") if output is None else ("", output))
        for program, data in runs[len(outputs) : len(outputs) + 1]:
            _ran(program, data, limits, entry)
        runs = runs[len(outputs) + 1 :]


def _calls(run: tuple[_Test, ...]) -> str:
    return json.dumps([test.input for test in run])


def _ran(program: str, data: str, limits: sandbox.Limits, entry: str) -> tuple[str, str]:
    """The status of a program that did not end as it should, else "", and its output; remembered."""
    key = (program, data, limits, entry)
    if (known := _RUNS.get(key)) is None:
        known = _run(*key)
        _RUNS.put(key, known)
    return known


def _run(program: str, data: str, limits: sandbox.Limits, entry: str) -> tuple[str, str]:
    outcome = sandbox.run(program, data.encode("utf-8", "replace"), limits, entry=entry)
    if outcome.stopped in ("time", "memory"):
        return {"time": "timeout", "memory": "out_of_memory"}[outcome.stopped], ""
    if outcome.stopped or outcome.code != 0:
        ran_out = outcome.errors.rstrip().rpartition("\n")[2].startswith("MemoryError")
        return "out_of_memory" if ran_out and not outcome.stopped else "wrong", ""
    return "", outcome.output.decode("utf-8", "replace")


def _as_wanted(output: str, run: tuple[_Test, ...], tests: Gold) -> bool:
    tolerance, wanted = tests.tolerance or 0.0, [test.output for test in run]
    if tests.entry:
        return _each(output.splitlines(), wanted, lambda line, value: same_result(line, value, tolerance))
    equal = {"lines": same_output, "tokens": same_tokens}[tests.checker]
    return equal(output, wanted[0], tolerance)


@dataclass(frozen=True)
class _Fence:
    """The line that opens or closes a block: its sign and their number, its indent, and the block's name."""

    sign: str
    count: int
    indent: int
    name: str
    before: str = ""  # code on the line that closes a block


def _fence(line: str) -> _Fence | None:
    inner = line.strip()
    sign = inner[:1]
    if sign not in ("`", "~") or not inner.startswith(sign * 3):
        return None
    rest = inner.lstrip(sign)
    if sign in rest:  # code in a sentence
        return None
    name = rest.strip().partition(" ")[0]
    return _Fence(sign, len(inner) - len(rest), len(line) - len(line.lstrip()), name if name.strip(_POINTS) else "")


def _fence_at_the_end(line: str) -> _Fence | None:
    """A fence at the end of a line, behind code, such as `print(7)```; or alone on it."""
    inner = line.rstrip().rstrip(_POINTS)
    sign = inner[-1:]
    before = inner.rstrip(sign)
    if sign not in ("`", "~") or not inner.endswith(sign * 3) or not before.strip():
        return _fence(line)
    return _Fence(sign, len(inner) - len(before), 0, "", before)


def after_thought(text: str) -> str | None:
    """All that follows the last </think>; None without one, or if nothing follows."""
    _, mark, program = text.rpartition(THOUGHT)
    return program.strip() or None if mark else None


def last_program(text: str) -> str | None:
    """The last closed code block that is marked as Python, else the last unmarked one; without its own indent.

    None if a later block is never closed: the final answer is missing. If no line of its own closes a block, a line
    that ends in a fence does.
    """
    if "```" not in text and "~~~" not in text:
        return None
    lines = text.replace("\r\n", "\n").split("\n")
    blocks = _blocks(lines, closed_by=_fence)
    blocks = _blocks(lines, closed_by=_fence_at_the_end) if blocks is None else blocks
    if not blocks:
        return None
    marked = [program for name, program in blocks if name]
    return (marked or [program for _, program in blocks])[-1].lstrip("\ufeff")


def _blocks(lines: list[str], closed_by: Callable[[str], _Fence | None]) -> list[tuple[str, str]] | None:
    """The closed blocks that may be Python, with their names; None if the last block is never closed.

    A fence without a name and without text after it opens no block.
    """
    blocks, opening, body = [], None, []
    for line in lines:
        end = closed_by(line) if opening else None
        if opening is None:
            opening, body = _fence(line), []
        elif end and end.sign == opening.sign and end.count >= opening.count and not end.name:
            body.append(end.before)
            if not opening.name or _PYTHON.match(opening.name):
                blocks.append((opening.name, _program(body, opening.indent)))
            opening = None
        else:
            body.append(line)
    stray = opening is not None and not opening.name and not any(line.strip() for line in body)
    return blocks if opening is None or stray else None


def _program(body: list[str], indent: int) -> str:
    *rows, last = (row[min(indent, len(row) - len(row.lstrip())) :] for row in body)
    return "".join(f"{row}\n" for row in (*rows, *([last] if last.strip() else [])))


@lru_cache(maxsize=2)  # the samples of a problem follow each other; a gold may have megabytes
@remembered(GOLDS)
def read_gold(gold: str) -> Gold:
    try:
        return Gold.model_validate(json.loads(gold))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise GoldError(f"not a gold of the verifier `code`: {place}{': ' if place else ''}{first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise GoldError(f"not a gold of the verifier `code`: {type(error).__name__}: {error}") from error


def _each(values: list[Any], wanted: list[Any], same: Callable[[Any, Any], bool]) -> bool:
    """Whether there are as many values as wanted, each the same as its counterpart."""
    return len(values) == len(wanted) and all(map(same, values, wanted))


def same_output(output: str, wanted: str, tolerance: float) -> bool:
    """Whether lines are equal, apart from outer space and outer empty lines; numbers in a line compare by value."""
    lines, expected = (text.strip().split("\n") for text in (output, wanted))
    return _each(lines, expected, lambda a, b: _same_line(a.strip(), b.strip(), tolerance))


def _same_line(line: str, expected: str, tolerance: float) -> bool:
    if line == expected:
        return True
    return _each(line.split(), expected.split(), lambda a, b: a == b or _same_number(a, b, tolerance))


def _same_number(a: str, b: str, tolerance: float) -> bool:
    if not (_NUMBER.fullmatch(a) and _NUMBER.fullmatch(b)):
        return False
    left, right = Decimal(a), Decimal(b)
    return left == right or near(left, right, tolerance)


def same_tokens(output: str, wanted: str, tolerance: float) -> bool:
    """Whether tokens are equal apart from case; numbers compare by value, or within the tolerance.

    Two integers are equal or not, whatever the tolerance.
    """
    tokens, expected = output.lower().split(), wanted.lower().split()
    return _each(tokens, expected, lambda a, b: a == b or _same_token(a, b, tolerance))


def _same_token(a: str, b: str, tolerance: float) -> bool:
    if not (_NUMBER.fullmatch(a) and _NUMBER.fullmatch(b)):
        return False
    if Decimal(a) == Decimal(b):
        return True
    integers = _INTEGER.fullmatch(a) and _INTEGER.fullmatch(b)
    return not integers and abs(float(a) - float(b)) < tolerance


def near(a: Decimal | float, b: Decimal | float, tolerance: float) -> bool:
    """Whether |a - b| <= tolerance x max(1, |b|); False for numbers that no float holds."""
    try:
        left, right = float(a), float(b)
    except OverflowError:
        return False
    finite = math.isfinite(left) and math.isfinite(right)
    return finite and tolerance > 0 and abs(left - right) <= tolerance * max(1.0, abs(right))


def same_result(output: str, wanted: Any, tolerance: float) -> bool:
    """Whether a call's JSON result equals the expected value; JSON cannot carry objects of the program."""
    try:
        return _same_value(json.loads(output), wanted, tolerance)
    except (ValueError, RecursionError):
        return False


def _same_value(value: Any, wanted: Any, tolerance: float) -> bool:
    if isinstance(wanted, list) and isinstance(value, list):
        return _each(value, wanted, lambda a, b: _same_value(a, b, tolerance))
    if isinstance(wanted, dict) and isinstance(value, dict):
        return value.keys() == wanted.keys() and all(_same_value(value[key], wanted[key], tolerance) for key in wanted)
    if isinstance(wanted, (int, float)) and isinstance(value, (int, float)):
        return value == wanted or near(value, wanted, tolerance)
    return type(value) is type(wanted) and value == wanted
