"""Commands of the workflow that train nothing: planning and Snakemake's share of it, theory, claims."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
from comparison import Figure
from measuring import ROOT, Size, cpu_of, timed

from rlvr.claims.contrasts import layout, needs
from rlvr.claims.evaluate import evaluate
from rlvr.items.contrast import ClaimSpec, Evidence
from rlvr.planning.expansion import make_plan

SNAKEMAKE = (sys.executable, "-m", "snakemake")
PAPERS = ("paper_ace", "paper_lens", "paper_agrae")


def measure(folder: Path, size: Size) -> Iterator[Figure]:
    yield from planning(folder, size)
    yield from claims(size)
    seconds, _ = cpu_of(
        *(*SNAKEMAKE, "--quiet", "all", "--cores", "1", "--nolock"),
        *("--config", f"results={folder / 'theory'}", "--", "theory"),
    )
    yield Figure("theory", seconds, "CPU s", "`snakemake theory`", at_most=60)


# ---- planning ----


def planning(folder: Path, size: Size) -> Iterator[Figure]:
    """Dry runs, in turn with one of as many jobs that need no thought."""
    table = f"{folder / 'none'}/papers/{size.scale}/ace/tables/start.md"
    trivial = trivial_workflow(folder / "trivial", jobs(dry_run(folder, size.dry, "paper_ace")[1]))
    seconds: dict[str, list[float]] = {key: [] for key in ("paper", "papers", "table", "trivial", "start")}
    for _ in range(size.rounds):
        seconds["paper"].append(dry_run(folder, size.dry, "paper_ace")[0])
        seconds["trivial"].append(cpu_of(*trivial)[0])
        seconds["papers"].append(dry_run(folder, size.dry, *PAPERS)[0])
        seconds["table"].append(dry_run(folder, size.scale, table)[0])
        seconds["start"].append(cpu_of(*SNAKEMAKE, "--version")[0])
    middle = {key: median(each) for key, each in seconds.items()}
    share = median(np.divide(seconds["trivial"], seconds["paper"]))
    of = f"at scale `{size.dry}`"
    yield Figure("plan_paper", middle["paper"], "CPU s", f"`snakemake -n paper_ace` {of}", at_most=4)
    yield Figure("plan_papers", middle["papers"], "CPU s", f"three papers {of}", at_most=7)
    yield Figure("plan_table", middle["table"], "CPU s", f"one table at scale `{size.scale}`", at_most=2.5)
    yield Figure("plan_trivial", middle["trivial"], "CPU s", "a dry run of as many jobs that take one file each")
    yield Figure("snakemake_start", middle["start"], "CPU s", "`snakemake --version`")
    yield Figure("snakemake_share", share, "share", "that dry run's share of `plan_paper`", judged=True)


def dry_run(folder: Path, scale: str, *targets: str) -> tuple[float, str]:
    """CPU seconds of a dry run from nothing, and its numbers of jobs."""
    return cpu_of(
        *(*SNAKEMAKE, "-n", "--quiet", "rules", "--cores", "1"),
        *("--config", f"scale={scale}", f"results={folder / 'none'}", "--", *targets),
    )


def jobs(printed: str) -> dict[str, int]:
    """The number of jobs of each rule, from what a dry run prints."""
    first = printed.partition("total")[0]
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", first, re.MULTILINE)}


def trivial_workflow(folder: Path, counts: dict[str, int]) -> tuple[str, ...]:
    """The command of a dry run with as many rules and jobs, each with one file of the rule before."""
    folder.mkdir(parents=True)
    rules, before = [], None
    for i, count in enumerate(counts.values()):
        source = f"    input: lambda w: f'r{i - 1}/{{int(w.i) % {before}}}'\n" if before else ""
        rules.append(f"rule r{i}:\n{source}    output: 'r{i}/{{i}}'\n    shell: 'touch {{output}}'\n")
        before = count
    ends = ", ".join(f"*(f'r{i}/{{i}}' for i in range({count}))" for i, count in enumerate(counts.values()))
    (folder / "Snakefile").write_text(f"rule all:\n    input: {ends}\n" + "\n".join(rules))
    options = ("-n", "--quiet", "rules", "--cores", "1", "--directory", str(folder))
    options += ("--workflow-profile", "none", "--scheduler", "greedy")  # without the profile of our workflow
    return (*SNAKEMAKE, *options, "--snakefile", str(folder / "Snakefile"))


# ---- claims ----


def claims(size: Size) -> Iterator[Figure]:
    """Verdicts on all claims of a paper over scores, which are drawn here."""
    every = layout(make_plan(ROOT, size.scale, ["ace"]), "ace")
    over = [claim for claim in every if of_scores(claim)]
    generator, problems = np.random.default_rng(0), 150
    columns = {"problem": np.arange(problems).astype(str), "n": 64, "level": ""}
    scores = {
        pair: pd.DataFrame(columns | {"correct": generator.binomial(64, generator.beta(0.4, 0.8, problems))})
        for pair in needs(over).scores
    }

    def verdicts() -> None:
        evidence = Evidence(scores)  # one, as the stage has: claims share what it keeps
        for claim in over:
            evaluate(claim, evidence)

    seconds, _ = timed(verdicts)
    yield Figure("claims", seconds, "CPU s", f"`claims.evaluate` on {len(over)} claims of ACE at scale `{size.scale}`")


def of_scores(claim: ClaimSpec) -> bool:
    """Whether a claim needs scores and nothing else."""
    needed = needs([claim])
    return not (needed.runs or needed.measured or needed.diversity)
