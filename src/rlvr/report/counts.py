"""What the numbers of a snapshot are computed from, in each paper's folder `.data`, beside its statistics.

- `counts.jsonl.xz`: a line per evaluation with its problems, then a line per policy with its correct answers to each.
- `diversity.jsonl.xz`: the same for measures of diversity.
- `curves.jsonl.xz`: of each run the rows of its training that claims read, by the columns that they read.
- `claims.jsonl.xz`: a line per claim, as their stage gets them; `contrasts.csv.xz`: what it found.
- `criteria.jsonl.xz`, `controls.jsonl.xz`: the same of criteria of mechanisms, placebos and controls.

`rlvr.report.recompute` reads them.
"""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from rlvr import verifiers
from rlvr.claims import controls, mechanisms
from rlvr.claims.contrasts import layout, needs
from rlvr.claims.controls import ControlSpec
from rlvr.claims.evaluate import evidence, judged
from rlvr.claims.mechanisms import CriterionSpec
from rlvr.config.layouts import Spec
from rlvr.config.measures import METRICS, PROBE
from rlvr.config.paths import Paths
from rlvr.config.plan import Item, Plan
from rlvr.files import RecordError, publish_lines, publish_packed, read_lines
from rlvr.items import kind_of
from rlvr.items.contrast import ClaimSpec, Evidence, Rows
from rlvr.report import rerender
from rlvr.statistics.scores import Scores, read
from rlvr.verifiers import STATUSES

COUNTS, DIVERSITY, CURVES = "counts.jsonl.xz", "diversity.jsonl.xz", "curves.jsonl.xz"
CLAIMS, CONTRASTS = "claims.jsonl.xz", "contrasts.csv.xz"
ACTING, CONTROLS = "criteria.jsonl.xz", "controls.jsonl.xz"
MAJORITY = "majority"  # a column that only some tables read
OF_PROBLEMS = ("problem", "level", "n", "chance", "lookup", "cluster")  # columns that all policies have in common
KEYS = ("policy", "evaluation")
OF_NOTHING = (*KEYS, "mean_tokens", *(status for status in STATUSES if status != "correct"))


@dataclass(frozen=True)
class Kept:
    """What is kept of a paper at the scale of a plan: of some of its items, and of its claims if they were `judged`."""

    paper: str
    plan: Plan
    items: Sequence[str]
    judged: bool
    paths: Paths

    @cached_property
    def claims(self) -> list[ClaimSpec]:
        """The claims."""
        return layout(self.plan, self.paper) if self.judged else []

    @cached_property
    def controls(self) -> list[ControlSpec]:
        """The controls and placebos."""
        return controls.layout(self.plan, self.paper) if self.judged else []

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """The (policy, evaluation) pairs whose `scores`, or `diversity`, are read."""
        of_items = [pair for item in self._items() if name in kind_of(item).reads for pair in item.scored()]
        of_claims = needs([*self.claims, *(one.claim for one in self.controls)])
        return list(dict.fromkeys([*of_items, *getattr(of_claims, name)]))

    def _items(self) -> list[Item]:
        made = self.plan.papers[self.paper]
        return [made.item(name) for item in self.items for name in made.statistics_of(item)]

    def files(self) -> list[Path]:
        """The files that `write` reads."""
        of_claims, found = needs(self.claims), [self.paths.claims(self.paper)[1]] * self.judged
        found += [file for run in of_claims.runs for file in self.paths.rows(run)]
        found += [self.paths.measured(name, run) for name, runs in of_claims.measured.items() for run in runs]
        found += [self.paths.scores(*pair) for pair in self.pairs("scores")]
        return [Path(file) for file in (*found, *(self.paths.diversity(*pair) for pair in self.pairs("diversity")))]

    def write(self, out: Path) -> None:
        """Writes the files of this module into a folder."""
        paths = self.paths
        majority = any("maj" in getattr(item.content, "measures", ()) for item in self._items())
        leave = OF_NOTHING if majority else (*OF_NOTHING, MAJORITY)
        for name, path, file in (("scores", paths.scores, COUNTS), ("diversity", paths.diversity, DIVERSITY)):
            if pairs := self.pairs(name):
                scores = {pair: Path(path(*pair)) for pair in pairs}
                publish_lines(out / file, lines(scores, self.plan.evaluations, leave))
        if not self.judged:
            return
        curves = _columns_read(self.claims, evidence(self.claims, paths), self.plan.scale)
        keep(out, {CLAIMS: self.claims, ACTING: mechanisms.layout(self.plan, self.paper), CONTROLS: self.controls})
        publish_packed(out / CONTRASTS, Path(paths.claims(self.paper)[1]).read_bytes())
        if curves:
            of_runs = sorted(curves.items())
            publish_lines(out / CURVES, (line for (name, run), rows in of_runs for line in by_column(name, run, rows)))


def by_column(name: str, run: str, rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of a run, a line for those with the same columns: `at` has their places, `columns` their values."""
    places: dict[tuple[str, ...], list[int]] = {} if rows else {(): []}
    for at, row in enumerate(rows):
        places.setdefault(tuple(row), []).append(at)
    for columns, at in places.items():
        values = {column: [rows[place][column] for place in at] for column in columns}
        yield {"rows": name, "run": run, "at": at, "columns": values}


def by_row(lines: Iterable[dict[str, Any]]) -> dict[str, Rows]:
    """The rows of each run that lines of `by_column` have, by their name."""
    found: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
    for line in lines:
        rows = found.setdefault(line["rows"], {}).setdefault(line["run"], {})
        rows |= {at: {name: values[i] for name, values in line["columns"].items()} for i, at in enumerate(line["at"])}
    return {
        name: {run: [rows[at] for at in sorted(rows)] for run, rows in runs.items()} for name, runs in found.items()
    }


def keep(out: Path, specs: Mapping[str, Sequence[Spec]]) -> None:
    """Writes what a paper's claims, criteria or controls are judged by, a line each, to the file of each name."""
    for name, of_name in specs.items():
        publish_lines(out / name, (one.model_dump(mode="json") for one in of_name))


def lines(
    files: Mapping[tuple[str, str], Path], evaluations: Mapping[str, Any], leave: Sequence[str] = OF_NOTHING
) -> Iterator[dict[str, Any]]:
    """A line per evaluation, and one per policy, with the columns of scores as text, but some.

    Raises RecordError where the policies of an evaluation answered other problems.
    """
    for name in sorted({evaluation for _, evaluation in files}):
        data, problems = evaluations[name].data, {}
        for policy in sorted(policy for policy, evaluation in files if evaluation == name):
            frame = pd.read_csv(files[policy, name], dtype=str, keep_default_na=False)
            frame = frame.drop(columns=[*leave], errors="ignore")
            columns = {str(column): list(frame[column]) for column in frame}
            own = {key: column for key, column in columns.items() if key not in OF_PROBLEMS}
            common = {key: column for key, column in columns.items() if key in OF_PROBLEMS}
            if not problems:
                problems, verifier = common, verifiers.kind(data.verifier)
                about = {"data": data.name, "verifier": data.verifier, "verifier_version": verifier.version}
                yield {"evaluation": name, **about, **problems}
            elif common != problems:
                raise RecordError(f"{policy} has scores on other problems of {name} than the policies beside it")
            yield {"policy": policy, "evaluation": name, **{key: ",".join(column) for key, column in own.items()}}


class _Row(dict[str, Any]):
    """A row that notes which of its columns are read."""

    def __init__(self, row: dict[str, Any], columns: set[str]):
        super().__init__(row)
        self.columns = columns

    def __contains__(self, name: object) -> bool:
        self.columns.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> Any:
        self.columns.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.columns.add(name)
        return super().get(name, default)


def _columns_read(claims: list[ClaimSpec], of: Evidence, scale: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """By the kind of rows and the run, its rows with the columns that the claims' verdicts read."""
    every = {PROBE: of.probes, METRICS: of.metrics, **of.measured}
    columns: dict[str, set[str]] = {name: set() for name in every}

    def noting(name: str) -> Rows:
        return {run: [_Row(row, columns[name]) for row in rows] for run, rows in every[name].items()}

    measured = {name: noting(name) for name in of.measured}
    read_of = Evidence(of.scores, noting(PROBE), noting(METRICS), of.diversity, measured)
    judged(claims, read_of, rerender.REFERENCES, scale)
    return {
        (name, run): [{key: row[key] for key in row if key in columns[name]} for row in rows]
        for name, by_run in every.items()
        for run, rows in by_run.items()
    }


def claims_of(folder: Path) -> list[ClaimSpec]:
    """The claims that a paper's folder of data has."""
    return [ClaimSpec.model_validate(line) for line in read_lines(folder / CLAIMS)]


def controls_of(folder: Path) -> list[ControlSpec]:
    """The same of its controls and placebos."""
    return [ControlSpec.model_validate(line) for line in read_lines(folder / CONTROLS)]


def criteria_of(folder: Path) -> list[CriterionSpec]:
    """The same of its criteria of mechanisms."""
    return [CriterionSpec.model_validate(line) for line in read_lines(folder / ACTING)]


def evidence_of(folder: Path) -> Evidence:
    """What a paper's folder of data has for statistics and claims."""
    curves = by_row(read_lines(folder / CURVES)) if (folder / CURVES).is_file() else {}
    probes, metrics = curves.pop(PROBE, {}), curves.pop(METRICS, {})
    return Evidence(scores_of(folder / COUNTS), probes, metrics, scores_of(folder / DIVERSITY), curves)


def scores_of(file: Path) -> Scores:
    """The scores that a file of `lines` has; none where it is missing. Raises RecordError for an incomplete line."""
    found: Scores = {}
    for evaluation, common, policies in _by_evaluation(file):
        if not policies:
            continue
        columns = dict(common)
        for at, (policy, own) in enumerate(policies.items()):
            if len({len(column) for column in (*common.values(), *own.values())}) > 1:
                raise RecordError(f"{file}: {policy} on {evaluation} has not one count for each problem")
            columns |= {f"{at} {name}": column for name, column in own.items()}
        # By way of text, as the files of the results are read: the same numbers to the last bit.
        table = read(io.StringIO(pd.DataFrame(columns).to_csv(index=False)))
        for at, (policy, own) in enumerate(policies.items()):
            frame = table[[*common, *(f"{at} {name}" for name in own)]].set_axis([*common, *own], axis=1)
            found[policy, evaluation] = frame.assign(policy=policy, evaluation=evaluation)
    return found


def _by_evaluation(file: Path) -> Iterator[tuple[str, dict[str, list[Any]], dict[str, dict[str, list[str]]]]]:
    """Each evaluation of a file of `lines`, with the columns that its policies have in common, and those of each."""
    name, common, policies = "", {}, {}
    for line in read_lines(file) if file.is_file() else ():
        if "policy" not in line:
            yield name, common, policies
            name, common, policies = line["evaluation"], {key: line[key] for key in OF_PROBLEMS if key in line}, {}
        elif line["evaluation"] != name:
            raise RecordError(f"{file}: {line['policy']} on {line['evaluation']} is among those on {name or 'nothing'}")
        else:
            policies[line["policy"]] = {key: text.split(",") for key, text in line.items() if key not in KEYS}
    yield name, common, policies
