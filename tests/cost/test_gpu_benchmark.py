"""What `make bench-gpu` prints is what it measured: the whole script on a CPU, at a tiny size."""

import importlib.util
import json
import os
import subprocess
import sys
from statistics import median

import pytest
import torch
from conftest import ROOT

from rlvr.cost.hardware import read
from rlvr.training import deterministic

SCRIPT = ROOT / "benchmarks" / "gpu.py"


def call(*arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def gpu():
    spec = importlib.util.spec_from_file_location("gpu_benchmark", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("gpu") / "all.json"
    done = call("--device", "cpu", "--size", "tiny", "--repeats", "3", "--out", str(out))
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout, json.loads(out.read_text())


def test_rates_are_tokens_over_seconds(made):
    text, content = made
    figures = {figure["what"]: figure for figure in content["figures"]}
    assert len(figures) == 6
    for name, figure in figures.items():
        assert len(figure["tokens"]) == len(figure["seconds"]) == 3 and min(figure["seconds"]) > 0
        rate = median(tokens / seconds for tokens, seconds in zip(figure["tokens"], figure["seconds"], strict=True))
        assert figure["rate"] == pytest.approx(rate)
        assert f"| {name} | float32 | {rate:,.0f} |" in text
    phases = [figures[f"training, {phase}"]["seconds"] for phase in ("rollout", "reference", "update")]
    assert [sum(parts) for parts in zip(*phases, strict=True)] == pytest.approx(
        figures["training, step"]["seconds"], abs=1e-3
    )


def test_both_samplers_drew_the_same_amount_and_the_ratio_is_theirs(made):
    _, content = made
    size, (ours, theirs) = content["size"], content["figures"][:2]
    most = size["prompts"] * size["samples"] * size["response_tokens"]
    for figure in (ours, theirs):  # few of an untrained model's responses end by themselves
        assert all(0.7 * most < tokens <= most for tokens in figure["tokens"])
    pairs = zip(ours["tokens"], ours["seconds"], theirs["tokens"], theirs["seconds"], strict=True)
    assert content["ratio"] == pytest.approx(median(a / b / (c / d) for a, b, c, d in pairs))


def test_utilisation_is_the_models_flops_over_the_peak(made):
    """2 FLOPs a multiplied parameter and 4 a layer, head dimension and token seen; three times that in an update."""
    _, content = made
    size, shape = content["size"], content["size"]["shape"]
    d, kv = shape["hidden_size"], shape["kv_heads"] * shape["head_dim"]
    layer = 2 * d * d + 2 * d * kv + d + 2 * kv + 3 * d * shape["intermediate_size"] + 2 * d
    parameters = shape["layers"] * layer + d + shape["vocabulary"] * d
    peak = read(ROOT / "config").devices["cpu-core"].float32_flops
    rows, prompt = size["prompts"] * size["samples"], size["prompt_tokens"]
    for figure, times in zip(content["figures"], (1, 1, 1, 1, 3, 5), strict=True):
        for tokens, flops in zip(figure["tokens"], figure["flops"], strict=True):
            seen = tokens * (prompt + tokens / rows / 2) + size["prompts"] * prompt**2 / 2
            by_hand = 2 * parameters * (tokens + size["prompts"] * prompt) + 4 * shape["layers"] * d * seen
            assert flops == pytest.approx(times * by_hand)
        done = median(flops / seconds for flops, seconds in zip(figure["flops"], figure["seconds"], strict=True))
        assert figure["share"] == pytest.approx(done / peak) and 0 < figure["share"] < 1


def test_it_trains_and_agrees_with_transformers(made):
    checks = made[1]["checks"]
    assert checks["largest difference to transformers' forward pass, nats a token"] < 1e-4
    assert checks["sampler to update, nats a token (mean)"] < 1e-4
    assert checks["last step's grad_norm"] > 0 and 0 < checks["last step's pass_rate"] < 1


def test_without_a_gpu_it_says_so_in_one_line():
    done = call()
    assert done.returncode == 2 and not done.stdout
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("no GPU here, nothing was measured")


def test_a_gpu_is_found_by_its_own_name(gpu):
    devices = read(ROOT / "config").devices
    names = {
        "NVIDIA H100 80GB HBM3": "h100",
        "NVIDIA H200": "h200",
        "NVIDIA A100-SXM4-80GB": "a100",
        "NVIDIA L40S": "l40s",
        "NVIDIA L40": None,
        "NVIDIA H100 PCIe": None,  # another peak than the SXM part's
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb": None,
        "Tesla T4": None,
    }
    assert {name: gpu.listed(name, devices) for name in names} == names


def test_the_model_has_the_published_size(gpu):
    size = gpu.size_of("0.5b", read(ROOT / "config"))
    model = gpu.random_policy(size, "meta", torch.bfloat16).model
    assert sum(p.numel() for p in model.parameters()) == 494_032_768
    lengths = {len(p.prompt.split()) + 1 for p in gpu.problems_of(size)}
    assert lengths == {size.prompt_tokens} and len(gpu.problems_of(size)) == size.prompts


@pytest.mark.parametrize("has_gpu", [True, False])
def test_what_cannot_be_deterministic_fails_on_a_cpu_and_warns_on_a_gpu(monkeypatch, has_gpu):
    before = torch.are_deterministic_algorithms_enabled()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    try:
        deterministic.one_thread()
        assert torch.are_deterministic_algorithms_enabled() and os.environ["CUBLAS_WORKSPACE_CONFIG"]
        assert torch.is_deterministic_algorithms_warn_only_enabled() is has_gpu
    finally:
        torch.use_deterministic_algorithms(before)
