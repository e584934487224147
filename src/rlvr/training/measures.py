"""What a batch of rollouts tells about a policy: pass rates, entropy, overconfident errors.

Dimensions: P prompts, G rollouts a prompt, T response tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rlvr.policies.store import Policy
from rlvr.tasks.operator_fill import OPERATORS

FORKING_SHARE = 0.2  # Wang et al. 2025 (arXiv 2506.01939): the fifth of tokens with the highest entropy
ROUNDING = 1e-4  # nats a sequence: at pi = pi_ref, float32 sums of equal terms differ by less, and c is 0


def decision_mask(policy: Policy, tokens_PGT: Tensor, entropy_PGT: Tensor, mask_PGT: Tensor) -> Tensor:
    r"""The tokens where a response decides.

    For the operator-fill vocabulary: the operators before the box (all else is arithmetic or a copy). For
    other vocabularies: the fifth of the batch's tokens with the highest entropy.
    """
    vocabulary = policy.tokenizer.get_vocab()
    box = vocabulary.get("\\boxed{")
    if box is not None and len(vocabulary) < 200:
        operators = torch.tensor([vocabulary[o] for o in OPERATORS], device=tokens_PGT.device)
        before_box = (tokens_PGT == box).cumsum(-1) == 0
        return torch.isin(tokens_PGT, operators) & before_box & mask_PGT
    kept = entropy_PGT[mask_PGT]
    threshold = (
        kept.quantile(1 - FORKING_SHARE)
        if kept.numel() < 2**24
        else kept[:: kept.numel() // 2**23].quantile(1 - FORKING_SHARE)
    )
    return (entropy_PGT >= threshold) & mask_PGT


def mean_where(values: Tensor, mask: Tensor) -> float | None:
    """The mean of the chosen values, None where there are none."""
    return float(values[mask].mean()) if bool(mask.any()) else None


def entropy(policy: Policy, tokens_PGT: Tensor, entropy_PGT: Tensor, mask_PGT: Tensor) -> dict[str, float | None]:
    """Mean entropy (nats a token) over all tokens (ACE, Eq. 16) and over decision tokens."""
    decisions = decision_mask(policy, tokens_PGT, entropy_PGT, mask_PGT)
    return {"entropy": mean_where(entropy_PGT, mask_PGT), "entropy_decision": mean_where(entropy_PGT, decisions)}


def overconfidence(log_ratio_PG: Tensor, lengths_PG: Tensor, correct_PG: Tensor) -> dict[str, float | None]:
    """Overconfident errors (ACE, sec. 5.3): their share and their mean confidence shift.

    OEF = |{i wrong: c_i > 0}| / |{i wrong}|; magnitude = mean of c_i over wrong rollouts with c_i > 0, with c
    summed over tokens (Def. 1) and divided by the length (sec. 5.1). The OEF is the same for both.
    """
    wrong_PG = correct_PG == 0
    over_PG = wrong_PG & (log_ratio_PG > ROUNDING)
    return {
        "oef": float(over_PG.sum() / wrong_PG.sum()) if bool(wrong_PG.any()) else None,
        "overconfidence_sum": mean_where(log_ratio_PG, over_PG),
        "overconfidence_mean": mean_where(log_ratio_PG / lengths_PG, over_PG),
    }


def shares(pass_rates: list[float]) -> dict[str, float]:
    """Mean pass rate of the prompts drawn, and the shares of all-wrong and all-right groups."""
    count = max(1, len(pass_rates))
    return {
        "pass_rate": sum(pass_rates) / count,
        "all_wrong": sum(rate == 0 for rate in pass_rates) / count,
        "all_right": sum(rate == 1 for rate in pass_rates) / count,
    }
