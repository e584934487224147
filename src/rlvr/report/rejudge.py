"""`python -m rlvr.report.rejudge FOLDER`: a snapshot anew, from its counts, after a change of claims, bounds or rules.

Runs, counts, curves and the number of each run that a criterion is judged by stay as they are.
"""

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from rlvr.claims import controls, mechanism_table, mechanisms
from rlvr.claims.contrasts import layout, needs
from rlvr.claims.mechanisms import NOT_RUN
from rlvr.config.plan import Plan
from rlvr.files import Mistake, read_json
from rlvr.items.contrast import Evidence
from rlvr.planning.expansion import make_plan
from rlvr.report import counts, readme, recompute, rerender


class NotInCounts(Mistake):
    """A claim needs what the counts of a snapshot do not have."""


def rejudge(folder: Path, plan: Plan, root: Path) -> None:
    """Judges all papers of a snapshot by a plan. Raises NotInCounts or NoCounts, and then changes nothing."""
    recompute.check(folder)
    if not (folder / mechanism_table.CSV).is_file():
        raise NotInCounts(f"{folder / mechanism_table.CSV} is missing: {folder} has no claims")
    numbers = mechanism_table.read(folder / mechanism_table.CSV)
    numbers = numbers[numbers["met"] != NOT_RUN]
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        asked, judged = Path(scratch, "asked"), Path(scratch, "judged")
        shutil.copytree(folder, asked)
        for paper in read_json(folder / readme.CONTENTS)["papers"]:
            name, data = paper["name"], asked / paper["name"] / rerender.DATA
            claims, acting, known = layout(plan, name), mechanisms.layout(plan, name), controls.layout(plan, name)
            scored = needs([*claims, *(one.claim for one in known)]).scores
            _check(name, scored, counts.evidence_of(data))
            own = numbers[numbers["paper"] == name]
            of = {*zip(own["criterion"], own["arm"], own["model"], strict=True)}
            if lost := [one for one in acting if one.runs and (one.criterion.name, one.arm, one.model) not in of]:
                raise NotInCounts(f"{name}: the snapshot has no numbers of {lost[0].criterion.name} of {lost[0].label}")
            counts.keep(data, {counts.CLAIMS: claims, counts.ACTING: acting, counts.CONTROLS: known})
        recompute.publish_checksums(asked)
        for _ in recompute.recompute(asked, root, judged):
            pass  # what differs is meant to
        recompute.publish_checksums(judged)
        shutil.rmtree(folder)
        judged.rename(folder)


def _check(paper: str, scored: Iterable[tuple[str, str]], of: Evidence) -> None:
    if missing := [pair for pair in scored if pair not in of.scores]:
        first = " on ".join(missing[0])
        raise NotInCounts(f"{paper}: the snapshot has no counts of {first} ({len(missing)} missing in all)")


def main(folder: Annotated[Path, typer.Argument(help="A snapshot, such as docs/results.")]) -> None:
    """Judge the claims, placebos and controls of a snapshot anew, from its counts."""
    try:
        recompute.check(folder)
        contents = read_json(folder / readme.CONTENTS)
        names = [paper["name"] for paper in contents["papers"]]
        rejudge(folder, make_plan(Path(), contents["scale"], names), Path())
    except NotInCounts as error:
        raise SystemExit(f"{error}; make the results anew") from error
    except Mistake as error:
        raise SystemExit(str(error)) from error
    print(f"{folder}: {', '.join(names)}")


if __name__ == "__main__":
    typer.run(main)
