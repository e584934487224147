"""Sampling: completions of a policy on a benchmark, drawn by an engine, in parts that are merged."""
