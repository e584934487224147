"""Policies: models with their tokenizers, how they are stored, computed and sampled."""
