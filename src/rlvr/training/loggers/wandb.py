"""W&B offline: `wandb sync results/runs/*/wandb/offline-run-*` uploads, if a person wants that."""

import os
from pathlib import Path
from typing import Any

from rlvr.config.registries import LoggerKind
from rlvr.files import remove

PROJECT = "rlvr"


class Logger:
    def __init__(self, run: Any):
        self.run = run

    def log(self, step: int, figures: dict[str, float]) -> None:
        self.run.log({"step": step, **figures})

    def close(self) -> None:
        self.run.finish()


def begin(folder: Path, head: dict[str, Any]) -> Logger:
    """`step` is a figure, and the axis of the others: probes and metrics of one step are two entries."""
    remove(folder)
    os.environ["WANDB_ERROR_REPORTING"] = "false"  # read at import; else it posts telemetry, also where it is offline
    import wandb

    quiet = {"console": "off", "silent": True, "disable_git": True, "save_code": False, "x_disable_stats": True}
    run = wandb.init(
        project=PROJECT,
        id=head["run"],
        name=head["run"],
        config=head,
        dir=folder.parent,  # W&B makes its folder `wandb` itself
        mode="offline",
        settings=wandb.Settings(**quiet),
    )
    for kind in ("metrics/*", "probe/*"):
        run.define_metric(kind, step_metric="step")
    return Logger(run)


LOGGER = LoggerKind("wandb", begin)
