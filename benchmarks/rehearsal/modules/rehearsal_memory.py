"""The plan's memory of a run and of an SFT by phase, in MiB: `python rehearsal_memory.py PLAN DEVICE CONFIG`.

PLAN is the folder of specifications, DEVICE a name of config/hardware.yaml, CONFIG the folder config.
"""

import json
import sys
from pathlib import Path

from rlvr.config.schema.settings import Execution
from rlvr.config.schema.specs import RunSpec
from rlvr.cost.hardware import read
from rlvr.cost.memory import of_run, of_sft


def main() -> None:
    plan, device, config = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    run = RunSpec.model_validate_json((plan / "run.json").read_bytes())
    execution = Execution.model_validate_json((plan / "execution.json").read_bytes())
    hardware = read(config)
    shape, gpu, assumed = hardware.shape(run.base.model), hardware.devices[device], hardware.assumed(device)
    memory = {"rl": of_run(run, execution, shape, gpu, assumed, 1)}
    if run.base.sft is not None:
        memory["sft"] = of_sft(run.base.sft, shape, gpu, assumed, 1)
    mib = {stage: {name: round(peak / 2**20) for name, peak in found.peaks.items()} for stage, found in memory.items()}
    print("FIGURES", json.dumps(mib))


if __name__ == "__main__":
    main()
