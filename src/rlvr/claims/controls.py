"""Stage: controls. Does the experiment find what is known to be there, and nothing where nothing is?

Controls are comparisons whose result is known. Beside them are the methods against their placebos, with the same
contrasts as in claims.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlvr import stage_options
from rlvr.claims.contrasts import needs, specified
from rlvr.claims.mechanisms import NO, NOT_COMPARABLE, NOT_RUN, REGIME, YES, as_csv
from rlvr.claims.placebos import tables_of
from rlvr.config.layouts import Spec
from rlvr.config.paths import Paths
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.config.schema.paper import Paper
from rlvr.files import publish, read_json
from rlvr.items.contrast import ClaimSpec, Evidence

if TYPE_CHECKING:  # a plan loads this module, and no pandas for it
    import pandas as pd

PLACEBO, CONTROL = "placebo", "control"  # kinds of rows
BOUNDS = {"above": "above 0", "below": "below 0", "undecided": "includes 0"}


class ControlSpec(Spec):
    """A control, or a method against a placebo, as a claim with its contrasts."""

    kind: str
    name: str
    arm: str
    expected: str
    claim: ClaimSpec
    at_least: float | None = None


def as_claims(paper: Paper) -> list[Claim]:
    """Each control as a claim that its left arm is above its right ones."""
    return [
        _claim(one.name, one.says, one.table, one.left, one.right, [one.k]).model_copy(update={"k": [one.k]})
        for one in paper.controls
    ]


def _claim(name: str, says: str, over: str, left: str, right: list[str], k: list[int]) -> Claim:
    return Claim(
        name=name,
        says=says,
        place="not in the paper",
        of="control",
        over=over,
        predicate="greater",
        left=left,
        right=right,
        k=k,
    )


def layout(plan: Plan, paper: str, of: list[str] | None = None) -> list[ControlSpec]:
    """The controls and the placebos of a paper, as far as some items (`of`), or those of the scale, have the runs."""
    planned, found = plan.papers[paper], []
    for control, claim in zip(planned.paper.controls, as_claims(planned.paper), strict=True):
        spec = specified(plan, paper, claim, of).get(control.effort)
        if spec is not None:
            kind = CONTROL if control.at_least is None else REGIME
            about = {"name": control.name, "arm": control.left, **control.model_dump(include={"expected", "at_least"})}
            found.append(ControlSpec(kind=kind, claim=spec, **about))
    seen: set[tuple[Any, ...]] = set()  # several tables may have one contrast
    pairs = ((method, placebo) for method, placebos in planned.paper.placebos.items() for placebo in placebos)
    for method, placebo in pairs:
        for item in tables_of(planned, method, placebo):
            k = _largest_k(planned.paper, item)
            says = f"{planned.paper.arms[method].label or method} is above its placebo"
            claim = _claim(f"{method}_above_{placebo}", says, item.name, method, [placebo], [k])
            for effort, spec in specified(plan, paper, claim, of).items():
                contrasts = (effort, *((one.says, one.model, one.benchmark) for one in spec.contrasts))
                if contrasts in seen:
                    continue
                seen.add(contrasts)
                found.append(ControlSpec(kind=PLACEBO, name=claim.name, arm=method, expected="above", claim=spec))
    return found


def _largest_k(paper: Paper, item: Item) -> int:
    """The largest k of a table that the paper's controls are judged at, else its largest: at some k blind guesses
    score too much."""
    every: list[int] = item.content.k  # type: ignore[attr-defined]
    return max({control.k for control in paper.controls if control.k in every and control.k > 1} or every)


def judged(spec: ControlSpec, inputs: Evidence, scale: str) -> list[dict[str, Any]]:
    """A row per contrast: `met` says whether it is as expected."""
    from rlvr.claims.evaluate import evaluate

    rows = []
    for one in evaluate(spec.claim, inputs):
        row = {
            "scale": scale,
            "paper": spec.claim.paper,
            "short": spec.claim.short,
            "kind": spec.kind,
            "criterion": spec.name,
            "arm": spec.arm,
            "label": one["says"],
            "model": one["model"],
            "stand_in": one["stand_in"],
            "says": spec.claim.says,
            "place": f"{one['data']}, {spec.claim.effort}",
            "bound": BOUNDS[spec.expected] if spec.at_least is None else f"at least {spec.at_least:g}",
            "seeds": one.get("seeds", 0),
            "met": NOT_COMPARABLE if one["verdict"] == NOT_COMPARABLE else NOT_RUN,
        }
        if "estimate" in one:
            ends = ("low_of_all", "high_of_all") if spec.expected == "undecided" else ("low", "high")
            low, high = (one[end] for end in ends)
            met = _met(spec, low, high) if spec.at_least is None else one["estimate"] >= spec.at_least
            row |= {"measured": one["estimate"], "low": low, "high": high, "met": YES if met else NO}
        rows.append(row)
    return rows


def _met(spec: ControlSpec, low: float, high: float) -> bool:
    return {"above": low > 0, "below": high < 0, "undecided": low <= 0 <= high}[spec.expected]


def missed(frame: pd.DataFrame) -> list[str]:
    """The controls that were run and not found, each with its estimate and interval."""
    rows = frame[(frame["kind"] == CONTROL) & frame["met"].isin([NO, NOT_COMPARABLE])]
    return [
        f"{row['short']}, {row['criterion']}: {row['label']} is {_said(row)} ({row['place']}), expected: {row['bound']}"
        for _, row in rows.iterrows()
    ]


def _said(row: pd.Series) -> str:
    return NOT_COMPARABLE if row["met"] != NO else f"{row['measured']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"


def main(
    spec: stage_options.Spec,
    results: stage_options.Results,
    out: Annotated[Path, typer.Option(help="CSV of controls and placebos.")],
) -> None:
    """Judge the controls of a paper at one scale, from the scores in the results folder."""
    from rlvr.statistics.scores import read_all

    content = read_json(spec)
    specs = [ControlSpec.model_validate(one) for one in content["controls"]]
    paths = Paths(str(results), content["scale"])
    scores = read_all([Path(paths.scores(*pair)) for pair in needs([one.claim for one in specs]).scores])
    inputs = Evidence(scores)
    rows = [row for one in specs for row in judged(one, inputs, content["scale"])]
    publish(out, as_csv(rows))


if __name__ == "__main__":
    typer.run(main)
