"""A copy of the workflow in a folder of its own, where a base policy may be laid: one RL run away from a result.

Its `.snakemake` stands in it, so that locks, kills and full disks concern nobody else.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import yaml
from conftest import ROOT, Workbench

from rlvr.config.paths import Paths
from rlvr.planning.expansion import make_plan


class Checkout:
    """The workflow below a folder, at the smoke scale but for RL steps and seeds."""

    def __init__(self, folder: Path, workbench: Workbench | None = None, steps: int = 2, seeds: int = 2):
        self.folder, self.workbench = folder, workbench
        for name in ("config", "workflow"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "Snakefile", folder)
        (folder / "slurm").symlink_to("workflow/profiles/slurm")
        (folder / "profiles").symlink_to("workflow/profiles")
        scale = folder / "config" / "scale" / "smoke.yaml"
        content = yaml.safe_load(scale.read_text())
        content["settings"]["rl"]["steps"], content["seeds"] = steps, seeds
        scale.write_text(yaml.safe_dump(content))
        self.plan = make_plan(folder, "smoke", ["ace"])
        if workbench:
            self.lay("results")

    def lay(self, results: str) -> None:
        """Data, model and base policy into a results folder, as if they had been made there."""
        assert self.workbench
        spec, made = self.workbench.spec, self.workbench.folder
        paths, base = Paths(str(self.folder / results), "smoke"), spec.base
        for data in (spec.data, spec.validation, base.sft_data):
            shutil.copytree(made / data.name, Path(paths.problems(data)).parent)
        shutil.copytree(made / "model", Path(paths.model(base.model)).parent)
        shutil.copytree(made / "sft", Path(paths.manifest(self.plan, self.plan.base_of(self.run()))).parent)

    def run(self, number: int = 0) -> str:
        """The name of a run that starts from the base policy."""
        assert self.workbench
        base = self.workbench.spec.base
        return [name for name, spec in self.plan.runs.items() if spec.base == base][number]

    def manifest(self, number: int = 0, results: str = "results") -> str:
        return f"{results}/runs/{self.run(number)}/manifest.json"

    def command(self, *arguments: str, config: tuple[str, ...] = ()) -> list[str]:
        """`snakemake` at the smoke scale; targets come after a "--" among the arguments."""
        given, _, targets = " ".join(arguments).partition(" -- ")
        settings = ["--config", "scale=smoke", *config]
        return [sys.executable, "-m", "snakemake", *given.split(), *settings, "--", *targets.split()]

    def snakemake(
        self, *arguments: str, config: tuple[str, ...] = (), timeout: float = 300, **options
    ) -> subprocess.CompletedProcess:
        command = self.command(*arguments, config=config)
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=timeout, **options)

    def hold(self, *manifests: str, timeout: float = 600) -> list[psutil.Process]:
        """The processes that train some runs, each stopped when it has saved a step."""
        held: dict[str, psutil.Process] = {}
        deadline = time.monotonic() + timeout
        while len(held) < len(manifests):
            assert time.monotonic() < deadline, f"no checkpoints but of {list(held)}"
            for manifest in set(manifests) - set(held):
                state = self.folder / Path(manifest).parent / "state"
                if list(state.glob("step-*")):
                    holder = re.search(r"process (\d+)", (state / "lease").read_text())
                    assert holder, state
                    held[manifest] = psutil.Process(int(holder[1]))
                    held[manifest].suspend()
            time.sleep(0.01)
        return [held[manifest] for manifest in manifests]
