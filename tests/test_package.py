"""The package as pip installs it: what it declares, and which commands start on the base alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from conftest import ROOT, commands_of
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_locks import modules, packages, pins, unmet
from typer.main import get_command

from rlvr.commands import app
from rlvr.commands.extras import OF_COMMAND, OF_MODULE

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = canonicalize_name(PROJECT["name"])
EXTRAS = PROJECT["optional-dependencies"]
HEAVY = {"torch", "transformers", "snakemake", "matplotlib", "pyarrow"}

CHOICES = [{"id": 1, "completion": "\\boxed{B}", "gold": "B"}]
ANSWERS = [
    {"id": 1, "completion": "so it is \\boxed{\\frac{1}{2}}", "gold": "0.5"},
    {"id": 2, "completion": "\\boxed{7}", "gold": "5"},
]
SAMPLES = [{"problem": "a", "completion": text, "correct": True} for text in ("x = 1", "one")]
COUNTS = [{"problem": "a", "n": 16, "c": 3}, {"problem": "b", "n": 16, "c": 16}]
STEPS = [{"step": 0, "rewards": [[1, 0, 0, 0], [1, 1, 1, 0]]}]
PROBLEMS = [{"id": str(i), "problem": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(30)]

# Each must work on the base alone: arguments, lines of standard input, and a part of what it prints.
ON_THE_BASE = {
    "passk": (("passk", "--k", "1,8"), COUNTS, '"k": 8'),
    "consistency": (("consistency", "config/papers/ace/reference/table1.csv"), [], "of 15 rows in 1 files"),
    "grade-math": (("grade", "--verifier", "math"), ANSWERS, '"status": "correct"'),
    "grade-exact": (("grade", "--verifier", "exact"), ANSWERS, '"status": "wrong"'),
    "grade-choice": (("grade", "--verifier", "choice"), CHOICES, '"status": "correct"'),
    "data-list": (("data", "list"), [], "aime-2025"),
    "plan": (("plan", "ace"), [], "ace at scale paper"),
    "weigh-list": (("weigh", "--list"), [], "ace: "),
    "diversity": (("diversity", "--no-embedding"), SAMPLES, '"distinct": 2'),
    "verl-config": (("verl-config", "qwen2.5-math-7b-ace_grpo-alpha0.5", "--paper", "ace"), [], "run"),
}


# ---- the base of this environment: an import hook that hides all other packages, in child processes too ----


def requirements_of(lines: list[str]) -> list[Requirement]:
    """Those that hold here, without an extra."""
    found = map(Requirement, lines)
    return [one for one in found if one.marker is None or one.marker.evaluate({"extra": ""})]


def closure(requirements: list[str]) -> set[str]:
    """The distributions that pip would install for these, by what the installed ones declare."""
    found, waiting = set(), requirements_of(requirements)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in found:
            found.add(name)
            waiting += requirements_of(metadata.requires(name) or [])
    return found


def lines_of(extras: Iterable[str]) -> list[str]:
    """What the package declares for these extras, with its base."""
    return [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]


def hidden(extras: tuple[str, ...] = ()) -> list[str]:
    """Modules of this environment that an installation with these extras would not have."""
    allowed = closure(lines_of(extras)) | {NAME}
    owners = metadata.packages_distributions()
    return sorted(module for module, names in owners.items() if not allowed & set(map(canonicalize_name, names)))


HOOK = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """`rlvr` where only what the base declares can be imported."""
    return alone(tmp_path_factory.mktemp("base"), ())


def as_text(lines: list[dict] | None) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines or [])


def alone(folder: Path, extras: tuple[str, ...], source: Path = ROOT / "src"):
    (folder / "sitecustomize.py").write_text(f"HIDDEN = {hidden(extras)!r}\n{HOOK}")

    def rlvr(*arguments: str, lines: list[dict] | None = None, cwd: Path = ROOT) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(source)]), "HF_HUB_OFFLINE": "1"}
        options = {"cwd": cwd, "env": environment, "input": as_text(lines), "timeout": 60}
        return subprocess.run([sys.executable, "-m", "rlvr", *arguments], capture_output=True, text=True, **options)

    return rlvr


def one_line(done: subprocess.CompletedProcess) -> str:
    """The error of a command that says in one line what to do."""
    assert done.returncode == 2 and not done.stdout, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return line


def test_the_hook_hides_what_the_base_does_not_declare():
    assert set(hidden()) >= HEAVY | {"datasketch", "huggingface_hub", "statsmodels", "jinja2"}
    assert "torch" not in hidden(("torch",)) and "transformers" in hidden(("torch",))


@pytest.mark.parametrize("name", ON_THE_BASE)
def test_works_on_the_base_alone(base, name):
    arguments, lines, expected = ON_THE_BASE[name]
    done = base(*arguments, lines=lines)
    assert expected in done.stdout + done.stderr and "Traceback" not in done.stderr, done.stderr
    assert done.returncode == (2 if name == "verl-config" else 0)  # the name is of several runs: the plan was made


@pytest.mark.slow
@pytest.mark.parametrize("path", [(), *dict(commands_of(get_command(app)))], ids=lambda path: "-".join(path) or "rlvr")
def test_help_of_every_command_on_the_base_alone(base, path):
    done = base(*path, "--help")
    assert done.returncode == 0 and "--help" in done.stdout and not done.stderr, done.stderr


def test_a_set_is_prepared_without_torch(tmp_path):
    brought = tmp_path / "test.jsonl"
    brought.write_text("".join(json.dumps(row) + "\n" for row in PROBLEMS))
    rlvr = alone(tmp_path, ("data",))
    done = rlvr("data", "prepare", "aime-2025", "--from", str(brought), "--out", str(tmp_path / "data" / "aime-2025"))
    assert done.returncode == 0 and "aime-2025: 30 problems" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "lines", "module", "extra"),
    [
        (("weigh", "grpo"), STEPS, "torch", "torch"),
        (("weigh", "ace", "--set", "alpha=2.0"), STEPS, "torch", "torch"),
        (("diversity",), SAMPLES, "torch", "diversity"),
        (("data", "prepare", "math-500", "--out", "{out}"), [], "huggingface_hub", "data"),
        (("data", "prepare", "math-500", "--out", "{out}", "--from", "{out}.parquet"), [], "pyarrow", "data"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_what_needs_an_extra_names_it_in_one_line(base, tmp_path, arguments, lines, module, extra):
    (tmp_path / "test-00000.parquet").write_bytes(b"PAR1")
    words = [word.format(out=tmp_path / "test-00000") for word in arguments]
    name = " ".join(words[: 2 if words[0] == "data" else 1])
    line = f"rlvr {name}: {module} is not installed; pip install 'rlvr-reproduction[{extra}]'"
    assert one_line(base(*words, lines=lines)) == line


def test_a_wrong_method_is_an_error_before_a_missing_package(base):
    assert "unknown method 'gpro'; did you mean 'grpo'?" in one_line(base("weigh", "gpro", lines=STEPS))


def test_every_extra_that_is_named_is_declared():
    assert {*OF_MODULE.values(), *OF_COMMAND.values()} <= set(EXTRAS)
    owners = metadata.packages_distributions()
    for module, extra in OF_MODULE.items():
        assert set(map(canonicalize_name, owners[module])) & closure(EXTRAS[extra]), f"{extra} brings no {module}"


# ---- what is declared ----


def declared(extras: tuple[str, ...] = tuple({*EXTRAS} - {"cluster"})) -> list[Requirement]:
    found = map(Requirement, lines_of(extras))
    return [requirement for requirement in found if canonicalize_name(requirement.name) != NAME]


def test_ranges_contain_the_versions_of_the_lock():
    assert not [lack for requirement in declared() if (lack := unmet(requirement, pins("main", "gym", "bubblewrap")))]


def test_the_base_brings_nothing_heavy():
    heavy = HEAVY | {"tokenizers", "safetensors", "datasketch"}
    assert not closure(PROJECT["dependencies"]) & heavy


def test_all_holds_every_extra():
    (line,) = EXTRAS["all"]
    assert Requirement(line).extras == set(EXTRAS) - {"all", "bubblewrap", "cluster", "gym"}


def test_what_the_package_imports_is_declared():
    """But for what only the environments of verl, vLLM and TRL have, and loggers."""
    of_verl = {"verl", "ray", "hydra-core", "omegaconf", "tensordict", "transferqueue"}
    elsewhere = {*of_verl, "vllm", "trl", "trackio", "wandb"}
    assert packages(set(modules())) - elsewhere <= {canonicalize_name(one.name) for one in declared()}
