"""What a page shows only where it is there: no input of its rule, which would make all of it.

A page is rendered again when such a file appears, changes or goes: the rule has a digest of them among its parameters.
"""

from __future__ import annotations

from pathlib import Path

from rlvr.config.paths import Paths
from rlvr.config.plan import Plan, asked_for, runs_of
from rlvr.records import sha256


def claims(paths: Paths, inputs: list[str]) -> dict[str, str]:
    """Evaluated claims of every scale with their checksums, but for a rule's own inputs."""
    found = map(str, sorted(Path(paths.results).glob("claims/*/*.csv")))
    return {path: sha256(path) for path in found if path not in set(inputs)}


def overview(plan: Plan, paths: Paths, inputs: list[str]) -> list[str]:
    """Manifests of every paper's runs, scores of its evaluations, and its page, as far as they are there."""
    wanted: dict[str, None] = {}
    for paper, made in plan.papers.items():
        wanted |= dict.fromkeys(paths.manifest(plan, run) for run in runs_of(plan, paper))
        pairs = (pair for name in asked_for(plan, paper) for pair in made.item(name).scored())
        wanted |= dict.fromkeys(paths.scores(*pair) for pair in pairs)
        wanted[paths.page(paper)] = None
    own = set(inputs)
    return sorted(path for path in wanted if path not in own and Path(path).is_file())
