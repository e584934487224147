"""How two runs, or two evaluations, differ: settings, curves of training, pass@k, and the problems that flipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlvr.config.identity import what_is_made
from rlvr.config.measures import MEASURES, METRICS, PROBE, SHARE, of_difference
from rlvr.files import RecordError, read_json, read_lines
from rlvr.show.lookup import NotFound, RunOrEvaluation, evaluations
from rlvr.statistics.shown import WHY, is_withheld, over

if TYPE_CHECKING:
    import pandas as pd

    from rlvr.statistics.intervals import Difference, Interval

CONFIDENCE = 0.95
LAST = 4  # the last quarter of the steps, over which a curve's end is a mean
ORIGIN = ("commit", "device", "engine", "lock_sha256", "processor")  # of a manifest's provenance


@dataclass(frozen=True)
class ComparedSetting:
    """A key whose value differs; None where one side lacks it."""

    key: str
    a: str | None
    b: str | None


@dataclass(frozen=True)
class ComparedCurve:
    """A measure over the steps that both runs have, and each run's mean over the last quarter of them."""

    label: str
    steps: list[int]
    a: list[float]
    b: list[float]

    @property
    def ends(self) -> tuple[float, float]:
        count = -(-len(self.steps) // LAST)
        return sum(self.a[-count:]) / count, sum(self.b[-count:]) / count


@dataclass(frozen=True)
class AtK:
    """pass@k of both, and B's minus A's, over the same problems, each with a 95 % interval over problems."""

    k: int
    a: Interval
    b: Interval
    difference: Difference


@dataclass(frozen=True)
class Flip:
    """A problem that one side gets right in over half of its samples and the other in less, or that only one solves."""

    problem: str
    a: tuple[int, int]  # correct, samples
    b: tuple[int, int]

    @property
    def gain(self) -> float:
        """Pass@1 of B minus that of A."""
        return self.b[0] / self.b[1] - self.a[0] / self.a[1]


@dataclass(frozen=True)
class Scores:
    """One benchmark, on which both were evaluated."""

    evaluation: str
    problems: int
    at_k: list[AtK]
    flips: list[Flip]  # losses first, the largest ahead, then gains

    def withheld(self) -> str | None:
        """The reason why an interval is not shown, where one is not."""
        found = ((one, SHARE) for at in self.at_k for one in (at.a, at.b))
        of_both = ((at.difference, of_difference(SHARE)) for at in self.at_k)
        hidden = any(is_withheld(one.low, one.high, of) for one, of in (*found, *of_both))
        return WHY.format(over(0, self.problems)) if hidden else None


@dataclass(frozen=True)
class Comparison:
    a: str
    b: str
    settings: list[ComparedSetting]
    curves: list[ComparedCurve]
    scores: list[Scores]


def compare(results: Path, a: RunOrEvaluation, b: RunOrEvaluation) -> Comparison:
    """Compare two runs, with the evaluations that both have, or two evaluations on the same set. Raises NotFound."""
    if a.kind != b.kind:
        raise NotFound(f"{a.name} is of kind {a.kind}, {b.name} of kind {b.kind}: compare two of the same kind")
    if a.kind == "run":
        ours, theirs = evaluations(results, a.name), evaluations(results, b.name)
        both = [(ours[name], theirs[name]) for name in ours if name in theirs]
        scored = [pair for pair in both if all((one.folder / "scores.csv").is_file() for one in pair)]
        manifests = [read_json(one.file("manifest.json", "it is not finished")) for one in (a, b)]
        return Comparison(a.name, b.name, settings(*manifests), curves(a, b), [scores(*pair) for pair in scored])
    policies = [_policy_manifest(results, one.name.split("/")[0]) for one in (a, b)]
    return Comparison(a.name, b.name, settings(*policies) if all(policies) else [], [], [scores(a, b)])


def settings(a: dict[str, Any], b: dict[str, Any]) -> list[ComparedSetting]:
    """The settings and the origin that differ between two manifests, in the order of their names."""
    left, right = (dict(_flat(_compared(manifest))) for manifest in (a, b))
    both = [ComparedSetting(key, left.get(key), right.get(key)) for key in sorted(left.keys() | right.keys())]
    return [setting for setting in both if setting.a != setting.b]


def _compared(manifest: dict[str, Any]) -> dict[str, Any]:
    origin = {key: manifest.get("provenance", {}).get(key) for key in ORIGIN}
    spec = what_is_made(manifest.get("spec", manifest.get("hub", {})))
    return {**spec, "made": {key: value for key, value in origin.items() if value is not None}}


def _flat(content: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from _flat(value, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, str(content)


def _policy_manifest(results: Path, policy: str) -> dict[str, Any]:
    """The manifest of a run, an SFT or a model; {} where only the evaluation is here."""
    paths = [results / folder / policy / "manifest.json" for folder in ("runs", "sft", "models")]
    return next((read_json(path) for path in paths if path.is_file()), {})


def curves(a: RunOrEvaluation, b: RunOrEvaluation) -> list[ComparedCurve]:
    """Each measure of `MEASURES` that varies, at the steps where both runs have it; held-out probes first."""
    found = []
    for rows in (PROBE, METRICS):
        why = "it is not finished"
        ours, theirs = ({row["step"]: row for row in read_lines(one.file(f"{rows}.jsonl", why))} for one in (a, b))
        for name, measure in MEASURES.items():
            if rows not in measure.rows:
                continue
            pairs = [(step, _value(ours[step], name), _value(theirs[step], name)) for step in ours if step in theirs]
            known = [(step, x, y) for step, x, y in pairs if x is not None and y is not None]
            if len({value for _, *values in known for value in values}) > 1:
                place = "held out" if rows == PROBE else "training"
                steps, xs, ys = (list(column) for column in zip(*known, strict=True))
                found.append(ComparedCurve(f"{measure.label}, {place}", steps, xs, ys))
    return found


def _value(row: dict[str, Any], name: str) -> float | None:
    return row.get(name, row.get("estimator", {}).get(name))


def scores(a: RunOrEvaluation, b: RunOrEvaluation) -> Scores:
    """pass@k of two evaluations of the same problems, for k = 1, 2, 4, ... samples, and the problems that flipped.

    The intervals are over problems: Student's t of the problems' scores, and of their paired differences
    (`statistics.intervals.SeedsAndProblems`); problems of one cluster count as one.
    """
    from rlvr.statistics import scores as frames
    from rlvr.statistics.intervals import SeedsAndProblems

    ours, theirs = (frames.read(one.file("scores.csv", "it is not scored yet")) for one in (a, b))
    try:
        frames.problems_of([ours, theirs], [a.name, b.name])
    except RecordError as error:
        raise NotFound(str(error)) from error
    interval, at_k = SeedsAndProblems(CONFIDENCE, SHARE), []
    fewest = min(*ours["n"], *theirs["n"])
    for k in (2**power for power in range(fewest.bit_length())):
        left_1C, right_1C = (frames.matrix([frame], frames.pass_at(k)) for frame in (ours, theirs))
        at_k.append(AtK(k, interval.of(left_1C), interval.of(right_1C), interval.of_difference(right_1C, left_1C)))
    return Scores(a.folder.name, len(ours), at_k, flips(ours, theirs))


def flips(a: pd.DataFrame, b: pd.DataFrame) -> list[Flip]:
    """The problems that flipped between two score frames of the same problems."""
    counts = zip(a["problem"], a["correct"], a["n"], b["correct"], b["n"], strict=True)
    both = [Flip(str(problem), (int(c), int(n)), (int(d), int(m))) for problem, c, n, d, m in counts]
    flipped = [flip for flip in both if _side(flip.a) * _side(flip.b) < 0 or (flip.a[0] == 0) != (flip.b[0] == 0)]
    return sorted(flipped, key=lambda flip: flip.gain)


def _side(counts: tuple[int, int]) -> int:
    """1 with more than half of the samples correct, -1 with less, else 0."""
    return (2 * counts[0] > counts[1]) - (2 * counts[0] < counts[1])
