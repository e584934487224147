"""Stage: mechanisms. Do the runs of a paper's arms exercise what it proposes? Judged by their metrics, before scores.

A criterion of mechanism.yaml is one number per run, such as the mean of a measure over the last twentieth of the steps.
It is met where the mean over training seeds keeps its bounds; the interval is Student's t over seeds. A method's claim
about scores is "not exercised" where a criterion of one of its arms is not met (`rlvr.claims.verdicts`).
"""

import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from rlvr import stage_options
from rlvr.claims.curve_claims import PASS_RATES
from rlvr.config.layers import ConfigError, look_up
from rlvr.config.layouts import Spec
from rlvr.config.measures import SHARE, possible
from rlvr.config.paths import Paths
from rlvr.config.plan import Item, PaperPlan, Plan, asked_for
from rlvr.config.schema.items import Claim
from rlvr.config.schema.mechanism import Criterion
from rlvr.files import publish, read_json, read_lines
from rlvr.items.contrast import Contrast, Rows
from rlvr.statistics.intervals import SeedsAndProblems
from rlvr.statistics.run_rows import value_of

YES, NO, NOT_RUN, NOT_COMPARABLE = "yes", "no", "not run", "not comparable"
CRITERION, REGIME = "criterion", "regime"  # kinds of rows
PART = 1 / 20  # of the steps, at the start and at the end
COLUMNS = ("scale", "paper", "short", "kind", "criterion", "arm", "label", "model", "stand_in", "says", "place")
COLUMNS += ("bound", "measured", "low", "high", "seeds", "met", "by_seed")

# ---- planned ------------------------------------------------------------------------------------


class CriterionSpec(Spec):
    """A criterion for one arm, with the runs that it is measured in, and those of the arm that it is held `against`."""

    paper: str
    short: str
    arm: str
    label: str
    model: str
    stand_in: str
    runs: tuple[str, ...]
    baseline: tuple[str, ...]
    confidence: float
    criterion: Criterion


def check_all(planned: PaperPlan, place: str) -> None:
    """Raises ConfigError where a criterion names what is not there. `place` is that of the criteria."""
    names, paper = set(), planned.paper
    for i, one in enumerate(paper.mechanism):
        where = f"{place}.{i}"
        if one.name in names:
            raise ConfigError(f"{where}.name: another criterion has the name {one.name} too; rename one of them")
        names.add(one.name)
        for arm in one.arms:
            look_up({**paper.arms, **planned.methods}, arm, "arm", f"{where}.arms")
        if one.model is not None:
            look_up(paper.models, one.model, "model of the paper", f"{where}.model")
        for key in ("against", "runs_of"):
            if (named := getattr(one, key)) is not None:
                look_up(paper.arms, named, "arm", f"{where}.{key}")
        for key, measure in one.measures.items():
            look_up(one.known, measure, "measure", f"{where}.{key}")


def layout(plan: Plan, paper: str, of: list[str] | None = None) -> list[CriterionSpec]:
    """Each criterion of a paper for each of its arms and models, with the runs of some items (`of`), or of this scale.

    An arm without runs has one row, of the criterion's model or the paper's first.
    """
    planned = plan.papers[paper]
    items = [planned.item(name) for name in of or asked_for(plan, paper)]
    settings = next(iter(planned.settings.values())) if planned.paper.mechanism else None
    shown, specs = {cell.model for item in items for cell in item.cells}, []
    for one, arm in [(criterion, arm) for criterion in planned.paper.mechanism for arm in criterion.arms]:
        assert settings is not None
        models = [model for model in planned.paper.models if model in shown] if one.model is None else [one.model]
        runs = {model: own for model in models if (own := _runs(plan, items, model, arm))}
        specs += [
            CriterionSpec(
                paper=paper,
                short=planned.paper.short,
                arm=arm,
                label=_label(planned, arm),
                model=model,
                stand_in=plan.stand_ins.get(model, model),
                runs=_runs(plan, items, model, one.runs_of) if own and one.runs_of else own,
                baseline=_runs(plan, items, model, one.against) if one.against else (),
                confidence=settings.statistics.confidence,
                criterion=one,
            )
            for model, own in (runs or {one.model or next(iter(planned.paper.models)): ()}).items()
        ]
    return specs


def _label(planned: PaperPlan, arm: str) -> str:
    """The label of an arm; a swept one has that of its rows."""
    if arm in planned.paper.arms:
        return planned.paper.arms[arm].label or arm
    rows = (cell.row for name in planned.all_items() for cell in planned.item(name).cells if cell.row.arm == arm)
    return next((row.label for row in rows), arm)


def _runs(plan: Plan, items: Iterable[Item], model: str, arm: str) -> tuple[str, ...]:
    """The runs of an arm at the paper's setting."""
    found: dict[str, None] = {}
    for item in items:
        shown = item.shown_by.get(model, model)
        cells = (cell for cell in item.cells if cell.model == shown and cell.row.arm == arm and not cell.rates)
        found |= {policy: None for cell in cells for policy, _ in cell.policies if policy in plan.runs}
    return tuple(found)


def needs(specs: Sequence[CriterionSpec]) -> list[str]:
    """The runs whose metrics are read, each once."""
    return list(dict.fromkeys(run for spec in specs for run in (*spec.runs, *spec.baseline)))


# ---- what a claim is about ----------------------------------------------------------------------


def about(planned: PaperPlan, claim: Claim, item: Item, contrasts: Sequence[Contrast]) -> str:
    """What a claim is about, where it does not say: only the baseline and its base policy, a mechanism (a measure of
    training that is no pass rate), or a method, by its scores. A figure that names no baseline has that of the first
    table."""
    if claim.about is not None:
        return claim.about
    named = (getattr(one.content, "compare_with", None) for one in (item, *planned.tables.values()))
    if {term.arm for contrast in contrasts for term in contrast.terms} <= {"base", next(filter(None, named), None)}:
        return "base"
    of_training = all(contrast.benchmark is None for contrast in contrasts) and claim.measure is not None
    return "mechanism" if of_training and str(claim.measure).rpartition(".")[2] not in PASS_RATES else "method"


def must_act(planned: PaperPlan, contrasts: Sequence[Contrast], about: str) -> tuple[str, ...]:
    """The arms with criteria in contrasts; a swept arm without own ones has those of the arm it varies. None where a
    claim `about` a mechanism is of one arm: it may say what the criterion asks."""
    named = {arm for one in planned.paper.mechanism if one.kind == CRITERION for arm in one.arms}
    arms = dict.fromkeys(term.arm for contrast in contrasts for term in contrast.terms)
    if about == "mechanism" and len(arms) == 1:
        return ()
    own = dict.fromkeys(arm if arm in named else planned.methods.get(arm, arm) for arm in arms)
    return tuple(arm for arm in own if arm in named)


# ---- measured -----------------------------------------------------------------------------------


def of_run(rows: list[dict[str, Any]], one: Criterion, run: str) -> float:
    """The statistic of a run; NaN where no step of the part has a value."""
    if one.of_start:
        part, start = (one.model_copy(update={"of_start": False, "over": over}) for over in (one.over, "start"))
        first = of_run(rows, start, run)
        return of_run(rows, part, run) / first if first else math.nan
    values = np.array([value_of(row, one.measure, run) for row in part_of(rows, one)], dtype=float)
    limit = one.above if one.below is None else one.below
    if limit is not None:
        limits = [value_of(row, limit, run) if isinstance(limit, str) else limit for row in part_of(rows, one)]
        beyond = values - np.array(limits, dtype=float)
        holds = beyond > 0 if one.below is None else beyond < 0
        values = np.where(np.isnan(beyond), np.nan, holds)
    return _mean(values)


def part_of(rows: list[dict[str, Any]], one: Criterion) -> list[dict[str, Any]]:
    """The rows of the criterion's part of training, at least one."""
    count = max(1, round(PART * len(rows)))
    return {"start": rows[:count], "all": rows, "end": rows[-count:]}[one.over]


def shape(rows: list[dict[str, Any]], baseline: list[dict[str, Any]], one: Criterion, run: str) -> float:
    """By how much the masses of two runs differ in shape, at the solve rate of `at` where it is least.

    With m(c) and b(c) their mean masses over groups with c correct responses, and the constant a that brings a b
    nearest to m (least squares), it is |m(c) / (a b(c)) - 1|. NaN where a mass is unknown.
    """
    own_C, base_C = (_by_correct(part_of(of, one), one.measure, run) for of in (rows, baseline))
    known = ~np.isnan(own_C) & ~np.isnan(base_C)
    square = float((base_C[known] ** 2).sum())
    if square == 0.0:
        return math.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio_C = own_C / (float((own_C[known] * base_C[known]).sum()) / square * base_C)
    rollouts = len(own_C) - 1
    places = [min(rollouts - 1, max(1, int(p * rollouts + 0.5))) for p in one.at]  # of mixed groups
    return float(np.min(np.abs(ratio_C[places] - 1)))


def _by_correct(rows: list[dict[str, Any]], measure: str, run: str) -> np.ndarray:
    masses_SC = np.array([value_of(row, measure, run) for row in rows], dtype=float)  # None is NaN
    return np.array([_mean(masses_S) for masses_S in masses_SC.T])


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def measured(spec: CriterionSpec, metrics: Rows) -> str:
    """The number of each run, as the results have it: six digits, blanks between; empty where an arm has no runs."""
    one = spec.criterion
    if one.against:
        pairs = zip(spec.runs, spec.baseline, strict=False)
        values = [shape(metrics[run], metrics[other], one, run) for run, other in pairs]
    else:
        values = [of_run(metrics[run], one, run) for run in spec.runs]
    return " ".join(f"{value:.6g}" for value in values)


def judged(spec: CriterionSpec, by_seed: str, scale: str) -> dict[str, Any]:
    """The row of a criterion for an arm, from what was `measured`."""
    one = spec.criterion
    row = {
        "scale": scale,
        **spec.model_dump(include={"paper", "short", "arm", "label", "model", "stand_in"}),
        **{"kind": one.kind, "criterion": one.name, "says": one.says, "place": one.place, "bound": bound(one)},
    }
    if not spec.runs or (one.against and not spec.baseline):
        return {**row, "seeds": 0, "met": NOT_RUN}
    known = np.array([value for value in map(float, by_seed.split()) if not math.isnan(value)])
    if not len(known):
        return {**row, "seeds": 0, "met": NO}
    shares = one.above is not None or one.below is not None
    within = SHARE if shares else (0.0, math.inf) if one.of_start else possible(one.measure)
    found = SeedsAndProblems(spec.confidence, within).of(known[:, None])
    met = (one.at_least is None or found.estimate >= one.at_least) and (
        one.at_most is None or found.estimate <= one.at_most
    )
    numbers = {"measured": found.estimate, "low": found.low, "high": found.high, "seeds": len(known)}
    return {**row, **numbers, "met": YES if met else NO, "by_seed": by_seed}


def judged_again(specs: Iterable[CriterionSpec], rows: pd.DataFrame, scale: str) -> list[dict[str, Any]]:
    """The rows of criteria from the numbers of runs that judged `rows` of a paper and scale have."""
    known = rows[rows["by_seed"].notna()]
    by_seed = {(row.criterion, row.arm, row.model): str(row.by_seed) for row in known.itertuples()}
    return [judged(one, by_seed.get((one.criterion.name, one.arm, one.model), ""), scale) for one in specs]


def bound(one: Criterion) -> str:
    """The bounds of a criterion in words."""
    ends = {"at least": one.at_least, "at most": one.at_most}
    return " and ".join(f"{words} {end:.3g}" for words, end in ends.items() if end is not None)


def unmet(frame: pd.DataFrame, arms: Sequence[str], models: Collection[str]) -> list[str]:
    """The criteria of some arms that are not met in runs of some models, in words with their numbers."""
    of_arms = (frame["kind"] == CRITERION) & frame["arm"].isin(arms) & frame["model"].isin(models)
    rows = frame[of_arms & (frame["met"] == NO)]
    where = rows["label"] + (" (" + rows["model"] + ")" if len(models) > 1 else "")
    return [
        f"{at}: {row['criterion']} is {row['measured']:.3g}, needed {row['bound']}"
        for at, (_, row) in zip(where, rows.iterrows(), strict=True)
    ]


def as_csv(rows: Iterable[dict[str, Any]]) -> str:
    """Rows of criteria, placebos and controls as the stages write them."""
    frame = pd.DataFrame([*rows], columns=[*COLUMNS])
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def main(
    spec: stage_options.Spec,
    results: stage_options.Results,
    out: Annotated[Path, typer.Option(help="CSV of criteria.")],
) -> None:
    """Judge the criteria of a paper at one scale, from the metrics of its runs."""
    content = read_json(spec)
    specs = [CriterionSpec.model_validate(one) for one in content["criteria"]]
    paths = Paths(str(results), content["scale"])
    metrics = {run: list(read_lines(Path(paths.rows(run)[1]))) for run in needs(specs)}
    publish(out, as_csv(judged(one, measured(one, metrics), content["scale"]) for one in specs))


if __name__ == "__main__":
    typer.run(main)
