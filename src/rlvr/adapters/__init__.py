"""The estimators in other trainers: `rlvr.adapters.trl` for TRL, `rlvr.adapters.verl` for verl (docs/adapters.md).

They only need torch and the trainer, nothing of this project's pipeline.
"""
