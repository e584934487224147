"""Runs and evaluations of a results folder as a folder for a hub or an archive: parquet, cards, metadata, checksums."""
