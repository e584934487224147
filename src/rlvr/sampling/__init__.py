"""Sampling: an engine draws completions of a policy on a benchmark, in parts that are then merged."""
