"""`rlvr train`: RL of a model of one's own on problems of one's own, to a table of pass@k; the project's own DAG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.commands import own_paper
from rlvr.commands.checkout import ConfigFolder, folder_of
from rlvr.commands.lines import fail

ENGINES = {"in_process": "in_process", "native": "native", "verl": "vllm"}  # the sampler beside a backend
SHARE = 0.1  # of the problems, held out where no file of held-out problems is given
PROMPT, RESPONSE = 1024, 1024  # tokens, where the model's context has room
BASELINE = "grpo"  # where it is among several methods
RATES = [0.5, 0.7, 1.0, 1.4]  # times the baseline's, for the table at equal pass@1; as in `rlvr new-paper`
WINDOW = 20  # curves are running means over one of so many parts of the steps


def train(
    model: own_paper.Models,
    data: own_paper.Problems,
    verifier: own_paper.Verifier,
    estimator: Annotated[list[str], typer.Option(help="A method of `rlvr weigh --list`; may be repeated.")],
    held_out: Annotated[
        Path | None, typer.Option(help="The same for the table. Default: a tenth of the data, drawn by seed 0.")
    ] = None,
    steps: Annotated[int, typer.Option(help="Training steps.", min=1)] = 100,
    learning_rate: Annotated[float, typer.Option(help="Of AdamW, constant.")] = 1e-6,
    seeds: Annotated[int, typer.Option(help="Training runs per method.", min=1)] = 1,
    matched: Annotated[
        bool,
        typer.Option(
            help="Of several methods: train the baseline at four learning rates, and compare at equal pass@1."
        ),
    ] = True,
    backend: Annotated[str, typer.Option(help="in_process, native (tiny models), verl.")] = "in_process",
    logger: Annotated[
        list[str] | None,
        typer.Option(help="Also log to tensorboard, trackio or wandb (offline), beside each run; may be repeated."),
    ] = None,
    settings: own_paper.Changes = None,
    prompt: own_paper.Prompt = None,
    name: own_paper.OwnName = None,
    device: own_paper.Device = None,
    cores: own_paper.Cores = None,
    dry_run: own_paper.DryRun = False,
    results: own_paper.Results = "results",
    config_folder: ConfigFolder = None,
) -> None:
    """Train a model of yours on problems of yours, and print pass@k of the base and of each method, with intervals.

    It writes own/NAME.yaml (models, data, a paper) and has Snakemake make the paper, whose page also shows reward and
    entropy over training. Runs are named by what they are, equal ones are shared, and the same command continues after
    a stop. Several methods are compared with GRPO, or with the first one where it is not among them.

    Example: rlvr train --model my --data my.jsonl --verifier math --estimator psr
    """
    from rlvr import estimators
    from rlvr.config import registries
    from rlvr.verifiers import VERIFIERS

    root = folder_of(config_folder).parent
    name = own_paper.slug(name or data.name.partition(".")[0])
    for method in dict.fromkeys(estimator):
        own_paper.one_of(method, estimators.names(), "--estimator")
    own_paper.one_of(verifier, VERIFIERS.names(), "--verifier")
    for kind in logger or []:
        own_paper.one_of(kind, registries.LOGGERS.names(), "--logger")
    changed = own_paper.changes("train", settings or [])
    if "name" in changed.get("estimator", {}):
        fail("--set estimator.name: give the method as --estimator NAME")
    backend = own_paper.one_of(changed.get("rl", {}).get("backend", backend), registries.BACKENDS.names(), "--backend")
    sets = _sets(name, data, held_out, verifier)
    models = own_paper.model_entries(model, prompt, verifier, root)
    own_settings = _settings(sets, own_paper.context_of(models), backend, steps=steps, learning_rate=learning_rate)
    layer = own_paper.with_changes(own_settings, changed)
    arms = {
        method: {"label": method, "settings": {"estimator": {"name": method, **changed.get("estimator", {})}}}
        for method in estimator
    }
    training, test = sets
    paper = own_paper.paper(
        name,
        models,
        data=training,
        sft_data=training,
        validation_data=test,
        benchmarks=[test],
        seeds=list(range(1, seeds + 1)),
        settings={key: value for key, value in layer.items() if key != "execution"},
        arms=arms,
        **_comparison(models, test, layer["evaluation"]["samples"], [*arms], matched),
        figures={"training": _curves(models, [*arms], layer["rl"]["steps"])},
    )
    execution = own_paper.execution_here(changed, device) | ({"loggers": logger} if logger else {})
    content = {"scale": own_paper.scale(name, execution), "models": models, "data": sets, "paper": paper}
    file = own_paper.write(root, name, content)
    own_paper.run(root, name, file, results=results, cores=cores, dry_run=dry_run)


def _sets(name: str, data: Path, held_out: Path | None, verifier: str) -> dict[str, Any]:
    """The training set, then the held-out one. Exits where a tenth of the data is less than two problems."""
    entry, count = own_paper.problems_of(data, verifier)
    training, test = f"{name}-train", f"{name}-held-out"
    if held_out is not None:
        other, tested = own_paper.problems_of(held_out, verifier)
        return {training: {**entry, "problems": count}, test: {**other, "problems": tested}}
    tested = round(SHARE * count)
    if tested < 2:
        fail(f"{data}: {count} problems are too few to hold a tenth of them out; give --held-out")
    parts = {training: {"problems": count - tested, "skip": tested}, test: {"problems": tested}}
    return {part: {**entry, **sizes, "seed": 0} for part, sizes in parts.items()}


def _comparison(
    models: dict[str, Any], benchmark: str, samples: int, arms: list[str], matched: bool
) -> dict[str, dict[str, Any]]:
    """The table, against the base or a baseline, and the sweep behind its companion at equal pass@1."""
    if len(arms) == 1:
        return {"tables": own_paper.table(models, benchmark, samples, arms, compare_with="base")}
    keys, sweeps = {"compare_with": BASELINE if BASELINE in arms else arms[0]}, {}
    if matched:
        keys["matched"] = "lr"
        sweeps["lr"] = {"like": [keys["compare_with"]], "times": "rl.learning_rate", "values": RATES}
    return {"sweeps": sweeps, "tables": own_paper.table(models, benchmark, samples, arms, **keys)}


def _curves(models: dict[str, Any], arms: list[str], steps: int | None) -> dict[str, Any]:
    """The figure of reward and entropy of the training batches; without `steps` the run's epochs count them."""
    smooth = {"smooth": steps // WINDOW} if steps and steps >= 2 * WINDOW else {}
    measures = ["reward", "metrics.entropy"]
    title = "Reward and entropy during training"
    return {"title": title, "kind": "over_steps", "measures": measures, **smooth, "models": [*models], "arms": arms}


def _settings(sets: dict[str, Any], context: int | None, backend: str, **rl: Any) -> dict[str, Any]:
    """The settings that differ from config/defaults.yaml, whose sizes are those of a cluster."""
    count, tested = (entry["problems"] for entry in sets.values())
    response = min(RESPONSE, context // 2) if context else RESPONSE
    longest = {"max_response_tokens": response}
    prompts = min(32, count)
    return {
        "rl": {
            **rl,
            "prompts_per_step": prompts,
            "prompts_per_minibatch": max(1, prompts // 2),
            "sequences_per_microbatch": 8,
            "backend": backend,
        },
        "rollout": {**longest, "max_prompt_tokens": min(PROMPT, context - response) if context else PROMPT},
        "probe": {"problems": min(32, tested), "samples": 8, "every": 25, "dense_steps": 0},
        "evaluation": {**longest, "samples": 32, "engine": ENGINES.get(backend, "in_process")},
    }
