"""The geometry of correct and failed responses in the last hidden states (FADE, App. 15.2).

For each response token i, h_i is the last layer's hidden state that its logits come from, and v_i = e_(y_i) - pi_i. A
direction u1 is projected out, h_i' = h_i - (h_i . u1) u1: the first right singular vector of all h_i (the paper's
footnote 1), and as a second reading that of the batch gradient sum_i A_i v_i h_i' (its Proposition 15.1), A being the
reward minus the mean of its prompt. Of correct and of failed responses apart, N tokens each:

    rho     mean cosine of h_i' and h_j', i != j                     Table 10
    norm    |(1/N) sum_i v_i (x) h_i'|_F                             Table 11
    clt     sqrt(N_S / N_F), what |R_F| / |R_S| would be if both groups had the same covariance

Dimensions: P prompts, G responses each, N response tokens (n of them in a batch), D hidden units, V words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rlvr.config.schema.specs import RunSpec
from rlvr.files import read_json
from rlvr.papers.fade.weights.change import Stored, kept_steps
from rlvr.policies import store
from rlvr.policies.noise import STREAM_PROBE
from rlvr.records import Problem
from rlvr.training.batches import Groups
from rlvr.training.forward import sampler
from rlvr.training.inputs import texts_of
from rlvr.training.rollouts import Problems, sample_prompts, verify
from rlvr.verifiers.pool import Pool

PROMPTS = 64
MOST = 1 << 17  # response tokens: prompts of longer responses are fewer
AT_ONCE = 8192  # tokens of a forward pass: at 150,000 words its softmax errors take 5 GB


@dataclass
class Sums:
    """What the measures need of v (N, V), which no memory holds at real sizes: sums of v (x) h over tokens (V, D)."""

    h_ND: Tensor
    correct_N: Tensor
    correct_VD: Tensor
    failed_VD: Tensor
    gradient_VD: Tensor  # weighted by A


def summed(batches: Iterable[tuple[Tensor, ...]]) -> Sums:
    """The sums over batches of tokens (h (n, D), v (n, V), A (n,), whether the response is correct (n,))."""
    states, right, sums = [], [], None
    for h_nD, v_nV, advantages_n, correct_n in batches:
        weights = torch.stack([correct_n.to(h_nD), (~correct_n).to(h_nD), advantages_n.to(h_nD)])
        found = [(v_nV * of_n[:, None]).T @ h_nD for of_n in weights]
        sums = found if sums is None else [before.add_(more) for before, more in zip(sums, found, strict=True)]
        states.append(h_nD.cpu())
        right.append(correct_n.cpu())
    if sums is None:
        raise ValueError("no tokens")
    return Sums(torch.cat(states), torch.cat(right), *(one.cpu() for one in sums))


def measures(sums: Sums) -> dict[str, Any]:
    """The measures of all tokens; None for a group without two tokens."""
    h_ND, groups = sums.h_ND, {"correct": sums.correct_N, "failed": ~sums.correct_N}
    row: dict[str, Any] = {f"tokens_{group}": int(of_group_N.sum()) for group, of_group_N in groups.items()}
    for name, matrix in (("hidden", h_ND), ("gradient", sums.gradient_VD)):
        direction_D = _first_right(matrix).to(h_ND.dtype)
        rest_ND = h_ND - (h_ND @ direction_D)[:, None] * direction_D
        for (group, of_group_N), sum_VD in zip(groups.items(), (sums.correct_VD, sums.failed_VD), strict=True):
            count = int(of_group_N.sum())
            residual_VD = (sum_VD - torch.outer(sum_VD @ direction_D, direction_D)) / max(1, count)
            row[f"rho_{group}_{name}"] = _mean_cosine(rest_ND[of_group_N])
            row[f"norm_{group}_{name}"] = float(residual_VD.norm()) if count > 1 else None
        right, wrong = row[f"norm_correct_{name}"], row[f"norm_failed_{name}"]
        row[f"norm_ratio_{name}"] = wrong / right if right and wrong else None
    both = row["tokens_correct"] > 1 and row["tokens_failed"] > 1
    return {**row, "clt": math.sqrt(row["tokens_correct"] / row["tokens_failed"]) if both else None}


def _first_right(matrix: Tensor) -> Tensor:
    """The first right singular vector of a tall matrix A (m, n), as the last eigenvector of A'A, in float64."""
    gram = sum(part.double().T @ part.double() for part in matrix.split(AT_ONCE))
    return torch.linalg.eigh(gram)[1][:, -1]


def _mean_cosine(rows_ND: Tensor) -> float | None:
    """The mean cosine of two different rows."""
    count = len(rows_ND)
    if count < 2:
        return None
    unit_ND = torch.nn.functional.normalize(rows_ND.double(), dim=1)
    return float((unit_ND.sum(0).pow(2).sum() - count) / (count * (count - 1)))


def of_policy(policy: store.Policy, run: RunSpec, problems: list[Problem], step: int) -> dict[str, Any]:
    """The measures of responses that the policy samples to training problems."""
    rates: list[float] = []
    with torch.no_grad():
        sums = summed(_batches(policy, run, problems, step, rates))
    return {"step": step, "pass_rate": sum(rates) / len(rates), **measures(sums)}


def _batches(
    policy: store.Policy, run: RunSpec, problems: list[Problem], step: int, rates: list[float]
) -> Iterator[tuple[Tensor, ...]]:
    """Batches of tokens until there are enough; `rates` gets the pass rate of each prompt."""
    chosen, draw = Problems(policy, problems[:PROMPTS], run.rollout.max_prompt_tokens), sampler(policy.model)
    rollouts, longest = run.rollout.samples_per_prompt, run.rollout.max_response_tokens
    together, tokens = max(1, MOST // (rollouts * longest)), 0  # all at once where they are short
    with Pool(run.data.verifier) as verifier:
        for first in range(0, len(chosen.prompts), together):
            places = range(first, min(first + together, len(chosen.prompts)))
            groups, drawn = sample_prompts(
                policy,
                draw,
                [chosen.prompts[i] for i in places],
                [(run.seed, STREAM_PROBE, step, i) for i in places],
                rollouts=rollouts,
                max_tokens=longest,
                temperature=run.rollout.temperature,
            )
            verdicts = verify(policy, drawn, [chosen.problems[i].gold for i in places], verifier)
            correct_PG = torch.tensor([[status == "correct" for status, _ in row] for row in verdicts])
            rates += correct_PG.float().mean(dim=1).tolist()
            yield from _with_weights(policy.model, groups, correct_PG)
            tokens += int(groups.lengths_PG.sum())
            if tokens >= MOST:
                return


def _with_weights(model: Any, groups: Groups, correct_PG: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The states of all responses with the reward of each token's response, less its prompt's mean, and its verdict."""
    centred_PG = correct_PG.float() - correct_PG.float().mean(dim=1, keepdim=True)
    for prompt, rows, h_nD, v_nV in states(model, groups):
        lengths = groups.lengths_PG[prompt, rows].to(h_nD.device)
        of_rows = (values[prompt, rows].to(h_nD.device) for values in (centred_PG, correct_PG))
        yield h_nD, v_nV, *(values.repeat_interleave(lengths) for values in of_rows)


def states(model: Any, groups: Groups) -> Iterator[tuple[int, slice, Tensor, Tensor]]:
    """Hidden states (n, D) and softmax errors (n, V) at the tokens of some responses of a prompt, in their order."""
    for prompt, (prompt_L, length, tokens_GT, lengths_G) in enumerate(
        zip(groups.prompts_PL, groups.prompt_lengths_P.tolist(), groups.tokens_PGT, groups.lengths_PG, strict=True)
    ):
        size = max(1, AT_ONCE // (length + int(lengths_G.max())))
        for first in range(0, len(tokens_GT), size):
            rows = slice(first, first + size)
            yield prompt, rows, *_of_rows(model, prompt_L[:length], tokens_GT[rows], lengths_G[rows])


def _of_rows(model: Any, prompt_L: Tensor, tokens_GT: Tensor, lengths_G: Tensor) -> tuple[Tensor, Tensor]:
    length, longest = len(prompt_L), int(lengths_G.max())
    rows_GT = torch.cat([prompt_L.expand(len(tokens_GT), length), tokens_GT[:, :longest]], dim=1)
    found = model(rows_GT, output_hidden_states=True)
    places = slice(length - 1, length - 1 + longest)
    mask_GT = torch.arange(longest, device=lengths_G.device) < lengths_G[:, None]
    error = found.logits[:, places].float().softmax(-1).neg_()
    error.scatter_add_(2, tokens_GT[:, :longest, None], torch.ones_like(error[..., :1]))
    return found.hidden_states[-1][:, places][mask_GT].float(), error[mask_GT]


def of_run(base: Path, run: Path, problems: Path) -> list[dict[str, Any]]:
    """The measures of the base policy (step 0), of a kept step halfway, and of the end, from both manifests."""
    content = read_json(run)
    spec = RunSpec.model_validate(content["spec"])
    train = texts_of(problems, Problem)
    between = [step for step in kept_steps(run) if 0 < step < content["step"]]
    steps = {0: base, **{step: None for step in between[len(between) // 2 :][:1]}, content["step"]: run}
    rows = []
    for step, manifest in steps.items():
        policy = store.load(manifest or run, device=store.device(), dtype=torch.float32)
        if manifest is None:
            kept = Stored(store.kept_files(run), f"{step}/")
            policy.model.load_state_dict(dict(kept), strict=False)  # a tied head is the embedding
        rows.append(of_policy(policy, spec, train, step))
    return rows
