"""Backends: the folder is the registry, and what each declares is there."""

import importlib.util
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

from rlvr.config import registries
from rlvr.config.layers import ConfigError
from rlvr.planning.expansion import make_plan
from rlvr.training import backends
from rlvr.training.backends import Stage

NAMES = registries.backends()


@pytest.mark.parametrize("name", NAMES)
def test_what_a_backend_declares(name, tmp_path):
    backend = backends.load(name)
    assert set(backend.STAGES) == {"rl", "sft"} and backend.steps(tmp_path) == []
    for stage in backend.STAGES.values():
        modules = [stage.module, *(stage.launcher or "").split()[:1]]
        assert all(importlib.util.find_spec(module) for module in modules)
    assert getattr(backend, "CRITIC", False) == (name in registries.with_critic())


@pytest.mark.parametrize("name", NAMES)
def test_what_a_backend_declares_is_read_without_torch(name):
    code = f"import sys; from rlvr.training import backends; backends.load({name!r}); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_private_modules_are_no_backends():
    assert "in_process" in NAMES and not [name for name in NAMES if name.startswith("_")]


def test_an_unknown_backend_is_named_with_the_nearest(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    scale = tmp_path / "config" / "scale" / "paper.yaml"
    scale.write_text(scale.read_text().replace("backend: verl", "backend: verll"))
    with pytest.raises(ConfigError, match=r"scale/paper.yaml: .*rl.backend: unknown backend; did you mean 'verl'\?"):
        make_plan(tmp_path, "paper", ["ace"])


def test_a_stage_is_started_on_its_devices_with_the_sites_overrides():
    plain, several = Stage("a.rl"), Stage("a.rl", devices=True, launcher="a.nodes --cpus 4")
    assert plain.command("start", "python", 2, 4, ["x=1"]) == "start -m a.rl"
    one = several.command("start", "my python", 1, 4, ["x='a b'"])
    assert one == "start -m a.rl --gpus-per-node 4 --override 'x='\"'\"'a b'\"'\"'' --nodes 1"
    two = several.command("start", "my python", 2, 4, [])
    assert two == "python -m a.nodes --cpus 4 --python 'my python' -- start -m a.rl --gpus-per-node 4 --nodes 2"
