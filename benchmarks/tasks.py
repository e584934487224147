"""Does the tasks of docs/tasks.md as they are typed there, in a scratch clone, and prints the table with its times.

    python benchmarks/tasks.py                                      # all; what they need is made first, and not timed
    python benchmarks/tasks.py --results results --only show --only compare

The clone is of the last commit and works with the environment of this Python. Finished results are copied into it, so
nothing of theirs changes. A time is by the clock, with the CPU time of all processes and the number of new RL runs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from scratch import ROOT, Scratch, finished, seconds

from rlvr import provenance

PAGE = ROOT / "docs/tasks.md"
ROW = re.compile(r"^\| \*\*(?P<name>\w+)\*\*: (?P<task>.+?) \| (?P<typed>.+?) \| (?P<stated>\d+) min \| .*\|$", re.M)
PROBLEMS = 200  # of a file of one's own
AT_WORK = 300.0  # seconds within which a Snakemake has begun


@dataclass(frozen=True)
class Task:
    name: str
    task: str
    typed: str  # the table's cell
    stated: int  # minutes

    @property
    def commands(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.typed)


def tasks(page: str) -> list[Task]:
    """The rows of the page's table."""
    return [Task(row["name"], row["task"], row["typed"], int(row["stated"])) for row in ROW.finditer(page)]


# ---- what a task finds, not timed ----


def without_arm(arm: str, slug: str) -> Callable[[Scratch], AbstractContextManager]:
    """An arm that is not made yet."""

    def prepare(scratch: Scratch) -> AbstractContextManager:
        scratch.without(f"runs/*-{slug}-*", f"evaluations/*-{slug}-*", f"papers/laptop/ace/arms/{arm}.csv")
        return nullcontext()

    return prepare


def own(scratch: Scratch) -> AbstractContextManager:
    """A folder of a model, a base policy of ACE's, and a file of problems."""
    base = next(scratch.folder.glob("results/sft/qwen2-chain-*/manifest.json")).parent
    shutil.copytree(base, scratch.folder / "my-model", ignore=shutil.ignore_patterns("state"))
    problems = next(scratch.folder.glob("results/data/chain-train-*/problems.jsonl")).read_text().splitlines()
    rows = [json.loads(line) for line in problems[:PROBLEMS]]
    lines = [json.dumps({"prompt": row["prompt"], "answer": row["gold"]}) + "\n" for row in rows]
    (scratch.folder / "my.jsonl").write_text("".join(lines))
    return nullcontext()


@contextmanager
def at_work(scratch: Scratch) -> Iterator[None]:
    """A Snakemake at work."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    process = scratch.process("snakemake --config scale=smoke -- paper_lens", **quiet)
    try:
        deadline = time.monotonic() + AT_WORK
        while "jobs done" not in scratch.shell("rlvr watch --once"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("no Snakemake is at work")
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


FINDS: dict[str, Callable[[Scratch], AbstractContextManager]] = {
    "ablation": without_arm("ace_grpo-alpha-2.0", "ace_grpo-alpha2.0"),
    "sweep": without_arm("ace_grpo-alpha-3.0", "ace_grpo-alpha3.0"),
    "own": own,
    "watch": at_work,
}
NEEDS_NOTHING = {"estimator", "watch"}  # no finished runs


def typed(command: str, scratch: Scratch) -> str:
    """The command with names of runs in place of RUN and OTHER."""
    for word, pattern in (("RUN", "*-ace_grpo-*seed1-*"), ("OTHER", "*-grpo-*seed1-*")):
        if re.search(rf"\b{word}\b", command):
            command = re.sub(rf"\b{word}\b", scratch.one(pattern), command)
    return command


# ---- measured ----


def cpu() -> float:
    """CPU seconds of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(task: Task, scratch: Scratch) -> str:
    """Does a task. Returns its times in words. Raises RuntimeError where it fails."""
    if task.name not in NEEDS_NOTHING:
        finished(scratch)
    with FINDS.get(task.name, lambda scratch: nullcontext())(scratch):
        commands, before = [typed(command, scratch) for command in task.commands], len(scratch.runs())
        began, used = time.perf_counter(), cpu()
        for command in commands:
            scratch.shell(command)
        wall, used = time.perf_counter() - began, cpu() - used
    new = len(scratch.runs()) - before
    longer = ", **longer than stated**" if wall > 60 * task.stated else ""
    return f"{seconds(wall)} ({seconds(used)} CPU{f', {new} runs' if new else ''}){longer}"


def row(task: Task, time_of_it: str, machine: str) -> str:
    return f"| **{task.name}**: {task.task} | {task.typed} | {task.stated} min | {time_of_it} | {machine} |"


def write(name: str, line: str) -> None:
    """Replaces a task's row of the page."""
    PAGE.write_text(ROW.sub(lambda old: line if old["name"] == name else old[0], PAGE.read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = tasks(PAGE.read_text())
    names = [task.name for task in listed]
    parser.add_argument("--only", action="append", choices=names, help="one task; may be repeated")
    parser.add_argument("--results", type=Path, help="finished results, to be copied")
    parser.add_argument("--write", action="store_true", help="put the times into docs/tasks.md")
    arguments = parser.parse_args()
    machine = f"{provenance.processor()}, {os.cpu_count()} cores, {date.today()}"
    failed = 0
    print("| task | typed | stated | measured | machine |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(Path(folder) / "checkout", arguments.results)
        for task in listed:
            if arguments.only and task.name not in arguments.only:
                continue
            try:
                line = row(task, measured(task, scratch), machine)
            except (RuntimeError, OSError, StopIteration) as error:
                print(f"{task.name}: {error}", file=sys.stderr, flush=True)
                failed += 1
                continue
            print(line, flush=True)
            if arguments.write:
                write(task.name, line)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
