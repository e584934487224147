"""Backends: the folder is the registry, and what each declares is there."""

import importlib.util
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

from rlvr.config.layers import ConfigError
from rlvr.config.registries import BACKENDS, Stage
from rlvr.planning.expansion import make_plan

NAMES = BACKENDS.names()


@pytest.mark.parametrize("name", NAMES)
def test_what_a_backend_declares(name, tmp_path):
    backend = BACKENDS.load(name)
    assert set(backend.stages) == {"rl", "sft"} and backend.steps(tmp_path) == []
    for stage in backend.stages.values():
        modules = [stage.module, *(stage.launcher or "").split()[:1]]
        assert all(importlib.util.find_spec(module) for module in modules)


def test_what_members_declare_is_read_without_torch():
    """But for sources of models, which no plan loads."""
    code = """
import sys
from rlvr.config import registries
from rlvr.registry import Registry
found = [one for name, one in vars(registries).items() if isinstance(one, Registry) and name != "SOURCES"]
assert sum(len(list(one.all())) for one in found) > 30
sys.exit("torch" in sys.modules or "transformers" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_private_modules_are_no_backends():
    assert "in_process" in NAMES and not [name for name in NAMES if name.startswith("_")]


def test_an_unknown_backend_is_named_with_the_nearest(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    scale = tmp_path / "config" / "scale" / "paper.yaml"
    scale.write_text(scale.read_text().replace("backend: verl", "backend: verll"))
    with pytest.raises(ConfigError, match=r"scale/paper.yaml: .*rl.backend: .*'verll'\); did you mean 'verl'\?"):
        make_plan(tmp_path, "paper", ["ace"])


def test_a_stage_is_started_on_its_devices_with_the_sites_overrides():
    plain, several = Stage("a.rl"), Stage("a.rl", devices=True, launcher="a.nodes --cpus 4")
    assert plain.command("start", "python", 2, 4, ["x=1"]) == "start -m a.rl"
    one = several.command("start", "my python", 1, 4, ["x='a b'"])
    assert one == "start -m a.rl --gpus-per-node 4 --override 'x='\"'\"'a b'\"'\"'' --nodes 1"
    two = several.command("start", "my python", 2, 4, [])
    assert two == "python -m a.nodes --cpus 4 --python 'my python' -- start -m a.rl --gpus-per-node 4 --nodes 2"
