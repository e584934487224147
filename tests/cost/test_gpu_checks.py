"""`make check-gpu` before there is a GPU: every block on a CPU, at a tiny size."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

pytestmark = pytest.mark.slow


def call(*arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(ROOT / "benchmarks/check_gpu.py"), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)


def test_every_block_prints_its_figures():
    ended = call("--device", "cpu", "--size", "tiny")
    assert ended.returncode == 0, ended.stderr[-3000:]
    blocks = dict(re.findall(r"^### (\w+): .*?\n\n(.*?)(?=^### |\Z)", ended.stdout, re.S | re.M))
    assert list(blocks) == ["step", "pretrained", "attention", "microbatch", "reference", "sampler"]
    rows = {"step": "update", "pretrained": "update", "attention": "decoder", "microbatch": "112"}
    rows["sampler"] = "in process"
    for name, row in rows.items():
        (line,) = [line for line in blocks[name].splitlines() if f"| {row}" in line or row in line][-1:]
        assert re.search(r"\d", line), (name, line)
    assert "OEF at step 1 under bfloat16: 0 " in blocks["reference"]


def test_without_a_gpu_it_says_so_and_measures_nothing():
    ended = call("step")
    assert ended.returncode == 2 and "no GPU here" in ended.stderr and not ended.stdout


def test_an_unknown_block_is_named_with_the_valid_ones():
    ended = call("steps")
    assert ended.returncode == 2 and "no block steps; valid: step, pretrained, attention" in ended.stderr
