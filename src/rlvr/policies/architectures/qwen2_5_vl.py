"""Qwen2.5-VL: a Qwen2 that sees pictures, with rotary positions in three directions."""

from rlvr.config.registries import ArchitectureKind

ARCHITECTURE = ArchitectureKind("Qwen2_5_VL", biases=True, norms=False, sees=True)
