"""A tiny model of a family's architecture, made from a seed, with the tokenizer of a generated task."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rlvr.config.registries import constant
from rlvr.config.schema.names import ScratchModel
from rlvr.data import tasks
from rlvr.policies.store import Policy, saved_beside

LONGEST = 128  # positions of a tiny model


def classes(architecture: str) -> tuple[Any, Any]:
    """The classes of configuration and model in transformers."""
    name = constant("policies/architectures", architecture, "CLASSES")
    return getattr(transformers, f"{name}Config"), getattr(transformers, f"{name}ForCausalLM")


def scratch_policy(spec: ScratchModel) -> Policy:
    """A randomly initialised transformers model of the family, with the tokenizer of its task."""
    vocabulary = tasks.load(spec.task).VOCABULARY
    config_class, model_class = classes(spec.architecture)
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", unk_token="<unk>"
    )
    config = config_class(
        vocab_size=len(vocabulary),
        hidden_size=spec.hidden_size,
        num_hidden_layers=spec.layers,
        num_attention_heads=spec.heads,
        num_key_value_heads=spec.kv_heads,
        head_dim=spec.hidden_size // spec.heads,
        intermediate_size=spec.intermediate_size,
        tie_word_embeddings=spec.tie_embeddings,
        max_position_embeddings=LONGEST,
        initializer_range=spec.init_std,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(spec.init_seed)  # transformers initialises from the global generator only
        model = model_class(config)
    return Policy(model, tokenizer, "<bos> {problem}")


def build(model: ScratchModel, out: Path, path: str) -> dict[str, Any]:
    return saved_beside(out, scratch_policy(model))
