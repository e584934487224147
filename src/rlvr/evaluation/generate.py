"""Stage: generate. Samples completions of a benchmark from a policy."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import torch
import typer

from rlvr.config.schema import EvaluationSpec
from rlvr.policies.decoder import Decoder
from rlvr.policies.store import Policy, device, load
from rlvr.records import Completion, Problem, publish_records, read_records
from rlvr.training.batches import STREAM_EVALUATION
from rlvr.training.deterministic import one_thread
from rlvr.training.progress import Bar
from rlvr.training.rollouts import sample_prompts

ROWS = 1024  # sequences drawn at once; memory, not numbers: a sample depends on its own noise only


def noise_key(seed: int, problem: Problem) -> tuple[int, ...]:
    """Sample i of a problem is row i of this key's noise, whatever else is drawn beside it."""
    return (seed, STREAM_EVALUATION, int(hashlib.sha256(problem.id.encode()).hexdigest()[:12], 16))


def generate(policy: Policy, problems: list[Problem], spec: EvaluationSpec, rows: int = ROWS) -> list[Completion]:
    """n completions of each problem, in the order of the problems."""
    sampling, decoder = spec.sampling, Decoder(policy.model, frozen=True)
    prompts = policy.encode([p.prompt for p in problems])
    completions: list[Completion] = []
    at_once = max(1, rows // sampling.samples)
    with Bar("generate", len(problems)) as bar:
        for start in range(0, len(problems), at_once):
            part = problems[start : start + at_once]
            _, drawn = sample_prompts(
                policy,
                decoder,
                prompts[start : start + at_once],
                [noise_key(sampling.seed, problem) for problem in part],
                samples=sampling.samples,
                max_tokens=sampling.max_response_tokens,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
            )
            lengths = drawn.lengths_PG.tolist()
            logprobs = drawn.logprobs_PGT.double().sum(-1).tolist()
            finished = drawn.finished_PG.tolist()
            for p, problem in enumerate(part):
                texts = policy.decode([drawn.tokens_PGT[p, g, :n].tolist() for g, n in enumerate(lengths[p])])
                completions += [
                    Completion(problem.id, g, text, lengths[p][g], finished[p][g], round(logprobs[p][g], 4))
                    for g, text in enumerate(texts)
                ]
            bar.advance(len(part))
    return completions


def main(
    spec: Annotated[str, typer.Option(help="The evaluation, as JSON (rlvr.config.schema.EvaluationSpec).")],
    policy: Annotated[Path, typer.Option(help="Manifest of the policy.")],
    problems: Annotated[Path, typer.Option(help="problems.jsonl of the benchmark.")],
    out: Annotated[Path, typer.Option(help="completions.jsonl.gz to write.")],
) -> None:
    """Sample one benchmark from one policy."""
    one_thread()
    evaluation = EvaluationSpec.model_validate_json(spec)
    loaded = load(policy, device=device())
    with torch.no_grad():
        publish_records(out, generate(loaded, read_records(problems, Problem), evaluation))


if __name__ == "__main__":
    typer.run(main)
