"""Policies: models with their tokenizers; storage, forward pass and sampling."""
