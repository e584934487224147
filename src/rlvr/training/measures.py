"""Measures of a batch of rollouts: pass rates, entropy, overconfident errors.

Dimensions: P prompts, G rollouts per prompt, T response tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedTokenizerBase

    from rlvr.config.registries import TaskKind

FORKING_SHARE = 0.2  # Wang et al. 2025 (arXiv 2506.01939): the fifth of tokens with the highest entropy
ROUNDING = 1e-4  # nats per sequence: at pi = pi_ref, where c is 0, float32 sums of equal terms differ by less


def decision_mask(
    task: TaskKind | None, tokenizer: PreTrainedTokenizerBase, tokens_PGT: Tensor, mask_PGT: Tensor
) -> Tensor | None:
    """Mask of the decision tokens: the `decisions` of a generated task before its `answer`.

    None without a task, for one in natural language, and where its words are no tokens of the model.
    """
    if task is None or not task.vocabulary:
        return None
    vocabulary = tokenizer.get_vocab()
    if not vocabulary.keys() >= {*task.decisions, task.answer}:
        return None
    decisions = torch.tensor([vocabulary[word] for word in task.decisions], device=tokens_PGT.device)
    before_answer = (tokens_PGT == vocabulary[task.answer]).cumsum(-1) == 0
    return torch.isin(tokens_PGT, decisions) & before_answer & mask_PGT


def forking_mask(entropy_PGT: Tensor, mask_PGT: Tensor) -> Tensor:
    """Mask of the forking tokens: the fifth of the batch's tokens with the highest entropy (Wang et al. 2025)."""
    entropies = entropy_PGT[mask_PGT]
    if entropies.numel() >= 2**24:  # more than torch's quantile takes
        entropies = entropies[:: entropies.numel() // 2**23]
    return (entropy_PGT >= entropies.quantile(1 - FORKING_SHARE)) & mask_PGT


def mean_where(values: Tensor, mask: Tensor) -> float | None:
    """The mean of the values under the mask; None if there are none."""
    return float(values[mask].mean()) if bool(mask.any()) else None


def entropy(
    task: TaskKind | None,
    tokenizer: PreTrainedTokenizerBase,
    tokens_PGT: Tensor,
    entropy_PGT: Tensor,
    mask_PGT: Tensor,
) -> dict[str, float | None]:
    """Mean entropy (nats per token) over all tokens (ACE, Eq. 16), and over decision or forking tokens.

    `task`: the generated task that the problems are of. Responses have its decision tokens (`decision_mask`), those to
    all other problems forking tokens; the other of the two measures is None.
    """
    decisions = decision_mask(task, tokenizer, tokens_PGT, mask_PGT)
    forks = forking_mask(entropy_PGT, mask_PGT) if decisions is None else None
    return {
        "entropy": mean_where(entropy_PGT, mask_PGT),
        "entropy_decision": None if decisions is None else mean_where(entropy_PGT, decisions),
        "entropy_forking": None if forks is None else mean_where(entropy_PGT, forks),
    }


def false_working(
    task: TaskKind | None,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[Sequence[int] | Tensor],
    tokens_PGT: Tensor,
    lengths_PG: Tensor,
    correct_PG: Tensor,
) -> dict[str, float | None]:
    """Share of the correct responses whose working has a false step, by the problems' generated task.

    None without a correct response, and without a task: nothing here can check the working of other problems.
    """
    rows, columns = (index.tolist() for index in torch.nonzero(correct_PG == 1, as_tuple=True))
    if task is None or not rows:
        return {"false_working": None}
    rollouts = [tokens_PGT[p, g, : int(lengths_PG[p, g])] for p, g in zip(rows, columns, strict=True)]
    groups: list[Any] = [[torch.as_tensor(row).cpu().numpy() for row in group] for group in (prompts, rollouts)]
    problems, texts = (tokenizer.batch_decode(group, skip_special_tokens=True) for group in groups)
    false = sum(task.false_working(problems[p], text) for p, text in zip(rows, texts, strict=True))
    return {"false_working": false / len(texts)}


QUANTILES = (0.5, 0.9, 0.99)
OVERCONFIDENCE = (
    *("oef", "overconfidence_sum", "overconfidence_mean"),
    *(f"shift_{name}_q{round(100 * q)}" for name in ("sum", "mean") for q in QUANTILES),
)


def overconfidence(log_ratio_PG: Tensor, lengths_PG: Tensor, correct_PG: Tensor) -> dict[str, float | None]:
    """Overconfident errors (ACE, sec. 5.3): their share, their mean confidence shift, and quantiles of all errors'.

    OEF = |{i wrong: c_i > 0}| / |{i wrong}|; magnitude = mean of c_i over wrong rollouts with c_i > 0, with c
    summed over tokens (Def. 1) and divided by the length (sec. 5.1). The OEF is the same for both. `shift_sum_q50` to
    `shift_mean_q99` are the median, the 90 % and the 99 % quantile of c of all wrong rollouts, nats (sec. 3: it
    "develops a heavy right tail").
    """
    wrong_PG = correct_PG == 0
    over_PG = wrong_PG & (log_ratio_PG > ROUNDING)
    shifts = {"sum": log_ratio_PG, "mean": log_ratio_PG / lengths_PG}
    return {
        "oef": float(over_PG.sum() / wrong_PG.sum()) if bool(wrong_PG.any()) else None,
        **{f"overconfidence_{name}": mean_where(shift_PG, over_PG) for name, shift_PG in shifts.items()},
        **{
            f"shift_{name}_q{round(100 * q)}": float(shift_PG[wrong_PG].quantile(q)) if bool(wrong_PG.any()) else None
            for name, shift_PG in shifts.items()
            for q in QUANTILES
        },
    }


def of_batch(
    rewards_PG: Tensor, weights_PG: Tensor, lengths_PG: Tensor, correct_PG: Tensor, logp_PG: Tensor, drawn: list[float]
) -> dict[str, Any]:
    """What each trainer's row says of a batch, and of `drawn`, the pass rates of all prompts that were drawn for it."""
    return {
        **masses(rewards_PG, weights_PG, lengths_PG),
        **masses_by_correct(weights_PG, correct_PG),
        **mass_shares(weights_PG, correct_PG),
        **entropy_change(weights_PG, logp_PG),
        **shares(drawn),
        **counts(drawn, correct_PG.shape[1]),
    }


def of_probe(correct_PG: Tensor, levels: list[str]) -> dict[str, Any]:
    """What each trainer's row says of the answers to held-out problems."""
    rates = correct_PG.mean(dim=1).tolist()
    return {**shares(rates), "solve_rates": by_correct(rates, correct_PG.shape[1]), **by_level(rates, levels)}


def shares(pass_rates: list[float]) -> dict[str, float]:
    """Mean pass rate of the prompts drawn, and the shares of all-wrong and all-right groups."""
    count = max(1, len(pass_rates))
    return {
        "pass_rate": sum(pass_rates) / count,
        "all_wrong": sum(rate == 0 for rate in pass_rates) / count,
        "all_right": sum(rate == 1 for rate in pass_rates) / count,
    }


def counts(pass_rates: list[float], rollouts: int) -> dict[str, Any]:
    """Counts over the prompts drawn, each with G responses: correct responses, unsolved prompts, prompts by solve rate.

    `solve_rates[c]` is the number of prompts with c correct responses, c = 0..G.
    """
    by_number = by_correct(pass_rates, rollouts)
    return {"correct": sum(c * n for c, n in enumerate(by_number)), "unsolved": by_number[0], "solve_rates": by_number}


def by_correct(pass_rates: list[float], rollouts: int) -> list[int]:
    """The number of prompts with c correct ones of G responses, c = 0..G."""
    correct = [round(rate * rollouts) for rate in pass_rates]
    return [correct.count(c) for c in range(rollouts + 1)]


def by_level(pass_rates: list[float], levels: list[str]) -> dict[str, dict[str, Any]]:
    """Mean pass rate and number of problems per level, in the order of the levels' names."""
    rates_of_level: dict[str, list[float]] = {level: [] for level in sorted(set(levels))}
    for level, rate in zip(levels, pass_rates, strict=True):
        rates_of_level[level].append(rate)
    return {
        "pass_rate_by_level": {level: sum(rates) / len(rates) for level, rates in rates_of_level.items()},
        "problems_by_level": {level: len(rates) for level, rates in rates_of_level.items()},
    }


def masses(rewards_PG: Tensor, advantages_PG: Tensor, lengths_PG: Tensor) -> dict[str, float]:
    """Mean reward, the weights' realised masses, and the mean length of a response."""
    return {
        "reward": float(rewards_PG.mean()),
        "positive_mass": float(advantages_PG.clamp(min=0).mean()),
        "negative_mass": float((-advantages_PG).clamp(min=0).mean()),
        "response_tokens": float(lengths_PG.float().mean()),
    }


def entropy_change(advantages_PG: Tensor, logp_PG: Tensor) -> dict[str, float]:
    """The terms of FADE's Eq. 7, per unit of eta: drift (m_S - m_F) H, covariance Cov(A, log pi); means over prompts.

    log pi is that of a whole response, H = -E[log pi] and m_S - m_F = E[A], all over a prompt's rollouts. Eq. 7 says
    that the entropy changes by drift minus covariance.
    """
    means_P1 = (advantages_PG.mean(dim=1, keepdim=True), logp_PG.mean(dim=1, keepdim=True))
    centred_PG = (advantages_PG - means_P1[0]) * (logp_PG - means_P1[1])
    return {
        "sequence_entropy": float(-logp_PG.mean()),
        "entropy_drift": float((-means_P1[0] * means_P1[1]).mean()),
        "entropy_covariance": float(centred_PG.mean()),
    }


def mass_shares(weights_PG: Tensor, correct_PG: Tensor) -> dict[str, float | None]:
    """Shares of the batch's sum of |A| in groups without a correct response, in mixed groups, and in those all correct.

    None where no response has a weight.
    """
    mass_P, correct_P = weights_PG.abs().sum(dim=1), correct_PG.mean(dim=1)
    kinds = {"all_wrong": correct_P == 0, "mixed": (correct_P > 0) & (correct_P < 1), "all_right": correct_P == 1}
    whole = mass_P.sum()
    return {f"mass_{kind}": float(mass_P[of].sum() / whole) if whole > 0 else None for kind, of in kinds.items()}


def masses_by_correct(advantages_PG: Tensor, correct_PG: Tensor) -> dict[str, list[float | None]]:
    """The weights' realised masses by solve rate: for c = 0..G correct responses, the mean over the groups with c.

    A group's positive mass is (1/G) sum of its weights above zero, its negative mass (1/G) sum of those below, both
    counted as positive: for binary rewards the m_S(c/G) and m_F(c/G) of `rlvr.estimators`, where correct responses have
    no weight below zero and wrong ones none above. None if no group has c correct.
    """
    correct_P = correct_PG.sum(dim=1).round().long()
    sides = {
        "positive_mass_by_correct": advantages_PG.clamp(min=0).mean(dim=1),
        "negative_mass_by_correct": (-advantages_PG).clamp(min=0).mean(dim=1),
    }
    numbers = range(correct_PG.shape[1] + 1)
    return {name: [mean_where(mass_P, correct_P == c) for c in numbers] for name, mass_P in sides.items()}
