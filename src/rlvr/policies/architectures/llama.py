"""Llama."""

from rlvr.config.registries import ArchitectureKind

ARCHITECTURE = ArchitectureKind("Llama", biases=False, norms=False)
