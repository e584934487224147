"""Rollouts as a log of inspect_ai, which `inspect view` opens: a `.eval` file, a zip with a file of JSON per sample.

It is written without inspect_ai, whose packages are other versions of those of envs/main.txt.
tests/commands/test_show.py reads it with the library, each night.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from rlvr.files import whole
from rlvr.show.groups import Shown
from rlvr.show.lookup import NotFound, RunOrEvaluation
from rlvr.show.rows import rows

VERSION = 2  # of the log's format
OF_A_SUMMARY = ("id", "epoch", "input", "target", "scores", "metadata")


def write(path: Path, named: RunOrEvaluation, groups: Iterable[Shown]) -> int:
    """Write the visible rollouts of groups, read one after another; returns their number. Raises NotFound for none."""
    policy, _, evaluation = named.name.partition("/")
    summaries = []
    with whole(path) as partial, ZipFile(partial, "w") as log:
        for row in (row for shown in groups for row in rows(shown)):
            sample = _sample(row, policy)
            _add(log, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
            summaries.append({key: sample[key] for key in OF_A_SUMMARY})
        if not summaries:
            raise NotFound("no such rollout, so no file is written")
        about = {
            "created": datetime.fromtimestamp(named.folder.stat().st_mtime, UTC).isoformat(timespec="seconds"),
            "task": evaluation or "training",
            "dataset": {"name": evaluation or named.manifest().get("spec", {}).get("data", {}).get("name")},
            "model": policy,
            "config": {},
        }
        _add(log, "summaries.json", summaries)
        _add(log, "header.json", {"version": VERSION, "status": "success", "eval": about})
    return len(summaries)


def _add(log: ZipFile, name: str, content: Any) -> None:
    """Add a file without a time stamp, so that equal content gives equal bytes."""
    log.writestr(ZipInfo(name), json.dumps(content), ZIP_DEFLATED)


def _sample(row: dict[str, Any], policy: str) -> dict[str, Any]:
    """A rollout as a sample: an epoch of its problem, which is another sample at each training step."""
    prompt, response, step = row.pop("prompt"), row.pop("response"), row["step"]
    problem, rollout = row.pop("problem"), row.pop("rollout")
    answer = {"role": "assistant", "content": response}
    score = {"value": row.pop("reward"), "answer": row.pop("extracted"), "explanation": row.pop("status")}
    return {
        "id": f"step {step}: {problem}" if step else problem,
        "epoch": rollout + 1,
        "input": prompt,
        "target": row.pop("gold"),
        "messages": [{"role": "user", "content": prompt}, answer],
        "output": {"model": policy, "choices": [{"message": answer}], "completion": response},
        "scores": {"verifier": score},
        "metadata": row,
    }
