"""The estimators in other trainers: `rlvr.adapters.trl` for TRL, `rlvr.adapters.verl` for verl (docs/adapters.md).

They need torch and the trainer alone, nothing of this project's pipeline.
"""
