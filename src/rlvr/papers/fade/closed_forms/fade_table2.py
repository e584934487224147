"""Learning rates that equalise eta max|A| with mean-only GRPO's (FADE Table 2, sec. 11.3), G = 16."""

import pandas as pd

from rlvr.theory._methods import label, weights, with_closed_form


def frame() -> pd.DataFrame:
    def largest(name: str) -> float:
        return float(weights(name)[0].abs().max())

    reference, rows = largest("dr_grpo"), []
    for name in with_closed_form():
        ratio = largest(name) / reference
        rows.append(
            {
                "method": label(name),
                "max |A|": f"{largest(name):.4f}",
                "ratio to dr_grpo": f"{ratio:.3f}",
                "lr, Qwen2.5-7B (1e-7)": f"{1e-7 / ratio:.2e}",
                "lr, CWM-32B (1.8e-7)": f"{1.8e-7 / ratio:.2e}",
                "lr, relative to grpo": f"{largest('grpo') / largest(name):.3f}",
            }
        )
    return pd.DataFrame(rows)
