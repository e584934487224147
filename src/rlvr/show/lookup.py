"""Runs and evaluations of a results folder, by their names."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rlvr.files import Mistake, read_json
from rlvr.suggest import named


class NotFound(Mistake, LookupError):
    """A name, file or selection that is not there; the message says what is."""


@dataclass(frozen=True)
class RunOrEvaluation:
    """A run (`<run>`) or an evaluation of a policy (`<policy>/<evaluation>`)."""

    kind: Literal["run", "evaluation"]
    name: str
    folder: Path

    def manifest(self) -> dict[str, Any]:
        """The manifest of a run; {} before its end, and for an evaluation."""
        path = self.folder / "manifest.json"
        return read_json(path) if path.is_file() else {}

    def file(self, name: str, why: str) -> Path:
        """A file of the folder. Raises NotFound with the reason."""
        path = self.folder / name
        if not path.is_file():
            raise NotFound(f"{self.name} has no {name}: {why}")
        return path


def find(results: Path, name: str) -> RunOrEvaluation:
    """The run or evaluation of a name or of a beginning that no other has (`rlvr.suggest.named`).

    The folder of results, `runs/` or `evaluations/` before it is ignored.
    """
    known = {n.name: n for n in (*runs(results), *_all(results, "evaluation", "evaluations/*/*"))}
    short = name.rstrip("/").removeprefix(f"{results}/").removeprefix("runs/").removeprefix("evaluations/")
    what, lister = f"the runs and evaluations in {results}", f"ls {results}/runs {results}/evaluations"
    return known[named(short, known, what, lister)]


def runs(results: Path) -> list[RunOrEvaluation]:
    """The runs of a results folder. Raises NotFound where there is no such folder."""
    if not results.is_dir():
        raise NotFound(f"{results}: no such folder; --results names that of the results")
    return _all(results, "run", "runs/*")


def evaluations(results: Path, policy: str) -> dict[str, RunOrEvaluation]:
    """The evaluations of a policy, by their names without the policy."""
    return {named.folder.name: named for named in _all(results, "evaluation", f"evaluations/{policy}/*")}


def _all(results: Path, kind: Any, pattern: str) -> list[RunOrEvaluation]:
    return [RunOrEvaluation(kind, name, path) for name, path in folders(results, pattern).items()]


def folders(results: Path, pattern: str) -> dict[str, Path]:
    """The folders of a pattern such as `evaluations/*/*`, by their names below its first part."""
    top = results / pattern.split("/")[0]
    return {str(path.relative_to(top)): path for path in sorted(results.glob(pattern)) if path.is_dir()}
