"""trackio on this machine: `TRACKIO_DIR=results/runs/<run>/trackio trackio show` shows a run."""

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
        self.run.log(figures, step=step)

    def close(self) -> None:
        self.run.finish()


def begin(folder: Path, head: dict[str, Any]) -> Logger:
    remove(folder)
    os.environ["TRACKIO_DIR"] = str(folder)  # read when trackio is imported
    for elsewhere in ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL"):
        os.environ.pop(elsewhere, None)
    import trackio
    from huggingface_hub import constants

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True  # else it asks the hub for the user's name
    try:
        off = {"embed": False, "auto_log_cpu": False, "auto_log_gpu": False}
        return Logger(trackio.init(project=PROJECT, name=head["run"], config=head, **off))
    finally:
        constants.HF_HUB_OFFLINE = before


LOGGER = LoggerKind("trackio", begin)
