"""Dr.GRPO: rewards centred within their group."""

from __future__ import annotations

from torch import Tensor


def advantages(rewards_PG: Tensor) -> Tensor:
    """Centred advantage (Liu et al. 2025, "Dr. GRPO"; FADE, sec. 8): A = r - mean(r).

    Masses for binary rewards at solve rate p: m_S = m_F = p (1 - p).
    """
    return rewards_PG - rewards_PG.mean(dim=1, keepdim=True)
