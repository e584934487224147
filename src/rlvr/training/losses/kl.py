"""Estimators of the divergence from the reference policy."""

from torch import Tensor

LOG_RATIO, DIVERGENCE = 20.0, 10.0  # bounds in nats per token; beyond them there is no gradient


def k3(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Schulman's k3 per token: min(exp(d) - d - 1, 10) with d = log pi_ref - log pi within ±20; never negative.

    Its mean over tokens drawn from pi is KL(pi || pi_ref) (GRPO's form: Shao et al. 2024, Eq. 4) within the bounds:
    for d from -11.0 to 2.6. The bounds are those of verl 0.9.1 (`low_var_kl`): no single token whose
    probability changed a lot decides a batch's loss.
    """
    difference = (reference_logprobs - logprobs).clamp(-LOG_RATIO, LOG_RATIO)
    return (difference.exp() - difference - 1).clamp(max=DIVERGENCE)
