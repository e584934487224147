"""Architectures that `rlvr.policies.decoder` computes. One module each, by the name of the `architecture` of an entry.

Read from source, so that reckoning costs loads no model.

    CLASSES   the name in transformers: <CLASSES>Config, <CLASSES>ForCausalLM
    BIASES    whether queries, keys and values have biases
    NORMS     whether queries and keys are normed, head by head
"""
