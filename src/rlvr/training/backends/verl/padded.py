"""Memory of verl's padded path (no FlashAttention): replaces three of its functions, in each process that trains.

verl 0.9.1 takes a microbatch's budget for its real tokens and then pads every row to the longest, so a microbatch can
hold several times its budget. It takes the log-probabilities of a padded batch one token at a time, and the entropy
with float32 tensors as large as all logits. `install` replaces these three; the values are the same to rounding.

N rows of a batch or of logits, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

ROWS = 1024  # of logits at a time: 0.6 GB in float32 for a vocabulary of 152,000


def install() -> None:
    """Replace verl's functions by those of this module; once per process, before its engine is built."""
    import verl.utils.torch_functional
    import verl.workers.engine.fsdp.transformer_impl as engine

    verl.utils.torch_functional.logprobs_from_logits_v2 = logprobs
    verl.utils.torch_functional.entropy_from_logits = entropy
    engine.prepare_micro_batches = prepare_micro_batches


def logprobs(logits: Tensor, labels: Tensor) -> Tensor:
    """log softmax(logits)[label] of each row, float32 (...), computed again in the backward pass.

    Only the logits themselves are kept for the backward pass, in their own precision.
    """
    flat_NV, labels_N = logits.reshape(-1, logits.shape[-1]), labels.reshape(-1)
    pairs = zip(flat_NV.split(ROWS), labels_N.split(ROWS), strict=True)
    parts = [checkpoint(_logprobs, rows, chosen, use_reentrant=False) for rows, chosen in pairs]
    return torch.cat(parts).view(labels.shape)


def entropy(logits: Tensor) -> Tensor:
    """Entropy of softmax(logits) of each row in nats, float32 (...)."""
    flat_NV = logits.reshape(-1, logits.shape[-1])
    return torch.cat([_entropy(rows) for rows in flat_NV.split(ROWS)]).view(logits.shape[:-1])


def _logprobs(logits_NV: Tensor, labels_N: Tensor) -> Tensor:
    return -functional.cross_entropy(logits_NV.float(), labels_N, reduction="none")


def _entropy(logits_NV: Tensor) -> Tensor:
    logp_NV = logits_NV.float().log_softmax(-1)
    return -(logp_NV.exp() * logp_NV).sum(-1)


def partition(lengths: list[int], budget: int) -> list[list[int]]:
    """Row indices by microbatch: rows of similar length, and rows times the longest at most `budget`, in tokens.

    Raises ValueError if a row alone is longer.
    """
    parts: list[list[int]] = []
    longest = 0
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        if lengths[row] > budget:
            raise ValueError(f"a sequence has {lengths[row]} tokens, a microbatch {budget} (execution.tokens_per_gpu)")
        if not parts or (len(parts[-1]) + 1) * longest > budget:
            parts.append([])
            longest = lengths[row]
        parts[-1].append(row)
    return parts


def split(parts: list[list[int]], count: int) -> list[list[int]]:
    """The same rows in `count` parts: the ranks of FSDP need equally many. Halves the part with most rows."""
    parts = list(parts)
    while len(parts) < count:
        most = max(range(len(parts)), key=lambda index: len(parts[index]))
        middle = len(parts[most]) // 2
        parts[most : most + 1] = [parts[most][:middle], parts[most][middle:]]
    return parts


def prepare_micro_batches(data: Any, dp_group: Any = None, **named: Any) -> tuple[list[Any], list[list[int]] | None]:
    """verl's microbatches; without remove-padding, those of `partition`, as many on each rank of `dp_group`."""
    from verl.utils import tensordict_utils as tu
    from verl.utils.device import get_device_name
    from verl.workers.engine.utils import prepare_micro_batches as by_tokens

    if data["use_remove_padding"] or not data["use_dynamic_bsz"]:
        return by_tokens(data, dp_group=dp_group, **named)
    parts = partition(data["input_ids"].offsets().diff().tolist(), data["max_token_len_per_gpu"])
    if dp_group is not None:
        count = torch.tensor(len(parts), device=get_device_name())
        torch.distributed.all_reduce(count, op=torch.distributed.ReduceOp.MAX, group=dp_group)
        parts = split(parts, int(count))
    return [tu.index_select_tensor_dict(data, part) for part in parts], parts
