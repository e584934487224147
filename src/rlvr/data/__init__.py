"""Data sets: generated tasks, published sets, mixtures of both, and a card for each set."""
