"""Speed of grading, of programs in the sandbox and of pass@k intervals; prints figures of docs/benchmarks.md.

Run by benchmarks/run.py.
"""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
import time

import numpy as np

from rlvr.statistics.intervals import over_problems, over_samples
from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.verifiers import math as maths
from rlvr.verifiers import sandbox, sandbox_driver
from rlvr.verifiers.pool import Pool

TEMPLATE = "We add the numbers and simplify, so the answer is \\boxed{{{}}}."


def integers(count: int = 200_000) -> tuple[float, float]:
    """Answers a second on one core: 16 rollouts a problem with few different answers, and all of them different."""
    rng = random.Random(0)
    repeated = [(TEMPLATE.format(problem + rng.randrange(3)), str(problem)) for problem in range(count // 16)] * 16
    distinct = [(TEMPLATE.format(number), str(number + number % 2)) for number in range(count)]
    rates = []
    for questions in (repeated, distinct):
        maths._decided.memory.clear()
        began = time.perf_counter()
        for text, gold in questions:
            maths.quick(text, gold)
        rates.append(len(questions) / (time.perf_counter() - began))
    return rates[0], rates[1]


def mixed(problems: int) -> list[tuple[str, str]]:
    """Sixteen rollouts each of problems with LaTeX answers, three in four of them different in form from the gold."""
    rng, questions = random.Random(1), []
    for i in range(2, 2 + problems):
        forms = [f"\\frac{{{2 * i}}}{{6}}", f"\\frac{{{i}}}{{3}}", f"\\dfrac{{{i}}}{{3}}", f"{i}/3", f"\\sqrt{{{i}}}"]
        questions += [(TEMPLATE.format(rng.choice(forms)), f"\\frac{{{i}}}{{3}}") for _ in range(16)]
    rng.shuffle(questions)
    return questions


def against_math_verify(problems: int = 40) -> tuple[float, float]:
    """Seconds of math-verify alone, one process, and of the pool on two cores; verdicts must agree."""
    from math_verify import parse, verify

    questions = mixed(problems)
    parse("\\boxed{1}")
    began = time.perf_counter()
    theirs = [bool(verify(parse(f"\\boxed{{{gold}}}"), parse(text))) for text, gold in questions]
    alone = time.perf_counter() - began
    with Pool("math", workers=2) as pool:
        list(pool.judge([(TEMPLATE.format("x+1"), "1+x")] * 1))  # workers started
        began = time.perf_counter()
        ours = [verdict.status == "correct" for verdict in pool.judge(questions)]
        pooled = time.perf_counter() - began
    if ours != theirs:
        raise SystemExit(f"{sum(a != b for a, b in zip(ours, theirs, strict=True))} verdicts differ from math-verify's")
    return alone, pooled


def intervals(resamples: int = 9999) -> float:
    """500 problems x 128 samples, k = 1 to 64, both intervals."""
    generator = np.random.Generator(np.random.Philox(0))
    c = generator.binomial(128, generator.beta(0.4, 0.8, size=500))
    n = np.full(500, 128)
    began = time.perf_counter()
    for k in (1, 2, 4, 8, 16, 32, 64):
        over_samples(n, c, k, 0.95)
        over_problems(pass_at_k(n, c, k), resamples=resamples, confidence=0.95, generator=generator)
    return time.perf_counter() - began


def programs(tests: int = 20, problems: int = 60) -> tuple[float, float, float]:
    """Tests a second of the code verifier with one worker and with two, and of a bubblewrap per test, one core."""
    gold = {"kind": "stdin", "tests": [{"input": f"{i} 1\n", "output": str(i + 1)} for i in range(tests)]}
    body = "print(sum(map(int, input().split())))"
    rates = []
    for workers in (1, 2):
        with Pool("code", workers=workers) as pool:
            started = ((f"```python\n# start {i}\n{body}\n```", json.dumps(gold)) for i in range(4 * workers))
            list(pool.judge(started))
            began = time.perf_counter()
            asked = ((f"```python\n# {i}\n{body}\n```", json.dumps(gold)) for i in range(problems))
            if {verdict.status for verdict in pool.judge(asked)} != {"correct"}:
                raise SystemExit("a program that adds two numbers was not judged correct")
            rates.append(problems * tests / (time.perf_counter() - began))
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", sandbox.interpreter(), "-I", "-S"]
    command += ["-c", f"{sandbox_driver.PRELUDE}\n{body}"]
    began = time.perf_counter()
    for _ in range(2 * tests):
        subprocess.run(command, input=b"3 4\n", stdout=subprocess.DEVNULL, check=True)
    return rates[0], rates[1], 2 * tests / (time.perf_counter() - began)


def main() -> None:
    smoke = "--smoke" in sys.argv[1:]  # the least of everything
    os.environ["PYTHONWARNINGS"] = "ignore"
    logging.disable(logging.WARNING)
    repeated, distinct = integers(*([1600] if smoke else []))
    print(f"integer answers a second, one core: {repeated:,.0f} (16 rollouts a problem), {distinct:,.0f} all different")
    print("  (to reach: at least 100,000 through fast path and cache)")
    alone, pooled = against_math_verify(*([1] if smoke else []))
    print(f"640 mixed LaTeX answers: math-verify alone {alone:.2f} s, pool on two cores {pooled:.2f} s:", end=" ")
    print(f"{alone / pooled:.1f} times (to reach: at least 2), verdicts equal")
    one, two, bare = programs(*([2, 2] if smoke else []))
    print(
        f"tests of programs a second: one worker {one:.0f}, two {two:.0f} (to reach: at least 100 on two cores);",
        end=" ",
    )
    print(f"a bubblewrap with a fresh Python per test, without limits or filter: {bare:.0f}")
    seconds = intervals(*([9] if smoke else []))
    print(f"500 problems x 128 samples, 7 values of k, both intervals: {seconds:.2f} s (to reach: at most 5)")


if __name__ == "__main__":
    main()
