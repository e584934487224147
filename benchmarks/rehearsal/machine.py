"""What the rehearsal tells the programs of a machine, asks of it, and puts in place of packages that it lacks."""

from __future__ import annotations

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "INFO",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "DO_NOT_TRACK": "1",
    "HYDRA_FULL_ERROR": "1",
    "PYTHONUNBUFFERED": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
LOOK = """
nvidia-smi; nvidia-smi --query-gpu=name,driver_version,compute_mode,memory.total,memory.used --format=csv
uname -r; which nvcc gcc g++ ninja python3; gcc --version | head -1; df -h /dev/shm /tmp; free -g | head -2; nproc
hostname; getent hosts "$(hostname)" || echo "missing: an address of this name in /etc/hosts"
cut -c1-30 /proc/net/dev
echo "TMPDIR=$TMPDIR"; ulimit -n -l -u; cat /proc/sys/kernel/yama/ptrace_scope
ls "$({python} -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h"
{python} -c 'import sys, torch; print(sys.version, torch.__version__, torch.cuda.is_available())'
{python} -c 'import torch; print(torch.cuda.mem_get_info(), torch.cuda.get_device_capability())'
{python} -c 'import triton, numpy; print(triton.__version__, numpy.__version__); import numba; print(numba.__version__)'
env | grep -iE "^(CUDA|NV|LD_|NCCL|VLLM|RAY|PYTHON)" | cut -c1-200
"""
STUB = '''"""Stands in for a package that is missing or does not load here; what it decorates stays as it is."""
class _Any:
    def __init__(self, *a, **k): pass
    def __call__(self, *a, **k): return a[0] if len(a) == 1 and callable(a[0]) and not k else self
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return self
    def __getitem__(self, key): return self
    def __mro_entries__(self, bases): return (object,)
__path__ = []
__version__ = "0"
def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    return _Any()
'''
