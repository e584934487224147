"""Runs with kept rollouts, and evaluations, written by hand: as far as `rlvr show` and `rlvr compare` read them."""

import gzip
import json
from pathlib import Path

from rlvr.files import publish_csv, publish_json, publish_lines
from rlvr.records import Completion, Grade, KeptGroup, Problem, publish_records, row_of
from rlvr.scoring.score import score

PROMPT, RIGHT = "1 2 3 = 6", "1 + 2 = 3 + 3 = 6 \\boxed{ 1 + 2 + 3 }"
FALSE = "1 + 2 = 4 + 3 = 7 \\boxed{ 1 + 2 + 3 }"  # its first false word is 4, the fifth
HOSTILE = "<script>alert(1)</script>\x1b[31m & \\boxed{ 1 * 2 }"
TEXTS, STATUSES = (RIGHT, FALSE, HOSTILE, "2"), ("correct", "correct", "wrong", "unparsable")


def group(step: int, problem: str = "p0") -> KeptGroup:
    """A group of four rollouts, with the weights of Dr.GRPO."""
    numbers = {"rewards": (1.0, 1.0, 0.0, 0.0), "weights": (0.5, 0.5, -0.5, -0.5), "lengths": (12, 12, 5, 1)}
    numbers |= {"logp": (-1.0, -2.0, -3.0, -4.0), "log_ratio": (0.5, -0.25, 1.0, 0.0), "entropy": 0.5, "state": {}}
    extracted = ("1 + 2 + 3", "1 + 2 + 3", "1 * 2", None)
    return KeptGroup(step, problem, PROMPT, PROMPT, TEXTS, STATUSES, extracted, **numbers)


def lay_run(
    results: Path, run: str, estimator: str = "dr_grpo", steps=(1, 2), log_ratio=(0.5, -0.25, 1.0, 0.0)
) -> Path:
    folder = results / "runs" / run
    groups = [group(step, problem) for step in steps for problem in ("p0", "p1")]
    lines = "".join(json.dumps(row_of(one)) + "\n" for one in groups)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rollouts.jsonl.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
    spec = {"estimator": {"name": estimator}, "data": {"name": "fill", "task": "operator_fill"}, "seed": 1}
    publish_json(folder / "manifest.json", {"id": run, "spec": spec, "provenance": {"commit": "c"}})
    shift = 0.1 if estimator == "ace" else 0.0
    rows = [{"step": step, "pass_rate": step / 10 + shift, "entropy": 1.0 - shift} for step in steps]
    publish_lines(folder / "metrics.jsonl", rows)
    publish_lines(folder / "probe.jsonl", [{"step": 0, "pass_rate": 0.1}, *rows])
    return folder


def lay_evaluation(results: Path, policy: str, counts=(0, 2, 4), evaluation: str = "fill-n4-t1-p1-0") -> Path:
    """An evaluation of four samples for each count of correct ones, and its set."""
    problems = [Problem(f"q{i}", PROMPT, PROMPT, "n=3") for i in range(len(counts))]
    name = evaluation.rsplit("-n", 1)[0]
    publish_records(results / "data" / f"{name}-0" / "problems.jsonl", problems)
    card = {"name": name, "spec": {"task": "operator_fill"}, "problems": len(problems), "licence": "CC0-1.0"}
    publish_json(results / "data" / f"{name}-0" / "card.json", card)
    completions, grades = [], []
    for problem, count in zip(problems, counts, strict=True):
        for i in range(4):
            text, right = (RIGHT, True) if i < count else (HOSTILE, False)
            completions.append(Completion(problem.id, i, text, 12, "stop", -1.0 - i, "native", "1"))
            grades.append(Grade(problem.id, i, "correct" if right else "wrong", "x"))
    folder = results / "evaluations" / policy / evaluation
    publish_records(folder / "completions.jsonl.gz", completions)
    publish_records(folder / "grades.jsonl.gz", grades)
    rows = score(problems, completions, grades, "operator_fill")
    publish_csv(folder / "scores.csv", [{"policy": policy, "evaluation": evaluation, **row} for row in rows])
    return folder
