"""Losses for verl's workers: verl's own with counts, and the score function for estimators with coupled weights.

verl pickles both by name and calls them per micro-batch as `loss(config, model_output, data, dp_group)`.
"""

from typing import Any

import torch
from torch import Tensor

from rlvr.training.losses import gspo, kl, ppo_clip


def clipped_surrogate(config: Any, model_output: Any, data: Any, dp_group: Any = None) -> tuple[Tensor, dict[str, Any]]:
    """verl's own loss (clipped surrogate or GSPO, and KL, by its configuration), with counts for metrics.jsonl."""
    from verl.workers.utils.losses import ppo_loss

    counts = _counts(config, model_output, data)
    loss, figures = ppo_loss(config, model_output, data, dp_group)
    return loss, {**figures, **counts}


def score_function(config: Any, model_output: Any, data: Any, dp_group: Any = None) -> tuple[Tensor, dict[str, Any]]:
    """-A log pi and the KL term, both summed over tokens and averaged over the minibatch's responses.

    With A computed at the current policy, its gradient is that of the estimator's own loss (PACS, Eq. 8).
    """
    fields = _fields(model_output, data)
    losses_MT = -fields["advantages"] * fields["log_prob"]
    if config.use_kl_loss and config.kl_loss_coef:
        losses_MT = losses_MT + config.kl_loss_coef * kl.k3(fields["log_prob"], fields["ref_log_prob"])
    total = (losses_MT * fields["response_mask"]).sum()
    return total / data["global_batch_size"] * data["dp_size"], _counts(config, model_output, data, clips=False)


def _fields(model_output: Any, data: Any) -> dict[str, Tensor]:
    from verl.workers.utils.padding import no_padding_2_padding

    names = ["response_mask", "old_log_probs", "advantages", *(["ref_log_prob"] if "ref_log_prob" in data else [])]
    padded = data.select(*names).to_padded_tensor()
    return {"log_prob": no_padding_2_padding(model_output["log_probs"], data), **{n: padded[n] for n in names}}


@torch.no_grad()
def _counts(config: Any, model_output: Any, data: Any, *, clips: bool = True) -> dict[str, Any]:
    """Sums over a micro-batch's tokens, which verl adds up over a minibatch and averages over its ranks."""
    from verl.utils.metric import AggregationType, Metric

    fields = _fields(model_output, data)
    mask, new, old = fields["response_mask"].bool(), fields["log_prob"], fields["old_log_probs"]
    sums = {"tokens": mask.sum(), "gap": ((new - old).abs() * mask).sum()}
    if clips:
        bounds = {"clip_low": config.clip_ratio_low, "clip_high": config.clip_ratio_high}
        weights = fields["advantages"]
        if config.policy_loss.loss_mode == "gspo":
            _, clipped = gspo.surrogate(new, old, weights, mask, **bounds)
        else:
            _, clipped = ppo_clip.surrogate(new, old, weights, **bounds, dual_clip=config.clip_ratio_c)
        sums["clipped"] = (clipped & mask).sum()
        sums["clipped_high"] = (clipped & mask & (weights > 0)).sum()
    if "ref_log_prob" in fields:
        sums["kl"] = (kl.k3(new, fields["ref_log_prob"]) * mask).sum()
    ranks = data["dp_size"]  # times these, the average over ranks is the sum
    return {f"rlvr/{name}": Metric(AggregationType.SUM, value * ranks) for name, value in sums.items()}
