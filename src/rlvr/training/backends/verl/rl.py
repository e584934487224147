"""Stage: RL by verl. The same specification in and the same files out as `rlvr.training.rl`.

verl trains in a process of its own, which this one starts, watches, and clears away; its checkpoints stand in the state
folder, and the last one is merged into a policy that transformers loads.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import typer

from rlvr import provenance, stages
from rlvr.config import identity
from rlvr.config.schema.settings import Execution
from rlvr.config.schema.specs import RunSpec
from rlvr.files import publish, publish_json, sha256, whole
from rlvr.offspring import end_with_caller, tied
from rlvr.policies.manifest import fingerprint
from rlvr.policies.store import Location, load_tokenizer, locate
from rlvr.training.backends.verl import data
from rlvr.training.backends.verl.overrides import VERL, Places, Unsupported, overrides
from rlvr.training.backends.verl.requirements import check_version
from rlvr.training.backends.verl.state import HISTORY, RunFolder, history_of, keep_only
from rlvr.training.inputs import problems_of
from rlvr.training.lease import lease
from rlvr.training.outcome import Outcome
from rlvr.training.progress import TO_BE_CONTINUED

TRAINER = "rlvr.training.backends.verl.run_training"
PATIENCE = 300.0  # seconds that a step may still take after SIGTERM before the training process is ended


def on_disk(base: Location) -> str:
    """The folder of a policy's files; those of the hub are fetched at their revision, which verl has no key for."""
    if "revision" not in base.options:
        return base.location
    from huggingface_hub import snapshot_download

    return snapshot_download(base.location, revision=base.options["revision"])


def from_newest(state: RunFolder) -> list[str]:
    """Overrides for where to go on from."""
    if not (steps := state.steps()):
        return ["trainer.resume_mode='disable'"]
    return ["trainer.resume_mode='resume_path'", f"trainer.resume_from_path='{state.step(steps[-1])}'"]


def train(state: RunFolder, lines: list[str]) -> None:
    """Run verl until it ends; SIGTERM asks it to save after the step that it is in. Raises SystemExit."""
    asked = state.folder / "overrides.txt"
    publish(asked, "\n".join(lines) + "\n")
    command = [sys.executable, "-m", TRAINER, str(asked)]
    process = subprocess.Popen(command, start_new_session=True, preexec_fn=tied())

    def ask_to_stop(*_: Any) -> None:
        state.stop.touch()
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGTERM))
    try:
        code = process.wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    if code:
        raise SystemExit(f"verl's training ended with exit code {code}; what it said stands above, by the word Error")


def merge(shards: Path, base: Location, folder: Path) -> dict[str, str]:
    """A checkpoint's shards as one model (verl's merger: bfloat16) with the base's tokenizer; its checksums."""
    command = [sys.executable, "-m", "verl.model_merger", "merge", "--backend", "fsdp", "--local_dir", str(shards)]
    with whole(folder) as partial:
        subprocess.run([*command, "--target_dir", str(partial)], check=True, preexec_fn=tied())
        for path in [*partial.glob("token*"), *partial.glob("chat_template*"), *partial.glob("special_tokens*")]:
            path.unlink()
        load_tokenizer(base.location, **base.options).save_pretrained(partial)
        return {path.name: sha256(path) for path in sorted(partial.iterdir()) if path.is_file()}


def main(
    spec: stages.Spec,
    base: stages.Base,
    problems: stages.Problems,
    validation: stages.Validation,
    out: stages.Manifest,
    state: stages.State,
    execution: stages.Execution,
    nodes: stages.Nodes = 1,
    gpus_per_node: stages.GpusPerNode = 1,
    override: stages.Override = None,
) -> None:
    """Train one run with verl."""
    end_with_caller()
    check_version()
    origin = provenance.collect(nodes=nodes, gpus_per_node=gpus_per_node)
    run, start = RunSpec.model_validate_json(spec.read_bytes()), locate(base)
    train_set, held_out = problems_of(problems, validation)
    what = {"run": identity.run_id(run), "base": fingerprint(base), "problems": sha256(problems)}
    what |= {"verl": VERL, "validation": sha256(validation)}
    with lease(state):
        kept = RunFolder(state.resolve())
        keep_only(kept.folder, what)
        kept.stop.unlink(missing_ok=True)
        places = Places.of(kept.folder, on_disk(start), nodes, gpus_per_node)
        data.write_problems(Path(places.train), train_set, start.template, run.data.name)
        held_out = held_out[: max(1, run.probe.problems)]
        data.write_problems(Path(places.validation), held_out, start.template, run.validation.name)
        data.write_tokenizer(Path(places.tokenizer), start.location, **start.options)
        data.write_agent_loop(Path(places.agent_loop))
        try:
            lines = overrides(run, places, Execution.model_validate_json(execution.read_bytes()))
        except Unsupported as error:
            raise SystemExit(str(error)) from error
        history = history_of(kept.folder, (kept.steps() or [0])[-1], origin)
        if kept.rows() is None:
            publish_json(kept.folder / HISTORY, history.entered())
            train(kept, [*lines, *from_newest(kept), *(override or [])])
        if (rows := kept.rows()) is None:
            reached = (kept.steps() or [0])[-1]
            print(f"saved at step {reached} of {run.steps}, to be continued", flush=True)
            raise SystemExit(TO_BE_CONTINUED)
        publish_json(kept.folder / HISTORY, history.over(kept.finished.stat().st_mtime))
        folder = out.parent / f"policy-step{run.steps}"
        sums = merge(kept.step(run.steps) / "actor", start, folder)
        outcome = Outcome(folder, sums, start.template, rows, history, backend=f"verl {VERL}")
        outcome.publish_run(out, run, run.steps, data.too_long(train_set, start, run.rollout.max_prompt_tokens))


if __name__ == "__main__":
    typer.run(main)
