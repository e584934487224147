"""Where a published set's files are: brought along in data/<set>/, prepared there before, or on the model hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.config.schema.names import Files, Published, is_commit
from rlvr.data.rows import ENDINGS, DataError
from rlvr.files import sha256

SECONDS = 20.0  # to wait for the hub's answer
OURS = {"problems.jsonl", "demonstrations.jsonl", "card.json"}  # what preparing writes into the same folder


class DataUnavailable(DataError):
    """A set that is neither on disk nor to be had; the message says which file to bring."""


@dataclass(frozen=True)
class Found:
    """The files of a set with their checksums, and the hub's commit that they are of (None: brought, unknown)."""

    paths: tuple[Path, ...]
    sums: dict[str, str]
    commit: str | None


def find(spec: Published, folder: Path = Path("data"), files: list[Path] | None = None) -> Found:
    """The files given, else those brought to `folder`/<set>/, else the hub's. Checks the checksums that are known."""
    paths = files or brought(spec, folder / spec.name)
    commit = None
    if not paths:
        paths, commit = from_hub(spec, folder / spec.name)
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise DataError(f"{missing[0]}: no such file")
    sums = {short(path): sha256(path) for path in paths}
    for name, expected in spec.sha256.items():
        for label, found in sums.items():
            if Path(label).name == Path(name).name and found != expected:
                raise DataError(f"{label} has the SHA-256 {found}, and must have {expected}")
    return Found(tuple(paths), sums, commit)


def short(path: Path) -> str:
    """A file's name with its folder, which tells the subjects of MATH apart."""
    return "/".join(path.parts[-2:])


def brought(spec: Files, home: Path) -> list[Path]:
    """The files in a folder: those the entry names, else the only one there that could be the set; [] where none is."""
    if not home.is_dir():
        return []
    matches = {pattern: _matching(pattern, home) for pattern in spec.files}
    if any(matches.values()):
        lacking = [pattern for pattern, found in matches.items() if not found]
        if lacking:
            raise DataUnavailable(
                f"{home}/: {lacking[0]} is missing beside the other files; {how_to_bring(spec, home)}"
            )
        return list(dict.fromkeys(path for found in matches.values() for path in found))
    others = [path for path in sorted(home.iterdir()) if path.name.endswith(ENDINGS) and path.name not in OURS]
    if len(others) > 1:
        raise DataUnavailable(
            f"{home}/: which of {', '.join(path.name for path in others)} is the set? {how_to_bring(spec, home)}"
        )
    return others


def _matching(pattern: str, home: Path) -> list[Path]:
    return sorted(home.glob(pattern)) or sorted(home.glob(Path(pattern).name))


def from_hub(spec: Files, home: Path) -> tuple[list[Path], str]:
    """The files at the entry's revision, in the hub client's cache, and the commit that this is."""
    try:
        snapshot = _snapshot(spec)
    except ImportError:  # the hub's client is not installed: another matter than a hub out of reach
        raise
    except Exception as error:  # the hub's client raises many kinds; each means that the file is not here
        kind = type(error).__name__
        why = "wants its terms accepted and a login" if kind == "GatedRepoError" else "cannot be reached"
        raise DataUnavailable(f"no file in {home}/ and the hub {why} ({kind}); {how_to_bring(spec, home)}") from error
    found = {pattern: sorted(snapshot.glob(pattern)) for pattern in spec.files}
    lacking = [pattern for pattern, paths in found.items() if not paths]
    if lacking:  # not in the repository, or not in the cache while the hub is out of reach
        raise DataUnavailable(f"the hub gave no {lacking[0]} of {spec.repo}; {how_to_bring(spec, home)}")
    commit = snapshot.name if is_commit(snapshot.name) else spec.revision
    return [path for paths in found.values() for path in paths], commit


def _snapshot(spec: Files) -> Path:
    """The folder of a commit in the hub client's cache.

    The hub is asked for the commit first: without a network that fails at once, and what was downloaded before serves.
    """
    import huggingface_hub as hub

    def folder(revision: str | None, **options: Any) -> Path:
        got = hub.snapshot_download(
            spec.repo, repo_type="dataset", revision=revision, allow_patterns=spec.files, **options
        )
        return Path(got)

    try:
        commit = hub.HfApi().dataset_info(spec.repo, revision=spec.revision, timeout=SECONDS).sha
    except Exception as error:
        try:
            return folder(spec.revision, local_files_only=True)
        except Exception:
            raise error from None
    return folder(commit)


def how_to_bring(spec: Files, home: Path) -> str:
    names = ", ".join(f"{spec.repo}/{pattern}" for pattern in spec.files)
    places = ", ".join(str(home / _place(pattern)) for pattern in spec.files)
    return f"bring {names} (revision {spec.revision}) as {places}"


def _place(pattern: str) -> str:
    """Where a brought file stands: its bare name, but with its folder where that varies."""
    return pattern if "*" in str(Path(pattern).parent) else Path(pattern).name
