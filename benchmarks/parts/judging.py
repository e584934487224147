"""Speed of judging: answers, programs in the sandbox, the verifier's share of a step, intervals of pass@k."""

from __future__ import annotations

import json
import logging
import random
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from comparison import Figure
from measuring import Size, in_children, in_ended_children, own_steps, prepare, timed

from rlvr.statistics.intervals import over_problems, over_samples
from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.training import rollouts
from rlvr.verifiers import math as maths
from rlvr.verifiers import sandbox, sandbox_driver
from rlvr.verifiers.pool import Pool

TEMPLATE = "We add the numbers and simplify, so the answer is \\boxed{{{}}}."


def measure(folder: Path, size: Size) -> Iterator[Figure]:
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield from answers(size)
            yield from programs(size)
    finally:
        logging.disable(logging.NOTSET)
    seconds, _ = timed(lambda: intervals(size.resamples))
    yield Figure("intervals", seconds, "CPU s", "500 problems x 128 samples, 7 k, both intervals", at_most=5)
    clock, cpu = verifying(folder, size)
    step = "the verifier's share of a step with programs"
    yield Figure("verifier_share", cpu, "share", f"{step}, of CPU time", at_most=0.15, judged=True)
    yield Figure("verifier_share_clock", clock, "share", f"{step}, of the clock", at_most=0.15)


# ---- answers ----


def answers(size: Size) -> Iterator[Figure]:
    repeated, distinct = integers(size.integers)
    words = "integer answers a second of CPU time, one core"
    yield Figure("integers_repeated", repeated, "1/s", f"{words}: 16 rollouts a problem", at_least=100_000)
    yield Figure("integers_distinct", distinct, "1/s", f"{words}: all different", at_least=100_000)
    ratios = [np.divide(*against_math_verify(size.latex, round_)) for round_ in range(size.rounds)]
    latex = f"{16 * size.latex} LaTeX answers: math-verify / the pool of two, verdicts equal"
    yield Figure("math_verify_over_pool", float(median(ratios)), "times", latex, at_least=2, judged=True)


def integers(count: int) -> tuple[float, float]:
    """Answers a second on one core: 16 rollouts a problem with few different answers, and all of them different."""
    rng = random.Random(0)
    repeated = [(TEMPLATE.format(problem + rng.randrange(3)), str(problem)) for problem in range(count // 16)] * 16
    distinct = [(TEMPLATE.format(number), str(number + number % 2)) for number in range(count)]
    rates = []
    for questions in (repeated, distinct):
        maths._decided.memory.clear()
        seconds, _ = timed(lambda questions=questions: [maths.quick(text, gold) for text, gold in questions])
        rates.append(len(questions) / seconds)
    return rates[0], rates[1]


def mixed(problems: int, round_: int) -> list[tuple[str, str]]:
    """Sixteen rollouts each of problems with LaTeX answers, three in four of them different in form from the gold.

    Each round has problems of its own, which no cache knows.
    """
    rng, questions = random.Random(1 + round_), []
    for i in range(2 + round_ * problems, 2 + (round_ + 1) * problems):
        forms = [f"\\frac{{{2 * i}}}{{6}}", f"\\frac{{{i}}}{{3}}", f"\\dfrac{{{i}}}{{3}}", f"{i}/3", f"\\sqrt{{{i}}}"]
        questions += [(TEMPLATE.format(rng.choice(forms)), f"\\frac{{{i}}}{{3}}") for _ in range(16)]
    rng.shuffle(questions)
    return questions


def against_math_verify(problems: int, round_: int) -> tuple[float, float]:
    """CPU seconds of math-verify alone and of the pool with its two workers; verdicts must agree."""
    from math_verify import parse, verify

    questions = mixed(problems, round_)
    parse("\\boxed{1}")
    alone, theirs = timed(lambda: [bool(verify(parse(f"\\boxed{{{gold}}}"), parse(text))) for text, gold in questions])
    with Pool("math", workers=2) as pool:
        list(pool.judge([(TEMPLATE.format("x+1"), "1+x")]))  # workers started
        before = in_children()
        pooled, ours = timed(lambda: [verdict.status == "correct" for verdict in pool.judge(questions)])
        pooled += in_children() - before
    if ours != theirs:
        raise SystemExit(f"{sum(a != b for a, b in zip(ours, theirs, strict=True))} verdicts differ from math-verify's")
    return alone, pooled


# ---- programs ----


def programs(size: Size) -> Iterator[Figure]:
    """Tests of programs: by the code verifier, and by a bubblewrap with a fresh Python for each."""
    rates: dict[int, list[float]] = {1: [], 2: []}
    bare, ratios = [], []
    for round_ in range(size.rounds):
        ours = [of_pool(workers, size, round_) for workers in rates]
        for (rate, _), kept in zip(ours, rates.values(), strict=True):
            kept.append(rate)
        rate, cpu = bubblewraps(2 * size.tests)
        bare.append(rate)
        ratios.append(cpu / ours[0][1])
    words = "tests of programs a second of the clock"
    yield Figure("programs_one", median(rates[1]), "1/s", f"{words}, one worker")
    yield Figure("programs_two", median(rates[2]), "1/s", f"{words}, two workers", at_least=100)
    yield Figure("bubblewrap", median(bare), "1/s", f"{words}, a bubblewrap with a fresh Python each, without limits")
    yield Figure("bubblewrap_over_pool", median(ratios), "times", "the same: bubblewrap / one worker", judged=True)


BODY = "print(sum(map(int, input().split())))"


def of_pool(workers: int, size: Size, round_: int) -> tuple[float, float]:
    """Tests a second of the clock, and CPU seconds a test."""
    gold = {"kind": "stdin", "tests": [{"input": f"{i} 1\n", "output": str(i + 1)} for i in range(size.tests)]}
    with Pool("code", workers=workers) as pool:
        started = ((f"```python\n# start {i}\n{BODY}\n```", json.dumps(gold)) for i in range(4 * workers))
        list(pool.judge(started))
        asked = [(f"```python\n# {round_}, {i}\n{BODY}\n```", json.dumps(gold)) for i in range(size.judged)]
        began, before = time.perf_counter(), in_children()
        seconds, statuses = timed(lambda: {verdict.status for verdict in pool.judge(asked)})
        wall, tests = time.perf_counter() - began, size.judged * size.tests
        if statuses != {"correct"}:
            raise SystemExit("a program that adds two numbers was not judged correct")
        return tests / wall, (seconds + in_children() - before) / tests


def bubblewraps(count: int) -> tuple[float, float]:
    """Runs a second of the clock, and CPU seconds a run."""
    command = ["bwrap", "--unshare-all", "--as-pid-1"]  # else it does not wait for the process that waits for Python
    command += ["--ro-bind", "/", "/", sandbox.interpreter(), "-I", "-S", "-c", f"{sandbox_driver.PRELUDE}\n{BODY}"]
    began, before = time.perf_counter(), in_ended_children()
    for _ in range(count):
        subprocess.run(command, input=b"3 4\n", stdout=subprocess.DEVNULL, check=True)
    return count / (time.perf_counter() - began), (in_ended_children() - before) / count


def verifying(folder: Path, size: Size) -> tuple[float, float]:
    """The verifier's share of a step of FADE's mean baseline with programs: on the clock, the median, and of CPU time.

    The sandbox's CPU time counts on both sides, its start on neither.
    """
    spec, base, problems = prepare(folder, size.scale, "fade", "dr_grpo")
    own, started = [], 0.0
    verify = rollouts.verify

    def measured(*arguments):
        nonlocal started
        started = in_children() if len(own) == 2 else started  # after the steps to warm up
        seconds, verdicts = timed(lambda: verify(*arguments))
        own.append(seconds)
        return verdicts

    rollouts.verify = measured
    try:
        seconds, trainer = own_steps(spec, base, problems, "native", "float32", size.programs)
    finally:
        rollouts.verify = verify
    sandboxes = in_children() - started
    trainer.verifier.close()
    clock = median(row["timing"]["verify"] / row["timing"]["step"] for row in trainer.metrics[2:])
    return clock, (sum(own[2:]) + sandboxes) / (sum(seconds) + sandboxes)


# ---- intervals ----


def intervals(resamples: int) -> None:
    """500 problems x 128 samples, k = 1 to 64, both intervals."""
    generator = np.random.Generator(np.random.Philox(0))
    c = generator.binomial(128, generator.beta(0.4, 0.8, size=500))
    n = np.full(500, 128)
    for k in (1, 2, 4, 8, 16, 32, 64):
        over_samples(n, c, k, 0.95)
        over_problems(pass_at_k(n, c, k), resamples=resamples, confidence=0.95, generator=generator)
