"""The outputs of training: rows, and a manifest with the same entries for every backend."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.config import identity
from rlvr.config.schema.settings import Sft
from rlvr.config.schema.specs import PolicySpec, RunSpec
from rlvr.files import publish_lines, read_json
from rlvr.policies.store import publish_manifest
from rlvr.provenance import History


@dataclass(frozen=True)
class TrainedPolicy:
    """A trained and saved policy: its folder with checksums, its rows by file, and the history of its processes.

    `backend` is the name and version of an external trainer.
    """

    folder: Path
    sums: dict[str, str]
    template: str
    rows: dict[str, list[dict[str, Any]]]
    history: History
    backend: str | None = None

    def publish_run(self, out: Path, run: RunSpec, step: int, prompts_left_out: int) -> None:
        """Publish the files of an RL run whose result is the policy of a step."""
        more = {"selection": run.selection.rule, "prompts_left_out": prompts_left_out}
        self._publish(out, run, id=identity.run_id(run), stage="rl", step=step, seed=run.seed, **more)

    def publish_sft(self, out: Path, policy: PolicySpec, sft: Sft, model: Path) -> None:
        """Publish the files of a base policy, fine-tuned from a model."""
        more = {"step": sft.steps, "seed": sft.seed, "started_from": read_json(model).get("files")}
        self._publish(out, policy, id=identity.policy_id(policy), stage="sft", **more)

    def _publish(self, out: Path, spec: PolicySpec | RunSpec, **entries: Any) -> None:
        for name, rows in self.rows.items():
            publish_lines(out.parent / f"{name}.jsonl", rows)
        entries |= {"backend": self.backend} if self.backend else {}
        if all("timing" in row for row in self.rows["metrics"]):  # verl does not time its SFT steps
            entries["seconds"] = round(sum(row["timing"]["step"] for row in self.rows["metrics"]), 3)
        entries |= {"spec": spec.model_dump(mode="json"), **self.history.published()}
        publish_manifest(out, self.folder, self.sums, self.template, **entries)
