"""A scratch clone of the checkout for `benchmarks/tasks.py` and `benchmarks/recipes.py`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class Scratch:
    """A clone of the checkout, and a shell in it."""

    def __init__(self, folder: Path, results: Path | None):
        self.folder = folder
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        for library in (ROOT / "src/rlvr/policies/native").glob("*.so"):  # compiled when the package was installed
            shutil.copy2(library, folder / library.relative_to(ROOT).parent)
        (folder / "results").mkdir()
        if results:
            copy = ["cp", "--archive", "--reflink=auto", f"{results.resolve()}/.", str(folder / "results")]
            subprocess.run(copy, check=True)

    def process(self, command: str, **options) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.folder / "src"),
        }
        words = ["bash", "-euo", "pipefail", "-c", command]
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}
        return subprocess.Popen(words, cwd=self.folder, env=environment, **{**output, **options})

    def shell(self, command: str) -> str:
        """What a command prints. Raises RuntimeError with the end of it where it fails."""
        process = self.process(command)
        said, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{command}: exit code {process.returncode}\n{said[-2000:]}")
        return said

    def runs(self, pattern: str = "*") -> list[str]:
        """The names of finished runs."""
        return sorted(path.parent.name for path in self.folder.glob(f"results/runs/{pattern}/manifest.json"))

    def one(self, pattern: str) -> str:
        """A finished run. Raises RuntimeError where there is none."""
        found = self.runs(pattern)
        if not found:
            raise RuntimeError(f"no finished run in results/runs matches {pattern}")
        return found[0]

    def without(self, *patterns: str) -> None:
        """Removes files and folders of the results."""
        for path in [path for pattern in patterns for path in self.folder.glob(f"results/{pattern}")]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def finished(scratch: Scratch) -> None:
    """Makes the default target where there are no finished runs."""
    if not scratch.runs("*-ace_grpo-*"):
        print("making the default target, which is not timed", file=sys.stderr, flush=True)
        scratch.shell("snakemake")


def seconds(value: float) -> str:
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes else f"{value:.1f} s"
