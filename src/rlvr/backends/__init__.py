"""Backends: how a run of a given specification is carried out. `rlvr.training` does it in process; here are others."""
