"""Weights to vLLM through shared memory, where CUDA's IPC fails: verl imports it by VERL_USE_EXTERNAL_MODULES."""

from verl.plugin.platform.platform_cuda import PlatformCUDA

PlatformCUDA.is_ipc_supported = lambda self: False
