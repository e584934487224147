"""One thread, one answer."""

from __future__ import annotations

import torch
from transformers.utils import logging


def one_thread() -> None:
    """Bit-identical results on one CPU thread; several runs belong side by side, not several threads in one.

    Uninitialised memory is not filled: no operation here reads any, and filling costs a quarter of a step.
    """
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    logging.disable_progress_bar()  # of loading weights: ours say more
