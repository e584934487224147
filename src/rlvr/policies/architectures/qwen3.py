"""Qwen3."""

from rlvr.config.registries import ArchitectureKind

ARCHITECTURE = ArchitectureKind("Qwen3", biases=False, norms=True)
