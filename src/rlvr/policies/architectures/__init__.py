"""Architectures that `rlvr.policies.decoder` computes. One module each; its name is an entry's `architecture`.

Constants are read from source, so that cost estimates load no model.

    CLASSES   the name in transformers: <CLASSES>Config, <CLASSES>ForCausalLM
    SEES      True if its prompts have pictures; its model is <CLASSES>ForConditionalGeneration, and the native engine
              does not compute it
    BIASES    whether queries, keys and values have biases
    NORMS     whether queries and keys are normed per head
"""

from rlvr.config.registries import constant


def class_name(architecture: str) -> str:
    """The name of the model's class in transformers."""
    folder = "policies/architectures"
    sees = constant(folder, architecture, "SEES", False)
    return constant(folder, architecture, "CLASSES") + ("ForConditionalGeneration" if sees else "ForCausalLM")
