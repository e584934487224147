"""Losses: token-level surrogates, divergences, and the aggregation of token losses."""
