"""A Llama model and its tokenizer from a GGUF file, whatever its quantisation, in float32.

The package `gguf` reads and dequantises. transformers reads such files too, but does not save what it has read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from rlvr.policies.store import EMBEDDING, HEAD

if TYPE_CHECKING:
    from gguf import GGUFReader

LAYER = "model.layers.{layer}.{name}.weight"
OF_A_LAYER = {  # GGUF's names, and transformers'
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OTHERS = {"token_embd": EMBEDDING, "output_norm": "model.norm.weight", "output": HEAD}
CONTROL = 3  # the type of a token that is no text, such as the end of a turn


class Unreadable(RuntimeError):
    """A GGUF file of another architecture or tokenizer than are known here."""


class Fields:
    """A file's metadata by key. Raises Unreadable for a missing key."""

    def __init__(self, reader: GGUFReader, path: Path):
        self.reader, self.path = reader, path

    def __getitem__(self, key: str) -> Any:
        field = self.reader.get_field(key)
        if field is None:
            raise Unreadable(f"{self.path}: no {key}")
        return field.contents()

    def must_be(self, key: str, *known: str) -> None:
        if self[key] not in known:
            raise Unreadable(f"{self.path}: {key} is {self[key]!r}; {' and '.join(known)} can be read")


def read(path: Path) -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """The model of a file, and its tokenizer with its chat template. Raises Unreadable."""
    from gguf import GGUFReader

    reader = GGUFReader(path)
    fields = Fields(reader, path)
    fields.must_be("general.architecture", "llama")
    fields.must_be("tokenizer.ggml.model", "gpt2")
    fields.must_be("tokenizer.ggml.pre", "smollm")
    weights = {}
    for tensor in reader.tensors:
        name, values = _tensor(tensor, fields)
        weights[name] = torch.from_numpy(values)
    config = _config(fields, tied=HEAD not in weights)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    missing, unexpected = model.load_state_dict(weights, strict=False, assign=True)
    if unexpected or set(missing) - {HEAD}:
        raise Unreadable(f"{path}: tensors {sorted({*missing, *unexpected} - {HEAD})} do not fit the architecture")
    model.tie_weights()
    return model, _tokenizer(fields)


def _config(fields: Fields, tied: bool) -> LlamaConfig:
    width, heads = fields["llama.embedding_length"], fields["llama.attention.head_count"]
    return LlamaConfig(
        vocab_size=len(fields["tokenizer.ggml.tokens"]),
        hidden_size=width,
        intermediate_size=fields["llama.feed_forward_length"],
        num_hidden_layers=fields["llama.block_count"],
        num_attention_heads=heads,
        num_key_value_heads=fields["llama.attention.head_count_kv"],
        head_dim=width // heads,
        max_position_embeddings=fields["llama.context_length"],
        rms_norm_eps=_short(fields["llama.attention.layer_norm_rms_epsilon"]),
        rope_parameters={"rope_type": "default", "rope_theta": fields["llama.rope.freq_base"]},
        tie_word_embeddings=tied,
        bos_token_id=fields["tokenizer.ggml.bos_token_id"],
        eos_token_id=fields["tokenizer.ggml.eos_token_id"],
        pad_token_id=fields["tokenizer.ggml.padding_token_id"],
        dtype="float32",
    )


def _short(value: float) -> float:
    """The decimal that a float32 was written as: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(value)))


def _tensor(tensor: Any, fields: Fields) -> tuple[str, np.ndarray]:
    """transformers' name of a tensor, and its values in float32."""
    from gguf import dequantize

    values = np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
    place, _, rest = tensor.name.partition(".")
    if place != "blk":
        return OTHERS.get(place, str(tensor.name)), values
    layer, kind, _ = rest.split(".")
    if kind in ("attn_q", "attn_k"):
        values = _halves(values, fields["llama.attention.head_count" + ("_kv" if kind == "attn_k" else "")])
    return LAYER.format(layer=layer, name=OF_A_LAYER.get(kind, kind)), values


def _halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """The rows of a projection with the two of a rotated pair half a head apart, as transformers has them; GGUF has
    them side by side."""
    return np.ascontiguousarray(rows.reshape(heads, -1, 2, rows.shape[1]).swapaxes(1, 2)).reshape(rows.shape)


def _tokenizer(fields: Fields) -> PreTrainedTokenizerFast:
    """Byte-level BPE that splits numbers into digits (`smollm`)."""
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    bpe = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    bpe.pre_tokenizer = pre_tokenizers.Sequence(  # type: ignore[assignment]
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    bpe.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    bpe.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    special = {f"{name}_token": tokens[fields[f"tokenizer.ggml.{key}_token_id"]] for name, key in SPECIAL.items()}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        clean_up_tokenization_spaces=False,
        model_max_length=fields["llama.context_length"],
        **special,
    )
    tokenizer.chat_template = fields["tokenizer.chat_template"]
    return tokenizer


SPECIAL = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}
