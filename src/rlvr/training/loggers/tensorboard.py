"""Event files of TensorBoard: `tensorboard --logdir results/runs` shows all runs."""

from pathlib import Path
from typing import Any

from rlvr.config.registries import LoggerKind


class Logger:
    def __init__(self, writer: Any):
        self.writer = writer

    def log(self, step: int, figures: dict[str, float]) -> None:
        for name, value in figures.items():
            self.writer.add_scalar(name, value, step)
        self.writer.flush()

    def close(self) -> None:
        self.writer.close()


def begin(folder: Path, head: dict[str, Any]) -> Logger:
    """Earlier files stay, since an open TensorBoard reads them one after another; it forgets their steps from 0 on."""
    from torch.utils.tensorboard import SummaryWriter

    return Logger(SummaryWriter(folder, purge_step=0))


LOGGER = LoggerKind("tensorboard", begin)
