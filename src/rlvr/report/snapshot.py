"""`make snapshot` and others of the name: results for visitors, as small files for version control.

The tables of papers' cores (Markdown), claims, what tables and figures are rendered from, the counts that this is
computed from (`.data`, with checksums), and, for every policy behind them, its seed, steps, seconds, commit and lock
file. `rlvr.report.readme` makes the page from these files, `rlvr recompute` all of them.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from rlvr.claims import mechanism_table
from rlvr.claims.table import DISTINCT, gather, markdown, tested_together
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan, asked_for, core_items
from rlvr.files import publish, publish_packed, read_json, remove
from rlvr.planning.expansion import make_plan
from rlvr.provenance import ROOT
from rlvr.report import counts, findings, origins, readme, recompute, rerender
from rlvr.report.history import objections, unused
from rlvr.report.runs import FILE, row

SCALE = "full-laptop"
COMMAND = "python -m rlvr.report.snapshot"
Wanted = Mapping[str, Sequence[str]]  # papers with the names of their items


class MissingResults(Exception):
    """A file of a snapshot is missing."""


class SnapshotRefused(Exception):
    """The results are not those of this checkout's code."""


class CannotStay(Exception):
    """Papers of an earlier snapshot cannot stay as they are."""


@dataclass(frozen=True)
class Staying:
    """What a snapshot has of papers that stay: their runs, claims and contents."""

    runs: pd.DataFrame = field(default_factory=pd.DataFrame)
    claims: pd.DataFrame = field(default_factory=pd.DataFrame)
    papers: dict[str, Any] = field(default_factory=dict)
    criteria: pd.DataFrame = field(default_factory=pd.DataFrame)


def take(
    plan: Plan,
    paths: Paths,
    out: Path,
    items: Sequence[str] = (),
    allow: str = "",
    keep: Sequence[str] = (),
) -> list[str]:
    """The papers of a new snapshot, which replaces `out`.

    It has tables, figures and claims at the plan's scale; with `items` those, of each paper of the plan, and no claims.
    The papers of `keep`, which the plan has too, stay as `out` has them. Of figures, and of tables beyond the papers'
    cores, it has only what they are rendered from, and the two pictures of `rlvr.report.findings`.

    Raises MissingResults where a file is missing; SnapshotRefused where the policies are not of this checkout's code
    (`rlvr.report.history`), unless `allow` gives the reason, which the page then has; CannotStay where `out` lacks a
    policy of a paper to keep, since its settings changed.
    """
    names = [name for name, made in plan.papers.items() if made.paper.claims or items]
    anew = {name: list(items) or asked_for(plan, name) for name in names if name not in keep}
    stay = _staying(plan, out, [name for name in names if name in keep])
    claims = pd.DataFrame({"paper": []}) if items else _claims(paths, list(anew), plan)
    policies = _policies(plan, paths, anew)
    judged = set(claims["paper"])
    kept = [counts.Kept(name, plan, wanted, name in judged, paths) for name, wanted in anew.items()]
    manifests = _manifests(paths, policies)
    _require(chain(chain.from_iterable(one.files() for one in kept), [] if items else _judged(plan, paths, anew)))
    against = _objections(manifests.values(), stay.runs, plan)
    if against and not allow:
        raise SnapshotRefused("; ".join(against))
    for path in out.glob("*"):
        if path.name not in keep:
            remove(path)
    _keep_items(plan, paths, anew, out)
    for one in kept:
        one.write(out / one.paper / rerender.DATA)
    findings.publish(out, names)
    if not items:
        _publish_claims(stay.claims, claims, out)
        criteria = pd.concat([stay.criteria, _criteria(paths, list(anew), plan)])
        if len(criteria):
            mechanism_table.publish_in(out, criteria)
    _publish_runs(stay.runs, manifests, out)
    recompute.publish_checksums(out)
    readme.publish_with(
        out,
        scale=plan.scale,
        title=f"{_title(plan, anew) if items else 'Results'} at {plan.scale} scale",
        about=plan.about.strip(),
        made_by=" ".join(
            [f"{COMMAND} --scale {plan.scale} --papers {','.join(names)}", *(f"--item {i}" for i in items)]
        ),
        allowed=f"Taken although {'; '.join(against)}. The reason: {allow}." if against else "",
        papers=[stay.papers.get(name) or readme.paper(plan, name, anew[name]) for name in names],
    )
    return list(anew)


def _require(paths: Iterable[Path]) -> None:
    if missing := [path for path in paths if not path.is_file()]:
        raise MissingResults(f"{missing[0]} is missing ({len(missing)} missing files in all)")


def _claims(paths: Paths, papers: Sequence[str], plan: Plan) -> pd.DataFrame:
    """The claims of some papers at the plan's scale. Raises MissingResults where no claim was evaluated."""
    folder = Path(paths.results) / "claims"
    claims = gather(folder)
    if claims.empty:
        raise MissingResults(f"{folder / 'claims.csv'} is missing (1 missing files in all)")
    return claims.loc[claims["paper"].isin(papers) & (claims["scale"] == plan.scale)]


def _policies(plan: Plan, paths: Paths, wanted: Wanted) -> dict[str, str]:
    """The policies of papers' items, with their stages. Raises MissingResults where a file of an item is missing."""
    policies: dict[str, str] = {}
    files: list[Path] = []
    for paper, names in wanted.items():
        made = plan.papers[paper]
        for name in names:
            look_up(made.all_items(), name, "table or figure", f"{paper}: --item")
            files += [_rendered(plan, paths, paper, name), *rerender.files(plan, paper, name, paths)]
            policies |= {policy: plan.stage(policy) for policy in made.item(name).policies()}
    _require(files)
    return policies


def _rendered(plan: Plan, paths: Paths, paper: str, name: str) -> Path:
    """A table as Markdown, a figure as PNG."""
    return Path(paths.item(plan, paper, name)[1])


def _manifests(paths: Paths, policies: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The manifests of policies. Raises MissingResults where one is missing."""
    files = {policy: Path(paths.results, stage, "manifest.json") for policy, stage in policies.items()}
    _require(files.values())
    return {policy: read_json(path) for policy, path in files.items()}


def _objections(manifests: Iterable[dict[str, Any]], staying: pd.DataFrame, plan: Plan) -> list[str]:
    """What speaks against the commits of the policies and of the runs that stay."""
    made_at = [origins.commit(part) for one in manifests for part in origins.entries(one)]
    stay = [str(commits).split(", ") for commits in (staying["commit"] if len(staying) else [])]
    return objections(chain(made_at, chain.from_iterable(stay)), ROOT, unused(plan))


def _keep_items(plan: Plan, paths: Paths, wanted: Wanted, out: Path) -> None:
    """Copies what papers' items are rendered from to `out`, and the tables of their cores, or those made by name."""
    cores = core_items(plan)
    for paper, names in wanted.items():
        rerender.keep(plan, paper, names, paths, out / paper)
        for source in (_rendered(plan, paths, paper, name) for name in names):
            shown = (paper, source.stem) in cores or plan.papers[paper].by_name(source.stem)
            if shown and source.suffix != rerender.PICTURE:
                shutil.copyfile(source, out / paper / source.name)


def _title(plan: Plan, wanted: Wanted) -> str:
    """The title of the first of papers' items, with a comma."""
    paper, names = next(iter(wanted.items()))
    return f"{plan.papers[paper].item(names[0]).content.title},"


def _publish_runs(staying: pd.DataFrame, manifests: Mapping[str, dict[str, Any]], out: Path) -> None:
    runs = pd.DataFrame([row(policy, manifest) for policy, manifest in manifests.items()])
    if len(staying):
        runs = pd.concat([staying[~staying["policy"].isin(runs["policy"])], runs])
    publish_packed(out / FILE, runs.to_csv(index=False, lineterminator="\n"))


def _publish_claims(staying: pd.DataFrame, claims: pd.DataFrame, out: Path) -> None:
    if len(staying):
        together = pd.concat([staying, claims]).sort_values(["scale", "paper"], kind="stable", ignore_index=True)
        claims = tested_together(together)
    publish(out / "claims.md", markdown(claims))
    publish_packed(out / readme.CLAIMS, claims.to_csv(index=False, lineterminator="\n"))


def _judged(plan: Plan, paths: Paths, papers: Iterable[str]) -> list[Path]:
    """The files of papers' criteria, placebos and controls, of those that the plan has."""
    of = {name: plan.papers[name].paper for name in papers}
    files = [paths.mechanisms(name) for name, paper in of.items() if paper.mechanism]
    files += [paths.controls(name) for name, paper in of.items() if paper.placebos or paper.controls]
    return [Path(file) for file in files]


def _criteria(paths: Paths, papers: Sequence[str], plan: Plan) -> pd.DataFrame:
    """The judged criteria, placebos and controls of some papers at the plan's scale."""
    criteria = pd.concat(mechanism_table.gather(Path(paths.results) / name) for name in ("mechanisms", "controls"))
    return criteria.loc[criteria["paper"].isin(papers) & (criteria["scale"] == plan.scale)]


def _staying(plan: Plan, out: Path, papers: Sequence[str]) -> Staying:
    """What a snapshot has of some papers. Raises CannotStay where it lacks a policy that the plan needs."""
    if not papers:
        return Staying()
    if lacking := [name for name in (FILE, readme.CLAIMS, readme.CONTENTS) if not (out / name).is_file()]:
        raise CannotStay(
            f"{out / lacking[0]} is missing: there is no snapshot with claims of this version whose papers could stay; "
            "take all papers anew"
        )
    runs, claims = pd.read_csv(out / FILE, keep_default_na=False), pd.read_csv(out / readme.CLAIMS)
    if not {*DISTINCT} <= set(claims):
        raise CannotStay(f"{out / readme.CLAIMS}: an earlier version wrote it; take all papers anew")
    wanted: set[str] = set()
    for paper in papers:
        made = plan.papers[paper]
        policies = {policy for item in asked_for(plan, paper) for policy in made.item(item).policies()}
        if lost := sorted(policies - set(runs["policy"])):
            raise CannotStay(
                f"{out} has no {lost[0]} ({len(lost)} missing policies in all): {paper} cannot stay as it is"
            )
        wanted |= policies
    taken = read_json(out / readme.CONTENTS)
    if taken["scale"] != plan.scale:
        raise CannotStay(f"{out} is of the scale {taken['scale']}, not {plan.scale}: take all papers anew")
    contents = {paper["name"]: paper for paper in taken["papers"] if paper["name"] in papers}
    file = out / mechanism_table.CSV
    criteria = mechanism_table.read(file) if file.is_file() else pd.DataFrame({"paper": []})
    of_papers = (claims.loc[claims["paper"].isin(papers)], contents, criteria.loc[criteria["paper"].isin(papers)])
    return Staying(runs.loc[runs["policy"].isin(wanted)], *of_papers)


def main(
    papers: Annotated[str, typer.Option(help="Papers, separated by commas.")],
    scale: Annotated[str, typer.Option(help="The scale.")] = SCALE,
    results: Annotated[Path, typer.Option(help="The results folder.")] = Path("results"),
    out: Annotated[Path, typer.Option(help="Folder to write; replaces an earlier snapshot.")] = Path("docs/results"),
    items: Annotated[
        list[str] | None, typer.Option("--item", help="Only this table or figure, and no claims; may be repeated.")
    ] = None,
    keep: Annotated[
        str, typer.Option(metavar="PAPERS", help="Papers that stay as the folder has them, separated by commas.")
    ] = "",
    allow: Annotated[
        str, typer.Option(metavar="REASON", help="Take results of other code too; the page gets the reason.")
    ] = "",
) -> None:
    """Copy tables, figures and verdicts with their provenance into a folder for visitors."""
    names = papers.split(",")
    stay = keep.split(",") if keep else []
    if stay and items:
        raise SystemExit("--keep: not with --item, whose snapshots have no claims")
    if unknown := [name for name in stay if name not in names]:
        raise SystemExit(f"--keep {unknown[0]}: not among --papers {papers}")
    try:
        plan = make_plan(Path(), scale, names)
        papers_taken = take(plan, Paths(str(results), scale), out, items or (), allow, stay)
    except MissingResults as error:
        targets = " ".join(f"paper_{name}" for name in names) + " claims" if not items else "league"
        raise SystemExit(f"{error}; first: snakemake {targets} --config scale={scale}") from error
    except SnapshotRefused as error:
        raise SystemExit(f"{error}; make the results anew, or give a reason: --allow REASON") from error
    except (CannotStay, ConfigError) as error:
        raise SystemExit(str(error)) from error
    print(f"{out}/README.md: {', '.join(papers_taken)}")


if __name__ == "__main__":
    typer.run(main)
