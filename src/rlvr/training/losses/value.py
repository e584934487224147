"""The clipped loss of a value model."""

import torch
from torch import Tensor


def clipped(values: Tensor, old_values: Tensor, returns: Tensor, *, clip: float) -> tuple[Tensor, Tensor]:
    """Token losses max((V - R)^2, (V_clip - R)^2) / 2, and a mask of tokens where the clip decides (all ..., T).

    V_clip is V within `clip` of the value before the update. The form of OpenAI's PPO code, which TRL and verl
    (`compute_value_loss`) share; Schulman et al. 2017 have the plain square.
    """
    bounded = torch.maximum(torch.minimum(values, old_values + clip), old_values - clip)
    plain, limited = (values - returns) ** 2, (bounded - returns) ** 2
    return torch.maximum(plain, limited) / 2, limited > plain
