"""Llama."""

CLASSES = "Llama"
BIASES = False
NORMS = False
