"""Merging, grading and scoring an evaluation take memory that does not grow with the number of its completions."""

import random
import subprocess
import sys
from itertools import chain
from pathlib import Path

from conftest import ROOT, run_module, spec_file

from rlvr.config.identity import canonical
from rlvr.config.schema.settings import SLICES, Evaluation
from rlvr.config.schema.specs import EvaluationSpec
from rlvr.files import publish_lines, sha256
from rlvr.provenance import unknown
from rlvr.records import Problem, publish_records

PROBLEMS, TEXT = 32, 3_000
GROWTH = 8 << 20  # bytes; allocators keep some
PEAK = """
import re, runpy, sys
try:
    runpy.run_module(sys.argv.pop(1), run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
print("peak", re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def completion(problem: int, sample: int) -> dict:
    answer = random.Random(f"{problem} {sample}").randbytes(TEXT // 2).hex()
    row = {"problem": f"p{problem}", "sample": sample, "text": f"{answer} \\boxed{{{sample % 3}}}", "tokens": TEXT // 3}
    return {"completion": row | {"finish": "stop", "logprob": -1.0, "engine": "vllm", "version": "0"}}


def specification(plan, samples: int) -> EvaluationSpec:
    sampling = Evaluation(temperature=1.0, top_p=1.0, samples=samples, max_response_tokens=16, seed=0)
    return EvaluationSpec(data=next(iter(plan.runs.values())).validation, sampling=sampling)


def write_slices(folder: Path, samples: int, spec: EvaluationSpec) -> list[Path]:
    """As jobs of the engine write them, one problem per part."""
    problems = folder / "problems.jsonl"
    publish_records(problems, [Problem(f"p{i}", "?", "1", "all") for i in range(PROBLEMS)])
    head = {
        "fingerprint": {"evaluation": canonical(spec), "problems": sha256(problems)},
        "origins": [{**unknown(), "parts": 1}],
    }
    slices = [folder / f"{number:02d}.jsonl.gz" for number in range(SLICES)]
    for number, path in enumerate(slices):
        rows = (completion(problem, i) for problem in range(number, PROBLEMS, SLICES) for i in range(samples))
        publish_lines(path, chain([head], rows))
    return slices


def peak(module: str, *arguments: object) -> int:
    """Bytes of memory that a stage's process used at most."""
    command = [sys.executable, "-c", PEAK, module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout.rsplit("peak", 1)[1]) << 10


def peaks(folder: Path, samples: int, plan) -> dict[str, int]:
    folder.mkdir()
    spec = specification(plan, samples)
    slices, problems = write_slices(folder, samples, spec), folder / "problems.jsonl"
    completions, grades = folder / "completions.jsonl.gz", folder / "grades.jsonl.gz"
    tokens = "--tokens", folder / "tokens.jsonl.gz", "--state", folder / "state"
    shared = "--completions", completions, "--problems", problems
    named = "--policy", "p", "--evaluation", "e", "--out", folder / "scores.csv"
    return {
        "merge": peak(
            "rlvr.sampling.merge",
            *("--spec", spec_file(spec), "--problems", problems, "--out", completions, *tokens, *slices),
        ),
        "grade": peak("rlvr.scoring.grade", "--verifier", "exact", *shared, "--out", grades),
        "score": peak("rlvr.scoring.score", *shared, "--grades", grades, *named),
    }


def test_memory_does_not_grow_with_the_samples(plan, tmp_path):
    """Between the two sizes, the texts grow by 29 MB."""
    few, many = (peaks(tmp_path / str(samples), samples, plan) for samples in (100, 400))
    growth = {stage: many[stage] - few[stage] for stage in few}
    assert max(growth.values()) < GROWTH, growth


def test_a_damaged_slice_leaves_no_completions(plan, tmp_path):
    """It is noticed while the completions are being written."""
    spec = specification(plan, 8)
    slices = write_slices(tmp_path, 8, spec)
    slices[3].write_bytes(slices[3].read_bytes()[:-2000])
    out = ["--out", str(tmp_path / "completions.jsonl.gz"), "--tokens", str(tmp_path / "tokens.jsonl.gz")]
    words = ["--spec", str(spec_file(spec)), "--problems", str(tmp_path / "problems.jsonl"), *out]
    done = run_module("rlvr.sampling.merge", *words, f"--state={tmp_path}", *map(str, slices), check=False)
    assert done.returncode == 1 and "03.jsonl.gz is damaged" in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.glob("*completions*")) and not list(tmp_path.glob(".*"))
