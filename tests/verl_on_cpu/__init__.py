"""verl without a GPU, for tests: a platform, a process group on gloo, and a rollout engine over transformers.

`VERL_USE_EXTERNAL_MODULES=verl_on_cpu` imports it in every process of verl; it changes nothing of its trainer, engines,
losses or checkpoints. It imports the modules of VERL_ON_CPU_WITH in its turn, since a second external module could come
before the platform, where Ray reads an object of this package first.
"""

import importlib
import os
import types
from contextlib import contextmanager

import torch
import torch.distributed
import verl.utils.distributed
import verl.utils.model
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry
from verl.workers.rollout import base, replica


def _device_module() -> types.ModuleType:
    """torch.cpu with the functions of torch.cuda that verl calls."""
    module = types.ModuleType("torch_cpu_as_device")
    for name in dir(torch.cpu):
        setattr(module, name, getattr(torch.cpu, name))
    memory = ("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved")
    for name in (*memory, "current_device"):
        setattr(module, name, lambda *_, **__: 0)
    for name in (
        "empty_cache",
        "set_device",
        "reset_peak_memory_stats",
        "ipc_collect",
        "manual_seed",
        "manual_seed_all",
    ):
        setattr(module, name, lambda *_, **__: None)
    module.synchronize = lambda *_, **__: None
    module.get_device_name = lambda *_: "cpu"
    module.is_available = lambda: True
    module.device_count = lambda: 1
    module.mem_get_info = lambda *_: (8 << 30, 16 << 30)
    module.get_rng_state, module.set_rng_state = torch.get_rng_state, torch.set_rng_state
    return module


_DEVICE = _device_module()


@PlatformRegistry.register(platform="cpu")
class Cpu(PlatformBase):
    device_name = property(lambda self: "cpu")
    vendor_name = property(lambda self: "generic")
    device_module = property(lambda self: _DEVICE)

    def is_available(self):
        return True

    def current_device(self):
        return torch.device("cpu")

    def device_count(self):
        return 1

    def set_device(self, device_index):
        pass

    def synchronize(self, device_index=None):
        pass

    def manual_seed(self, seed):
        torch.manual_seed(seed)

    def manual_seed_all(self, seed):
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings):
        pass

    def empty_cache(self):
        pass

    def get_device_capability(self, device_index=0):
        return None, None

    def communication_backend_name(self):
        return "gloo"

    def visible_devices_envvar(self):
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg):
        yield

    def profiler_start(self):
        pass

    def profiler_stop(self):
        pass

    def ray_resource_name(self):
        return "GPU"

    def ray_noset_envvars(self):
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self):
        return False

    def cudart(self):
        return None


def _on_gloo() -> None:
    """verl asks for one backend a device, and here both are the CPU."""
    by_ray, by_torch = verl.utils.distributed.initialize_global_process_group_ray, torch.distributed.init_process_group

    def initialize(timeout_second=None, backend=None):
        return by_ray(timeout_second=timeout_second, backend=backend or "cpu:gloo")

    def init(backend=None, *arguments, **named):
        return by_torch("cpu:gloo" if backend == "cpu:gloo,cpu:gloo" else backend, *arguments, **named)

    verl.utils.distributed.initialize_global_process_group_ray = initialize
    torch.distributed.init_process_group = init
    torch.Tensor.pin_memory = lambda self, *_, **__: self


def _value_model(local_path, torch_dtype, model_config, trust_remote_code):
    """verl's own, which asks for FlashAttention whatever is configured."""
    from transformers import AutoModelForTokenClassification

    return AutoModelForTokenClassification.from_pretrained(
        local_path, dtype=torch_dtype, config=model_config, attn_implementation="sdpa"
    )


def _replica():
    from verl_on_cpu.rollout import Replica

    return Replica


_on_gloo()
verl.utils.model.load_valuehead_model = _value_model
base._ROLLOUT_REGISTRY[("transformers_on_cpu", "async")] = "verl_on_cpu.rollout.ServerAdapter"
replica.RolloutReplicaRegistry.register("transformers_on_cpu", _replica)
for _name in filter(None, os.environ.get("VERL_ON_CPU_WITH", "").split(",")):
    importlib.import_module(_name)
