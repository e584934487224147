"""What RL changes in a policy's weights (FADE, sec. 4.2 and App. 15): `rlvr.papers.fade.weights.change`."""

from pathlib import Path
from typing import Any

from rlvr.config.measures import Measure, RunMeasure

COLUMNS = {
    "weights_l2": Measure("‖ΔW‖"),
    "weights_l2_relative": Measure("‖ΔW‖ / ‖W‖"),
    "head_share": Measure("share of ‖ΔW‖² in the output head", share=True),
    "layer_share": Measure("share of ‖ΔW‖² in a layer, mean", share=True),
    "s1_over_s2": Measure("s₁ / s₂ of the head's ΔW"),
    "rank_1_share": Measure("rank-1 share of the head's ΔW", share=True),
    "srank": Measure("srank of the head's ΔW"),
    "rank_1_share_inner": Measure("rank-1 share, mean of the layers' matrices", share=True),
    "s1_over_s2_inner": Measure("s₁ / s₂, mean of the layers' matrices"),
    "align_head": Measure("|cos| of the head's u₁ with the last step's", share=True),
    "align_early": Measure("|cos| of u₁, early layers", share=True),
    "align_middle": Measure("|cos| of u₁, middle layers", share=True),
    "align_late": Measure("|cos| of u₁, late layers", share=True),
    "negative_share": Measure("share of tokens that the head's u₁ lowers", share=True),
    "half_energy_share": Measure("share of tokens with half of u₁'s energy", share=True),
}


def compute(base: Path, run: Path, problems: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    from rlvr.papers.fade.weights.change import of_run  # planning loads this module, and no torch for it

    return of_run(base, run)


MEASURE = RunMeasure(compute=compute, columns=COLUMNS, modules=("torch", "safetensors", "tokenizers"))
