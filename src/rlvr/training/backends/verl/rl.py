"""Stage: RL by verl, with the same specification and outputs as `rlvr.training.rl`.

verl trains in a child process, which this one starts, watches and cleans up. Its checkpoints are in the state folder;
the last one is merged into a policy that transformers loads.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from rlvr import provenance, stage_options
from rlvr.child_processes import end_with_caller, tied
from rlvr.config import identity
from rlvr.config.schema.settings import Execution
from rlvr.config.schema.specs import RunSpec
from rlvr.files import publish, publish_json, sha256, whole
from rlvr.policies.manifest import fingerprint
from rlvr.policies.store import Location, load_image_processor, load_tokenizer, locate, sees
from rlvr.records import sum_of_pictures
from rlvr.training import loggers, streamed_metrics
from rlvr.training.backends.verl import data, own_ray, watchdog
from rlvr.training.backends.verl.overrides import (
    ROLLOUT,
    VERL,
    Places,
    Unsupported,
    overrides,
    rollout_seed,
)
from rlvr.training.backends.verl.requirements import check_version
from rlvr.training.backends.verl.state import HISTORY, RunFolder, free, history_of, keep_only
from rlvr.training.inputs import problems_of
from rlvr.training.lock_file import lease
from rlvr.training.progress import TO_BE_CONTINUED
from rlvr.training.rollout_log import RolloutLog
from rlvr.training.run_outputs import TrainedPolicy

TRAINER = "rlvr.training.backends.verl.run_training"
PATIENCE = 300.0  # seconds for a step to end after SIGTERM, before the training process is killed
LOOK_EVERY = 10.0  # seconds between looks at the training process's signs of life
TO_PRINT = 5.0  # seconds for a hanging process to print its stacks


def from_newest(state: RunFolder, gpus: int, seed: int) -> list[str]:
    """Overrides that make verl resume from the newest checkpoint, if there is one. Raises SystemExit if it cannot.

    vLLM's random numbers begin anew with each process, so their seed has the step: else a resumed run would draw with
    those of its first steps again.
    """
    if not (steps := state.steps()):
        return ["trainer.resume_mode='disable'"]
    if not (state.step(steps[-1]) / "actor" / f"model_world_size_{gpus}_rank_0.pt").exists():
        raise SystemExit(
            f"{state.step(steps[-1])} is of another number of GPUs than {gpus}, so verl cannot resume from it: ask for "
            f"as many as before (config/cluster.yaml, rules, rl.verl), or remove {state.folder} and begin again"
        )
    return [
        "trainer.resume_mode='resume_path'",
        f"trainer.resume_from_path='{state.step(steps[-1])}'",
        f"{ROLLOUT}.seed={rollout_seed(seed, steps[-1])}",
    ]


def train(state: RunFolder, lines: list[str], hung_minutes: float) -> None:
    """Run verl until it ends; on SIGTERM it saves after the current step. Raises SystemExit if it fails or hangs.

    A run that hung and got further than before is to be continued. One that did not has failed: it would hang again.
    """
    path, before = state.folder / "overrides.txt", state.steps()
    watchdog.begin(state.folder)
    publish(path, "\n".join(lines) + "\n")
    command = [sys.executable, "-m", TRAINER, str(path)]
    environment = {**own_ray.token(), **os.environ}  # several nodes have one already; Ray reads it as it is imported
    process = subprocess.Popen(command, env=environment, start_new_session=True, preexec_fn=tied())

    def ask_to_stop(*_: Any) -> None:
        state.stop.touch()
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGTERM))
    try:
        hung = _watch(process, state.folder, hung_minutes)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    if state.rows() is not None:
        return
    if hung:
        print(f"the run hung: {hung}; {state.folder / watchdog.NOTE} has its stacks", flush=True)
        if state.steps() != before:
            return
        raise SystemExit(f"HungError: {hung}, and no checkpoint since it began; the stacks above say what it waits for")
    if process.returncode:
        raise SystemExit(f"verl's training ended with exit code {process.returncode}; look for the word Error above")


def _watch(process: subprocess.Popen[bytes], folder: Path, hung_minutes: float) -> str | None:
    """Wait for the training process to end. Where it hung; it prints its stacks if its own watchdog did not end it."""
    started = time.time()
    while process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_EVERY)
        if process.poll() is None and (place := watchdog.overdue(folder, started, hung_minutes)):
            process.send_signal(signal.SIGUSR1)
            time.sleep(TO_PRINT)
            return watchdog.note(folder) or f"no sign of life since {place}"
    return watchdog.note(folder)


def merge(shards: Path, base: Location, folder: Path) -> dict[str, str]:
    """The checksums of a checkpoint's shards, merged by verl into one bfloat16 model with the base's tokenizer."""
    command = [sys.executable, "-m", "verl.model_merger", "merge", "--backend", "fsdp", "--local_dir", str(shards)]
    with whole(folder) as partial:
        subprocess.run([*command, "--target_dir", str(partial)], check=True, preexec_fn=tied())
        for path in [*partial.glob("token*"), *partial.glob("chat_template*"), *partial.glob("special_tokens*")]:
            path.unlink()
        load_tokenizer(base.location).save_pretrained(partial)
        if sees(base.location):
            load_image_processor(base.location).save_pretrained(partial)
        return {path.name: sha256(path) for path in sorted(partial.iterdir()) if path.is_file()}


def main(
    spec: stage_options.Spec,
    base: stage_options.Base,
    problems: stage_options.Problems,
    validation: stage_options.Validation,
    out: stage_options.Manifest,
    state: stage_options.State,
    execution: stage_options.Execution,
    nodes: stage_options.Nodes = 1,
    gpus_per_node: stage_options.GpusPerNode = 1,
    override: stage_options.Override = None,
) -> None:
    """Train one run with verl."""
    end_with_caller()
    check_version()
    origin = provenance.collect(nodes=nodes, gpus_per_node=gpus_per_node)
    options = Execution.model_validate_json(execution.read_bytes())
    loggers.check(options.loggers)
    run, start = RunSpec.model_validate_json(spec.read_bytes()), locate(base)
    train_set, held_out = problems_of(problems, validation)
    mark = {"run": identity.run_id(run), "base": fingerprint(base), "problems": sha256(problems)}
    mark |= {"verl": VERL, "validation": sha256(validation)}
    if pictures := sum_of_pictures([*train_set, *held_out]):
        mark["pictures"] = pictures
    if pictures and not sees(start.location):
        raise SystemExit(f"{problems}: the problems have pictures, and the policy of {base} reads texts")
    with lease(state):
        run_folder = RunFolder(state.resolve())
        keep_only(run_folder.folder, mark)
        run_folder.stop.unlink(missing_ok=True)
        streamed_metrics.prepare(run_folder.folder, run)
        places = Places.of(run_folder.folder, start.location, nodes, gpus_per_node, pictures=bool(pictures))
        data.write_problems(Path(places.train), train_set, start.template, run.data.name)
        held_out = held_out[: max(1, run.probe.problems)]
        data.write_problems(Path(places.validation), held_out, start.template, run.validation.name)
        data.write_tokenizer(Path(places.tokenizer), start.location)
        data.write_agent_loop(Path(places.agent_loop))
        try:
            lines = overrides(run, places, options)
        except Unsupported as error:
            raise SystemExit(str(error)) from error
        history = history_of(run_folder.folder, (run_folder.steps() or [0])[-1], origin)
        if run_folder.rows() is None:
            publish_json(run_folder.folder / HISTORY, history.entered())
            newest = from_newest(run_folder, nodes * gpus_per_node, run.seed)
            train(run_folder, [*lines, *newest, *(override or [])], options.hung_minutes)
        if (rows := run_folder.rows()) is None:
            reached = (run_folder.steps() or [0])[-1]
            print(f"saved at step {reached} of {run.steps}, to be continued", flush=True)
            raise SystemExit(TO_BE_CONTINUED)
        publish_json(run_folder.folder / HISTORY, history.over(run_folder.finished.stat().st_mtime))
        folder = out.parent / f"policy-step{run.steps}"
        sums = merge(run_folder.step(run.steps) / "actor", start, folder)
        run_folder.publish_kept(run.kept_steps, out.parent)
        outcome = TrainedPolicy(folder, sums, start.template, rows, history, backend=f"verl {VERL}")
        if (kept := RolloutLog.of(run_folder.folder, run.steps, options)) is not None:
            kept.publish(out)
        outcome.publish_run(out, run, run.steps, data.too_long(train_set, start, run.rollout.max_prompt_tokens))
        streamed_metrics.clear(run_folder.folder)
        if not run_folder.recorded.exists():  # they are replayed against the optimizer's moments
            free(run_folder.folder, run_folder.step(run.steps))


if __name__ == "__main__":
    typer.run(main)
