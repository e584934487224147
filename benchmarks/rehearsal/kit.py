"""Writes what the rehearsal's stages read: specifications, data, and a model's configuration and tokenizer.

    python benchmarks/rehearsal/kit.py SCALE FOLDER

The runs are those of `config/scale/SCALE.yaml` for the ACE paper, made small (`CHANGES`). Everything is made by the
project's own stages. There are no weights in it: `rehearse.py` makes random ones of the same shape.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAPER, ESTIMATOR = "ace", "ace"
CHANGES = {  # by scale: specification -> key -> value
    "rehearsal": {
        "run.rl.steps": 2,
        "run.rl.prompts_per_step": 16,
        "run.rl.prompts_per_minibatch": 8,
        "run.rl.learning_rate": 1e-4,  # the weights then move by more than bfloat16's rounding
        "run.probe.every": 2,
        "run.data.problems": 400,
        "base.sft.steps": 10,
        "base.sft_data.problems": 320,
        "base.sft_data.demonstrations": 320,
        "evaluation.sampling.samples": 8,
        "execution.attention": "sdpa",
        "execution.gpu_memory_utilization": 0.3,
    },
    "smoke": {
        "run.rl.backend": "verl",
        "run.rl.steps": 2,
        "run.probe.every": 2,
        "base.sft.backend": "verl",
        "base.sft.steps": 10,
        "base.sft.each_seed": None,
        "execution.attention": "sdpa",
        "execution.save_every": 1,
        "evaluation.sampling.engine": "vllm",
    },
}


def change(specs: dict[str, Any], key: str, value: Any) -> None:
    """Set one value by a path such as run.rl.steps. Raises KeyError for a path that does not exist."""
    *way, last = key.split(".")
    inner = specs
    for word in way:
        inner = inner[word]
    if last not in inner:
        raise KeyError(f"{key}: no {last!r}; there are {', '.join(inner)}")
    inner[last] = value


def specifications(scale: str) -> dict[str, Any]:
    """Plain data of a run, its base, an evaluation and the execution."""
    from rlvr.planning.expansion import make_plan

    plan = make_plan(ROOT, scale, [PAPER])
    name, run = next(
        (name, spec)
        for name, spec in plan.runs.items()
        if spec.estimator["name"] == ESTIMATOR and not spec.rollout.dynamic_sampling
    )
    specs = {
        "run": run.model_dump(mode="json"),
        "evaluation": next(iter(plan.evaluations.values())).model_dump(mode="json"),
        "execution": plan.executions[name].model_dump(mode="json"),
    }
    specs["base"] = specs["run"]["base"]  # one object: the run names its base as changed
    for key, value in CHANGES[scale].items():
        change(specs, key, value)
    return specs


def stage(module: str, *arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", module, *map(str, arguments)], check=True)


def write(specs: dict[str, Any], folder: Path) -> None:
    """Write specifications, data and model into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "plan").mkdir(parents=True)
    sets = {"train": specs["run"]["data"], "validation": specs["run"]["validation"]}
    sets |= {"demonstrations": specs["base"]["sft_data"], "benchmark": specs["evaluation"]["data"]}
    for name, content in {**specs, **sets, "model": specs["base"]["model"]}.items():
        (folder / "plan" / f"{name}.json").write_text(json.dumps(content, indent=1))
    for name in sets:
        stage("rlvr.data.prepare", "--spec", folder / "plan" / f"{name}.json", "--out", folder / "data" / name)
    with TemporaryDirectory() as built:
        manifest = Path(built) / "manifest.json"
        stage("rlvr.policies.build", "--spec", folder / "plan/model.json", "--out", manifest)
        without = shutil.ignore_patterns("*.safetensors")
        content = json.loads(manifest.read_text())
        shutil.copytree(manifest.parent / content["policy"], folder / "model", ignore=without)
        (folder / "model/template.txt").write_text(content["template"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scale", choices=[*CHANGES])
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    write(specifications(arguments.scale), arguments.folder)


if __name__ == "__main__":
    main()
