"""Losses: token-level surrogates, divergences, and how token losses become one number."""
