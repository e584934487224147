"""Estimators of the divergence from the reference policy."""

from __future__ import annotations

from torch import Tensor


def k3(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Schulman's k3 a token: exp(d) - d - 1 with d = log pi_ref - log pi; never negative.

    Its mean over tokens drawn from pi is KL(pi || pi_ref) (GRPO's form: Shao et al. 2024, Eq. 4).
    """
    difference = reference_logprobs - logprobs
    return difference.exp() - difference - 1
