"""One thread, one answer."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

import torch
from transformers.utils import logging


def one_thread() -> None:
    """Bit-identical results on one CPU thread; several runs belong side by side, not several threads in one.

    On a GPU, what has no deterministic form (the cumulative sum of sampling) warns instead of failing, and results are
    not promised to be equal. Uninitialised memory is not filled: no operation here reads any, and filling costs a
    quarter of a step.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it, matrix products on a GPU are refused
    _keep_memory()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    logging.disable_progress_bar()  # of loading weights: ours say more


def _keep_memory() -> None:
    """Let glibc keep what is freed: each step asks for the same large blocks again, and page faults are 4 % of it."""
    threshold_of_mmap, threshold_of_trim = -3, -1
    with suppress(AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(threshold_of_mmap, 32 << 20)
        libc.mallopt(threshold_of_trim, 1 << 30)
