"""The estimated cost of a plan: FLOPs, seconds, GPUs, disk, and a simulated schedule."""
