"""The names of the rules that a cluster runs as jobs, read from the rule files."""

import re
from pathlib import Path

from rlvr.config.layers import read_yaml
from rlvr.config.registries import BACKENDS, ENGINES


def names(folder: Path) -> list[str]:
    """The rules that call `cluster("<name>", ...)`; other rules only collect files."""
    texts = (path.read_text() for path in sorted(folder.glob("*.smk")))
    return sorted({name for text in texts for name in re.findall(r'\bcluster\("([\w.]+)"', text)})


def of_the_cluster(root: Path) -> list[str]:
    """The names that config/cluster.yaml may have under `rules`: rules, stages by backend, and both of one model.

    A model's own are of training (`rl.verl.cwm-32b`) and of sampling by an engine (`generate_vllm.cwm-32b`).
    """
    stages = [f"{stage}.{name}" for stage in ("sft", "rl") for name in BACKENDS.names()]
    sampling = [f"generate_{name}" for name, engine in ENGINES.all() if engine.environment]
    models = read_yaml(root / "config/models.yaml", root).content
    own = [f"{rule}.{model}" for rule in (*stages, *sampling) for model in models]
    return [*names(root / "workflow/rules"), "sft", "rl", *stages, *sampling, *own]
