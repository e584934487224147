"""A sample of a run's training rollouts: of each step some prompts, with every rollout of theirs.

The file in the state folder has one gzip member per step, and in it one line per prompt (`records.KeptGroup`). It grows
when a checkpoint is saved; a run that resumes drops the steps after its checkpoint, which it repeats. So a run that was
killed has the bytes of one that was not. Publishing copies the file beside the manifest; no rule declares it, so runs
made before it existed are not made again.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rlvr.files import publish
from rlvr.records import KeptGroup, row_of
from rlvr.verifiers import Judgement

if TYPE_CHECKING:
    from torch import Tensor

NAME = "rollouts.jsonl.gz"


def chosen(step: int, problems: Sequence[str], count: int) -> list[int]:
    """The places of `count` prompts of a step's batch: those whose digest of step and problem is smallest.

    The choice depends neither on random numbers nor on the batch's order, which backends choose by length.
    """
    return sorted(range(len(problems)), key=lambda p: zlib.crc32(f"{step} {problems[p]}".encode()))[:count]


class RolloutLog:
    """The kept rollouts of one run: `prompts` prompts per step, at most `limit` compressed bytes in all `steps`.

    Each step may use an equal share of the bytes. A step whose prompts take more keeps the first of them that fit.
    """

    def __init__(self, state: Path, *, steps: int, prompts: int, limit: int):
        self.path, self.prompts, self.share = state / NAME, prompts, limit // steps
        self._waiting: list[bytes] = []

    @classmethod
    def of(cls, state: Path, steps: int, execution: Any) -> Self | None:
        """Those of a run by its settings `kept_prompts` and `kept_mb`; None if it keeps none."""
        if not execution.kept_prompts:
            return None
        return cls(state, steps=steps, prompts=execution.kept_prompts, limit=int(execution.kept_mb * 2**20))

    def add(self, step: int, problems: Sequence[str], group: Callable[[int], KeptGroup]) -> None:
        """Choose prompts of a step by their problems, and hold their groups until `flush`; `group(p)` is prompt p's."""
        lines = [json.dumps(row_of(group(p))) + "\n" for p in chosen(step, problems, self.prompts)]
        fewer = (_packed(lines[:count]) for count in range(len(lines), 0, -1))
        self._waiting += [next((packed for packed in fewer if len(packed) <= self.share), b"")]

    def flush(self) -> None:
        """Write what was added since the last time, before the checkpoint that makes those steps final."""
        if content := b"".join(self._waiting):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        self._waiting = []

    def resume(self, step: int) -> None:
        """Drop the steps after this one, from which the run goes on, and what a kill left half written."""
        if self.path.exists():
            os.truncate(self.path, _end(self.path.read_bytes(), step))

    def publish(self, manifest: Path) -> None:
        """Copy the file beside the manifest of the finished run."""
        if self.path.exists():
            publish(manifest.parent / NAME, self.path.read_bytes())


@dataclass(frozen=True)
class Step:
    """A step's rollouts: what they say of each prompt, the step's tensors, and `inputs_of_step`."""

    step: int
    problems: Sequence[tuple[str, str]]  # of each prompt, id and gold
    texts: Callable[[int], Sequence[str]]  # of a prompt, and of its responses
    verdicts: Sequence[Sequence[Judgement]]
    rewards_PG: Tensor
    weights_PG: Tensor
    lengths_PG: Tensor
    inputs: dict[str, Any]
    state: dict[str, float]
    has_reference: bool = True

    def group(self, p: int) -> KeptGroup:
        """Prompt p with its rollouts."""
        (problem, gold), (prompt, *responses) = self.problems[p], self.texts(p)
        statuses, extracted = zip(*self.verdicts[p], strict=True)
        return KeptGroup(
            self.step,
            problem,
            prompt,
            gold,
            tuple(responses),
            statuses,
            extracted,
            rewards=_floats(self.rewards_PG[p]),
            weights=_floats(self.weights_PG[p]),
            lengths=tuple(self.lengths_PG[p].tolist()),
            logp=_floats(self.inputs["logp_PG"][p]),
            log_ratio=_floats(self.inputs["log_ratio_PG"][p]) if self.has_reference else None,
            entropy=self.inputs["entropy"],
            state=self.state,
        )


def _floats(values_G: Tensor) -> tuple[float, ...]:
    """The shortest decimals that are these float32 numbers."""
    return tuple(float(str(value)) for value in values_G.detach().float().cpu().numpy())


def _packed(lines: list[str]) -> bytes:
    return gzip.compress("".join(lines).encode(), compresslevel=6, mtime=0)


def _end(content: bytes, step: int) -> int:
    """The number of bytes of the whole members up to a step."""
    end = 0
    while end < len(content):
        member = zlib.decompressobj(wbits=31)  # with the header of gzip
        try:
            text = member.decompress(content[end:])
        except zlib.error:
            break
        if not member.eof or json.loads(text.split(b"\n", 1)[0])["step"] > step:
            break
        end = len(content) - len(member.unused_data)
    return end
