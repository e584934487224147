"""Imports of verl's own modules for vLLM where there is no vLLM, which is not built for every CPU."""

import importlib.metadata
import sys
import types
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from unittest import mock

LOCKED = "0.24.0"  # envs/cluster.txt


class _Empty(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] == "vllm" else None

    def create_module(self, spec):
        return _Empty(spec.name)

    def exec_module(self, module):
        pass


@contextmanager
def importing():
    """Inside, an import of vLLM finds empty classes; afterwards there is no vLLM again."""
    finder, version = _Finder(), importlib.metadata.version
    sys.meta_path.insert(0, finder)
    try:
        with mock.patch("importlib.metadata.version", lambda name: LOCKED if name == "vllm" else version(name)):
            yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "vllm"]:
            del sys.modules[name]
