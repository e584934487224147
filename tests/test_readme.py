"""README and docs are literally true: their commands run as they are printed, in a copy of the checkout.

A `snakemake` command runs dry (-n), and for real where it is quick. An `rlvr` command runs for real, on small files of
the form that the text describes. Of `make X` the target must exist. What is not run is in LISTED, with the reason. A
line that looks like a command and is none of these is an error.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import pytest
import typer
from conftest import ROOT, whole_copy
from markdown_it import MarkdownIt
from support.kept_by_hand import lay_evaluation, lay_run
from support.members import fields
from test_package import ANSWERS, COUNTS, PROBLEMS, SAMPLES

from rlvr.commands import app
from rlvr.files import publish, publish_json
from rlvr.planning.expansion import make_plan

pytestmark = pytest.mark.slow

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "log").glob("*.md")),
]

# What is not run, and why: the beginning of a command, its program, or an option.
LISTED = {
    "--report": "reads finished results; tests/workflow/test_chain.py writes this report of its own",
    "make": "its target must exist; the recipes install environments, train, or run these tests",
    "python benchmarks/tasks.py": "clones and trains; tests/test_benchmarks.py does some of its tasks",
    "python benchmarks/recipes.py": "clones and trains; tests/test_recipes.py runs its commands without training",
    "python benchmarks/placebos.py": "simulates thousands of cores; tests/test_benchmarks.py runs a few",
    "snakemake --version": "plans nothing",
    "snakemake --sdm": "makes the environments of jobs from the network",
    "sed": "edits the checkout; tests/test_benchmarks.py plans what it changes",
    "snakemake results/papers/laptop/ace/arms/ace_grpo-alpha-3.0.csv": "needs the edit of the line above",
    "python benchmarks/run.py": "measures for minutes; tests/test_benchmarks.py runs it at smoke scale",
    "python -m": "its module must exist; the arguments are those of a rule",
    "export": "sets the path of the reader's shell, as these tests do",
    "pip": "installs into an environment that this one is not",
    "python3 benchmarks/rehearsal/rehearse.py": "needs a machine with a GPU; tests/test_rehearsal.py",
    ".ci/run": "runs these tests",
    "pytest": "the same",
    "git": "needs the address of the repository",
    "rlvr plan ace --gpus-per-run 4": "is refused, as the page says; tests/cost/test_memory_model.py refuses such runs",
    "hf": "needs the hub",
    "rlvr train": "needs a model and problems; tests/commands/test_own_paper.py trains a tiny one",
    "rlvr evaluate": "the same",
    "rlvr new-paper": "writes into the checkout; tests/commands/test_new_paper.py plans its paper in a copy",
    "snakemake --config own=own/my.yaml": "needs a file of `rlvr train`; tests/commands/test_own_paper.py",
    "snakemake --config scale=smoke -- paper_my_paper": "needs the paper of the line above",
    "rlvr power": "needs pilot runs; tests/statistics/test_power.py",
    "rlvr export": "needs finished runs; tests/commands/test_export.py",
    "rlvr recompute": "needs a snapshot with counts; tests/report/test_recompute.py",
    "rlvr new-estimator": "writes into the checkout; tests/commands/test_new_estimator.py gives it in a copy",
    "snakemake league --config mine=my_weight": "needs the estimator of the line above; test_new_estimator.py",
    "apptainer": "builds a container from the network",
    "srun": "needs a Slurm with a GPU; make test-cluster has one without",
    "sbatch": "needs a Slurm; make test-cluster",
    "scontrol": "needs a Slurm; make test-cluster",
    "squeue": "the same",
    "snakemake --profile kubernetes": "needs the plug-in of envs/test.txt; tests/workflow/test_kubernetes.py",
    "snakemake --profile lsf": "needs the plug-in of envs/test.txt; tests/workflow/test_lsf.py",
    "systemd-run": "is put before another command, and needs a systemd that delegates cgroups",
    "$EDITOR": "is for a person",
    "tensorboard": "serves until it is stopped; tests/training/test_loggers.py reads the same files",
    "inspect": "the same; tests/commands/test_show.py reads the same file",
    "trackio": "the same",
    "TRACKIO_DIR=results/runs/RUN/trackio": "the same",
    "wandb": "uploads to an account",
    "nvidia-cuda-mps-control": "is a service of NVIDIA's driver, and needs a GPU",
    "ray": "is started by rlvr.training.backends.verl.ray_nodes; make test-cluster",
}
PROGRAMS = {"snakemake", "rlvr", "make"}
# Programs that make a line of a block a command, whatever follows.
USUAL = {"bash", "cat", "cd", "chmod", "conda", "cp", "curl", "docker", "export", "ls", "mkdir", "mv", "python3", "rm"}
USUAL |= {"rsync", "ruff", "scp", "sh", "source", "ssh", "uv", "wget"}
QUICK = {"theory", "results/papers/laptop/fade/tables/table1.md"}  # targets that need no training: made for real
NEEDS_THE_HUB = re.compile(r"rlvr data prepare [\w-]+$|rlvr models resolve\b(?!.*--help)")

# What a reader puts in place of a word; functions of the copy, since some are names of its plan.
PLACEHOLDERS = {
    "<policy>/<evaluation>": lambda copy: "/".join(copy.evaluation),
    "<paper>": lambda copy: "ace",
    "RUN": lambda copy: copy.runs[0],
    "OTHER": lambda copy: copy.runs[1],
    "SET": lambda copy: "aime-2025",
    "NAME": lambda copy: "aime-2025",
    "FILE ...": lambda copy: "test.jsonl",
}
UNKNOWN_PLACEHOLDER = re.compile(r"<[a-z_]+>|…|\.\.\.|\b[A-Z]{3,}\b(?!=)")


# ---- what a document holds ----


@dataclass(frozen=True)
class Line:
    """A line of a block, or a span of inline code, and where it is."""

    text: str
    place: str
    inline: bool


def without_comment(line: str) -> str:
    return re.sub(r"(^|\s+)#(\s.*)?$", "", line).strip()


def lines_of(text: str, name: str) -> list[Line]:
    """Lines of blocks (indented, or between fences) with continued ones joined, and spans of inline code."""
    found, place = [], name
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        place = f"{name}:{token.map[0] + 1}" if token.map else place
        if token.type in ("code_block", "fence"):
            whole = re.sub(r" *\\\n\s*", " ", token.content).splitlines()
            found += [Line(line, place, False) for line in map(without_comment, whole) if line]
        spans = [child.content for child in token.children or () if child.type == "code_inline"]
        found += [Line(" ".join(span.split()), place, True) for span in spans]
    return found


def command_of(line: Line) -> str | None:
    """The command of a line, None where it is something else. Raises ValueError for one that nobody knows."""
    text = re.sub(r"^(time|sudo) |^(\w+=\S+ )+", "", line.text)
    program = Path(text.split()[0]).name if text.split() else ""
    if line.inline:
        text = re.sub(r" \[[^]]*\](\.\.\.)?", "", text)  # what may be left out
    if (text.split()[:1] == [program] and program in PROGRAMS) or re.search(r"\| *(rlvr|snakemake) ", text):
        return text
    if any(text == begin or text.startswith(f"{begin} ") or program == begin for begin in LISTED):
        return text if not line.inline or " " in text or (text in LISTED and "/" in text) else None
    flags, joined = re.match(r"[a-z][\w./-]* (.*\s)?--?[a-z]", text), re.search(r" (&&|\|\|?) |\$\(", text)
    if flags or (not line.inline and (joined or program in USUAL)):
        raise ValueError(f"{line.place}: {text!r} looks like a command that this test does not know")
    return None


def commands_of(text: str, name: str) -> list[str]:
    return [command for line in lines_of(text, name) if (command := command_of(line))]


def kind_of(command: str) -> str:
    """`listed`, `mention` (an inline `rlvr passk`), `run`, `dry`."""
    if listed(command):
        return "listed"
    if command.startswith("snakemake"):
        return "run" if quick(command) or "--unlock" in command else "dry"
    return "mention" if only_named(command) else "run"


def only_named(command: str) -> bool:
    """Whether `rlvr X` stands for the command X, and gives it nothing to work on."""
    words = command.replace(",", " ").split()[1:]
    complete = {"--list", "--version", "--help", "plan", "list"} & set(words)
    return (not complete or ", " in command) and all(re.fullmatch(r"(--)?[a-z-]+", word) for word in words)


def listed(command: str) -> str:
    """Why a command is not run; empty for one that is."""
    words = command.split()
    program = Path(words[0]).name
    found = [key for key in LISTED if f"{command} ".startswith(f"{key} ") or program == key]
    found += [key for key in LISTED if key.startswith("--") and key in words]
    return LISTED[max(found, key=len)] if found else ""


def quick(command: str) -> bool:
    """Whether its target needs no training."""
    return "-n" not in command.split() and command.split()[-1] in QUICK


def same(command: str) -> str:
    """Commands that are one here: neither -n nor the number of cores changes what is planned."""
    words = re.sub(r" --cores \S+", "", command).split()
    return " ".join(word for word in words if word not in ("-n", "--")) if words[0] == "snakemake" else command


def different() -> list[str]:
    """Each different command of all documents, quick ones first. Those not understood are left out."""
    found: dict[str, str] = {}
    for document in DOCUMENTS:
        for line in lines_of(document.read_text(), document.name):
            with suppress(ValueError):  # test_every_line_is_understood fails
                if command := command_of(line):
                    found.setdefault(same(command), command)
    order = ["listed", "mention", "run", "dry"]
    return sorted(found.values(), key=lambda command: order.index(kind_of(command)))


COMMANDS = different()


# ---- where they run ----


@dataclass
class Copy:
    """A copy of the checkout, and the shell of someone who reads there, without a network."""

    folder: Path

    def shell(self, command: str) -> subprocess.CompletedProcess:
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.folder / "src"),
            "HF_HOME": str(self.folder / "no-cache"),
            "HF_ENDPOINT": "http://127.0.0.1:9",  # nobody answers there
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "200",
        }
        options = {"cwd": self.folder, "env": environment, "stdin": subprocess.DEVNULL, "timeout": 300}
        return subprocess.run(["bash", "-euo", "pipefail", "-c", command], capture_output=True, text=True, **options)

    def good(self, command: str) -> str:
        """What a command prints that must end well."""
        done = self.shell(command)
        said = f"{command}\n{done.stdout[-1500:]}{done.stderr[-3000:]}"
        assert done.returncode == 0 and "Traceback" not in done.stderr, said
        return done.stdout + done.stderr

    @cached_property
    def runs(self) -> list[str]:
        return list(make_plan(self.folder, "paper", ["ace"]).runs)

    @cached_property
    def evaluation(self) -> tuple[str, str]:
        """A policy and an evaluation of it, in the default scale."""
        plan = make_plan(self.folder, "laptop", ["ace"])
        return next(iter(plan.runs)), next(iter(plan.evaluations))

    def lay_a_run(self) -> None:
        """A finished run with a checkpoint, as far as its files tell."""
        folder = self.folder / "results" / "runs" / self.runs[0]
        for name in ("metrics.jsonl", "probe.jsonl", "policy-step1/config.json", "state/step-000001/state.json"):
            publish(folder / name, "{}\n")
        publish_json(folder / "manifest.json", {"policy": "policy-step1", "files": {"config.json": ""}})

    def write(self, name: str, rows: list[dict]) -> None:
        (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    copy = Copy(whole_copy(tmp_path_factory.mktemp("readme") / "checkout"))
    # The form that README states of each: "{...} a line".
    copy.write("steps.jsonl", [{"step": 0, **fields([[1, 0], [1, 1]])}])
    copy.write("counts.jsonl", [{**row, "n": 128} for row in COUNTS])
    copy.write("samples.jsonl", SAMPLES)
    copy.write("test.jsonl", PROBLEMS)
    amc = [{"id": i, "question": f"What is {i} + {i}?", "answer": f"{2 * i}.0"} for i in range(40)]
    pd.DataFrame(amc).to_parquet(copy.folder / "test-00000-of-00001.parquet")
    return copy


def answers(command: str) -> list[dict]:
    """answers.jsonl for the verifier that a command names."""
    if "code" not in command:
        return ANSWERS
    gold = {"kind": "stdin", "tests": [{"input": "3 4\n", "output": "7\n"}]}
    program = "```python\nprint(sum(map(int, input().split())))\n```"
    return [{"id": 1, "completion": program, "gold": json.dumps(gold)}]


def put_in(command: str, copy: Copy) -> str:
    """A command with what its placeholders are for."""
    for word, value in PLACEHOLDERS.items():
        pattern = re.escape(word) if word.startswith("<") else rf"\b{re.escape(word)}(?!\w)"
        if re.search(pattern, command):
            command = re.sub(pattern, value(copy), command)
    unknown = UNKNOWN_PLACEHOLDER.search(re.sub(r"'[^']*'", "", command))
    assert not unknown, f"{command}: what is {unknown[0]} for? PLACEHOLDERS of this test does not say"
    return command


# ---- the tests ----


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_line_is_understood(document):
    """A line that looks like a command and is none that is known raises."""
    commands_of(document.read_text(), str(document.relative_to(ROOT)))


@pytest.mark.parametrize(
    "line", ["snakmake --cores 2 claims", "docker run --gpus all image", "ls results", "tool -a results", "tool a && b"]
)
def test_a_command_that_nobody_knows_is_an_error(line):
    with pytest.raises(ValueError, match=r"new\.md:3: .* looks like a command"):
        commands_of(f"Then run\n\n    {line}\n", "new.md")
    with pytest.raises(ValueError, match="looks like a command"):
        commands_of(f"Then\n```sh\n{line}  # now\n```\n", "new.md")


def test_blocks_comments_and_continued_lines_are_read():
    block = "    rlvr plan ace   # cost\n    rlvr passk \\\n        --k 1 < counts.jsonl\n"
    text = f"A\n\n{block}\nB `make\nrun`, `fade`.\n\n    key: {{value: 1}}\n"
    assert commands_of(text, "new.md") == ["rlvr plan ace", "rlvr passk --k 1 < counts.jsonl", "make run"]


def test_a_placeholder_that_nobody_knows_is_an_error(copy):
    assert put_in("snakemake effort_<paper>", copy) == "snakemake effort_ace"
    with pytest.raises(AssertionError, match="what is <model> for"):
        put_in("snakemake results/<model>.csv", copy)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_printed_command_runs(command, copy):
    kind = kind_of(command)
    if kind == "listed":
        check_listed(command, copy)
    elif kind == "mention":
        check_mention(command)
    elif kind == "dry":
        dry = command if "-n" in command.split() else command.replace("snakemake", "snakemake -n", 1)
        assert re.search("This was a dry-run|Nothing to be done", copy.good(put_in(dry, copy)))
    else:
        run(put_in(command, copy), copy)


def run(command: str, copy: Copy) -> None:
    if "rlvr state" in command:
        copy.lay_a_run()
    if re.search("rlvr (show|compare)", command):
        for name in copy.runs[:2]:
            lay_run(copy.folder / "results", name)
        policy, evaluation = copy.evaluation
        lay_evaluation(copy.folder / "results", policy, evaluation=evaluation)
    if "answers.jsonl" in command:
        copy.write("answers.jsonl", answers(command))
    if NEEDS_THE_HUB.search(command) or ("code" in command and not shutil.which("bwrap")):
        return ends_in_one_line(command, copy)
    said = copy.good(command)
    written = re.search(r"> *(\S+)$", command)
    assert (copy.folder / written[1]).stat().st_size if written else said or "--unlock" in command, command
    if "rlvr grade" in command:
        good = "both right 1" if "--compare" in command else '"status": "correct"'
        assert good in said and '"invalid"' not in said
    for target in QUICK & set(command.split()):
        assert (copy.folder / target).exists() or (copy.folder / "results" / target / "ledger.md").exists(), said


def ends_in_one_line(command: str, copy: Copy) -> None:
    """Without the hub, or bubblewrap: one line that says what to bring or install."""
    done = copy.shell(command)
    assert done.returncode == 2 and not done.stdout and len(done.stderr.splitlines()) == 1, done.stdout + done.stderr
    assert re.search(r"bring |the hub |bubblewrap|bwrap", done.stderr), done.stderr


def check_listed(command: str, copy: Copy) -> None:
    words = command.split()
    if words[0] == "make":
        done = copy.shell(" ".join(["make", "-n", *words[1:]]))
        assert done.returncode == 0, done.stderr
    if words[:2] == ["python", "-m"]:
        assert (ROOT / "src" / Path(*words[2].split("."))).with_suffix(".py").is_file(), words[2]


def check_mention(command: str) -> None:
    """Commands and options that are only named: `rlvr weigh, passk`, `rlvr diversity --embedding`."""
    group = typer.main.get_command(app)
    for words in [part.split() for part in command.removeprefix("rlvr").split(",")]:
        found = group
        for word in words:
            if word.startswith("--"):
                assert word in {option for parameter in found.params for option in parameter.opts}, (command, word)
            else:
                assert word in getattr(found, "commands", {}), f"{command}: rlvr has no {word}"
                found = found.commands[word]  # type: ignore[attr-defined]
