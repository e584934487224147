"""A whole RL run, by the stage's own function; prints JSON with the CPU seconds and the clock of its steps alone.

The whole process is measured by who starts it: imports, probes, checkpoints and the published policy included.
"""

import json
import sys
import time
from pathlib import Path

from rlvr.training import rl
from rlvr.training.trainer import Trainer

spent = [0.0, 0.0]


def counted(name: str) -> None:
    """Count the time of one of the trainer's methods."""
    method = getattr(Trainer, name)

    def measured(*arguments):
        cpu, clock = time.process_time(), time.perf_counter()
        made = method(*arguments)
        spent[0] += time.process_time() - cpu
        spent[1] += time.perf_counter() - clock
        return made

    setattr(Trainer, name, measured)


if __name__ == "__main__":
    for half in ("gather", "learn"):
        counted(half)
    rl.main(*map(Path, sys.argv[1:]))
    print("RESULT " + json.dumps(dict(zip(("cpu", "clock"), spent, strict=True))))
