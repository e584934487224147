"""`make snapshot` and others of the name: results for visitors, as small files for version control.

Tables (Markdown), figures, claims, the statistics that they are rendered from (`.data`) and, for every policy behind
them, its seed, steps, seconds, commit and lock file.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from PIL import Image
from tabulate import tabulate

from rlvr.claims import grid
from rlvr.claims.contrasts import layout, needs
from rlvr.claims.table import cautions, counted, counts, discoveries, gather, markdown, numbers, tested_together
from rlvr.claims.verdicts import DECIDED
from rlvr.config import identity
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.paths import Paths
from rlvr.config.plan import Plan, asked_for
from rlvr.config.schema.specs import PolicySpec, RunSpec
from rlvr.files import publish, read_json
from rlvr.planning.expansion import make_plan
from rlvr.provenance import ROOT
from rlvr.report import captions, kept, origins
from rlvr.report.history import objections

SCALE = "laptop"
FACTS = ("commit", "lock", "device", "finished")


class Missing(Exception):
    """A file of a snapshot is missing."""


class Refused(Exception):
    """The results are not those of this checkout's code."""


def take(
    plan: Plan,
    paths: Paths,
    out: Path,
    others: Sequence[Plan] = (),
    items: Sequence[str] = (),
    allow: str = "",
    keep: Sequence[str] = (),
) -> list[str]:
    """The papers of a new snapshot, which replaces `out`.

    It has tables and figures at one scale, and claims at every evaluated scale; `others` are the plans of the other
    scales. With `items` it has those, of each paper of the plan, and no claims. The papers of `keep`, which the plan
    has too, stay as `out` has them. Raises Missing where a file is missing, and Refused where the policies are not of
    this checkout's code (`rlvr.report.history`), unless `allow` gives the reason, which the page then has, or where
    `out` lacks a policy of a paper to keep, since its settings changed.
    """
    names = [name for name, made in plan.papers.items() if made.paper.claims or items]
    wanted = {name: list(items) or asked_for(plan, name) for name in names}
    anew = {name: of_paper for name, of_paper in wanted.items() if name not in keep}
    kept_runs, kept_claims = _kept(plan, out, [name for name in names if name in keep])
    policies = _policies(plan, paths, anew)
    claims = pd.DataFrame() if items else _claims(paths, list(anew), [plan, *others])
    for other in others:
        policies |= _behind(other, claims)
    if missing := [path for stage in policies.values() if not (path := _manifest(paths, stage)).is_file()]:
        raise _missing(missing)
    against = _objections(paths, policies, kept_runs)
    if against and not allow:
        raise Refused("; ".join(against))
    sections = [
        _kept_section(plan, out, name) if name in keep else _section(plan, paths, name, wanted[name]) for name in names
    ]
    for path in out.glob("*") if out.is_dir() else ():
        if path.name not in keep:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    _copy_items(plan, paths, out, anew)
    if keep:
        claims = pd.concat([kept_claims, claims]).sort_values(["scale", "paper"], kind="stable", ignore_index=True)
        claims = tested_together(claims)
    if not items:
        _publish_claims(claims, out)
    runs = pd.DataFrame([_provenance(_manifest(paths, stage), policy) for policy, stage in policies.items()])
    if keep:
        runs = pd.concat([kept_runs[~kept_runs["policy"].isin(runs["policy"])], runs])
    publish(out / "runs.csv", runs.to_csv(index=False, lineterminator="\n"))
    about_claims = [] if items else verdicts(claims)
    title = f"{_first_title(plan, anew)}, at {plan.scale} scale" if items else f"Results at {plan.scale} scale"
    publish(out / "README.md", _readme(title, [plan, *others], about_claims, runs, sections, _allowed(against, allow)))
    return list(anew)


def _first_title(plan: Plan, wanted: Mapping[str, Sequence[str]]) -> str:
    paper, names = next(iter(wanted.items()))
    return plan.papers[paper].item(names[0]).content.title


def _missing(paths: Sequence[Path]) -> Missing:
    return Missing(f"{paths[0]} is missing ({len(paths)} missing files in all)")


def _claims(paths: Paths, papers: Sequence[str], plans: Sequence[Plan]) -> pd.DataFrame:
    """The claims of some papers at the scales of some plans. Raises Missing where no claim was evaluated."""
    folder = Path(paths.results) / "claims"
    claims = gather(folder)
    if claims.empty:
        raise _missing([folder / "claims.csv"])
    return claims.loc[claims["paper"].isin(papers) & claims["scale"].isin([plan.scale for plan in plans])]


def _policies(plan: Plan, paths: Paths, wanted: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The policies of papers' items, with their stages. Raises Missing where a file of an item is missing."""
    policies: dict[str, str] = {}
    files: list[Path] = []
    for paper, names in wanted.items():
        made = plan.papers[paper]
        for name in names:
            look_up(made.all_items(), name, "table or figure", f"{paper}: --item")
            files += [_rendered(plan, paths, paper, name), *kept.files(plan, paper, name, paths)]
            policies |= {policy: plan.stage(policy) for policy in made.item(name).policies()}
    if missing := [path for path in files if not path.is_file()]:
        raise _missing(missing)
    return policies


def _rendered(plan: Plan, paths: Paths, paper: str, name: str) -> Path:
    """A table as Markdown, a figure as PNG."""
    return Path(paths.item(plan, paper, name)[1])


def _objections(paths: Paths, policies: Mapping[str, str], kept_runs: pd.DataFrame) -> list[str]:
    """What speaks against the commits of the policies and of the runs that stay."""
    manifests = [read_json(_manifest(paths, stage)) for stage in policies.values()]
    made_at = [origins.commit(part) for one in manifests for part in origins.entries(one)]
    stay = [str(commits).split(", ") for commits in (kept_runs["commit"] if len(kept_runs) else [])]
    return objections(chain(made_at, chain.from_iterable(stay)), ROOT)


def _copy_items(plan: Plan, paths: Paths, out: Path, wanted: Mapping[str, Sequence[str]]) -> None:
    """The tables and figures, and the statistics that they are rendered from."""
    for paper, names in wanted.items():
        for name in names:
            kept.keep(plan, paper, name, paths, out / paper)
            source = _rendered(plan, paths, paper, name)
            copy(source, out / paper / source.name)


def _kept(plan: Plan, out: Path, papers: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What a snapshot has of some papers: rows of runs.csv, all of those that the plan wants, and of claims.csv."""
    if not papers:
        return pd.DataFrame(), pd.DataFrame()
    if lacking := [name for name in ("runs.csv", "claims.csv", "README.md") if not (out / name).is_file()]:
        raise Refused(f"{out / lacking[0]} is missing: there is no snapshot with claims whose papers could stay")
    runs, claims = pd.read_csv(out / "runs.csv", keep_default_na=False), pd.read_csv(out / "claims.csv")
    wanted: set[str] = set()
    for paper in papers:
        made = plan.papers[paper]
        policies = {policy for item in asked_for(plan, paper) for policy in made.item(item).policies()}
        if lost := sorted(policies - set(runs["policy"])):
            raise Refused(f"{out} has no {lost[0]} ({len(lost)} missing policies in all): {paper} cannot stay as it is")
        wanted |= policies
    return runs.loc[runs["policy"].isin(wanted)], claims.loc[claims["paper"].isin(papers)]


def _kept_section(plan: Plan, out: Path, paper: str) -> str:
    """The lines on a paper that a snapshot's page has."""
    title = f"## {plan.papers[paper].paper.short}\n"
    page = (out / "README.md").read_text()
    return title + page.split(title, 1)[1].split("\n## ", 1)[0].rstrip("\n") + "\n"


def _section(plan: Plan, paths: Paths, paper: str, names: Sequence[str]) -> str:
    """The page's lines on a paper: links to its tables, and its figures with their captions."""
    of = plan.papers[paper]
    lines = [f"## {of.paper.short}\n\n{of.paper.title} ({of.paper.authors}, {of.paper.year})\n"]
    for name in names:
        content, link = of.item(name).content, f"{paper}/{_rendered(plan, paths, paper, name).name}"
        if name in of.tables:
            lines.append(f"- [{content.title}]({link})")
            continue
        frames = [pd.read_csv(file) for file in kept.files(plan, paper, name, paths)]
        below = captions.caption(content.kind, frames, getattr(content, "smooth", None))
        note = f"{content.note.strip()} " if content.note else ""
        lines.append(
            f"\n**{content.title}**\n\n![{captions.in_words(content.title, frames)}]({link})\n\n{note}{below}\n"
        )
    return "\n".join(lines)


def _publish_claims(claims: pd.DataFrame, out: Path) -> None:
    publish(out / "claims.md", markdown(claims))
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "claims.png"
        grid.publish(claims, picture)
        copy(picture, out / "claims.png")
    publish(out / "claims.csv", claims.to_csv(index=False, lineterminator="\n"))


def _behind(plan: Plan, claims: pd.DataFrame) -> dict[str, str]:
    """The policies behind the claims at a scale, with their stages."""
    papers = dict.fromkeys(claims[claims["scale"] == plan.scale]["paper"])
    inputs = [needs(layout(plan, paper)) for paper in papers]
    scored = [policy for found in inputs for policy, _ in chain(found.scores, found.diversity)]
    named = [*scored, *(run for found in inputs for runs in found.rows.values() for run in runs)]
    return {policy: plan.stage(policy) for policy in named}


def _manifest(paths: Paths, stage: str) -> Path:
    return Path(paths.results) / stage / "manifest.json"


def copy(source: Path, target: Path) -> None:
    """Copies a table unchanged, a picture in 256 colours, which takes a quarter of the space."""
    if source.suffix != ".png":
        shutil.copyfile(source, target)
        return
    with Image.open(source) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)


def _provenance(path: Path, policy: str) -> dict[str, Any]:
    manifest = read_json(path)
    facts = {key: manifest.get(key, "") for key in ("stage", "seed", "step", "seconds")}
    origin = {name: origins.in_order(manifest, getattr(origins, name)) for name in FACTS[:3]}
    return {"policy": policy, **described(manifest), **facts, **origin, "finished": origins.finished(manifest)}


def described(manifest: dict[str, Any]) -> dict[str, Any]:
    """A policy's method, model, learning rate and settings off the defaults, from its manifest.

    The learning rate of a base policy is that of its SFT; a published model has none.
    """
    spec, stage = manifest.get("spec"), manifest.get("stage")
    if stage == "rl":
        run = RunSpec.model_validate(spec)
        differ = ", ".join(f"{key} = {value}" if value else key for key, value in identity.settings(run).items())
        model, rate = run.base.model.name, run.rl.learning_rate
        return {"method": identity.method(run), "model": model, "learning_rate": rate, "settings": differ}
    if stage == "sft":
        policy = PolicySpec.model_validate(spec)
        rate = policy.sft.learning_rate if policy.sft else ""
        return {"method": "sft", "model": policy.model.name, "learning_rate": rate, "settings": ""}
    model = manifest["hub"]["repo"] if "hub" in manifest else ""
    return {"method": "", "model": model, "learning_rate": "", "settings": ""}


def _allowed(against: list[str], reason: str) -> list[str]:
    return [f"Taken although {'; '.join(against)}. The reason: {reason}.", ""] if against else []


def _readme(
    title: str,
    plans: list[Plan],
    about_claims: list[str],
    runs: pd.DataFrame,
    sections: list[str],
    allowed: list[str],
) -> str:
    facts = {fact: "; ".join(dict.fromkeys(str(value) for value in runs[fact])) for fact in FACTS[:3]}
    hours = float(pd.to_numeric(runs["seconds"], errors="coerce").sum()) / 3600
    last = max((str(value) for value in runs["finished"] if value != origins.NOT_RECORDED), default="unknown")
    made_by = "make snapshot" if plans[0].scale == SCALE else "python -m rlvr.report.snapshot"
    return "\n".join(
        [
            f"# {title}",
            "",
            f"{plans[0].about}",
            "",
            *(f"Claims stand at {other.scale} scale too. {other.about.strip()}\n" for other in plans[1:]),
            f"{len(runs)} policies ([runs.csv](runs.csv)), {hours:.1f} hours of training in all on "
            f"{facts['device']}; the last finished {last}. Commit {facts['commit']}, lock file "
            f"{facts['lock']}. Made by `{made_by}`; the pages of the run say more.",
            "",
            *allowed,
            *about_claims,
            *sections,
            "",
        ]
    )


def verdicts(claims: pd.DataFrame) -> list[str]:
    """The picture of the claims, their numbers, and those that were decided, as lines."""
    table = counts(claims, ["short", "scale", "effort"])
    return [
        "![Each claim of each paper: whether its own numbers say so, and what was found here](claims.png)",
        "",
        "Verdicts on what the papers claim ([claims.md](claims.md), [claims.csv](claims.csv)):",
        "",
        tabulate(table, headers="keys", tablefmt="pipe", showindex=False),
        "",
        *(f"- {sentence}" for sentence in [*cautions(claims), *discoveries(claims)]),
        "",
        "Those that were decided, with the contrast that decides:",
        "",
        *(_decided(row) for _, row in counted(claims[claims["verdict"].isin(DECIDED)]).iterrows()),
        "",
    ]


def _decided(row: pd.Series) -> str:
    claim = f"- {row['short']}, {row['scale']}, {row['effort']}: {row['says']} ({row['place']})."
    return f"{claim} **{row['verdict'].capitalize()}**: {row['deciding']} {numbers(row)}"


def main(
    scale: Annotated[str, typer.Option(help="The scale of tables and figures.")] = SCALE,
    papers: Annotated[str, typer.Option(help="Papers, separated by commas.")] = "ace,lens,agrae,fade,pacs",
    results: Annotated[Path, typer.Option(help="The results folder.")] = Path("results"),
    out: Annotated[Path, typer.Option(help="Folder to write; replaces an earlier snapshot.")] = Path("docs/results"),
    items: Annotated[
        list[str] | None, typer.Option("--item", help="Only this table or figure, and no claims; may be repeated.")
    ] = None,
    alone: Annotated[bool, typer.Option("--alone", help="Claims of this scale, none of others.")] = False,
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
    claims = gather(results / "claims") if not items else pd.DataFrame()
    scales = [] if claims.empty or alone else [other for other in dict.fromkeys(claims["scale"]) if other != scale]
    try:
        plan = make_plan(Path(), scale, names)
        others = [make_plan(Path(), other, names) for other in scales]
        papers_taken = take(plan, Paths(str(results), scale), out, others, items or (), allow, stay)
    except Missing as error:
        targets = " ".join(f"paper_{name}" for name in names) + " claims" if not items else "league"
        raise SystemExit(f"{error}; first: snakemake {targets} --config scale={scale}") from error
    except Refused as error:
        raise SystemExit(f"{error}; make the results anew, or give a reason: --allow REASON") from error
    except ConfigError as error:  # e.g. claims of a scale that config/ no longer has
        where = f" (claims are below {results / 'claims'})" if scales else ""
        raise SystemExit(f"{error}{where}") from error
    print(f"{out}/README.md: {', '.join(papers_taken)}")


if __name__ == "__main__":
    typer.run(main)
