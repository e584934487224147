"""Whether a scheduler's partitions would accept the jobs of a command, asked before the first of them.

Time limits of users, accounts and QOS are not known here: a job that they refuse closes with the scheduler's words.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rlvr.suggest import nearest
from rlvr.workflow.needs import counted


class Asked(NamedTuple):
    """What a job asks for: `partitions` as Slurm takes them ("a,b": one of the two), `runtime` in minutes."""

    rule: str
    partitions: str | None
    runtime: float


def refused(jobs: Iterable[Asked], limits: Mapping[str, float]) -> list[str]:
    """A line for each partition that would refuse jobs. `limits`: the most minutes by partition; empty: not known.

    The sum of a group of jobs is not looked at.
    """
    unknown: dict[str, Counter[str]] = {}
    longer: dict[tuple[str, float], Counter[str]] = {}
    for job in jobs if limits else ():
        if job.partitions is None:  # the site's default
            continue
        names = job.partitions.split(",")
        if missing := [name for name in names if name not in limits]:
            unknown.setdefault(missing[0], Counter())[job.rule] += 1
        elif job.runtime > max(limits[name] for name in names):
            longer.setdefault((job.partitions, job.runtime), Counter())[job.rule] += 1
    lines = [
        f"the partition {name!r}, which {counted(rules)} would go to{nearest(name, limits)}; config/cluster.yaml has "
        "`partition`"
        for name, rules in unknown.items()
    ]
    return lines + [
        f"{runtime:g} minutes in the partition {names!r}, for {counted(rules)}: its limit is "
        f"{max(limits[name] for name in names.split(',')):g}; set `runtime` and `longest` in config/cluster.yaml"
        for (names, runtime), rules in longer.items()
    ]
