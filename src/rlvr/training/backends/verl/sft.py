"""Stage: SFT by verl's SFT trainer, with the same specification and outputs as `rlvr.training.sft`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import typer

from rlvr import provenance, stage_options
from rlvr.child_processes import end_with_caller, tied
from rlvr.config import identity
from rlvr.files import publish_json, read_lines, sha256
from rlvr.policies.manifest import fingerprint
from rlvr.policies.store import locate
from rlvr.records import Demonstration
from rlvr.training.backends.verl import data
from rlvr.training.backends.verl.overrides import VERL, hydra_lines, sft_overrides
from rlvr.training.backends.verl.requirements import check_version
from rlvr.training.backends.verl.rl import merge
from rlvr.training.backends.verl.state import HISTORY, free, history_of, keep_only
from rlvr.training.inputs import sft_of, texts_of
from rlvr.training.lock_file import lease
from rlvr.training.run_outputs import TrainedPolicy


class SftFolder:
    """verl's folder of checkpoints; verl writes its note of the newest after that checkpoint is complete."""

    def __init__(self, folder: Path, fingerprint: dict[str, Any]):
        self.folder, self._note = folder, folder / "latest_checkpointed_iteration.txt"
        keep_only(folder, fingerprint)

    @property
    def step(self) -> int:
        return int(self._note.read_text()) if self._note.exists() else 0

    @property
    def saved(self) -> float:
        """The time of the newest checkpoint, in seconds since 1970."""
        return self._note.stat().st_mtime

    def log(self) -> Path:
        """A new file for verl's metrics: each process empties its own file."""
        return self.folder / f"metrics-{len(list(self.folder.glob('metrics-*.jsonl'))):03d}.jsonl"

    def rows(self) -> list[dict[str, Any]]:
        """The rows of metrics.jsonl from verl's files; for a step repeated after a kill, the later row."""
        rows: dict[int, dict[str, Any]] = {}
        for log in sorted(self.folder.glob("metrics-*.jsonl")):
            for line in read_lines(log):
                step, figures = line["step"], line["data"]
                if "train/loss" in figures:
                    rows[step] = {"step": step, "loss": figures["train/loss"], "grad_norm": figures["train/grad_norm"]}
        return [rows[step] for step in sorted(rows)]


def main(
    spec: stage_options.Spec,
    model: stage_options.Model,
    demonstrations: stage_options.Demonstrations,
    out: stage_options.Manifest,
    state: stage_options.State,
    save_every: stage_options.SaveEvery = stage_options.SFT_SAVE_EVERY,
    gpus_per_node: stage_options.GpusPerNode = 1,
    override: stage_options.Override = None,
) -> None:
    """Fine-tune one policy with verl, on one node."""
    end_with_caller()
    check_version()
    origin = provenance.collect(nodes=1, gpus_per_node=gpus_per_node)
    (policy, sft), start = sft_of(spec), locate(model)
    mark = {"policy": identity.policy_id(policy), "model": fingerprint(model), "verl": VERL}
    mark["demonstrations"] = sha256(demonstrations)
    with lease(state):
        sft_folder = SftFolder(state.resolve(), mark)
        inputs = sft_folder.folder / "inputs"
        tokenizer, train = inputs / "tokenizer", inputs / "train.parquet"
        data.write_demonstrations(train, texts_of(demonstrations, Demonstration), start.template)
        data.write_tokenizer(tokenizer, start.location)
        history = history_of(sft_folder.folder, sft_folder.step, origin)
        if sft_folder.step < sft.steps:
            publish_json(sft_folder.folder / HISTORY, history.entered())
            lines = sft_overrides(
                sft, start.location, str(tokenizer), str(train), str(sft_folder.folder), save_every, gpus_per_node
            )
            lines += hydra_lines({"hydra.run.dir": str(sft_folder.folder / "hydra"), "hydra.output_subdir": None})
            launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={gpus_per_node}"]
            done = subprocess.run(
                [sys.executable, *launch, "-m", "rlvr.training.backends.verl.run_sft", *lines, *(override or [])],
                preexec_fn=tied(),
                env={**os.environ, "VERL_FILE_LOGGER_PATH": str(sft_folder.log())},
                check=False,
            )
            if done.returncode or sft_folder.step < sft.steps:
                place = f"exit code {done.returncode}, saved at step {sft_folder.step}"
                raise SystemExit(f"verl's SFT ended with {place}; look for the word Error above")
        publish_json(sft_folder.folder / HISTORY, history.over(sft_folder.saved))
        folder, rows = out.parent / "policy", sft_folder.rows()
        sums = merge(sft_folder.folder / f"global_step_{sft.steps}", start, folder)
        outcome = TrainedPolicy(folder, sums, start.template, {"metrics": rows}, history, backend=f"verl {VERL}")
        outcome.publish_sft(out, policy, sft, model)
        free(sft_folder.folder, sft_folder.folder / f"global_step_{sft.steps}")


if __name__ == "__main__":
    typer.run(main)
