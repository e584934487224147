"""Deterministic arithmetic: one thread, one answer."""

import ctypes
import gc
import os
from contextlib import suppress

import torch


def one_thread() -> None:
    """Make results on a CPU bit-identical by using one thread; use more cores for more runs.

    On a GPU, operations without a deterministic form (the cumulative sum of sampling) warn instead of failing, and
    results may differ. Uninitialised memory stays unfilled: no operation here reads it, and filling costs a quarter of
    a step.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else torch refuses matrix products on a GPU
    _keep_memory()
    gc.freeze()  # else each full collection walks through all that is imported
    torch.set_num_threads(1)
    # torch.use_deterministic_algorithms does this after importing torch's compiler: two seconds and 150 MB per process.
    torch._C._set_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def _keep_memory() -> None:
    """Let glibc keep freed memory: each step needs the same large blocks again, and page faults cost 4 % of it."""
    threshold_of_mmap, threshold_of_trim = -3, -1
    with suppress(AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(threshold_of_mmap, 32 << 20)
        libc.mallopt(threshold_of_trim, 1 << 30)


def give_back_memory() -> None:
    """Return freed memory to the system, once policies are read: only that takes copies of all their weights."""
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
