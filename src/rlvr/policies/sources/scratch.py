"""A tiny model of a family's architecture, made from a seed, with the tokenizer of a generated task."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rlvr.config.registries import ARCHITECTURES, TASKS, SourceKind
from rlvr.config.schema.models_and_data import ScratchModel, Vision
from rlvr.policies.pictures import END, PLACE, START, Pictures
from rlvr.policies.store import Policy, saved_beside

LONGEST = 128  # positions of a tiny model
MERGE = 2  # patches a side that a vision tower makes one place of the prompt


def classes(architecture: str) -> tuple[Any, Any]:
    """The classes of configuration and model in transformers."""
    kind = ARCHITECTURES.load(architecture)
    return getattr(transformers, f"{kind.classes}Config"), getattr(transformers, kind.model_class)


def scratch_policy(spec: ScratchModel) -> Policy:
    """A randomly initialised transformers model of the family, with the tokenizer of its task.

    One that sees pictures has its family's image processor too, and marks of pictures in its tokenizer.
    """
    vocabulary = TASKS.load(spec.task).vocabulary
    config_class, model_class = classes(spec.architecture)
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", unk_token="<unk>"
    )
    if spec.vision is not None:
        tokenizer.add_special_tokens({"additional_special_tokens": [START, PLACE, END]})
    text = dict(
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
    config = config_class(**(text if spec.vision is None else _with_vision(text, spec, spec.vision, tokenizer)))
    with torch.random.fork_rng():
        torch.manual_seed(spec.init_seed)  # transformers initialises from the global generator only
        model = model_class(config)
    if spec.vision is not None:
        model.pictures = Pictures(_processor(spec.vision), model.config)
    return Policy(model, tokenizer, "<bos> {problem}")


def _with_vision(text: dict[str, Any], spec: ScratchModel, vision: Vision, tokenizer: Any) -> dict[str, Any]:
    """The configuration of a language model of these settings with a vision tower before it."""
    pairs = text.pop("head_dim") // 2
    sections = [pairs // 4, (pairs - pairs // 4) // 2]  # of time and of rows; Qwen2.5-VL has 16, 24 and 24 of 64
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [*sections, pairs - sum(sections)]}
    place, start, end = tokenizer.convert_tokens_to_ids([PLACE, START, END])
    return {
        "text_config": {**text, "rope_parameters": rope},
        "vision_config": {
            "depth": vision.layers,
            "hidden_size": vision.hidden_size,
            "num_heads": vision.heads,
            "intermediate_size": vision.intermediate_size,
            "out_hidden_size": spec.hidden_size,
            "patch_size": vision.patch_size,
            "spatial_merge_size": MERGE,
            "temporal_patch_size": 1,  # pictures stand still
            "fullatt_block_indexes": list(range(vision.layers)),  # pictures are small: no windows
            "initializer_range": spec.init_std,
        },
        "tie_word_embeddings": spec.tie_embeddings,
        "image_token_id": place,
        "video_token_id": len(tokenizer),  # none
        "vision_start_token_id": start,
        "vision_end_token_id": end,
    }


def _processor(vision: Vision) -> Any:
    """Qwen's image processor for small pictures; the one that only needs Pillow and numpy."""
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    pixels = {"shortest_edge": (MERGE * vision.patch_size) ** 2, "longest_edge": vision.largest_picture}
    sizes: dict[str, Any] = {"patch_size": vision.patch_size, "merge_size": MERGE, "temporal_patch_size": 1}
    return Qwen2VLImageProcessorPil(size=pixels, **sizes)


def build(model: ScratchModel, out: Path, path: str) -> dict[str, Any]:
    return saved_beside(out, scratch_policy(model))


SOURCE = SourceKind(build)
