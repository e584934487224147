"""One thread, one answer."""

from __future__ import annotations

import os

import torch
from transformers.utils import logging


def one_thread() -> None:
    """Bit-identical results on one CPU thread; several runs belong side by side, not several threads in one.

    On a GPU, what has no deterministic form (the cumulative sum of sampling) warns instead of failing, and results are
    not promised to be equal. Uninitialised memory is not filled: no operation here reads any, and filling costs a
    quarter of a step.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it, matrix products on a GPU are refused
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    logging.disable_progress_bar()  # of loading weights: ours say more
