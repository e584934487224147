"""Memory of an update in process on a GPU, against the bytes that the same update allocates on a CPU."""

from typing import Any

import pytest
import torch
from conftest import ROOT
from support.runs_by_hand import changed
from test_memory_model import HALF_B, HARDWARE, autocast, model_of
from torch.profiler import ProfilerActivity, profile

from rlvr.cost import memory
from rlvr.planning.expansion import make_plan
from rlvr.policies import transformers_pass


def allocated(work) -> int:
    """The most bytes that are allocated at once on top of those before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        work()
    recorded: Any = seen.profiler.kineto_results  # type: ignore[union-attr]
    now = most = 0
    for event in sorted(recorded.events(), key=lambda event: event.start_ns()):
        now += event.nbytes() if event.name() == "[memory]" else 0
        most = max(most, now)
    return most


@pytest.fixture(scope="module")
def gpu():
    return make_plan(ROOT, "gpu", ["ace"])


@pytest.mark.parametrize(
    ("layers", "tokens", "vocabulary", "precision", "tied", "largest"),
    [
        pytest.param(2, 256, 5000, "bfloat16", True, "one layer", marks=pytest.mark.slow),
        pytest.param(4, 128, 5000, "bfloat16", False, "weights in bfloat16", marks=pytest.mark.slow),
        pytest.param(2, 256, 20000, "bfloat16", False, "logits", marks=pytest.mark.slow),
        pytest.param(2, 128, 40000, "bfloat16", True, "whole gradient", marks=pytest.mark.slow),
        (2, 128, 20000, "float32", True, "whole gradient"),
    ],
)
def test_an_update_in_process_on_a_gpu(gpu, monkeypatch, layers, tokens, vocabulary, precision, tied, largest):
    """Its parts beside weights, gradients, moments and reference, which are there before."""
    at_once = 256 if largest == "logits" else 64
    monkeypatch.setattr(memory, "LOGITS_AT_ONCE", at_once)
    monkeypatch.setattr(transformers_pass, "TOKENS", at_once)
    shape = HALF_B.model_copy(update={"layers": layers, "vocabulary": vocabulary, "tie_embeddings": tied})
    model, rows, prompt = model_of(shape, layers), 2, 32
    forward, prompts = transformers_pass.TransformersPass(model), torch.randint(0, 1000, (rows, prompt))
    responses = torch.randint(0, 1000, (rows, tokens - prompt))

    def update():
        with autocast(precision == "bfloat16"):
            places = torch.full((rows,), prompt), torch.arange(rows)
            logprobs = forward.logprobs(prompts, *places, responses)
        logprobs.sum().backward()

    update()  # gradients exist
    name, spec = next(iter(gpu.runs.items()))
    limits = {"max_prompt_tokens": prompt, "max_response_tokens": tokens - prompt}
    spec = changed(spec, rl={"precision": precision}, rollout=limits)
    execution = gpu.executions[name].model_copy(update={"tokens_per_gpu": rows * tokens})
    h100, assumed = HARDWARE.devices["h100"], HARDWARE.assumed("h100")
    parts = dict(memory.of_run(spec, execution, shape, h100, assumed, 1).phases["update"])
    for before in ("weights", "gradients", "moments", "reference", "CUDA and NCCL"):
        del parts[before]
    assert largest in parts
    # A CPU without instructions for bfloat16 may hold one more copy of the matrix that it multiplies by.
    copy = 2 * vocabulary * shape.hidden_size if precision == "bfloat16" else 0
    assert 0.85 * sum(parts.values()) <= allocated(update) <= 1.15 * sum(parts.values()) + copy


def test_a_pass_takes_as_many_logits_at_a_time_as_the_model_says():
    assert transformers_pass.TOKENS == memory.LOGITS_AT_ONCE
