"""`rlvr recompute`: the numbers of a snapshot again, from its counts, curves and claims (`rlvr.report.counts`).

Every statistic that is made of counts and every verdict is computed by the code of its stage and compared, as text,
with what the snapshot has. Statistics of whole runs or completions are taken as they are, since only their curves stay.
"""

import gc
import io
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
from pebble import ProcessPool

from rlvr.child_processes import die_with_parent
from rlvr.claims import controls, mechanism_table, mechanisms
from rlvr.claims.evaluate import judged
from rlvr.claims.mechanisms import COLUMNS, CRITERION
from rlvr.claims.table import markdown, of_texts
from rlvr.config.layouts import numbers_of
from rlvr.files import Mistake, publish, publish_packed, read_json, read_text, sha256
from rlvr.items import REFERENCE, TABLES, kinds
from rlvr.items.contrast import Evidence
from rlvr.items.statistics import computed
from rlvr.report import counts, findings, readme, rerender, runs

PROCESSES = 4  # at most: five papers keep no more busy, and each reads up to 600 MB
MECHANISMS = "mechanisms"  # the judged criteria, as the snapshot has them
COUNTED = {"scores", "diversity", MECHANISMS, REFERENCE}  # the inputs of statistics that a snapshot gives


class NoCounts(Mistake):
    """A file that numbers are computed from is missing."""


@contextmanager
def _processes() -> Iterator[ProcessPool]:
    """A pool of processes, which end with this one, and at once where an error or an interruption ends it."""
    here = min(PROCESSES, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    pool = ProcessPool(here, initializer=die_with_parent, initargs=(os.getpid(),))
    try:
        yield pool
        pool.close()
    except BaseException:
        pool.stop()
        raise
    finally:
        pool.join()


def check(folder: Path) -> None:
    """Raises NoCounts for a folder that is no snapshot with counts, or that an earlier version wrote."""
    for name in (readme.CONTENTS, readme.CHECKSUMS):
        if not (folder / name).is_file():
            raise NoCounts(f"{folder / name} is missing: {folder} is no snapshot with counts; make it anew")
    papers = [f"{paper}/{rerender.DATA}/{rerender.ITEMS}" for paper in _papers(folder)]
    if lacking := [name for name in (runs.FILE, *papers) if not (folder / name).is_file()]:
        raise NoCounts(f"{folder / lacking[0]} is missing: an earlier version wrote {folder}; make it anew")


def publish_checksums(folder: Path) -> None:
    """Writes the checksums of a snapshot's data, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.glob(f"*/{rerender.DATA}/*"))
    publish(folder / readme.CHECKSUMS, "".join(f"{sha256(path)}  {path.relative_to(folder)}\n" for path in files))


@dataclass(frozen=True)
class Places:
    """The snapshot, the folder that gets what its counts give, and the one with config/papers."""

    folder: Path
    out: Path
    root: Path

    @cached_property
    def scale(self) -> str:
        scale: str = read_json(self.folder / readme.CONTENTS)["scale"]
        return scale


def recompute(folder: Path, root: Path, out: Path) -> Iterator[str]:
    """What differs between a snapshot and what its counts give, a line each; writes the latter into `out`.

    `root` has config/papers with the published tables. `out` then has the snapshot with all numbers, tables, claims
    and pages computed anew, and nothing that an earlier call wrote; `render_others` adds what the snapshot does not
    keep. Raises NoCounts where a file is missing.
    """
    yield from _other_files(folder)
    if (out / readme.CONTENTS).is_file():  # of an earlier time
        shutil.rmtree(out)
    shutil.copytree(folder, out, dirs_exist_ok=True)
    places, items = Places(folder, out, root), [*rerender.items(folder)]
    claiming = [paper for paper in _papers(folder) if (folder / paper / rerender.DATA / counts.CLAIMS).is_file()]
    with _processes() as pool:
        if claiming:
            yield from _mechanisms(places, pool.map(_judged, *_each(places, claiming)).result())
        verdicts = pool.map(_verdicts, *_each(places, claiming)).result()  # long, so they begin first
        yield from chain.from_iterable(pool.map(_statistics, *_each(places, items)).result())
        tables = [item for item in items if item.folder == TABLES and item.shown.is_file()]
        yield from chain.from_iterable(pool.map(_table, *_each(places, tables)).result())
        if claiming:
            yield from _claims(places, claiming, verdicts)
    publish(out / "README.md", readme.page(out))
    yield from _differing(places, "README.md")


def _each(places: Places, of: Sequence[Any]) -> tuple[list[Places], Sequence[Any]]:
    """The arguments of `pool.map`."""
    return [places] * len(of), of


@cache
def _evidence(data: Path) -> Evidence:
    """What a paper's folder of data has: read once by a process of the pool."""
    found = counts.evidence_of(data)
    gc.freeze()  # statsmodels collects garbage at each correction of p-values, and would search all of this
    return found


def _papers(folder: Path) -> list[str]:
    return [paper["name"] for paper in read_json(folder / readme.CONTENTS)["papers"]]


def render_others(out: Path, root: Path) -> None:
    """Renders the tables and pictures that a folder which `recompute` wrote lacks, and its page with them."""
    lacking = [item for item in rerender.items(out) if not item.shown.is_file()]
    with _processes() as pool:
        for _ in pool.map(_rendered, lacking, [root] * len(lacking)).result():
            pass
    findings.publish(out, _papers(out))
    publish(out / "README.md", readme.page(out))


def _rendered(item: rerender.KeptItem, root: Path) -> None:
    item.render(item.shown, root)


def _other_files(folder: Path) -> Iterator[str]:
    """Data with other checksums than the snapshot's. Raises NoCounts where a file is missing."""
    check(folder)
    for line in (folder / readme.CHECKSUMS).read_text().splitlines():
        checksum, _, name = line.partition("  ")
        if not (folder / name).is_file():
            raise NoCounts(
                f"{folder / name} is missing: numbers of the snapshot are made from it; take it from its commit"
            )
        if sha256(folder / name) != checksum:
            yield f"{name}: is another file than the one that was kept ({readme.CHECKSUMS})"


def _statistics(places: Places, item: rerender.KeptItem) -> list[str]:
    """The statistics of an item, where they are made of counts."""
    kind, paper = kinds(item.folder).load(item.layout.kind), item.paper.name
    if kind.statistics is None or item.names != [item.name] or not set(kind.reads) <= COUNTED:
        return []
    of = _evidence(item.paper / rerender.DATA)
    inputs: dict[str, object] = {name: getattr(of, name) for name in kind.reads if name not in (MECHANISMS, REFERENCE)}
    if MECHANISMS in kind.reads:
        inputs[MECHANISMS] = _criteria(places.out, paper)
    if REFERENCE in kind.reads:
        named = item.specification.get(REFERENCE)
        inputs[REFERENCE] = places.root / named if named else None
    text, kept = computed(kind, numbers_of(item.layout), inputs), item.file(item.name)
    (publish_packed if kept.suffix == ".xz" else publish)(places.out / kept.relative_to(places.folder), text)
    return [*_different(f"{paper}/{item.name}", text, read_text(kept))]


def _mechanisms(places: Places, rows: Iterable[list[dict[str, Any]]]) -> Iterator[str]:
    """The judged criteria, placebos and controls of every paper."""
    text = mechanisms.as_csv([*chain.from_iterable(rows)])
    mechanism_table.publish_in(places.out, mechanism_table.read(io.StringIO(text)))
    for name in (mechanism_table.CSV, mechanism_table.MARKDOWN):
        yield from _differing(places, name)


def _judged(places: Places, paper: str) -> list[dict[str, Any]]:
    """A paper's criteria, from the number of each run, and its placebos and controls, from counts."""
    data, scale = places.folder / paper / rerender.DATA, places.scale
    stored = mechanism_table.read(places.folder / mechanism_table.CSV)
    rows = mechanisms.judged_again(counts.criteria_of(data), stored[stored["paper"] == paper], scale)
    of_counts = (controls.judged(one, _evidence(data), scale) for one in counts.controls_of(data))
    return [*rows, *chain.from_iterable(of_counts)]


def _criteria(folder: Path, paper: str) -> pd.DataFrame:
    """The judged criteria of a paper; a frame without rows where there are none."""
    file = folder / mechanism_table.CSV
    every = mechanism_table.read(file) if file.is_file() else pd.DataFrame(columns=[*COLUMNS])
    return every[(every["paper"] == paper) & (every["kind"] == CRITERION)]


def _table(places: Places, item: rerender.KeptItem) -> list[str]:
    """A table that the snapshot keeps."""
    anew = replace(item, paper=places.out / item.paper.name)
    anew.render(anew.shown, places.root)
    return [*_differing(places, f"{item.paper.name}/{item.shown.name}")]


def _claims(places: Places, papers: Iterable[str], found: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The claims and contrasts of each paper, and the table of all claims."""
    summaries = {}
    for paper, (summaries[paper], contrasts) in zip(papers, found, strict=True):
        name = f"{paper}/{rerender.DATA}/{counts.CONTRASTS}"
        publish_packed(places.out / name, contrasts)
        yield from _differing(places, name)
    frame = of_texts(summaries[paper] for paper in sorted(summaries))
    publish_packed(places.out / readme.CLAIMS, frame.to_csv(index=False, lineterminator="\n"))
    publish(places.out / "claims.md", markdown(frame))
    for name in (readme.CLAIMS, "claims.md"):
        yield from _differing(places, name)


def _verdicts(places: Places, paper: str) -> tuple[str, str]:
    """The claims and contrasts of a paper."""
    data, criteria = places.folder / paper / rerender.DATA, _criteria(places.out, paper)
    known, references = criteria if len(criteria) else None, places.root / rerender.REFERENCES
    return judged(counts.claims_of(data), _evidence(data), references, places.scale, known)


def _differing(places: Places, name: str) -> Iterator[str]:
    yield from _different(name, read_text(places.out / name), read_text(places.folder / name))


def _different(name: str, made: str, kept: str) -> Iterator[str]:
    """A line on the first line of a text that differs."""
    if made != kept:
        ours, theirs = made.splitlines(), kept.splitlines()
        pairs = list(zip(ours, theirs, strict=False))
        at = next((i for i, (one, other) in enumerate(pairs) if one != other), len(pairs))
        number = sum(one != other for one, other in pairs) + abs(len(ours) - len(theirs))
        one, other = (_from_difference(lines, at, pairs) for lines in (ours, theirs))
        yield f"{name}: {number} lines differ; line {at + 1} is {one!r} by the counts, and {other!r} in the snapshot"


def _from_difference(lines: list[str], at: int, pairs: list[tuple[str, str]]) -> str:
    """The part of a line from shortly before its first difference on."""
    if at >= len(lines):
        return ""
    one, other = pairs[at] if at < len(pairs) else (lines[at], "")
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return lines[at][max(0, start - 20) : start + 60]
