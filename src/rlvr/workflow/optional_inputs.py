"""Files that a page shows if they exist. They are not inputs of its rule, since Snakemake would make them.

Their digest is a parameter of the rule: when such a file appears or changes, the page is rendered again.
"""

from pathlib import Path

from rlvr.config.paths import Paths
from rlvr.config.plan import Plan, asked_for, by_name, runs_of
from rlvr.files import sha256


def claims(paths: Paths, inputs: list[str], *, paper: str = "") -> dict[str, str]:
    """Evaluated claims of a paper (empty: of all) at every scale, with checksums, without the rule's inputs."""
    files = map(str, sorted(Path(paths.results).glob(f"claims/*/{paper}*.csv")))
    return {path: sha256(path) for path in files if path not in set(inputs)}


def mechanisms(paths: Paths, inputs: list[str]) -> dict[str, str]:
    """Judged criteria at every scale, with checksums, without the rule's inputs."""
    files = map(str, sorted(Path(paths.results).glob("mechanisms/*/*.csv")))
    return {path: sha256(path) for path in files if path not in set(inputs)}


def controls(paths: Paths) -> dict[str, str]:
    """Judged controls of this scale, with checksums."""
    files = map(str, sorted(Path(paths.results).glob(f"controls/{paths.scale}/*.csv")))
    return {path: sha256(path) for path in files}


def ledger(paths: Paths, *, paper: str = "") -> dict[str, str]:
    """The theory ledger, with its checksum, where a paper's page shows it."""
    path = paths.ledger()
    return {path: sha256(path)} if paper and Path(path).is_file() else {}


def other_verifier(paths: Paths, *, paper: str = "") -> dict[str, str]:
    """A paper's completions under another verifier, with its checksum, where the paper's page shows it."""
    path = paths.other_verifier(paper)[0]
    return {path: sha256(path)} if paper and Path(path).is_file() else {}


def overview(plan: Plan, paths: Paths, inputs: list[str]) -> list[str]:
    """The existing manifests of every paper's runs, scores, statistics, page, and pages of leagues."""
    candidates: dict[str, None] = dict.fromkeys(paths.page(name) for name in by_name(plan))
    for paper, paper_plan in plan.papers.items():
        candidates |= dict.fromkeys(paths.manifest(plan, run) for run in runs_of(plan, paper))
        pairs = (pair for name in asked_for(plan, paper) for pair in paper_plan.item(name).scored())
        candidates |= dict.fromkeys(paths.scores(*pair) for pair in pairs)
        candidates |= dict.fromkeys(paths.statistics(paper, name) for name in asked_for(plan, paper))
        candidates[paths.page(paper)] = None
    excluded = set(inputs)
    return sorted(path for path in candidates if path not in excluded and Path(path).is_file())
