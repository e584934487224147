"""The specification of a stage, in a file of the plan that is named by a digest of its content.

The path is a parameter of the rule: new content gives a new path, which reruns the rule. A job on a cluster also
parses the Snakefile, and writes the file where it is missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlvr.config.paths import Paths
from rlvr.files import publish

if TYPE_CHECKING:
    from snakemake.workflow import Workflow


def runs_jobs(workflow: Workflow) -> bool:
    """Whether this call of Snakemake runs jobs. Known when the DAG is built, not yet when rules are read."""
    return workflow.executor_plugin is not None and not workflow.dryrun and not workflow.touch


def canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def digest(content: Any) -> str:
    """A short digest of plain data."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:16]


def of_sources(folders: Iterable[Path], stage: Path) -> str:
    """A short digest of a stage's code, and of the code and styles in folders that it uses.

    As a parameter of a rule it makes the outputs again where that code changed.
    """
    every = (file for folder in folders for file in folder.iterdir())
    files = sorted(file for file in every if file.suffix in (".py", ".mplstyle"))
    return digest([[file.name, file.read_text()] for file in (stage, *files)])


def spec_file(content: Any, paths: Paths, *, write: bool) -> str:
    """The path of the file with `content` as canonical JSON; with `write`, creates it where it is missing."""
    path = paths.spec_file(digest(content))
    if write and not Path(path).exists():
        publish(path, canonical(content) + "\n")
    return path
