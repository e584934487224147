"""What was asked of Snakemake on its command line, and the nearest of what can be made where it cannot be."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from difflib import get_close_matches

from rlvr.config.order import needs
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan

# Options with which Snakemake runs no job.
NO_JOBS = [
    "archive",
    "cleanup_metadata",
    "cleanup_shadow",
    "conda_cleanup_envs",
    "conda_create_envs_only",
    "containerize",
    "d3dag",
    "dag",
    "delete_all_output",
    "delete_temp_output",
    "detailed_summary",
    "dryrun",
    "filegraph",
    "generate_unit_tests",
    "lint",
    "list_changes",
    "list_conda_envs",
    "list_input_changes",
    "list_params_changes",
    "list_rules",
    "list_target_rules",
    "list_untracked",
    "print_compilation",
    "report",
    "rulegraph",
    "summary",
    "unlock",
    "version",
]


@dataclass(frozen=True)
class Asked:
    """Targets of a command line, and whether the command runs jobs."""

    targets: tuple[str, ...] = ()
    runs: bool = True


def asked() -> Asked:
    """What this process was asked, read by Snakemake's own parser; nothing where it is no `snakemake` command."""
    from snakemake.cli import get_argument_parser

    if "snakemake" not in sys.argv[0]:
        return Asked(runs=False)
    try:
        given, _ = get_argument_parser().parse_known_args(sys.argv[1:])
    except SystemExit:  # Snakemake has read these words with its profiles and says itself what is wrong
        return Asked()
    return Asked(tuple(given.targets or ()), runs=not any(getattr(given, name, None) for name in NO_JOBS))


def nearest(target: str, names: list[str]) -> str | None:
    """The name that a target is most likely meant to be, or None where none is close.

    Files are compared by their last parts first: a wrong name in a right folder is the usual mistake.
    """
    folder, _, last = target.rpartition("/")
    beside = {name.rpartition("/")[2]: name for name in names if name.rpartition("/")[0] == folder}
    if folder and (close := get_close_matches(last, beside, n=1, cutoff=0.5)):
        return beside[close[0]]
    close = get_close_matches(target, names, n=1, cutoff=0.6)
    return close[0] if close else None


def files(plan: Plan, paths: Paths) -> list[str]:
    """Every file of a plan that somebody may ask for by name."""
    found = [paths.entrance()]
    for paper, made in plan.papers.items():
        for name in made.tables:
            found += paths.table(paper, name)
        for name in made.figures:
            found += paths.figure(paper, name)
        found += [paths.statistics(paper, name) for name in made.all_items() if needs(plan, paper, name).evaluations]
        found += [paths.arm(paper, arm) for arm in made.arms]
        found += paths.claims(paper) if made.paper.claims else []
    found += [paths.page(page) for page in ("index", *plan.papers)]
    found += [f"{paths.results}/{plan.stage(policy)}/manifest.json" for policy in (*plan.policies, *plan.runs)]
    return list(dict.fromkeys(found))


def nobodys(target: str, plan: Plan, paths: Paths) -> bool:
    """Whether a path is of a run or policy that the plan does not have; rules take any name there."""
    folder, *rest = target.removeprefix(f"{paths.results}/").split("/")
    every = {"runs": plan.runs, "sft": plan.policies, "evaluations": {**plan.runs, **plan.policies}}
    return target.startswith(f"{paths.results}/") and bool(rest) and folder in every and rest[0] not in every[folder]


def unknown(target: str, rules: list[str], plan: Plan, paths: Paths, scales: list[str]) -> str:
    """A line that says what is wrong with a target that no rule makes."""
    named = target.removeprefix(f"{paths.results}/").split("/")[1:2]  # results/papers/<scale>/..., claims, report
    if named and named[0] in scales and named[0] != paths.scale:
        return f"{target} is of scale {named[0]}, and this command is at {paths.scale}: --config scale={named[0]}"
    meant = nearest(target, rules) if "/" not in target else nearest(_with_scale(target, paths), files(plan, paths))
    hint = f"did you mean {meant}?" if meant else f"files are below {paths.results}/, and --list-rules names the rest"
    return f"no rule makes {target}: {hint}"


def _with_scale(target: str, paths: Paths) -> str:
    """A path below papers/ with the scale in it, where it was left out."""
    above = f"{paths.results}/papers/"
    within = target.removeprefix(above)
    left_out = target.startswith(above) and within.count("/") == 2
    return f"{paths.papers}/{within}" if left_out else target
