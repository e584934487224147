"""Aggregation of a minibatch's token losses."""

from torch import Tensor

MODES = ("token_mean", "sequence_mean", "sequence_sum")


def token_weights(mask: Tensor, *, mode: str, sequences: int, tokens: int, longest: int) -> Tensor:
    """The weight of each token of a microbatch (..., T) in the loss of its whole minibatch.

    token_mean     1 / (tokens of the minibatch)                     DAPO (Yu et al. 2025, Eq. 8)
    sequence_mean  1 / (sequences x tokens of the sequence)          GRPO (Shao et al. 2024, Eq. 3)
    sequence_sum   1 / (sequences x longest allowed response)        Dr.GRPO (Liu et al. 2025)

    `sequences` and `tokens` count the whole minibatch, `longest` is the token limit of a response.
    Raises ValueError for another mode.
    """
    mask = mask.float()
    if mode == "token_mean":
        return mask / tokens
    if mode == "sequence_mean":
        return mask / mask.sum(-1, keepdim=True).clamp(min=1) / sequences
    if mode == "sequence_sum":
        return mask / (sequences * longest)
    raise ValueError(f"unknown aggregation {mode!r}; one of {', '.join(MODES)}")
