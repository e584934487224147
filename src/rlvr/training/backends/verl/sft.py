"""Stage: SFT by verl's SFT trainer. The same specification in and the same files out as `rlvr.training.sft`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import typer

from rlvr import provenance, stages
from rlvr.config import identity
from rlvr.files import publish_json, read_lines, sha256
from rlvr.offspring import end_with_caller, tied
from rlvr.policies.manifest import fingerprint
from rlvr.policies.store import locate
from rlvr.records import Demonstration, read_records
from rlvr.training.backends.verl import data
from rlvr.training.backends.verl.overrides import VERL, sft_overrides
from rlvr.training.backends.verl.requirements import check_version
from rlvr.training.backends.verl.rl import merge, on_disk
from rlvr.training.backends.verl.state import HISTORY, history_of, keep_only
from rlvr.training.inputs import sft_of
from rlvr.training.lease import lease
from rlvr.training.outcome import Outcome


class SftFolder:
    """verl's folder of checkpoints; its note of the newest is renamed into place after the checkpoint is whole."""

    def __init__(self, folder: Path, fingerprint: dict[str, Any]):
        self.folder, self._noted = folder, folder / "latest_checkpointed_iteration.txt"
        keep_only(folder, fingerprint)

    @property
    def step(self) -> int:
        return int(self._noted.read_text()) if self._noted.exists() else 0

    @property
    def saved(self) -> float:
        """When the newest checkpoint was whole, in seconds since 1970."""
        return self._noted.stat().st_mtime

    def log(self) -> Path:
        """Where another process writes verl's metrics: it empties the file that it is given."""
        return self.folder / f"metrics-{len(list(self.folder.glob('metrics-*.jsonl'))):03d}.jsonl"

    def rows(self) -> list[dict[str, Any]]:
        """metrics.jsonl from verl's files; of a step that was taken twice, after a kill, the later one."""
        rows: dict[int, dict[str, Any]] = {}
        for log in sorted(self.folder.glob("metrics-*.jsonl")):
            for line in read_lines(log):
                step, found = line["step"], line["data"]
                if "train/loss" in found:
                    rows[step] = {"step": step, "loss": found["train/loss"], "grad_norm": found["train/grad_norm"]}
        return [rows[step] for step in sorted(rows)]


def main(
    spec: stages.Spec,
    model: stages.Model,
    demonstrations: stages.Demonstrations,
    out: stages.Manifest,
    state: stages.State,
    save_every: stages.SaveEvery = 100,
    gpus_per_node: stages.GpusPerNode = 1,
    override: stages.Override = None,
) -> None:
    """Fine-tune one policy with verl, on one node."""
    end_with_caller()
    check_version()
    origin = provenance.collect(nodes=1, gpus_per_node=gpus_per_node)
    (policy, sft), start = sft_of(spec), locate(model)
    what = {"policy": identity.policy_id(policy), "model": fingerprint(model), "verl": VERL}
    what["demonstrations"] = sha256(demonstrations)
    with lease(state):
        kept = SftFolder(state.resolve(), what)
        inputs = kept.folder / "inputs"
        tokenizer, train = inputs / "tokenizer", inputs / "train.parquet"
        data.write_demonstrations(train, read_records(demonstrations, Demonstration), start.template)
        data.write_tokenizer(tokenizer, start.location, **start.options)
        history = history_of(kept.folder, kept.step, origin)
        if kept.step < sft.steps:
            publish_json(kept.folder / HISTORY, history.entered())
            lines = sft_overrides(sft, on_disk(start), str(tokenizer), str(train), str(kept.folder), save_every)
            launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={gpus_per_node}"]
            done = subprocess.run(
                [sys.executable, *launch, "-m", "rlvr.training.backends.verl.run_sft", *lines, *(override or [])],
                preexec_fn=tied(),
                env={**os.environ, "VERL_FILE_LOGGER_PATH": str(kept.log())},
                check=False,
            )
            if done.returncode or kept.step < sft.steps:
                said = "what it said stands above, by the word Error"
                raise SystemExit(
                    f"verl's SFT ended with exit code {done.returncode}, saved at step {kept.step}; {said}"
                )
        publish_json(kept.folder / HISTORY, history.over(kept.saved))
        folder, rows = out.parent / "policy", kept.rows()
        sums = merge(kept.folder / f"global_step_{sft.steps}", start, folder)
        outcome = Outcome(folder, sums, start.template, {"metrics": rows}, history, backend=f"verl {VERL}")
        outcome.publish_sft(out, policy, sft, model)


if __name__ == "__main__":
    typer.run(main)
