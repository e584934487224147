"""Qwen2."""

from rlvr.config.registries import ArchitectureKind

ARCHITECTURE = ArchitectureKind("Qwen2", biases=True, norms=False)
