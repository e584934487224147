"""Imports what the stages import, and runs the two stripped libraries' kernels; one line each, then the count.

Exits with 1 if anything failed.
"""

import importlib
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

PACKAGES = (
    "torch",
    "triton",
    "transformers",
    "tokenizers",
    "numpy",
    "numba",
    "vllm",
    "verl",
    "ray",
    "tensordict",
    "pydantic",
    "huggingface_hub",
)
MODULES = (
    "vllm",
    "vllm.entrypoints.cli.serve",
    "vllm.entrypoints.openai.api_server",
    "vllm.v1.engine.async_llm",
    "vllm.entrypoints.llm",
    "vllm.v1.engine.core",
    "vllm.v1.executor.multiproc_executor",
    "vllm.v1.worker.gpu_worker",
    "vllm.v1.worker.gpu_model_runner",
    "vllm.v1.worker.gpu.model_runner",
    "vllm.model_executor.models.llama",
    "vllm.v1.attention.backends.flash_attn",
    "vllm.v1.attention.backends.triton_attn",
    "vllm.model_executor.warmup.kernel_warmup",
    "verl.trainer.main_ppo",
    "verl.trainer.ppo.v1",
    "verl.workers.engine_workers",
    "verl.workers.engine.fsdp.transformer_impl",
    "verl.trainer.sft_trainer",
    "verl.model_merger",
    "verl.experimental.reward_loop",
    "verl.workers.rollout.vllm_rollout.vllm_async_server",
    "verl.workers.rollout.vllm_rollout.vllm_rollout",
    "verl.workers.rollout.vllm_rollout.utils",
    "rlvr.training.backends.verl.trainer",
    "rlvr.training.backends.verl.rl",
    "rlvr.training.backends.verl.sft",
    "rlvr.training.backends.verl.reward",
    "rlvr.training.backends.verl.agent_loop",
    "rlvr.training.backends.verl.vllm_worker",
    "rlvr.sampling.generate",
    "rlvr.sampling.engines.vllm",
)


def norm() -> str:
    """A kernel of vLLM's own library against torch."""
    import torch
    from vllm import _custom_ops as ops

    x, weight = torch.randn(64, 576, device="cuda", dtype=torch.bfloat16), torch.ones(576, device="cuda").bfloat16()
    out = torch.empty_like(x)
    ops.rms_norm(out, x, weight, 1e-5)
    expected = torch.nn.functional.rms_norm(x.float(), (576,), eps=1e-5)
    return f"largest difference {float((out.float() - expected).abs().max()):.3g}"


def attention() -> str:
    """vLLM's FlashAttention against torch: version 3, which only Hopper has, or 2."""
    import torch
    from vllm.vllm_flash_attn import flash_attn_varlen_func

    q, k, v = (torch.randn(128, heads, 64, device="cuda").bfloat16() for heads in (9, 3, 3))
    cumulated = torch.tensor([0, 128], device="cuda", dtype=torch.int32)
    out = flash_attn_varlen_func(
        q,
        k,
        v,
        max_seqlen_q=128,
        cu_seqlens_q=cumulated,
        max_seqlen_k=128,
        cu_seqlens_k=cumulated,
        causal=True,
        fa_version=3 if torch.cuda.get_device_capability() == (9, 0) else 2,
    )
    heads_first = [x.transpose(0, 1)[None].float() for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(*heads_first, is_causal=True, enable_gqa=True)
    return f"largest difference {float((out.transpose(0, 1)[None].float() - expected).abs().max()):.3g}"


def attempt(name: str, work: Callable[[], object]) -> bool:
    began = time.perf_counter()
    try:
        said = work()
    except BaseException as error:
        print(f"FAIL {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        import traceback

        traceback.print_exc(limit=-6)
        return False
    note = said if isinstance(said, str) else ""
    print(f"ok   {name} {note} ({time.perf_counter() - began:.1f} s)", flush=True)
    return True


def main() -> None:
    for name in PACKAGES:
        try:
            print(name, version(name), getattr(importlib.import_module(name), "__file__", ""), flush=True)
        except (PackageNotFoundError, ImportError) as error:
            print(f"{name}: {error!r}", flush=True)
    import torch

    results = [attempt(name, lambda name=name: importlib.import_module(name)) for name in MODULES]
    if torch.cuda.is_available():
        results += [attempt("norm", norm), attempt("attention", attention)]
    from vllm.platforms import current_platform

    print(f"FIGURES platform {type(current_platform).__name__}, {sum(results)} of {len(results)} ok", flush=True)
    sys.exit(sum(results) < len(results))


if __name__ == "__main__":
    main()
