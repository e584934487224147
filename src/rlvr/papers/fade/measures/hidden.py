"""Hidden states of correct and failed responses (FADE, App. 15.2): `rlvr.papers.fade.weights.hidden`."""

from pathlib import Path
from typing import Any

from rlvr.config.measures import RunMeasure


def compute(base: Path, run: Path, problems: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    from rlvr.papers.fade.weights.hidden import of_run  # planning loads this module, and no torch for it

    return of_run(base, run, problems), {}


MEASURE = RunMeasure(compute=compute, gpu=True)
