"""Bytes that a forward pass keeps for its backward pass. tests/cost/test_memory_model.py measures them in autograd.

Symbols: T tokens, D hidden size, I width of the MLP, H query heads, K key-value heads, E head dimension, V vocabulary;
c bytes of a number in products, s bytes of a number in the residual stream. Products in bfloat16 (c = 2) have s = 2
where the weights are cast before the pass (verl's FSDP), and s = 4 with only autocast (the trainer in process).
"""

from rlvr.config.registries import ARCHITECTURES
from rlvr.cost.hardware import ModelShape

LOGITS_AT_ONCE = 2048  # tokens: of policies/transformers_pass.py, and of verl's entropy in chunks


def layer(shape: ModelShape, *, compute: int, stream: int) -> float:
    """Bytes per token of one layer of transformers' forward pass; attention by FlashAttention or SDPA without a mask.

    Two norms keep a float32 input (4 D), their normed numbers (s D) and the input of each product (c D: one if c = s,
    else one of each of five casts). Attention keeps queries, keys, values, its output (c E (2 H + 2 K)) and a
    log-sum-exp (4 H); the MLP keeps gate, its activation, up and their product (4 c I).
    """
    hidden, heads = shape.hidden_size, shape.heads + shape.kv_heads
    inputs = 2 * compute if compute == stream else 5 * compute
    norms = 2 * (4 + stream) * hidden + inputs * hidden + 8
    attention = 2 * compute * shape.head_dim * heads + 4 * shape.heads
    return norms + attention + 4 * compute * shape.intermediate_size + _head_norms(shape, 4 + compute)


def _head_norms(shape: ModelShape, each: int) -> float:
    """The norms of queries and keys, where the architecture has them."""
    if not ARCHITECTURES.load(shape.architecture).norms:
        return 0.0
    return (shape.heads + shape.kv_heads) * (each * shape.head_dim + 4)


def repeated_heads(shape: ModelShape, *, compute: int) -> float:
    """Bytes per token and layer that SDPA with a mask keeps on top: keys and values repeated for each query head."""
    return 2 * compute * shape.head_dim * (shape.heads - shape.kv_heads)


def layer_matrices(shape: ModelShape) -> int:
    """Parameters of one layer's matrices, without biases and norms."""
    width = shape.head_dim * (2 * shape.heads + 2 * shape.kv_heads)
    return shape.hidden_size * (width + 3 * shape.intermediate_size)


def embedding(shape: ModelShape) -> int:
    """Parameters of the input embeddings, and of the head."""
    return shape.vocabulary * shape.hidden_size


def decoder_layer(shape: ModelShape, *, nodes: float, rows: float, length: float, compute: int) -> float:
    """Bytes of one layer of policies/decoder.py for a tree of `nodes` tokens and `rows` of `length` tokens.

    A score takes 4 bytes, and c more where products are in bfloat16. Weights count too: their casts, or the reordered
    queries' and keys'.
    """
    hidden, heads, dim = shape.hidden_size, shape.heads, shape.head_dim
    mixed = compute < 4
    norms = (8 + (5 * compute if mixed else 8)) * hidden + 8
    node = norms + compute * (heads * dim + 4 * shape.intermediate_size) + _head_norms(shape, compute)
    row = compute * dim * (heads + 2 * shape.kv_heads)
    scores = rows * length**2 * heads * (4 + (compute if mixed else 0))
    reordered = 4 * hidden * dim * (heads + shape.kv_heads)
    weights = compute * layer_matrices(shape) if mixed else reordered
    return nodes * node + rows * length * row + scores + weights


def decoder_head(shape: ModelShape, *, tokens: float, compute: int) -> float:
    """Bytes of policies/decoder.py after its layers: the last norm and float32 logits of the predicted tokens."""
    mixed = compute < 4
    weights = compute * embedding(shape) if mixed else 0
    return tokens * (4 * shape.vocabulary + (4 + compute) * shape.hidden_size) + weights
