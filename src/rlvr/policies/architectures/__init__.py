"""Architectures that `rlvr.policies.decoder` computes. One module each; its name is an entry's `architecture`.

Constants are read from source, so that cost estimates load no model.

    CLASSES   the name in transformers: <CLASSES>Config, <CLASSES>ForCausalLM
    BIASES    whether queries, keys and values have biases
    NORMS     whether queries and keys are normed per head
"""
