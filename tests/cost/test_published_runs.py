"""The plan's formulas on published runs of verl: the ratios that docs/cost.md states. They are too low."""

import pytest
from conftest import ROOT
from support.runs_by_hand import changed
from test_cost import CLUSTER

from rlvr.cost import hardware
from rlvr.cost.model import Costs
from rlvr.planning.expansion import make_plan

REPO = "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"
SIZES = {"hidden_size": 1536, "layers": 28, "heads": 12, "kv_heads": 2, "head_dim": 128, "intermediate_size": 8960}
SHAPE = hardware.ModelShape(architecture="qwen2", **SIZES, vocabulary=151936, tie_embeddings=False)


def estimate(*, steps: int, prompts: int, samples: int, longest: int, mean: int, gpus: int, device="a100"):
    """The estimate of a GRPO run with KL, without probes and checkpoints, at a mean length of responses."""
    whole = hardware.read(ROOT / "config")
    share = whole.assumptions.response_share.model_copy(update={"value": mean / longest})
    assumptions = whole.assumptions.model_copy(update={"response_share": share})
    whole = whole.model_copy(update={"assumptions": assumptions, "shapes": {**whole.shapes, REPO: SHAPE}})
    plan = make_plan(ROOT, "paper", ["ace"])
    name, spec = next(iter(plan.runs.items()))
    assert spec.loss.kl_coefficient > 0
    own = spec.base.model_copy(update={"model": spec.base.model.model_copy(update={"repo": REPO})})
    spec = changed(
        spec.model_copy(update={"base": own}),
        rl={"steps": steps, "prompts_per_step": prompts},
        rollout={"samples_per_prompt": samples, "max_response_tokens": longest},
        probe={"problems": 0},
    )
    execution = plan.executions[name].model_copy(update={"save_every": 10**6, "tokens_per_gpu": 32768})
    return Costs(whole, device, CLUSTER, gpus_per_run=gpus).run(spec, execution)


def test_deepscaler():
    """3,800 A100-hours by its authors: 8K with 128 x 8 responses on 8 GPUs, then 16K and 24K with 128 x 16 on 32.

    Mean lengths, and the batches of the later stages, are from memory.
    """
    stages = [
        estimate(steps=1040, prompts=128, samples=8, longest=8192, mean=3500, gpus=8),
        estimate(steps=480, prompts=128, samples=16, longest=16384, mean=4500, gpus=32),
        estimate(steps=250, prompts=128, samples=16, longest=24576, mean=5500, gpus=32),
    ]
    hours = sum(stage.gpu_hours for stage in stages)
    print(f"DeepScaleR: {hours:,.0f} of 3,800 A100-hours, {hours / 3800:.2f}")
    assert hours == pytest.approx(0.46 * 3800, rel=0.05)


def test_a_step_of_deepscaler_by_another_user():
    """rllm#29: 394 s per step on 8 A100, 396 s on 8 H200, with its script's 128 x 8 responses of at most 8,192 tokens.

    Their mean length is assumed: 5,500, as in the first steps of DeepScaleR.
    """
    for device, measured, ratio in (("a100", 394, 0.60), ("h200", 396, 0.28)):
        step = estimate(steps=1, prompts=128, samples=8, longest=8192, mean=5500, gpus=8, device=device)
        seconds = step.seconds - hardware.read(ROOT / "config").assumed(device).job_start.value
        print(f"rllm#29 on {device}: {seconds:.0f} of {measured} s, {seconds / measured:.2f}", dict(step.phases))
        assert seconds / measured == pytest.approx(ratio, abs=0.03)
