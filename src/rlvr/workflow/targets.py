"""The targets on Snakemake's command line, and the nearest valid one for an unknown target."""

import shlex
import sys
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO

from rlvr.config.order import needs
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan
from rlvr.suggest import close

# Options that make Snakemake run no job.
NO_JOBS = (
    *("archive", "cleanup_metadata", "cleanup_shadow", "conda_cleanup_envs", "conda_create_envs_only", "containerize"),
    *("d3dag", "dag", "delete_all_output", "delete_temp_output", "detailed_summary", "dryrun", "filegraph"),
    *("generate_unit_tests", "lint", "list_changes", "list_conda_envs", "list_input_changes", "list_params_changes"),
    *("list_rules", "list_target_rules", "list_untracked", "print_compilation", "report", "rulegraph", "summary"),
    *("unlock", "version"),
)


@dataclass(frozen=True)
class CommandLine:
    """Targets of a command line, whether the command runs jobs, and whether they run on this machine."""

    targets: tuple[str, ...] = ()
    runs: bool = True
    here: bool = True


def command_line() -> CommandLine:
    """The command line of this process with its profiles, read by Snakemake; empty if it is no `snakemake` command."""
    from snakemake.cli import parse_args
    from snakemake.exceptions import CliException

    if "snakemake" not in sys.argv[0]:
        return CommandLine(runs=False)
    try:
        with redirect_stderr(StringIO()):  # it names the profiles, which Snakemake has done
            _, arguments = parse_args(sys.argv[1:])
    except (SystemExit, CliException):  # not what Snakemake has read: refuse nothing
        return CommandLine(runs=False)
    runs = not any(getattr(arguments, name, None) for name in NO_JOBS)
    return CommandLine(tuple(arguments.targets or ()), runs, here=arguments.executor in (None, "local"))


def check_config(words: list[str]) -> None:
    """Exits, with the command as it is meant, where --config has taken targets for settings.

    Snakemake's parser gives it every word up to the next option, and Snakemake then ends with a traceback.
    """
    from snakemake.cli import get_argument_parser

    try:
        arguments, _ = get_argument_parser().parse_known_args(words)
    except SystemExit:  # Snakemake reports this mistake itself
        return
    taken = [word for word in arguments.config or () if "=" not in word]
    if taken:
        others = [word for word in words if word not in taken]
        meant = shlex.join(["snakemake", *others, "--", *taken])
        why = "it takes every word behind it, so targets go behind --"
        sys.exit(f"--config: {taken[0]} is not NAME=VALUE; {why}: {meant}")


def nearest(target: str, names: list[str]) -> str | None:
    """The name that a target most likely means, or None where none is close.

    File names come first: the usual mistake is a wrong name in a right folder.
    """
    folder, _, last = target.rpartition("/")
    siblings = {name.rpartition("/")[2]: name for name in names if name.rpartition("/")[0] == folder}
    if folder and (name := close(last, siblings)):
        return siblings[name]
    return close(target, names, cutoff=0.6)


def files(plan: Plan, paths: Paths) -> list[str]:
    """Every file of a plan that a command line may name."""
    paths_of_plan = [paths.entrance()]
    for paper, paper_plan in plan.papers.items():
        for name in paper_plan.all_items():
            paths_of_plan += paths.item(plan, paper, name)
            paths_of_plan += [paths.statistics(paper, name)] if needs(plan, paper, name).evaluations else []
        paths_of_plan += [paths.arm(paper, arm) for arm in paper_plan.arms]
        paths_of_plan += paths.other_verifier(paper)
        paths_of_plan += paths.claims(paper) if paper_plan.paper.claims else []
        paths_of_plan += [paths.mechanisms(paper)] if paper_plan.paper.mechanism else []
        paths_of_plan += [paths.controls(paper)] if paper_plan.paper.controls else []
    paths_of_plan += [paths.page(page) for page in ("index", *plan.papers)]
    paths_of_plan += [f"{paths.results}/{plan.stage(policy)}/manifest.json" for policy in (*plan.policies, *plan.runs)]
    return list(dict.fromkeys(paths_of_plan))


def nobodys(target: str, plan: Plan, paths: Paths) -> bool:
    """Whether a path belongs to a run or policy outside the plan; rules accept any name there."""
    folder, *rest = target.removeprefix(f"{paths.results}/").split("/")
    ids = {"runs": plan.runs, "sft": plan.policies, "evaluations": {**plan.runs, **plan.policies}}
    return target.startswith(f"{paths.results}/") and bool(rest) and folder in ids and rest[0] not in ids[folder]


def unknown(target: str, rules: list[str], plan: Plan, paths: Paths, scales: list[str]) -> str:
    """The message for a target that no rule makes."""
    other = target.removeprefix(f"{paths.results}/").split("/")[1:2]  # results/papers/<scale>/..., claims, report
    if other and other[0] in scales and other[0] != paths.scale:
        return f"{target} is of scale {other[0]}, and this command is at {paths.scale}: --config scale={other[0]}"
    meant = nearest(target, rules) if "/" not in target else nearest(_with_scale(target, paths), files(plan, paths))
    hint = f"did you mean {meant}?" if meant else f"files are below {paths.results}/, and --list-rules names the rest"
    return f"no rule makes {target}: {hint}"


def _with_scale(target: str, paths: Paths) -> str:
    """A path below papers/, with the scale added where it is missing."""
    above = f"{paths.results}/papers/"
    within = target.removeprefix(above)
    missing = target.startswith(above) and within.count("/") == 2
    return f"{paths.papers}/{within}" if missing else target
