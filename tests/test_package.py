"""The package as pip installs it: what it declares, what its wheel holds, which commands start on the base alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
import typer
import yaml
from conftest import ROOT
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlvr import __version__
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
ACE_STEP = {
    "rewards": [[1, 0, 0, 1]],
    "logp": [[-3, -2, -5, -4]],
    "logp_ref": [[-3, -4, -4, -4]],
    "lengths": [[5, 4, 8, 6]],
}
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


def commands() -> list[tuple[str, ...]]:
    """Every command, those of groups too."""

    def below(group, path):
        for name, command in sorted(group.commands.items()):
            yield (*path, name)
            yield from below(command, (*path, name)) if hasattr(command, "commands") else ()

    return [(), *below(typer.main.get_command(app), ())]


# ---- the base of this environment: an import hook that hides all other packages, in child processes too ----


def requirements_of(lines: list[str]) -> list[Requirement]:
    return [requirement for line in lines if (requirement := Requirement(line)).marker is None or holds(requirement)]


def holds(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


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


def hidden(extras: tuple[str, ...] = ()) -> list[str]:
    """Modules of this environment that an installation with these extras would not have."""
    declared = [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    allowed = closure(declared) | {NAME}
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


def alone(folder: Path, extras: tuple[str, ...], source: Path = ROOT / "src"):
    (folder / "sitecustomize.py").write_text(f"HIDDEN = {hidden(extras)!r}\n{HOOK}")

    def rlvr(*arguments: str, lines: list[dict] | None = None, cwd: Path = ROOT) -> subprocess.CompletedProcess:
        text = "".join(json.dumps(line) + "\n" for line in lines or [])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(source)]), "HF_HUB_OFFLINE": "1"}
        command = [sys.executable, "-m", "rlvr", *arguments]
        return subprocess.run(command, cwd=cwd, env=environment, input=text, capture_output=True, text=True, timeout=60)

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
@pytest.mark.parametrize("path", commands(), ids=lambda path: "-".join(path) or "rlvr")
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
        (("data", "prepare", "math-500"), [], "huggingface_hub", "data"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_what_needs_an_extra_names_it_in_one_line(base, tmp_path, arguments, lines, module, extra):
    more = ("--out", str(tmp_path / "out")) if arguments[0] == "data" else ()
    line = one_line(base(*arguments, *more, lines=lines))
    name = "data prepare" if arguments[0] == "data" else arguments[0]
    assert line == f"rlvr {name}: {module} is not installed; pip install 'rlvr-reproduction[{extra}]'"


def test_parquet_needs_an_extra(base, tmp_path):
    brought = tmp_path / "test-00000-of-00001.parquet"
    brought.write_bytes(b"PAR1")
    line = one_line(base("data", "prepare", "math-500", "--from", str(brought), "--out", str(tmp_path / "out")))
    assert line == "rlvr data prepare: pyarrow is not installed; pip install 'rlvr-reproduction[data]'"


def test_a_wrong_method_is_an_error_before_a_missing_package(base):
    assert "unknown method 'gpro'; did you mean 'grpo'?" in one_line(base("weigh", "gpro", lines=STEPS))


def test_every_extra_that_is_named_is_declared():
    assert {*OF_MODULE.values(), *OF_COMMAND.values()} <= set(EXTRAS)
    owners = metadata.packages_distributions()
    for module, extra in OF_MODULE.items():
        assert set(map(canonicalize_name, owners[module])) & closure(EXTRAS[extra]), f"{extra} brings no {module}"


# ---- what is declared ----


def pins(lock: str) -> dict[str, str]:
    lines = (ROOT / "envs" / lock).read_text().splitlines()
    pinned = (line.split("#")[0].strip().partition("==") for line in lines)
    return {canonicalize_name(name): version for name, equals, version in pinned if equals}


def declared(extras: tuple[str, ...] = tuple({*EXTRAS} - {"cluster"})) -> list[Requirement]:
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    found = [Requirement(line) for line in lines]
    return [requirement for requirement in found if canonicalize_name(requirement.name) != NAME]


@pytest.mark.parametrize("requirement", sorted(set(declared()), key=str), ids=str)
def test_ranges_contain_the_versions_of_the_lock(requirement):
    locked = pins("main.txt")
    version = locked.get(canonicalize_name(requirement.name))
    assert version, f"{requirement.name} is not in envs/main.txt"
    assert requirement.specifier.contains(version), f"{requirement} leaves out {version} of the lock"


def test_the_cluster_lock_holds_the_base():
    """`make install-cluster` ends with pip check."""
    locked = pins("cluster.txt")
    for requirement in declared(()):
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement


def test_the_base_brings_nothing_heavy():
    heavy = HEAVY | {"tokenizers", "safetensors", "datasketch"}
    assert not closure(PROJECT["dependencies"]) & heavy


def test_all_holds_every_extra():
    (line,) = EXTRAS["all"]
    assert Requirement(line).extras == set(EXTRAS) - {"all", "cluster"}


def test_what_the_package_imports_is_declared():
    """But for what only verl's and vLLM's own environments have (the extra `cluster`), and loggers."""
    elsewhere = {"verl", "vllm", "ray", "hydra", "omegaconf", "tensordict", "transfer_queue", "trackio", "wandb"}
    owners, names = metadata.packages_distributions(), {canonicalize_name(r.name) for r in declared()}
    pattern = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)
    for path in sorted((ROOT / "src").rglob("*.py")):
        for module in set(pattern.findall(path.read_text())) & set(owners):
            if module not in elsewhere:
                brings = set(map(canonicalize_name, owners[module]))
                assert brings & (names | {NAME}), f"{path.relative_to(ROOT)} imports {module}, which nothing declares"


# ---- the wheel ----


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    """A source distribution of a copy."""
    folder = tmp_path_factory.mktemp("sdist")
    code = "import sys, setuptools.build_meta as backend; backend.build_sdist(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=copied(folder / "checkout"), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.tar.gz")
    return made


def copied(copy: Path) -> Path:
    """What the package is built from, in a folder of its own."""
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    return copy


def built(folder: Path, **environment: str) -> Path:
    """A wheel of a copy, as `pip install .` builds it, without asking the index for setuptools."""
    copy = copied(folder / "checkout")
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    variables = {**os.environ, **environment}
    done = subprocess.run([*pip, str(copy)], capture_output=True, text=True, timeout=900, env=variables)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.whl")
    return made


def missing_engine(wheel: Path, folder: Path) -> str:
    """What a wheel's package says of its engine."""
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    code = "from rlvr.policies.native import library; print(library.missing(), library.__file__)"
    variables = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables, cwd=folder)
    assert str(folder) in done.stdout, done.stderr
    return done.stdout


def test_the_wheel_has_the_engine_compiled_from_its_source(wheel, tmp_path):
    assert missing_engine(wheel, tmp_path).startswith("None ")


def test_without_a_compiler_the_package_is_built_and_says_what_is_missing(tmp_path):
    made = built(tmp_path, CC="no-compiler", CXX="no-compiler")
    assert "C++ compiler: apt-get install g++" in missing_engine(made, tmp_path / "site")


def test_the_wheel_has_every_file_of_the_package(wheel):
    source = ROOT / "src"
    files = {str(path.relative_to(source)) for path in (source / "rlvr").rglob("*") if path.is_file()}
    expected = {name for name in files if "__pycache__" not in name and not name.endswith(".so")}
    packed = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name for name in packed if not name.endswith(".so")} == expected
    assert any(name.endswith(".j2") for name in packed) and any(name.endswith(".mplstyle") for name in packed)


def test_the_source_distribution_has_every_file_that_a_wheel_is_built_from(sdist):
    with tarfile.open(sdist) as archive:
        packed = {member.name.partition("/")[2] for member in archive if member.isfile()}
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "src/rlvr").rglob("*") if path.is_file()}
    expected = {name for name in files if "__pycache__" not in name and not name.endswith(".so")}
    assert {name for name in packed if name.startswith("src/rlvr/")} == expected
    assert {"pyproject.toml", "setup.py", "README.md", "LICENSE"} <= packed


def test_the_wheel_has_the_packages_version_and_program(wheel):
    with ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if "-info/" in name]
        texts = {name.rpartition("/")[2]: archive.read(name).decode() for name in names}
    assert f"\nVersion: {__version__}\n" in texts["METADATA"]
    assert wheel.name.startswith(f"rlvr_reproduction-{__version__}-")
    assert "rlvr = rlvr.__main__:main" in texts["entry_points.txt"]


def test_the_wheels_metadata_is_valid_and_says_whose_it_is(wheel):
    """`from_email` refuses unknown fields and values. The wheel has types (PEP 561)."""
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        said = Metadata.from_email(archive.read(name), validate=True)
        assert "rlvr/py.typed" in archive.namelist()
    (author,) = yaml.safe_load((ROOT / "CITATION.cff").read_text())["authors"]
    assert said.author == author["name"] and said.license_expression == "Apache-2.0"
    assert "Typing :: Typed" in said.classifiers and "pass@k" in said.keywords
    assert not any(one.startswith("License ::") for one in said.classifiers), "the expression says it (PEP 639)"


@pytest.mark.parametrize("arguments", [("plan", "ace"), ("data", "list"), ("verl-config", "run")], ids=" ".join)
def test_outside_of_a_checkout_one_line_asks_for_config(wheel, tmp_path, arguments):
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "elsewhere").mkdir()
    rlvr = alone(tmp_path, (), source=tmp_path / "site")
    line = one_line(rlvr(*arguments, cwd=tmp_path / "elsewhere"))
    assert "no config/ here or in a folder above" in line and "--config-folder" in line
    done = rlvr("passk", lines=COUNTS, cwd=tmp_path / "elsewhere")
    assert done.returncode == 0 and json.loads(done.stdout)["problems"] == 2, done.stderr


def weights_of_ace() -> list[float]:
    """Of ACE_STEP's group, by the function: GRPO's weights, an error's times 1 + softplus(c)."""
    import torch

    from rlvr.estimators import Estimator

    step = {key: torch.tensor(rows, dtype=torch.float64) for key, rows in ACE_STEP.items()}
    inputs = {"log_ratio_PG": step["logp"] - step["logp_ref"], "lengths_PG": step["lengths"]}
    weights_PG, _ = Estimator("ace", {}).step(step["rewards"], inputs, {})
    assert weights_PG[0, 1] != weights_PG[0, 2]  # the shift tells errors apart
    return weights_PG[0].tolist()


def weights_in(line: str) -> list[float]:
    return json.loads(line)["weights"][0]


def test_weigh_starts_from_the_wheel_with_what_its_extra_declares(wheel, tmp_path):
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "elsewhere").mkdir()
    rlvr = alone(tmp_path, ("torch",), source=tmp_path / "site")
    done = rlvr("weigh", "ace", lines=[ACE_STEP], cwd=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    assert weights_in(done.stdout) == pytest.approx(weights_of_ace())


# ---- pip and its index, for real ----


@pytest.mark.long
def test_pip_installs_a_base_that_starts(wheel, sdist, tmp_path):
    """A fresh environment, the wheel and what it declares, from the index of pip's configuration; then the source."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    program = tmp_path / "venv" / "bin"
    pip(program, "install", str(wheel))
    installed = {canonicalize_name(one["name"]) for one in json.loads(pip(program, "list", "--format", "json"))}
    assert NAME in installed and not installed & HEAVY, installed
    assert "No broken requirements" in pip(program, "check")
    for name, (arguments, lines, expected) in ON_THE_BASE.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        done = started(program / "rlvr", *arguments, text=text)
        assert expected in done.stdout + done.stderr and "Traceback" not in done.stderr, (name, done.stderr)
    done = started(program / "rlvr", "weigh", "grpo", text=json.dumps(STEPS[0]))
    assert one_line(done) == "rlvr weigh: torch is not installed; pip install 'rlvr-reproduction[torch]'"
    done = started(program / "rlvr", "plan", cwd=tmp_path)
    assert "no config/ here" in one_line(done)
    pip(program, "uninstall", "--yes", NAME)
    pip(program, "install", "--no-deps", str(sdist))  # compiles the engine, with the setuptools that it asks for
    arguments, lines, expected = ON_THE_BASE["passk"]
    done = started(program / "rlvr", *arguments, text="".join(json.dumps(line) + "\n" for line in lines), cwd=tmp_path)
    assert done.returncode == 0 and expected in done.stdout, done.stderr


@pytest.mark.long
def test_weigh_starts_from_the_wheel_in_a_fresh_environment(wheel, tmp_path):
    """With the torch of the lock, as `make install` asks for it: a CPU build where the index has one."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    program = tmp_path / "venv" / "bin"
    pip(program, "install", f"torch=={pins('main.txt')['torch']}")
    pip(program, "install", f"{wheel}[torch]")
    done = started(program / "rlvr", "weigh", "ace", text=json.dumps(ACE_STEP), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert weights_in(done.stdout) == pytest.approx(weights_of_ace())


@pytest.mark.long
def test_pip_resolves_every_extra(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    report = tmp_path / "report.json"
    pip(tmp_path / "venv" / "bin", "install", "--dry-run", "--report", str(report), f"{wheel}[all]")
    chosen = {canonicalize_name(item["metadata"]["name"]) for item in json.loads(report.read_text())["install"]}
    assert chosen >= {canonicalize_name(requirement.name) for requirement in declared()}


def pip(program: Path, *arguments: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [str(program / "python"), "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def started(program: Path, *arguments: str, text: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess:
    """The installed program, which knows nothing of this checkout's src/."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [str(program), *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, input=text, capture_output=True, text=True, timeout=120)
