"""Autoregressive sampling with a shared prompt and a key-value cache.

The noise is an argument: sample i of a problem is a pure function of the weights, the prompt and row i of
the noise, so a batch of 8 equals 8 batches of 1, and a resumed or sharded draw equals an uninterrupted one.

Dimensions: P prompts, G rollouts per prompt, L prompt tokens, T response tokens, V vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from rlvr.policies.decoder import Decoder
from rlvr.policies.errors import NonFinite
from rlvr.policies.shared_prefixes import Branches


@dataclass
class Samples:
    """Sampled responses; positions past `lengths_PG` hold the padding token and zeros.

    `logprobs_PGT` and `entropy_PGT` (nats) are of the policy itself, at temperature 1, whatever the sampling
    temperature. The length of a finished response includes its end-of-sequence token.
    """

    tokens_PGT: Tensor
    logprobs_PGT: Tensor
    entropy_PGT: Tensor
    lengths_PG: Tensor
    finished_PG: Tensor

    def mask_PGT(self) -> Tensor:
        return torch.arange(self.tokens_PGT.shape[2], device=self.lengths_PG.device) < self.lengths_PG[..., None]


def nucleus(logits_NV: Tensor, top_p: float) -> Tensor:
    """Logits with every token outside the smallest set of probability >= `top_p` at minus infinity."""
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must be in (0, 1], not {top_p}")
    if top_p == 1:
        return logits_NV
    ordered_NV, order_NV = logits_NV.sort(dim=-1, descending=True, stable=True)
    before_NV = ordered_NV.softmax(-1).cumsum(-1) - ordered_NV.softmax(-1)
    dropped_NV = torch.zeros_like(logits_NV, dtype=torch.bool).scatter(-1, order_NV, before_NV >= top_p)
    return logits_NV.masked_fill(dropped_NV, float("-inf"))


def probabilities(logits_NV: Tensor, *, temperature: float, top_p: float) -> Tensor:
    """The sampling distribution; temperature 0 puts all mass on the argmax."""
    if temperature == 0:
        return torch.nn.functional.one_hot(logits_NV.argmax(-1), logits_NV.shape[-1]).to(logits_NV.dtype)
    return nucleus(logits_NV / temperature, top_p).softmax(-1)


def pick(cumulative_NV: Tensor, noise_N: Tensor) -> Tensor:
    """The token whose slice of the cumulative distribution holds the noise."""
    total_N = cumulative_NV[:, -1]
    # Below the total despite rounding: so the slice is never empty.
    below_N = torch.nextafter(total_N, torch.zeros_like(total_N))
    threshold_N = torch.minimum((noise_N * total_N).to(total_N.dtype), below_N)
    return torch.searchsorted(cumulative_NV, threshold_N[:, None], right=True).squeeze(-1)


@torch.no_grad()
def sample(
    decoder: Decoder,
    prompts_PL: Tensor,
    prompt_lengths_P: Tensor,
    noise_PGT: Tensor,
    *,
    eos_token: int,
    pad_token: int,
    temperature: float = 1.0,
    top_p: float = 1.0,
) -> Samples:
    """G sampled responses of at most T tokens to each of P prompts (padded on the right).

    Equal beginnings of responses to one prompt are computed once; finished responses are no longer computed.
    Raises NonFinite where a distribution is not.
    """
    prompts, rollouts, limit = noise_PGT.shape
    device, rows = prompts_PL.device, prompts * rollouts
    tokens = torch.full((rows, limit), pad_token, dtype=torch.long, device=device)
    logprobs = torch.zeros(rows, limit, device=device)
    entropy = torch.zeros(rows, limit, device=device)
    noise = noise_PGT.reshape(rows, limit)

    logits_NV, prefix = decoder.prefill(prompts_PL, prompt_lengths_P)
    branches = Branches(prefix, rows, limit)
    alive = torch.arange(rows, device=device)  # the unfinished responses; `branch` has the branch of each
    branch = alive // rollouts
    for t in range(limit):
        log_p = logits_NV.float().log_softmax(-1)
        p = log_p.exp()
        plain = temperature == 1 and top_p == 1
        shaped = p if plain else probabilities(logits_NV.float(), temperature=temperature, top_p=top_p)
        cumulative = shaped.cumsum(-1)
        if not bool(cumulative[:, -1].isfinite().all()):
            raise NonFinite.distribution()
        chosen = pick(cumulative[branch], noise[alive, t])
        tokens[alive, t] = chosen
        logprobs[alive, t] = log_p[branch, chosen]
        entropy[alive, t] = -(p * log_p).sum(-1)[branch]
        goes_on = chosen != eos_token
        alive, branch, chosen = alive[goes_on], branch[goes_on], chosen[goes_on]
        if len(alive) == 0 or t + 1 == limit:
            break
        branch, newest_N = branches.grow(branch, chosen)
        logits_NV = decoder.step(newest_N, branches)
    ends = tokens == eos_token
    finished = ends.any(dim=1)
    lengths = torch.where(finished, ends.int().argmax(dim=1) + 1, limit)  # to the first end
    used, grid = int(lengths.max()), (prompts, rollouts, limit)
    return Samples(
        tokens.view(grid)[..., :used],
        logprobs.view(grid)[..., :used],
        entropy.view(grid)[..., :used],
        lengths.view(prompts, rollouts),
        finished.view(prompts, rollouts),
    )
