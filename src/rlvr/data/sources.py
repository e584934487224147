"""Finds a published set's files: in data/<set>/, or on the model hub."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlvr.config.schema.models_and_data import Files, Published, is_commit
from rlvr.data.rows import ENDINGS, DataError
from rlvr.files import sha256

SECONDS = 20.0  # time-out for the hub's answer
OURS = {"problems.jsonl", "demonstrations.jsonl", "card.json"}  # outputs of `rlvr data prepare` in the same folder


class DataUnavailable(DataError):
    """A set that is neither on disk nor on the hub; the message names the file to bring."""


@dataclass(frozen=True)
class SourceFiles:
    """The files of a set, their checksums, and their commit on the hub (None for files brought by hand)."""

    paths: tuple[Path, ...]
    sums: dict[str, str]
    commit: str | None


def find(spec: Published, folder: Path = Path("data"), files: list[Path] | None = None) -> SourceFiles:
    """The given files, else those in `folder`/<set>/, else the hub's. Checks the entry's checksums."""
    paths = files or brought(spec, folder / spec.name)
    commit = None
    if not paths:
        paths, commit = from_hub(spec, folder / spec.name)
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise DataError(f"{missing[0]}: no such file")
    beside = [paths[0].with_name(spec.archive)] if spec.archive else []
    missing = [path for path in beside if not path.is_file()]
    if missing:
        raise DataUnavailable(
            f"{missing[0]}: no such file; bring {spec.repo}/{spec.archive} (revision {spec.revision})"
        )
    sums = {short(path): sha256(path) for path in [*paths, *beside]}
    for name, expected in spec.sha256.items():
        for label, digest in sums.items():
            if Path(label).name == Path(name).name and digest != expected:
                raise DataError(f"{label} has the SHA-256 {digest}, and must have {expected}")
    return SourceFiles(tuple(paths), sums, commit)


def short(path: Path) -> str:
    """A file's name with its folder, which distinguishes the subjects of MATH."""
    return "/".join(path.parts[-2:])


def brought(spec: Files, home: Path) -> list[Path]:
    """The files of a set in a folder: those that the entry names, else the only candidate; [] if there is none."""
    if not home.is_dir():
        return []
    matches = {name: sorted(home.glob(name)) or sorted(home.glob(Path(name).name)) for name in spec.files}
    if any(matches.values()):
        lacking = [pattern for pattern, paths in matches.items() if not paths]
        if lacking:
            what = f"{lacking[0]} is missing beside the other files"
            raise DataUnavailable(f"{home}/: {what}; {how_to_bring(spec, home)}")
        return list(dict.fromkeys(path for paths in matches.values() for path in paths))
    others = [path for path in sorted(home.iterdir()) if path.name.endswith(ENDINGS) and path.name not in OURS]
    if len(others) > 1:
        names = ", ".join(path.name for path in others)
        raise DataUnavailable(f"{home}/: which of {names} is the set? {how_to_bring(spec, home)}")
    return others


def from_hub(spec: Files, home: Path) -> tuple[list[Path], str]:
    """The files at the entry's revision, in the hub client's cache, and their commit."""
    try:
        snapshot = _snapshot(spec)
    except ImportError:  # the hub's client is not installed: no fault of the hub
        raise
    except Exception as error:  # the hub's client raises many classes; each means that the file is missing
        kind = type(error).__name__
        why = "wants its terms accepted and a login" if kind == "GatedRepoError" else "cannot be reached"
        raise DataUnavailable(f"no file in {home}/ and the hub {why} ({kind}); {how_to_bring(spec, home)}") from error
    matches = {pattern: sorted(snapshot.glob(pattern)) for pattern in spec.files}
    lacking = [pattern for pattern, paths in matches.items() if not paths]
    if lacking:  # not in the repository, or not in the cache while the hub is out of reach
        raise DataUnavailable(f"the hub gave no {lacking[0]} of {spec.repo}; {how_to_bring(spec, home)}")
    commit = snapshot.name if is_commit(snapshot.name) else spec.revision
    return [path for paths in matches.values() for path in paths], commit


def _snapshot(spec: Files) -> Path:
    """The folder of a commit in the hub client's cache.

    Asks the hub for the commit first: without a network that fails at once, and the cache serves.
    """
    import huggingface_hub as hub

    def folder(revision: str | None, **options: Any) -> Path:
        wanted = [*spec.files, *([archive] if (archive := getattr(spec, "archive", None)) else [])]
        options |= {"repo_type": "dataset", "revision": revision, "allow_patterns": wanted}
        return Path(hub.snapshot_download(spec.repo, **options))

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
    """The place of a file in data/<set>/: its bare name, with its folder if the pattern varies in it."""
    return pattern if "*" in str(Path(pattern).parent) else Path(pattern).name
