"""`rlvr new-paper`: a paper of one's own to start from, which ends in a table at equal pass@1."""

from __future__ import annotations

import typer

from rlvr.commands.checkout import ConfigFolder, NewName, check_name, folder_of
from rlvr.commands.lines import fail

PAPER = """# {label} as data: training, methods, tables. Sizes are the paper's; config/scale/ changes them.
# Beside this file: claims.yaml (docs/claims.md), scales.yaml, notes.md, deviations.md and reference/ with published
# numbers (config/README.md).

name: {name}
short: {label}
title: "{label}: the title"
authors: the authors
year: 2026
data: dapo-math-17k                 # a set of config/datasets.yaml, which names what stands in for it at small scales
sft_data: operators-sft             # if a scale makes its models from scratch
validation_data: aime-2024          # for probes during training
benchmarks: [math-500]
seeds: [1, 2, 3]

models: # of config/models.yaml, each with the paper's settings for it (every key: config/defaults.yaml)
  qwen2.5-math-7b:
    settings:
      rl: {{prompts_per_step: 1024, prompts_per_minibatch: 512, learning_rate: 1.0e-6}}
      rollout: {{max_response_tokens: 3000}}
      evaluation: {{max_response_tokens: 3000}}
      probe: {{problems: 30}}

arms: # the methods: an estimator with its settings, and what else the paper changes
  grpo: {{label: GRPO, settings: {{estimator: {{name: grpo}}}}}}
  mine: {{label: Mine, settings: {{estimator: {{name: power_alpha, alpha: 2.0}}}}}}

sweeps: # of the baseline: at one learning rate a comparison of weights is also one of step sizes
  lr: {{like: [grpo], times: rl.learning_rate, values: [0.5, 0.7, 1.0, 1.4]}}

tables:
  main: # beside it: main_matched (each method against GRPO at its pass@1) and the figure main_frontier
    title: Pass@k on MATH-500
    benchmark: math-500
    models: [qwen2.5-math-7b]
    k: [1, 4, 16, 32]
    compare_with: grpo
    matched: lr
    rows: [base, grpo, mine] # arms; another table may be `like: main` and have other keys of its own

core: {{tables: [main, main_matched], figures: [main_frontier]}}  # what the scale laptop makes
"""


def new_paper(name: NewName, config_folder: ConfigFolder = None) -> None:
    """Write config/papers/NAME/ to start from: two methods, a sweep of learning rates, a table at equal pass@1.

    It runs as it is: `snakemake --config scale=smoke papers=NAME -- paper_NAME`. Change its methods, then its sets.

    Example: rlvr new-paper my_paper
    """
    folder = folder_of(config_folder)
    path = folder / "papers" / name / "paper.yaml"
    check_name(name)
    if path.parent.exists():
        fail(f"{name!r} exists already: {path.parent}")
    if not path.parents[1].is_dir():
        fail(f"{folder} is no config/ of a checkout: it lacks papers/")
    path.parent.mkdir()
    path.write_text(PAPER.format(name=name, label=name.replace("_", " ").capitalize()))
    typer.echo(path.relative_to(folder.parent))
    typer.echo(f"next: `snakemake --config scale=smoke -- paper_{name}` in two minutes, then without `--config`")
