"""RL with verifiable rewards in one file: a run of this project, to read from top to bottom.

    python examples/rl_loop.py                                  # GRPO on a tiny policy, half a minute
    python examples/rl_loop.py --estimator ace --set alpha=2.0  # any method of `rlvr weigh --list`

The task: put +, - or * between digits, so that the result is a given number. The policy is a transformer with 0.1
million weights, and it has imitated some solutions (SFT). Policy and problems are files of the pipeline: where the
results folder lacks them, Snakemake makes them first.

This loop and the pipeline (src/rlvr/training/) compute the same weights and metrics, to the bit; a test compares them.
The pipeline adds checkpoints, held-out probes, loggers, and other values of the settings in ONLY.

Dimensions: P prompts, G rollouts per prompt, T response tokens; M rollouts of a chunk of a minibatch.
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from torch import Tensor

from rlvr import estimators
from rlvr.commands.weigh import parse_settings
from rlvr.config.identity import policy_id
from rlvr.config.layers import ConfigError
from rlvr.config.paths import Paths
from rlvr.config.registries import BACKENDS, TASKS
from rlvr.config.schema.specs import RunSpec
from rlvr.planning.expansion import make_plan
from rlvr.policies.noise import STREAM_EVALUATION, STREAM_ROLLOUT
from rlvr.policies.sampler import Samples
from rlvr.policies.store import Policy
from rlvr.records import Problem, read_records
from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.suggest import nearest
from rlvr.training import measures
from rlvr.training.batches import Groups, PromptOrder, all_logprobs, chunks, token_logprobs
from rlvr.training.deterministic import one_thread
from rlvr.training.forward import Microbatch, Pass, adamw, microbatch, sampler, training_pass
from rlvr.training.losses import aggregation, kl, ppo_clip
from rlvr.training.rollouts import Problems, correct, rewards_of, sample_prompts, verify
from rlvr.training.update import Totals
from rlvr.verifiers.pool import Pool

Batch = tuple[Groups, Tensor, Tensor, Tensor]  # weights (P, G, 1), log pi and log pi_ref (P, G, T) as sampled
ROOT = Path(__file__).resolve().parents[1]
SAMPLES, KS = 32, (1, 4, 16)  # of the evaluation at the end: responses per problem, and the k of pass@k
ONLY = {"critic": None, "loss.ratio": "token", "rollout.dynamic_sampling": False, "reward.format_share": 0}
ONLY |= {"reward.flipped": 0}
ONLY |= {"rl.precision": "float32", "rl.reference_reset": 0, "rl.last_layers": 0, "selection.rule": "last"}


def train(spec: RunSpec, policy: Policy, reference: Policy, problems: list[Problem]) -> Iterator[dict[str, Any]]:
    """Trains the policy in place; yields one row of metrics per step. Raises RuntimeError if training diverges."""
    if names := [name for name, value in ONLY.items() if attrgetter(name)(spec) != value]:
        raise ValueError(f"rl_loop.py cannot train with this {' and '.join(names)}; the pipeline can (snakemake)")
    rl, rollout, prompts, updates = spec.rl, spec.rollout, spec.rl.prompts_per_step, 0
    train_set = Problems(policy, problems, rollout.max_prompt_tokens)  # prompts as tokens, without long ones
    order = PromptOrder(len(train_set.prompts), spec.seed)  # an endless walk, shuffled anew in each epoch
    estimator, state = estimators.Estimator.of_run(spec.estimator, spec.steps), {}
    task = TASKS.load(spec.data.task)  # whose decision tokens a metric is of
    optimizer = adamw(policy.model, lr=rl.learning_rate, betas=rl.betas, weight_decay=rl.weight_decay)
    forward, reference_pass = training_pass(policy.model), training_pass(reference.model, frozen=True)
    limits = microbatch(policy.model, rl.sequences_per_microbatch, tokens_per_gpu=16384)
    with Pool(spec.data.verifier) as verifier:
        for step in range(1, spec.steps + 1):
            # 1. Sample and verify. The noise of a prompt's rollouts is a function of seed and place in the walk only.
            keys = [(spec.seed, STREAM_ROLLOUT, place) for place in range((step - 1) * prompts, step * prompts)]
            rows, count = [order.at(place) for *_, place in keys], rollout.samples_per_prompt
            groups, drawn, correct_PG = sample(spec, policy, train_set, rows, keys, count, verifier)

            # 2. Reward: 1 for a correct response, else 0; less a penalty for long responses, if the run has one.
            rewards_PG = rewards_of(correct_PG, None, drawn.lengths_PG, spec.reward, rollout.max_response_tokens)

            # 3. Weigh: the estimator gives each rollout a weight. Some estimators read log pi, log pi_ref, lengths.
            reference_PGT = all_logprobs(reference_pass, groups, limits)
            inputs = estimators.inputs_of_step(drawn.logprobs_PGT, reference_PGT, drawn.lengths_PG)
            advantages_PG, state = estimator.step(rewards_PG, inputs, state)

            # 4. Update: one optimizer step per minibatch of prompts.
            totals = Totals()
            for rows_P in torch.arange(prompts).split(rl.prompts_per_minibatch):
                optimizer.zero_grad(set_to_none=True)
                weights_PG, own_loss = advantages_PG[rows_P], None
                if estimator.coupled:  # PACS: the weights are functions of the policy as it is at this minibatch
                    now = {key: value[rows_P] if isinstance(value, Tensor) else value for key, value in inputs.items()}
                    now["logp_PG"] = all_logprobs(forward, groups.select(rows_P), limits).sum(-1)
                    weights_PG = estimator.advantages(rewards_PG[rows_P], now, state)
                    own_loss = -estimator.objective(rewards_PG[rows_P], now)
                batch = groups.select(rows_P), weights_PG[..., None], drawn.logprobs_PGT[rows_P], reference_PGT[rows_P]
                loss = backward(spec, forward, batch, limits, estimator.coupled, totals)
                weights = policy.model.parameters()
                norm = torch.nn.utils.clip_grad_norm_(weights, rl.largest_norm, error_if_nonfinite=True)
                updates += 1
                for group in optimizer.param_groups:  # the rate rises over the first `warmup_steps` updates
                    group["lr"] = rl.learning_rate * min(1.0, updates / max(1, rl.warmup_steps))
                optimizer.step()
                totals.losses.append(float(loss) if own_loss is None else own_loss)
                totals.grad_norms.append(float(norm))
            yield {
                "step": step,
                **measures.masses(rewards_PG, advantages_PG, drawn.lengths_PG),
                **measures.shares(correct_PG.mean(dim=1).tolist()),
                **measures.entropy(task, policy.tokenizer, drawn.tokens_PGT, drawn.entropy_PGT, groups.mask_PGT()),
                **measures.overconfidence(inputs["log_ratio_PG"], drawn.lengths_PG, correct_PG),
                **totals.figures(),
                **({"estimator": state} if state else {}),
            }


def sample(
    spec: RunSpec, policy: Policy, problems: Problems, rows: Iterable[int], keys: list, count: int, verifier: Pool
) -> tuple[Groups, Samples, Tensor]:
    """Responses to the problems of some rows, and 1.0 for each correct one, else 0.0 (P, G)."""
    prompts, golds = zip(*((problems.prompts[row], problems.problems[row].gold) for row in rows), strict=True)
    limits = {"max_tokens": spec.rollout.max_response_tokens, "temperature": spec.rollout.temperature}
    groups, drawn = sample_prompts(policy, sampler(policy.model), [*prompts], keys, rollouts=count, **limits)
    return groups, drawn, correct(verify(policy, drawn, [*golds], verifier), policy.model.device)


def backward(spec: RunSpec, forward: Pass, batch: Batch, limits: Microbatch, coupled: bool, totals: Totals) -> Tensor:
    """The loss of a minibatch. Adds its gradient to that of the policy's weights, and its sums to `totals`."""
    (groups, *tensors), loss, whole, longest = batch, spec.loss, torch.zeros(()), spec.rollout.max_response_tokens
    sizes = {"sequences": groups.lengths_PG.numel(), "tokens": int(groups.lengths_PG.sum())}
    informs_P = (tensors[0] != 0).flatten(1).any(dim=1) | (loss.kl_coefficient != 0)  # the others have no gradient
    of_rollouts = [tensor[informs_P].flatten(0, 1) for tensor in tensors]
    # A chunk has rollouts of similar length. Equal rollouts of a group are computed once.
    for chunk in chunks(groups.select(informs_P), limits) if informs_P.any() else ():
        logprobs_MT, mask_MT = token_logprobs(forward, chunk), chunk.mask_MT()
        weights_M1, old_MT, reference_MT = (part[chunk.members_M, : mask_MT.shape[1]] for part in of_rollouts)
        if coupled:  # -A log pi has the gradient of the estimator's own loss
            losses_MT, clipped_MT = -weights_M1 * logprobs_MT, torch.zeros_like(mask_MT)
            each_MT = mask_MT / sizes["sequences"]
        else:
            losses_MT, clipped_MT = ppo_clip.surrogate(logprobs_MT, old_MT, weights_M1, **loss.bounds)
            each_MT = aggregation.token_weights(mask_MT, mode=loss.aggregation, longest=longest, **sizes)
        divergence_MT = kl.k3(logprobs_MT, reference_MT)
        value = ((losses_MT + loss.kl_coefficient * divergence_MT) * each_MT).sum()
        value.backward()
        whole += value.detach()
        totals.tokens += int(mask_MT.sum())
        totals.clipped += float((clipped_MT & mask_MT).sum())
        totals.clipped_high += float((clipped_MT & mask_MT & (weights_M1 > 0)).sum())
        totals.kl += float((divergence_MT.detach() * mask_MT).sum())
        if not totals.grad_norms:  # before the step's first update, sampler and trainer should agree
            totals.disagreement.append(float(((logprobs_MT.detach() - old_MT).abs() * mask_MT).sum() / mask_MT.sum()))
    return whole


def evaluate(spec: RunSpec, policy: Policy, problems: list[Problem]) -> str:
    """pass@k on held-out problems."""
    held_out = Problems(policy, problems, spec.rollout.max_prompt_tokens)
    keys = [(spec.seed, STREAM_EVALUATION, row) for row in range(len(held_out.problems))]
    with Pool(spec.validation.verifier) as verifier:
        *_, correct_PG = sample(spec, policy, held_out, range(len(keys)), keys, SAMPLES, verifier)
    return "  ".join(f"pass@{k} {100 * pass_at_k(SAMPLES, correct_PG.sum(dim=1).int(), k).mean():.1f} %" for k in KS)


def prepare(scale: str, estimator: str, settings: list[str], steps: int, results: str) -> tuple[RunSpec, list[Path]]:
    """A run with this estimator, else as GRPO's of the paper ACE; its SFT policy and problems, as files."""
    if estimator not in estimators.names():
        raise ValueError(f"unknown method {estimator!r}{nearest(estimator, estimators.names())}")
    changed = {"name": estimator, **estimators.resolve(estimator, parse_settings(estimator, settings))}
    plan, paths = make_plan(ROOT, scale, ["ace"]), Paths(results, scale)
    spec = next(spec for name, spec in plan.runs.items() if "-grpo-" in name)
    sets = paths.problems(spec.data), paths.problems(spec.validation)
    files = [ROOT / name for name in (paths.manifest(plan, policy_id(spec.base)), *sets)]
    if missing := [str(file.relative_to(ROOT)) for file in files if not file.exists()]:
        words = ["--cores", "2", "--quiet", "--config", f"scale={scale}", f"results={results}", "--", *missing]
        subprocess.run([sys.executable, "-m", "snakemake", *words], cwd=ROOT, check=True)
    return spec.model_copy(update={"estimator": changed, "rl": spec.rl.model_copy(update={"steps": steps})}), files


def main(
    estimator: Annotated[str, typer.Option(help="A method of `rlvr weigh --list`.")] = "grpo",
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Of the method.")] = None,
    steps: Annotated[int, typer.Option(help="Training steps.", min=1)] = 40,
    scale: Annotated[str, typer.Option(help="smoke, or laptop: larger, and its SFT takes minutes.")] = "smoke",
    results: Annotated[str, typer.Option(help="Folder, in the checkout, of policy and problems.")] = "results/smoke",
) -> None:
    """Train a tiny policy by RL with verifiable rewards; print metrics of each step, and pass@k before and after."""
    one_thread()  # more threads add in another order
    spec, (base, *sets) = prepare(scale, estimator, settings or [], steps, results)
    policy, reference = (BACKENDS.load(spec.rl.backend).policy(base) for _ in range(2))
    problems, held_out = (read_records(file, Problem) for file in sets)
    print(f"base policy:      {evaluate(spec, policy, held_out)}")
    for row in train(spec, policy, reference, problems):
        figures = "  ".join(f"{name} {row[name]:.3f}" for name in ("pass_rate", "entropy", "loss", "grad_norm", "kl"))
        print(f"[{'#' * (20 * row['step'] // steps):20}] {row['step']:3}/{steps}  {figures}", flush=True)
    print(f"after {steps} steps:   {evaluate(spec, policy, held_out)}")


if __name__ == "__main__":
    try:
        typer.run(main)
    except (ConfigError, ValueError, RuntimeError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"rl_loop.py: {error}") from error
