"""Qwen2."""

CLASSES = "Qwen2"
BIASES = True
NORMS = False
