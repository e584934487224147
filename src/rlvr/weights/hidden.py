"""Stage: hidden. The geometry of correct and failed responses in the last hidden states (FADE, App. 15.2).

For each response token i, h_i is the last layer's hidden state that its logits come from, and v_i = e_(y_i) - pi_i. A
direction u1 is projected out, h_i' = h_i - (h_i . u1) u1: the first right singular vector of all h_i (the paper's
footnote 1), and as a second reading that of the batch gradient sum_i A_i v_i h_i' (its Proposition 15.1), A being the
reward minus the mean of its prompt. Of correct and of failed responses apart, N tokens each:

    rho     mean cosine of h_i' and h_j', i != j                     Table 10
    norm    |(1/N) sum_i v_i (x) h_i'|_F                             Table 11
    clt     sqrt(N_S / N_F), what |R_F| / |R_S| would be if both groups had the same covariance

Dimensions: P prompts, G responses each, N response tokens, D hidden units, V words.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from torch import Tensor

from rlvr import provenance, stages
from rlvr.config.schema.specs import RunSpec
from rlvr.files import publish_json, publish_lines, read_json
from rlvr.policies import store
from rlvr.policies.noise import STREAM_PROBE
from rlvr.records import Problem, read_records
from rlvr.training.batches import Groups
from rlvr.training.passes import sampler
from rlvr.training.rollouts import Problems, sample_prompts, verify
from rlvr.verifiers.pool import Pool
from rlvr.weights.change import Stored, kept_steps

PROMPTS = 64


def measures(h_ND: Tensor, v_NV: Tensor, advantages_N: Tensor, correct_N: Tensor) -> dict[str, Any]:
    """The measures of one batch of tokens; None for a group without two tokens."""
    row: dict[str, Any] = {"tokens_correct": int(correct_N.sum()), "tokens_failed": int((~correct_N).sum())}
    gradient_VD = (v_NV * advantages_N[:, None]).T @ h_ND
    for name, matrix in (("hidden", h_ND), ("gradient", gradient_VD)):
        direction_D = torch.linalg.svd(matrix.double(), full_matrices=False)[2][0].to(h_ND.dtype)
        rest_ND = h_ND - (h_ND @ direction_D)[:, None] * direction_D
        for group, of_group_N in (("correct", correct_N), ("failed", ~correct_N)):
            rest, errors = rest_ND[of_group_N], v_NV[of_group_N]
            row[f"rho_{group}_{name}"] = _mean_cosine(rest)
            row[f"norm_{group}_{name}"] = float((errors.T @ rest / len(rest)).norm()) if len(rest) > 1 else None
        right, wrong = row[f"norm_correct_{name}"], row[f"norm_failed_{name}"]
        row[f"norm_ratio_{name}"] = wrong / right if right and wrong else None
    both = row["tokens_correct"] > 1 and row["tokens_failed"] > 1
    return {**row, "clt": math.sqrt(row["tokens_correct"] / row["tokens_failed"]) if both else None}


def _mean_cosine(rows_ND: Tensor) -> float | None:
    """The mean cosine of two different rows."""
    count = len(rows_ND)
    if count < 2:
        return None
    unit_ND = torch.nn.functional.normalize(rows_ND.double(), dim=1)
    return float((unit_ND.sum(0).pow(2).sum() - count) / (count * (count - 1)))


def of_policy(policy: store.Policy, run: RunSpec, problems: list[Problem], step: int) -> dict[str, Any]:
    """The measures of responses that the policy samples to training problems."""
    chosen = Problems(policy, problems[:PROMPTS], run.rollout.max_prompt_tokens)
    with torch.no_grad():
        groups, drawn = sample_prompts(
            policy,
            sampler(policy.model),
            chosen.prompts,
            [(run.seed, STREAM_PROBE, step, i) for i in range(len(chosen.prompts))],
            rollouts=run.rollout.samples_per_prompt,
            max_tokens=run.rollout.max_response_tokens,
            temperature=run.rollout.temperature,
        )
        with Pool(run.data.verifier) as verifier:
            verdicts = verify(policy, drawn, [problem.gold for problem in chosen.problems], verifier)
        correct_PG = torch.tensor([[status == "correct" for status, _ in row] for row in verdicts])
        h_ND, v_NV = states(policy.model, groups)
    lengths = groups.lengths_PG.flatten()
    centred_PG = correct_PG.float() - correct_PG.float().mean(dim=1, keepdim=True)
    tokens = (values.flatten().repeat_interleave(lengths) for values in (centred_PG, correct_PG))
    return {"step": step, "pass_rate": float(correct_PG.float().mean()), **measures(h_ND, v_NV, *tokens)}


def states(model: Any, groups: Groups) -> tuple[Tensor, Tensor]:
    """Hidden states (N, D) and softmax errors (N, V) at the tokens of all responses, in their order."""
    hidden, errors = [], []
    for prompt_L, length, tokens_GT, lengths_G in zip(
        groups.prompts_PL, groups.prompt_lengths_P.tolist(), groups.tokens_PGT, groups.lengths_PG, strict=True
    ):
        longest = int(lengths_G.max())
        prompt_GL = prompt_L[:length].expand(len(tokens_GT), length)
        rows_GT = torch.cat([prompt_GL, tokens_GT[:, :longest]], dim=1)
        found = model(rows_GT, output_hidden_states=True)
        places = slice(length - 1, length - 1 + longest)
        mask_GT = torch.arange(longest, device=lengths_G.device) < lengths_G[:, None]
        error = -found.logits[:, places].float().softmax(-1)
        error.scatter_add_(2, tokens_GT[:, :longest, None], torch.ones_like(error[..., :1]))
        hidden.append(found.hidden_states[-1][:, places][mask_GT].float())
        errors.append(error[mask_GT])
    return torch.cat(hidden).cpu(), torch.cat(errors).cpu()


def main(
    base: stages.Base,
    run: Annotated[Path, typer.Option(help="The run's manifest.")],
    problems: stages.Problems,
    out: Annotated[
        Path, typer.Option(help="hidden.jsonl to write: the base policy (step 0), a kept step halfway, the end.")
    ],
) -> None:
    """Measure the hidden states of one run's policies."""
    origin = provenance.collect()
    content = read_json(run)
    spec = RunSpec.model_validate(content["spec"])
    train = read_records(problems, Problem)
    between = [step for step in kept_steps(run) if 0 < step < content["step"]]
    steps = {0: base, **{step: None for step in between[len(between) // 2 :][:1]}, content["step"]: run}
    rows = []
    for step, manifest in steps.items():
        policy = store.load(manifest or run, device=store.device(), dtype=torch.float32)
        if manifest is None:
            kept = Stored([run.parent / store.KEPT], f"{step}/")
            policy.model.load_state_dict(dict(kept), strict=False)  # a tied head is the embedding
        rows.append(of_policy(policy, spec, train, step))
    publish_lines(out, rows)
    publish_json(out.with_name("hidden.json"), {"provenance": provenance.at_once(origin)})


if __name__ == "__main__":
    typer.run(main)
