"""Reproducibility pipeline for papers on reinforcement learning with verifiable rewards (RLVR)."""

__version__ = "0.1.0"
