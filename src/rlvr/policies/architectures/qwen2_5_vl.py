"""Qwen2.5-VL: a Qwen2 that sees pictures, with rotary positions in three directions."""

CLASSES = "Qwen2_5_VL"
BIASES = True
NORMS = False
SEES = True
