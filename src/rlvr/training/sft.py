"""Stage: SFT. Cross-entropy on demonstrations gives the base policy that RL starts from."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated

import torch
import typer

from rlvr import provenance
from rlvr.config import identity
from rlvr.config.schema.settings import Sft
from rlvr.config.schema.specs import PolicySpec
from rlvr.files import publish_lines, read_json, sha256
from rlvr.offspring import end_with_caller
from rlvr.policies.decoder import Decoder
from rlvr.policies.manifest import fingerprint
from rlvr.policies.store import Policy, device, load, publish_manifest, save
from rlvr.records import Demonstration, read_records
from rlvr.training.batches import Groups, PromptOrder, chunks, pad_prompts, token_logprobs
from rlvr.training.checkpoint import Checkpoints, Snapshot
from rlvr.training.deterministic import one_thread
from rlvr.training.progress import TO_BE_CONTINUED, Bar, StopRequest

SEQUENCES_PER_CHUNK = 64  # of like length; a memory and cache knob


def learning_rate(step: int, spec: Sft) -> float:
    """Linear warm-up, then a cosine to zero; `step` counts from 1."""
    warmup = max(1, round(spec.warmup_fraction * spec.steps))
    if step <= warmup:
        return spec.learning_rate * step / warmup
    return spec.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, spec.steps - warmup)))


def encode(policy: Policy, demonstrations: list[Demonstration]) -> Groups:
    """Demonstrations as groups of one, each response closed by the end-of-sequence token."""
    where = policy.model.device
    prompts_PL, prompt_lengths_P = pad_prompts(policy.encode([d.prompt for d in demonstrations]), policy.pad, where)
    texts = [d.response for d in demonstrations]
    tokens = policy.tokenizer(texts, add_special_tokens=False)["input_ids"]
    responses, lengths_P = pad_prompts([[*t, policy.eos] for t in tokens], policy.pad, where)  # type: ignore[misc]
    return Groups(prompts_PL, prompt_lengths_P, responses[:, None], lengths_P[:, None])


def step_loss(decoder: Decoder, groups: Groups) -> torch.Tensor:
    """Mean negative log-likelihood a response token; gradients are accumulated a chunk at a time."""
    tokens = int(groups.lengths_PG.sum())
    total = torch.zeros((), device=groups.prompts_PL.device)
    for chunk in chunks(groups, SEQUENCES_PER_CHUNK):
        loss = -token_logprobs(decoder, chunk).sum() / tokens
        loss.backward()
        total += loss.detach()
    return total


def train(policy: Policy, spec: Sft, demonstrations: list[Demonstration], checkpoints: Checkpoints, save_every: int):
    """Train in place; returns one row of metrics a step. Exits with 75 after saving when asked to stop."""
    groups, order = encode(policy, demonstrations), PromptOrder(len(demonstrations), spec.seed)
    model, decoder = policy.model, Decoder(policy.model)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=spec.learning_rate, betas=spec.betas, weight_decay=spec.weight_decay, fused=True
    )
    rows, start = [], 0
    if (snapshot := checkpoints.latest()) is not None:
        model.load_state_dict(snapshot.tensors["model"])
        optimizer.load_state_dict(snapshot.tensors["optimizer"])
        rows, start = snapshot.rows["metrics"], snapshot.step
    stop = StopRequest()
    with Bar("sft", spec.steps, start) as bar:
        for step in range(start + 1, spec.steps + 1):
            began = time.perf_counter()
            for parameters in optimizer.param_groups:
                parameters["lr"] = learning_rate(step, spec)
            first = (step - 1) * spec.sequences_per_step
            chosen = [order.at(first + i) for i in range(spec.sequences_per_step)]
            optimizer.zero_grad()
            loss = step_loss(decoder, groups.select(torch.tensor(chosen, device=model.device)))
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), spec.max_grad_norm)
            if not torch.isfinite(loss + norm):
                raise SystemExit(f"SFT step {step}: loss {float(loss)} and gradient norm {float(norm)} are not finite")
            optimizer.step()
            row = {"step": step, "loss": float(loss), "grad_norm": float(norm)}
            rows.append({**row, "timing": {"step": time.perf_counter() - began}})
            if step % 20 == 0 or step == spec.steps or bar.progress:
                bar.advance(step - bar.done, loss=float(loss))
            stopping = stop.after_step()  # read once: the signal may come between the save and the exit
            if step % save_every == 0 or step == spec.steps or stopping:
                tensors = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                checkpoints.save(Snapshot(step, tensors, {}, {"metrics": rows}))
            if stopping:
                raise SystemExit(TO_BE_CONTINUED)
    return rows


def main(
    spec: Annotated[str, typer.Option(help="The policy, as JSON (rlvr.config.schema.specs.PolicySpec).")],
    model: Annotated[Path, typer.Option(help="Manifest of the model to start from.")],
    demonstrations: Annotated[Path, typer.Option(help="demonstrations.jsonl")],
    out: Annotated[Path, typer.Option(help="Manifest to write; metrics.jsonl stands beside it.")],
    state: Annotated[Path, typer.Option(help="Folder for checkpoints; survives a failed job.")],
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 100,
) -> None:
    """Fine-tune one model on demonstrations."""
    end_with_caller()
    one_thread()
    where = device()
    origin = provenance.collect(device=str(where))
    policy_spec = PolicySpec.model_validate_json(spec)
    if policy_spec.sft is None:
        raise SystemExit("this policy has no SFT")
    policy = load(model, device=where)
    what = {
        "policy": identity.policy_id(policy_spec),
        "model": fingerprint(model),
        "demonstrations": sha256(demonstrations),
    }
    checkpoints = Checkpoints(state, what, origin=origin)
    with checkpoints.lease():
        rows = train(policy, policy_spec.sft, read_records(demonstrations, Demonstration), checkpoints, save_every)
        folder = out.parent / "policy"
        sums = save(policy, folder)
        publish_lines(out.parent / "metrics.jsonl", rows)
        publish_manifest(
            out,
            folder,
            sums,
            policy.template,
            id=identity.policy_id(policy_spec),
            stage="sft",
            step=policy_spec.sft.steps,
            seed=policy_spec.sft.seed,
            spec=policy_spec.model_dump(mode="json"),
            seconds=sum(row["timing"]["step"] for row in rows),
            started_from=read_json(model).get("files"),
            **checkpoints.history.published(),
        )


if __name__ == "__main__":
    typer.run(main)
