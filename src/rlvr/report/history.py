"""Whether results were made by the code of this checkout: what a snapshot refuses."""

import subprocess
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from rlvr.config.plan import Plan
from rlvr.config.registries import BACKENDS, ENGINES

MAKES_RESULTS = ("training", "policies", "estimators", "sampling", "verifiers", "scoring", "data")  # below src/rlvr
CHANGED = "+changes"  # of a commit: tracked files differed from it


def unused(plan: Plan) -> list[str]:
    """The backends and engines below src/rlvr, as git's patterns, that nothing of a plan trains or samples with."""
    tuned = (policy.sft for policy in plan.policies.values() if policy.sft)
    backends = {trained.backend for trained in chain(tuned, (run.rl for run in plan.runs.values()))}
    engines = {evaluation.sampling.engine for evaluation in plan.evaluations.values()}
    others = [f"training/backends/{name}" for name in BACKENDS.names() if name not in backends]
    others += [f"sampling/engines/{name}" for name in ENGINES.names() if name not in engines]
    return [f"src/rlvr/{name}{end}" for name in others for end in (".py", "/**")]


def objections(commits: Iterable[str], root: Path, without: Iterable[str] = ()) -> list[str]:
    """Why results of these commits are not those of HEAD: none where all agree.

    The working tree has changes; a commit is no ancestor of HEAD, or had changes; the code that makes results differs,
    `without` the files of some patterns (`unused`).
    """
    found = ["tracked files differ from HEAD"] if _git(root, "status", "--porcelain", "--untracked-files=no") else []
    folders = [f"src/rlvr/{name}" for name in MAKES_RESULTS] + [f":(exclude,glob){pattern}" for pattern in without]
    for commit in dict.fromkeys(commits):
        name = commit.removesuffix(CHANGED)
        if name != commit:
            found.append(f"runs of {name} were made with changes that no commit has")
        if _git(root, "merge-base", "--is-ancestor", name, "HEAD") is None:
            found.append(f"{name} is no ancestor of HEAD, or not in this repository")
        elif files := _git(root, "diff", "--name-only", name, "HEAD", "--", *folders):
            first, *others = files.splitlines()
            more = f" and {len(others)} more" if others else ""
            found.append(f"code that makes results differs between {name} and HEAD ({first}{more})")
    return found


def _git(root: Path, *arguments: str) -> str | None:
    """What git prints; None where it fails."""
    made = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return made.stdout.strip() if made.returncode == 0 else None
