"""Stage: agreement. Compares the log-probabilities of the sampling engine and of the trainer's forward pass.

A policy gradient weighs the engine's samples by the trainer's ratios. If the two disagree, the update is silently
off-policy (docs/evaluation.md).
"""

import math
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from rlvr.files import publish_json
from rlvr.policies.store import Policy, device, load
from rlvr.records import Tokens, read_records
from rlvr.training.batches import Groups, all_logprobs, pad_prompts
from rlvr.training.deterministic import one_thread
from rlvr.training.forward import Microbatch, training_pass

TOKENS = 16384  # of a forward pass
WARN = 1.1  # mean exp|d| above which NeMo-RL warns


@torch.no_grad()
def trainer_logprobs(policy: Policy, rows: list[Tokens], at_once: int = 16) -> list[np.ndarray]:
    """log pi of each response's tokens, by the trainer's forward pass over the whole sequence."""
    forward, logprobs = training_pass(policy.model, frozen=True), []
    for start in range(0, len(rows), at_once):
        part = rows[start : start + at_once]
        where = policy.model.device
        prompts_PL, prompt_lengths_P = pad_prompts([list(row.prompt) for row in part], policy.pad, where)
        responses_PT, lengths_P = pad_prompts([list(row.response) for row in part], policy.pad, where)
        groups = Groups(prompts_PL, prompt_lengths_P, responses_PT[:, None], lengths_P[:, None])
        logprobs_PGT = all_logprobs(forward, groups, Microbatch(tokens=TOKENS))
        logprobs += [logprobs_PGT[i, 0, : len(row.response)].double().cpu().numpy() for i, row in enumerate(part)]
    return logprobs


def agreement(engine: list[np.ndarray], trainer: list[np.ndarray]) -> dict[str, Any]:
    """Statistics of d = log pi_engine - log pi_trainer in nats, over tokens, and over sums per sequence.

    `mean_exp_abs` is mean exp|d| over tokens (1 if they agree); `effective_sample_size` is that of the sequences under
    the weights exp(-sum d), as a share: (sum w)^2 / (n sum w^2).
    """
    d = np.concatenate(engine) - np.concatenate(trainer)
    sums = np.array([(a - b).sum() for a, b in zip(engine, trainer, strict=True)])
    weights = np.exp(-(sums - sums.mean()))
    return {
        "sequences": len(sums),
        "tokens": len(d),
        "mean_abs": float(np.abs(d).mean()),
        "max_abs": float(np.abs(d).max()),
        "mean_exp_abs": float(np.exp(np.abs(d)).mean()),
        "max_abs_sequence": float(np.abs(sums).max()),
        "effective_sample_size": float(weights.sum() ** 2 / (len(weights) * (weights**2).sum())),
    }


def main(
    policy: Annotated[Path, typer.Option(help="Manifest of the policy.")],
    tokens: Annotated[Path, typer.Option(help="tokens.jsonl.gz of the evaluation.")],
    out: Annotated[Path, typer.Option(help="agreement.json to write.")],
) -> None:
    """Compare the log-probabilities of an engine and the trainer; warn if they differ much."""
    one_thread()
    rows = read_records(tokens, Tokens)
    trainer = trainer_logprobs(load(policy, device=device()), rows)
    figures = agreement([np.array(row.logprobs) for row in rows], trainer)
    if not math.isfinite(figures["mean_exp_abs"]) or figures["mean_exp_abs"] > WARN:
        print(f"warning: mean exp|d log p| is {figures['mean_exp_abs']:.3g}, more than {WARN}", file=sys.stderr)
    publish_json(out, figures)


if __name__ == "__main__":
    typer.run(main)
