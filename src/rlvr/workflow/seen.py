"""Files that a page shows if they exist. They are no inputs of its rule, since Snakemake would make them.

The rule has a digest of them among its parameters: when such a file appears or changes, the page is rendered again.
"""

from __future__ import annotations

from pathlib import Path

from rlvr.config.paths import Paths
from rlvr.config.plan import Plan, asked_for, runs_of
from rlvr.files import sha256


def claims(paths: Paths, inputs: list[str], *, paper: str = "") -> dict[str, str]:
    """Evaluated claims of a paper (empty: of all) at every scale, with checksums, but for a rule's own inputs."""
    found = map(str, sorted(Path(paths.results).glob(f"claims/*/{paper}*.csv")))
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
