"""`python -m rlvr.report.rejudge FOLDER`: claims, criteria, placebos and controls of a snapshot anew, from its counts.

For changed claims, bounds, or rules of judging: runs, counts, curves, tables and figures stay as they are, and so does
the number of each run that a criterion is judged by.
"""

import io
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from rlvr.claims import controls, mechanism_table, mechanisms
from rlvr.claims.contrasts import layout, needs
from rlvr.claims.evaluate import judged
from rlvr.claims.mechanisms import CRITERION, NOT_RUN, as_csv
from rlvr.claims.table import gather, markdown, tested_together
from rlvr.config.plan import Plan
from rlvr.files import Mistake, publish, publish_packed, read_json
from rlvr.items.contrast import Evidence
from rlvr.planning.expansion import make_plan
from rlvr.report import counts, readme, recompute, rerender
from rlvr.report.snapshot import SCALE


class NotInCounts(Mistake):
    """A claim needs what the counts of a snapshot do not have."""


def rejudge(folder: Path, plan: Plan) -> None:
    """Judges all papers of a snapshot at the scale of a plan. Raises NotInCounts, and then changes nothing."""
    criteria = mechanism_table.read(folder / mechanism_table.CSV)
    here = criteria["scale"] == plan.scale
    names = [paper["name"] for paper in read_json(folder / readme.CONTENTS)["papers"]]
    specs, known = {name: layout(plan, name) for name in names}, {name: controls.layout(plan, name) for name in names}
    evidence = {name: counts.evidence_of(folder / name / rerender.DATA) for name in names}
    for name in names:
        _check(name, needs([*specs[name], *(one.claim for one in known[name])]).scores, evidence[name])
    acting, rows = {name: mechanisms.layout(plan, name) for name in names}, []
    for name in names:
        known_rows = criteria[here & (criteria["paper"] == name) & (criteria["met"] != NOT_RUN)]
        of = {*zip(known_rows["criterion"], known_rows["arm"], known_rows["model"], strict=True)}
        if lost := [one for one in acting[name] if one.runs and (one.criterion.name, one.arm, one.model) not in of]:
            raise NotInCounts(f"{name}: the snapshot has no numbers of {lost[0].criterion.name} of {lost[0].label}")
        rows += mechanisms.judged_again(acting[name], known_rows, plan.scale)
        rows += [row for one in known[name] for row in controls.judged(one, evidence[name], plan.scale)]
    criteria = pd.concat([criteria[~here], mechanism_table.read(io.StringIO(as_csv(rows)))], ignore_index=True)
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            own = criteria[(criteria["paper"] == name) & (criteria["scale"] == plan.scale)]
            of_mechanisms = own[own["kind"] == CRITERION]
            judging = (specs[name], evidence[name], rerender.REFERENCES, plan.scale)
            summaries, contrasts = judged(*judging, of_mechanisms if len(of_mechanisms) else None)
            publish(Path(work, plan.scale, f"{name}.csv"), summaries)
            data = folder / name / rerender.DATA
            kept = {counts.CLAIMS: specs[name], counts.ACTING: acting[name], counts.CONTROLS: known[name]}
            counts.keep(data, plan.scale, kept)
            publish_packed(data / counts.CONTRASTS.format(plan.scale), contrasts)
        before = pd.read_csv(folder / readme.CLAIMS)
        others = before[before["scale"] != plan.scale]
        claims = tested_together(pd.concat([others, gather(Path(work))], ignore_index=True))
    publish_packed(folder / readme.CLAIMS, claims.to_csv(index=False, lineterminator="\n"))
    publish(folder / "claims.md", markdown(claims))
    mechanism_table.publish_in(folder, criteria)
    recompute.publish_checksums(folder)
    publish(folder / "README.md", readme.page(folder))


def _check(paper: str, scored: Iterable[tuple[str, str]], of: Evidence) -> None:
    if missing := [pair for pair in scored if pair not in of.scores]:
        first = " on ".join(missing[0])
        raise NotInCounts(f"{paper}: the snapshot has no counts of {first} ({len(missing)} missing in all)")


def main(
    folder: Annotated[Path, typer.Argument(help="A snapshot, such as docs/results.")],
    scale: Annotated[str, typer.Option(help="The scale of its claims.")] = SCALE,
) -> None:
    """Judge the claims, placebos and controls of a snapshot anew, from its counts."""
    names = [paper["name"] for paper in read_json(folder / readme.CONTENTS)["papers"]]
    try:
        rejudge(folder, make_plan(Path(), scale, names))
    except NotInCounts as error:
        raise SystemExit(f"{error}; make the results anew") from error
    print(f"{folder}/{readme.CLAIMS}: {', '.join(names)}")


if __name__ == "__main__":
    typer.run(main)
