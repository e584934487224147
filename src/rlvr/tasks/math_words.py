r"""Published sets of word problems: one file in the set's own format, from the hub or brought along.

The file is looked for in `data/<set name>/` first (the same file name, or any one .jsonl or .parquet), then
on the model hub. Nothing of a set is kept in the repository.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rlvr.config.schema import MathWords
from rlvr.records import Problem, read_lines


class DataUnavailable(RuntimeError):
    """A set that is neither on disk nor to be had; the message says which file to bring."""


def load(spec: MathWords, folder: Path = Path("data")) -> tuple[list[Problem], dict[str, int]]:
    """The set's problems, without empty and repeated ones, and counts of what was read and left out."""
    frame = _read(_find(spec, folder))
    missing = [f for f in (spec.prompt_field, spec.gold_field, spec.level_field) if f and f not in frame.columns]
    if missing:
        raise DataUnavailable(f"{spec.name}: no field {missing} in the file; it has {sorted(map(str, frame.columns))}")
    problems: dict[str, Problem] = {}
    empty = 0
    for row in frame.to_dict("records"):
        prompt, gold = str(row[spec.prompt_field] or "").strip(), str(row[spec.gold_field] or "").strip()
        if not prompt or not gold:
            empty += 1
            continue
        key = " ".join(prompt.split())
        level = str(row[spec.level_field]) if spec.level_field else "all"
        problems.setdefault(key, Problem(f"{spec.name}-{len(problems)}", prompt, _bare(gold), level))
    counts = {"rows": len(frame), "empty": empty, "repeated": len(frame) - empty - len(problems)}
    return list(problems.values()), counts


def _bare(gold: str) -> str:
    r"""The content of \boxed{...} where a gold is a whole solution, else the gold itself."""
    from rlvr.verifiers import last_boxed

    return last_boxed(gold) or gold


def _find(spec: MathWords, folder: Path) -> Path:
    brought = folder / spec.name
    candidates = [brought / Path(spec.file).name, *sorted(brought.glob("*.jsonl")), *sorted(brought.glob("*.parquet"))]
    for path in candidates:
        if path.is_file():
            return path
    try:
        from huggingface_hub import hf_hub_download

        return Path(hf_hub_download(spec.repo, spec.file, repo_type="dataset", revision=spec.revision))
    except Exception as error:  # the hub's client raises many kinds; each means that the file is not here
        raise DataUnavailable(
            f"{spec.name}: no file in {brought}/ and the hub cannot be reached ({type(error).__name__}); "
            f"bring {spec.repo}/{spec.file} (revision {spec.revision}) as {brought / Path(spec.file).name}"
        ) from error


def _read(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.DataFrame(list(read_lines(path)))
