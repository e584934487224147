"""Stage: statistics of analytic tables and figures, the same at any scale: closed forms on grids, no run behind them.

A table is a frame as it is shown. A figure is long: `panel`, `label` (a line's name), `style` (solid, dashed), `x`, `y`, and
the axes' names `x_label`, `y_label`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import torch
import typer

from rlvr import estimators
from rlvr.estimators import Estimator
from rlvr.files import publish
from rlvr.theory import fade, lens
from rlvr.theory.statement import by_successes, class_masses

ROLLOUTS = 16  # of FADE's Figure 7; sec. 14.1 has 8 to 16
# What Table 1 and its kin show with other settings than the defaults; shown beside the name.
SETTINGS: dict[str, dict[str, Any]] = {
    "power_alpha": {"alpha": 2.0},
    "asym_power_alpha": {"alpha_s": 2.0, "alpha_f": 1.0},
    "asym_grpo": {"delta": 0.5},
    "pass_at_k": {"k": 8},
    "pass_mix": {"k": 8},
    "power_norm": {"gamma": 0.25},
    "quantile": {"tau": 0.25},
    "ha_dw": {"base": "dr_grpo", "lam": 1.0},
}


def _estimator(name: str, settings: dict[str, Any]) -> Estimator:
    return Estimator(name, {**estimators.signature(name).exact, **SETTINGS.get(name, {}), **settings})


def _label(name: str) -> str:
    state = _estimator(name, {}).shown_state
    words = [f"{key} = {value}" for key, value in {**SETTINGS.get(name, {}), **state}.items()]
    return f"{name} ({', '.join(words)})" if words else name


def weights(name: str, rollouts: int = ROLLOUTS, **settings: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Weights and rewards of one group for each number of successes, and p."""
    rewards, estimator = by_successes(rollouts), _estimator(name, settings)
    found = estimator.advantages(rewards, estimators.inputs_at_reference(rewards), estimator.shown_state)
    return found, rewards, rewards.mean(1)


def masses(name: str, rollouts: int = ROLLOUTS, **settings: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(p, m_S, m_F) by enumeration."""
    found, rewards, p = weights(name, rollouts, **settings)
    return p, *class_masses(found, rewards)


def _with_closed_form() -> list[str]:
    return [name for name in estimators.names() if estimators.signature(name).formula]


def fade_table1() -> pd.DataFrame:
    """Every method's masses: the closed form, and values by enumeration over groups of 16 (FADE Table 1, sec. 8)."""
    rows = []
    for name in _with_closed_form():
        p, mass_s, mass_f = masses(name)
        inside = slice(1, ROLLOUTS)
        balanced = bool(torch.allclose(mass_s[inside], mass_f[inside], atol=1e-12))
        row = {
            "method": _label(name),
            "masses": estimators.signature(name).formula,
            "signs": "balanced" if balanced else "biased",
        }
        for k in (4, 8, 12):
            row[f"m_S({p[k]:g})"], row[f"m_F({p[k]:g})"] = f"{mass_s[k]:.4f}", f"{mass_f[k]:.4f}"
        # The earliest of equal peaks; a tie within rounding is a tie.
        for side, mass in (("S", mass_s), ("F", mass_f)):
            top = float(mass.max())
            row[f"peak of m_{side}"] = "none" if top <= 0 else f"{float(p[(mass >= top - 1e-12).nonzero()[0, 0]]):g}"
        rows.append(row)
    return pd.DataFrame(rows)


def fade_table2() -> pd.DataFrame:
    """Learning rates that equalise eta max|A| with mean-only GRPO's (FADE Table 2, sec. 11.3), G = 16."""

    def largest(name: str) -> float:
        return float(weights(name)[0].abs().max())

    reference, rows = largest("dr_grpo"), []
    for name in _with_closed_form():
        ratio = largest(name) / reference
        rows.append(
            {
                "method": _label(name),
                "max |A|": f"{largest(name):.4f}",
                "ratio to dr_grpo": f"{ratio:.3f}",
                "lr, Qwen2.5-7B (1e-7)": f"{1e-7 / ratio:.2e}",
                "lr, CWM-32B (1.8e-7)": f"{1.8e-7 / ratio:.2e}",
                "lr, relative to grpo": f"{largest('grpo') / largest(name):.3f}",
            }
        )
    return pd.DataFrame(rows)


def fade_table7() -> pd.DataFrame:
    """rho(p) = m_S p / (m_F q) at p = 0.3 and 0.5 (FADE Table 7), by enumeration over groups of 20."""
    rows = []
    for name in _with_closed_form():
        p, mass_s, mass_f = masses(name, 20)
        cells = {}
        for value, k in ((0.3, 6), (0.5, 10)):
            q = 1 - value
            only = float(mass_f[k]) == 0
            cells[f"rho({value})"] = "no negatives" if only else f"{float(mass_s[k] * p[k] / (mass_f[k] * q)):.4f}"
            cells[f"A_S/A_F({value})"] = "no negatives" if only else f"{float(mass_s[k] * q / (mass_f[k] * p[k])):.4f}"
        if any(cell != "no negatives" for cell in cells.values()):  # the paper leaves purely positive weights out
            rows.append({"method": _label(name), **cells})
    return pd.DataFrame(rows)


def fade_table8() -> pd.DataFrame:
    """The signal s(p) / s(0.5) from which alpha = 3 pays against alpha = 1 (FADE Table 8), G without bound."""
    p = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
    return pd.DataFrame({"p": [f"{x:g}" for x in p], "s(p) / s(0.5)": [f"{(2 * (1 - x)) ** 2:.4f}" for x in p]})


def _line(
    panel: str, label: str, x: Any, y: Any, y_label: str, style: str = "solid", x_label: str = "solve rate p"
) -> pd.DataFrame:
    return pd.DataFrame(
        {"panel": panel, "label": label, "style": style, "x_label": x_label, "y_label": y_label, "x": x, "y": y}
    )


def _mass_lines(panel: str, label: str, name: str, rollouts: int = 128, **settings: Any) -> list[pd.DataFrame]:
    """m_S solid, and m_F dashed where it is another curve."""
    p, mass_s, mass_f = masses(name, rollouts, **settings)
    inside = slice(1, rollouts)
    lines = [_line(panel, label, p[inside], mass_s[inside], "gradient mass")]
    if not torch.allclose(mass_s, mass_f, atol=1e-9):
        lines.append(_line(panel, label, p[inside], mass_f[inside], "gradient mass", "dashed"))
    return lines


def fade_figure2() -> pd.DataFrame:
    """Existing methods, the difficulty axis, the sign axis (FADE Figure 2); m_F dashed where it differs from m_S."""
    left, middle, right = "existing methods", "difficulty: power-alpha, peak at 1/4", "sign: AsymGRPO"
    lines = _mass_lines(left, "GRPO", "grpo") + _mass_lines(left, "mean-only GRPO", "dr_grpo")
    lines += _mass_lines(left, "pass@8 (Chen)", "pass_at_k", k=8) + _mass_lines(
        left, "pass@1/pass@8 mix", "pass_mix", k=8
    )
    lines += _mass_lines(left, "W-REINFORCE", "w_reinforce")
    for alpha in (0.5, 1.0, 2.0, 3.0):
        lines += _mass_lines(middle, f"α = {alpha:g}", "power_alpha", alpha=alpha, scale="peak")
    lines += _mass_lines(right, "m_S, every δ", "asym_grpo", delta=1.0)
    for delta in (0.5, 2.0):
        p, _, mass_f = masses("asym_grpo", 128, delta=delta)
        lines.append(_line(right, f"m_F, δ = {delta:g}", p[1:-1], mass_f[1:-1], "gradient mass", "dashed"))
    return pd.concat(lines)


def fade_figure7() -> pd.DataFrame:
    """Variance of the weight C p q^alpha estimated from 16 rollouts (FADE Figure 7): exact, and Eq. 30 dashed."""
    p = [i / 200 for i in range(1, 200)]
    lines = []
    for alpha in (1.0, 2.0, 3.0):
        exact = [fade.exact_variance(x, alpha, ROLLOUTS) for x in p]
        delta = [fade.delta_variance(x, alpha, ROLLOUTS) for x in p]
        lines.append(_line("", f"α = {alpha:g}", p, exact, "variance of the estimated weight"))
        lines.append(_line("", f"α = {alpha:g}", p, delta, "variance of the estimated weight", "dashed"))
    return pd.concat(lines)


def fade_section14() -> pd.DataFrame:
    """Signal-to-noise by difficulty, SNR^2 = s(p)^2 p (1 - p) over its largest value, s = exp(-c p) (FADE sec. 14.1)."""
    p = torch.linspace(0.005, 0.995, 199, dtype=torch.float64)
    lines = []
    for c in (0.0, 0.5, 1.0, 2.0):
        value = torch.exp(-2 * c * p) * p * (1 - p)
        peak = 0.5 if c == 0 else (1 + c - math.sqrt(1 + c * c)) / (2 * c)
        lines.append(_line("", f"c = {c:g}, best at p = {peak:.3f}", p, value / value.max(), "SNR², largest = 1"))
    return pd.concat(lines)


def agrae_figure6() -> pd.DataFrame:
    """Sum of absolute advantages a rollout by solve rate (A-GRAE Figure 6), with its sample-level controls."""
    lines = []
    for label, name in (("GRPO", "grpo"), ("hard-focused", "hard_focused"), ("easy-focused", "easy_focused")):
        found, _, p = weights(name, 128)
        lines.append(_line("", label, p[1:-1], (found.abs().sum(1) / 128)[1:-1], "Σ|A| / G"))
    return pd.concat(lines)


def lens_figure4() -> pd.DataFrame:
    """The penalty's weight function w(z) (LENS Figure 4, Eq. 13)."""
    z = torch.linspace(0.001, 0.999, 500, dtype=torch.float64)
    return _line("", "w(z)", z, lens.w(z), "w(z)", x_label="z = π / D")


CONTENTS: dict[str, Callable[[], pd.DataFrame]] = {
    function.__name__: function
    for function in (
        *(fade_table1, fade_table2, fade_table7, fade_table8, fade_figure2, fade_figure7, fade_section14),
        *(agrae_figure6, lens_figure4),
    )
}


def main(
    content: Annotated[str, typer.Option(help=f"One of {', '.join(CONTENTS)}.")],
    out: Annotated[Path, typer.Option(help="CSV file to write.")],
) -> None:
    """Compute an analytic table or figure."""
    publish(out, CONTENTS[content]().to_csv(index=False, lineterminator="\n", float_format="%.9g"))


if __name__ == "__main__":
    typer.run(main)
