"""Qwen3."""

CLASSES = "Qwen3"
BIASES = False
NORMS = True
