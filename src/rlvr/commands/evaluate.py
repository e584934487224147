"""`rlvr evaluate`: pass@k of models of one's own on problems of one's own; the project's own DAG."""

from __future__ import annotations

from typing import Annotated

import typer

from rlvr.commands import own_paper
from rlvr.commands.checkout import ConfigFolder, folder_of


def evaluate(
    model: own_paper.Models,
    data: own_paper.Problems,
    verifier: own_paper.Verifier,
    samples: Annotated[int, typer.Option(help="Responses per problem, n.", min=1)] = 32,
    temperature: Annotated[float, typer.Option(help="Of the samples.")] = 0.7,
    engine: Annotated[str, typer.Option(help="in_process, native (tiny models), vllm.")] = "in_process",
    settings: own_paper.Changes = None,
    prompt: own_paper.Prompt = None,
    name: own_paper.OwnName = None,
    device: own_paper.Device = None,
    cores: own_paper.Cores = None,
    dry_run: own_paper.DryRun = False,
    results: own_paper.Results = "results",
    config_folder: ConfigFolder = None,
) -> None:
    """Print a table of pass@k of models of yours on problems of yours, with intervals over the problems.

    It writes own/NAME.yaml and has Snakemake sample, grade and score; the same command continues after a stop.

    Example: rlvr evaluate --model my --data my.jsonl --verifier math
    """
    from rlvr.config.registries import ENGINES
    from rlvr.verifiers import VERIFIERS

    root = folder_of(config_folder).parent
    name = own_paper.slug(name or f"{data.name.partition('.')[0]}_evaluated")
    own_paper.one_of(verifier, VERIFIERS.names(), "--verifier")
    own_paper.one_of(engine, ENGINES.names(), "--engine")
    entry, count = own_paper.problems_of(data, verifier)
    models = own_paper.model_entries(model, prompt, verifier, root)
    context = own_paper.context_of(models) or 2048
    response = min(1024, context // 2)
    sampling = {"samples": samples, "temperature": temperature, "engine": engine, "max_response_tokens": response}
    rollout = {"max_prompt_tokens": min(1024, context - response)}
    changed = own_paper.changes("evaluate", settings or [])
    layer = own_paper.with_changes({"evaluation": sampling, "rollout": rollout}, changed)
    layer.pop("execution", None)
    execution = own_paper.execution_here(changed, device)
    tables = own_paper.table(models, name, layer["evaluation"]["samples"])
    content = {
        "scale": own_paper.scale(name, execution),
        "models": models,
        "data": {name: {**entry, "problems": count}},
        "paper": own_paper.paper(name, models, benchmarks=[name], seeds=[1], settings=layer, tables=tables),
    }
    file = own_paper.write(root, name, content)
    own_paper.run(root, name, file, results=results, cores=cores, dry_run=dry_run)
