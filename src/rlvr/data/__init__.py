"""Data sets: problems of tasks made here and of published sets, mixtures of them, and a card for each."""
