"""A script of benchmarks/ as a module. The scripts import each other by their names."""

import importlib
import sys
from types import ModuleType

from conftest import ROOT


def benchmark(name: str) -> ModuleType:
    folder = str(ROOT / "benchmarks")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)
