"""Backends: what carries out a run of a given specification, one module each; its name is its file's."""
