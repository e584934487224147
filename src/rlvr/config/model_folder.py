"""What the folder of a local model must hold, so that transformers can load it."""

from pathlib import Path

# Files that hold a vocabulary. Without one, transformers makes an empty tokenizer from config.json, and says nothing.
VOCABULARIES = ("tokenizer.json", "*.model", "vocab.*", "tekken.json", "*.tiktoken")


def missing(folder: Path) -> str | None:
    """What a model's folder lacks, in one line, or None."""
    for needed in ("config.json", "*.safetensors"):
        if not any(folder.glob(needed)):
            return f"{folder}: has no {needed}, as save_pretrained writes it"
    if not any(found for pattern in VOCABULARIES for found in folder.glob(pattern)):
        return f"{folder}: has no tokenizer: save the model's own there, with tokenizer.save_pretrained"
    return None
