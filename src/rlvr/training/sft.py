"""Stage: SFT. Cross-entropy on demonstrations gives the base policy that RL starts from."""

import math
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

import torch
import typer

from rlvr import provenance, stage_options
from rlvr.child_processes import end_with_caller
from rlvr.config import identity
from rlvr.config.registries import BACKENDS
from rlvr.config.schema.settings import Sft
from rlvr.files import sha256
from rlvr.policies.manifest import fingerprint
from rlvr.policies.store import Policy, save
from rlvr.records import Demonstration, read_records, sum_of_pictures, with_paths
from rlvr.training.batches import Groups, PromptOrder, chunks, pad_prompts, token_logprobs
from rlvr.training.checkpoint import Checkpoints, Snapshot
from rlvr.training.deterministic import give_back_memory, one_thread
from rlvr.training.forward import Microbatch, Pass, adamw, gather, microbatch, training_passes
from rlvr.training.inputs import continued, sft_of
from rlvr.training.progress import TO_BE_CONTINUED, Bar, Saves, StopRequest
from rlvr.training.run_outputs import TrainedPolicy

Map = Callable[..., Iterable[Any]]  # as `map`

PARTS = 2  # of a batch for the native engine, whose gradients add up; a thread each, where there are two
SEQUENCES_PER_CHUNK = 64  # of similar length, on a CPU; affects memory and cache only
TOKENS_PER_GPU = 16384  # the same on a GPU


def learning_rate(step: int, spec: Sft) -> float:
    """Linear warm-up, then a cosine to zero; `step` counts from 1."""
    warmup = max(1, round(spec.warmup_fraction * spec.steps))
    if step <= warmup:
        return spec.learning_rate * step / warmup
    return spec.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, spec.steps - warmup)))


def encode(policy: Policy, demonstrations: list[Demonstration]) -> Groups:
    """Demonstrations as groups of one; each response ends with the end-of-sequence token."""
    where = policy.model.device
    prompts = policy.encode([d.prompt for d in demonstrations], [d.images for d in demonstrations])
    prompts_PL, prompt_lengths_P = pad_prompts(prompts, policy.pad, where)
    texts = [continued(policy.template, d.response) for d in demonstrations]
    tokens = policy.tokenizer(texts, add_special_tokens=False)["input_ids"]
    responses, lengths_P = pad_prompts([[*t, policy.eos] for t in tokens], policy.pad, where)  # type: ignore[misc]
    return Groups(prompts_PL, prompt_lengths_P, responses[:, None], lengths_P[:, None])


def within(groups: Groups, most: int | None) -> Groups:
    """The demonstrations of at most so many tokens, prompt included; says how many are left out. None: all."""
    tokens_P = groups.prompt_lengths_P + groups.lengths_PG[:, 0]
    kept = torch.nonzero(tokens_P <= (most or tokens_P.max())).squeeze(-1)
    if not len(kept):
        raise SystemExit(f"no demonstration has at most sft.max_tokens = {most} tokens")
    if len(kept) == len(tokens_P):
        return groups
    print(f"{len(tokens_P) - len(kept)} of {len(tokens_P)} demonstrations have more than {most} tokens: left out")
    return groups.select(kept)


def step_loss(passes: list[Pass], groups: Groups, limits: Microbatch, each: Map = map) -> torch.Tensor:
    """Mean negative log-likelihood per response token; accumulates gradients chunk by chunk, in a part for each pass.

    `each` may compute the parts side by side: the result is the same.
    """
    tokens, where = int(groups.lengths_PG.sum()), groups.prompts_PL.device

    def of_part(forward: Pass, rows: torch.Tensor) -> torch.Tensor:
        total = torch.zeros((), device=where)
        for chunk in chunks(groups.select(rows), limits):
            loss = -token_logprobs(forward, chunk).sum() / tokens
            loss.backward()
            total += loss.detach()
        return total

    parts = torch.arange(len(groups.lengths_PG), device=where).chunk(len(passes))
    losses = list(each(of_part, passes, parts))
    gather(passes)
    return torch.stack(losses).sum()


def train(
    policy: Policy,
    spec: Sft,
    demonstrations: list[Demonstration],
    checkpoints: Checkpoints,
    saves: Saves,
    each: Map = map,
) -> list[dict[str, Any]]:
    """One row of metrics per step, after training in place. Exits with 75 after saving when asked to stop.

    `each` is as in `step_loss`.
    """
    groups = within(encode(policy, demonstrations), spec.max_tokens)
    order = PromptOrder(len(groups.lengths_PG), spec.seed)
    model, passes = policy.model, training_passes(policy.model, PARTS)
    limits = microbatch(model, SEQUENCES_PER_CHUNK, TOKENS_PER_GPU)
    optimizer = adamw(model, lr=spec.learning_rate, betas=spec.betas, weight_decay=spec.weight_decay)
    rows, start = [], 0
    if (snapshot := checkpoints.latest()) is not None:
        model.load_state_dict(snapshot.tensors["model"])
        if "optimizer" in snapshot.tensors:  # else the policy is published, and has no step left
            optimizer.load_state_dict(deepcopy(snapshot.tensors["optimizer"]))
        rows, start = snapshot.rows["metrics"], snapshot.step
    del snapshot  # of a large policy it is gigabytes
    stop = StopRequest()
    with Bar("sft", spec.steps, start) as bar:
        for step in range(start + 1, spec.steps + 1):
            began = time.perf_counter()
            for parameters in optimizer.param_groups:
                parameters["lr"] = learning_rate(step, spec)
            first = (step - 1) * spec.sequences_per_step
            chosen = [order.at(first + i) for i in range(spec.sequences_per_step)]
            optimizer.zero_grad()
            loss = step_loss(passes, groups.select(torch.tensor(chosen, device=model.device)), limits, each)
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), spec.max_grad_norm)
            if not torch.isfinite(loss + norm):
                raise SystemExit(f"SFT step {step}: loss {float(loss)} and gradient norm {float(norm)} are not finite")
            optimizer.step()
            row = {"step": step, "loss": float(loss), "grad_norm": float(norm)}
            rows.append({**row, "timing": {"step": time.perf_counter() - began}})
            if step % 20 == 0 or step == spec.steps or bar.progress:
                bar.advance(step - bar.done, loss=float(loss))
            stopping = stop.after_step()  # read once: the signal may come between the save and the exit
            if saves.due(step) or step == spec.steps or stopping:
                tensors = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                checkpoints.save(Snapshot(step, tensors, {}, {"metrics": rows}))
                saves.made()
            if stopping:
                raise SystemExit(TO_BE_CONTINUED)
    return rows


def main(
    spec: stage_options.Spec,
    model: stage_options.Model,
    demonstrations: stage_options.Demonstrations,
    out: stage_options.Manifest,
    state: stage_options.State,
    save_every: stage_options.SaveEvery = stage_options.SFT_SAVE_EVERY,
    save_minutes: stage_options.SaveMinutes = 20,
    threads: stage_options.Threads = 1,
) -> None:
    """Fine-tune one model on demonstrations."""
    end_with_caller()
    one_thread()
    policy_spec, sft = sft_of(spec)
    backend = BACKENDS.load(sft.backend)
    origin = provenance.collect(**backend.origin())
    policy = backend.policy(model)
    give_back_memory()
    mark = {"policy": identity.policy_id(policy_spec), "model": fingerprint(model)}
    mark["demonstrations"] = sha256(demonstrations)
    shown = with_paths(demonstrations, read_records(demonstrations, Demonstration))
    if pictures := sum_of_pictures(shown):
        mark["pictures"] = pictures
    checkpoints = Checkpoints(state, mark, origin=origin)
    with checkpoints.lease(), ThreadPoolExecutor(threads) as pool:
        saves, each = Saves(save_every, save_minutes), pool.map if threads > 1 else map
        rows = train(policy, sft, shown, checkpoints, saves, each)
        folder = out.parent / "policy"
        sums = save(policy, folder)
        outcome = TrainedPolicy(folder, sums, policy.template, {"metrics": rows}, checkpoints.history)
        outcome.publish_sft(out, policy_spec, sft, model)
        checkpoints.retire()


if __name__ == "__main__":
    typer.run(main)
