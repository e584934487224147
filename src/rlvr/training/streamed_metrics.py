"""A run's rows while it goes on, step by step: in the folder `live` of its state, and in the loggers that it asks for.

`metrics.jsonl` and `probe.jsonl` have the rows of the published files, each with the time `at` when it was added. A
process that resumes repeats the steps after its checkpoint, so it begins both files and every log anew with the
checkpoint's rows, which have no `at`. `run.json` says what runs. No published file depends on this folder; publishing
removes it. Alarms of the rows go to the training log. It needs no torch.
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from rlvr.config import identity
from rlvr.config.schema.specs import RunSpec
from rlvr.files import publish_json, publish_lines, read_json, remove
from rlvr.training import loggers
from rlvr.training.alarms import alarms

FOLDER = "live"  # in the state folder
HEAD = "run.json"  # in it


def prepare(state: Path, run: RunSpec) -> None:
    """Write what runs, for those who watch it."""
    method = "-".join([identity.method(run), *(key + value for key, value in identity.settings(run).items())])
    head = {"run": identity.run_id(run), "model": run.base.model.name, "method": method, "seed": run.seed}
    head |= {"learning_rate": run.rl.learning_rate, "steps": run.steps}
    publish_json(state / FOLDER / HEAD, head)


def clear(state: Path) -> None:
    """Remove what a published run does not need."""
    remove(state / FOLDER)


class Live:
    """The growing files and logs of one run, for the process that trains it.

    `names` are modules of rlvr.training.loggers. Each writes into a folder of its name beside the state folder.
    """

    def __init__(self, state: Path, names: Sequence[str] = ()):
        self.folder, self.out, self.names = state / FOLDER, state.parent, tuple(names)
        self._seen: dict[str, int] | None = None  # rows written so far, by kind; None before the first
        self._loggers: list[loggers.Logger] = []
        self._alarmed: set[str] = set()  # alarms that this process has printed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for logger in self._loggers:
            logger.close()
        self._loggers = []

    def update(self, rows: Mapping[str, Sequence[dict[str, Any]]]) -> None:
        """Add what is new in a run's rows by kind, `metrics` and `probe`; the first call begins with all of them."""
        if self._seen is None:
            self._begin(rows)
            new = [(row["step"], kind, row) for kind, several in rows.items() for row in several]
        else:
            seen, now = self._seen, round(time.time(), 3)
            new = [(row["step"], kind, row) for kind, several in rows.items() for row in several[seen.get(kind, 0) :]]
            for _, kind, row in new:
                with open(self.folder / f"{kind}.jsonl", "a") as file:  # closing it shows the line on other nodes
                    file.write(json.dumps({**row, "at": now}) + "\n")
        self._seen = {kind: len(several) for kind, several in rows.items()}
        for step, kind, row in sorted(new, key=lambda entry: entry[0]):
            for logger in self._loggers:
                logger.log(step, loggers.figures(kind, row))
        self._alarm(rows)

    def _alarm(self, rows: Mapping[str, Sequence[dict[str, Any]]]) -> None:
        """Print each alarm once; as JSON, since a log's last other line is taken for the error that ended the run."""
        for name, sentence in alarms(rows.get("metrics", ()), rows.get("probe", ())).items():
            if name not in self._alarmed:
                print(json.dumps({"step": rows["metrics"][-1]["step"], "alarm": sentence}), flush=True)
                self._alarmed.add(name)

    def _begin(self, rows: Mapping[str, Sequence[dict[str, Any]]]) -> None:
        for kind, several in rows.items():
            publish_lines(self.folder / f"{kind}.jsonl", several)
        self._loggers = loggers.begin(self.names, self.out, read_json(self.folder / HEAD))
