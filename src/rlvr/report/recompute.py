"""`rlvr recompute`: the numbers of a snapshot again, from its counts, curves and claims (`rlvr.report.counts`).

Every statistic that is made of counts and every verdict is computed by the code of its stage and compared, as text,
with what the snapshot has. Statistics of whole runs or completions are taken as they are, since only their curves stay.
"""

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from rlvr.claims import controls, mechanism_table, mechanisms
from rlvr.claims.evaluate import judged
from rlvr.claims.mechanisms import COLUMNS, CRITERION
from rlvr.claims.table import gather, markdown
from rlvr.config.layouts import numbers_of
from rlvr.files import Mistake, publish, publish_packed, read_json, read_text, sha256
from rlvr.items import REFERENCE, kinds
from rlvr.items.contrast import Evidence
from rlvr.items.statistics import computed
from rlvr.report import counts, findings, readme, rerender

CHECKSUMS = "SHA256SUMS"
MECHANISMS = "mechanisms"  # the judged criteria, as the snapshot has them
COUNTED = {"scores", "diversity", MECHANISMS, REFERENCE}  # the inputs of statistics that a snapshot gives


class NoCounts(Mistake):
    """A file that numbers are computed from is missing."""


def publish_checksums(folder: Path) -> None:
    """Writes the checksums of a snapshot's data, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.glob(f"*/{rerender.DATA}/*"))
    publish(folder / CHECKSUMS, "".join(f"{sha256(path)}  {path.relative_to(folder)}\n" for path in files))


def recompute(folder: Path, root: Path, out: Path) -> Iterator[str]:
    """What differs between a snapshot and what its counts give, a line each; writes the latter into `out`.

    `root` has config/papers with the published tables. `out` then has the snapshot with all numbers, tables, claims
    and pages computed anew; `render_figures` adds the pictures. Raises NoCounts where a file is missing.
    """
    yield from _other_files(folder)
    shutil.copytree(folder, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.png"))
    if (folder / mechanism_table.CSV).is_file():
        yield from _mechanisms(folder, out)
    for paper in _papers(folder):
        of = counts.evidence_of(folder / paper / rerender.DATA)
        yield from _statistics(folder, paper, of, root, out)
        yield from _tables(folder, paper, root, out)
    if (folder / "claims.csv").is_file():
        yield from _claims(folder, root, out)
    publish(out / "README.md", readme.page(out))
    yield from _differing(folder, out, "README.md")


def _papers(folder: Path) -> list[str]:
    return [paper["name"] for paper in read_json(folder / readme.CONTENTS)["papers"]]


def render_figures(out: Path, root: Path) -> None:
    """Draws the pictures of a folder that `recompute` wrote, and its page with them."""
    for spec, shown in rerender.items(out):
        if shown.suffix == rerender.PICTURE:
            rerender.render(spec, shown, root)
    findings.publish(out, _papers(out))
    readme.publish_with(out, **{**read_json(out / readme.CONTENTS), "pictures": True})


def _other_files(folder: Path) -> Iterator[str]:
    """Data with other checksums than the snapshot's. Raises NoCounts where a file, or all checksums, are missing."""
    if not (folder / CHECKSUMS).is_file():
        raise NoCounts(f"{folder / CHECKSUMS} is missing: {folder} is no snapshot with counts; make it anew")
    for line in (folder / CHECKSUMS).read_text().splitlines():
        checksum, _, name = line.partition("  ")
        if not (folder / name).is_file():
            raise NoCounts(
                f"{folder / name} is missing: numbers of the snapshot are made from it; take it from its commit"
            )
        if sha256(folder / name) != checksum:
            yield f"{name}: is another file than the one that was kept ({CHECKSUMS})"


def _statistics(folder: Path, paper: str, of: Evidence, root: Path, out: Path) -> Iterator[str]:
    """The statistics of a paper that are made of counts."""
    for spec, _ in rerender.items_of(folder / paper):
        content, (layout, _) = read_json(spec), rerender.read(spec)
        kind = kinds(content["folder"]).load(layout.kind)
        if kind.statistics is None or content["statistics"] != [spec.stem] or not set(kind.reads) <= COUNTED:
            continue
        of_counts = [name for name in kind.reads if name not in (MECHANISMS, REFERENCE)]
        inputs: dict[str, object] = {name: getattr(of, name) for name in of_counts}
        if MECHANISMS in kind.reads:
            inputs[MECHANISMS] = _criteria(out, layout.scale, paper)
        if REFERENCE in kind.reads:
            named = content["specification"].get(REFERENCE)
            inputs[REFERENCE] = root / named if named else None
        text = computed(kind, numbers_of(layout), inputs)
        kept = rerender.statistics_file(spec, spec.stem)
        (publish_packed if kept.suffix == ".xz" else publish)(out / kept.relative_to(folder), text)
        yield from _different(f"{paper}/{spec.stem}", text, read_text(kept))


def _mechanisms(folder: Path, out: Path) -> Iterator[str]:
    """Criteria, from the number of each run, and placebos and controls, from counts, of every paper and scale."""
    stored, rows = mechanism_table.read(folder / mechanism_table.CSV), []
    for scale, paper in dict.fromkeys(zip(stored["scale"], stored["paper"], strict=True)):
        data = folder / paper / rerender.DATA
        of, own = counts.evidence_of(data), stored[(stored["scale"] == scale) & (stored["paper"] == paper)]
        rows += mechanisms.judged_again(counts.criteria_of(data, scale), own, scale)
        for one in counts.controls_of(data, scale):
            rows += controls.judged(one, of, scale)
    mechanism_table.publish_in(out, mechanism_table.read(io.StringIO(mechanisms.as_csv(rows))))
    for name in (mechanism_table.CSV, mechanism_table.MARKDOWN):
        yield from _differing(folder, out, name)


def _criteria(folder: Path, scale: str, paper: str) -> pd.DataFrame:
    """The judged criteria of a paper at a scale; a frame without rows where there are none."""
    file = folder / mechanism_table.CSV
    every = mechanism_table.read(file) if file.is_file() else pd.DataFrame(columns=[*COLUMNS])
    return every[(every["scale"] == scale) & (every["paper"] == paper) & (every["kind"] == CRITERION)]


def _tables(folder: Path, paper: str, root: Path, out: Path) -> Iterator[str]:
    for spec, shown in rerender.items_of(out / paper):
        if shown.suffix == ".md":
            rerender.render(spec, shown, root)
            yield from _differing(folder, out, f"{paper}/{shown.name}")


def _claims(folder: Path, root: Path, out: Path) -> Iterator[str]:
    """Claims and contrasts of every paper and scale, and what is made of them all."""
    stored, work = pd.read_csv(folder / "claims.csv"), out / "claims"
    for scale, paper in dict.fromkeys(zip(stored["scale"], stored["paper"], strict=True)):
        data = folder / paper / rerender.DATA
        claims, of = counts.claims_of(data, scale), counts.evidence_of(data)
        criteria = _criteria(out, scale, paper)
        references = root / rerender.REFERENCES
        summaries, contrasts = judged(claims, of, references, scale, criteria if len(criteria) else None)
        publish(work / scale / f"{paper}.csv", summaries)
        kept = read_text(data / counts.CONTRASTS.format(scale))
        yield from _different(f"{paper}, contrasts of claims at {scale} scale", contrasts, kept)
    frame = gather(work)
    shutil.rmtree(work)
    publish(out / "claims.csv", frame.to_csv(index=False, lineterminator="\n"))
    publish(out / "claims.md", markdown(frame))
    for name in ("claims.csv", "claims.md"):
        yield from _differing(folder, out, name)


def _differing(folder: Path, out: Path, name: str) -> Iterator[str]:
    yield from _different(name, (out / name).read_text(), (folder / name).read_text())


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
