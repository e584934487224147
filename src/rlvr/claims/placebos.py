"""Placebos: a claim that a method is above its baseline holds only if the method is above its placebos too.

A placebo keeps a method's size and takes its idea away. It can only withhold a verdict: that the claim holds. So its
contrasts need no correction (an intersection-union test), and they are not among those that can refute the claim.
"""

from typing import Any

from rlvr.config.plan import Item, PaperPlan
from rlvr.config.schema.items import Claim
from rlvr.items import kind_of
from rlvr.items.contrast import ContrastSpec

NO_TABLE = ContrastSpec(says="its placebo", model="", stand_in="", benchmark=None, data=None, terms=())


def against(planned: PaperPlan, claim: Claim) -> list[Claim | None]:
    """The claim against each placebo of its method, over a table with both; None where no table has its benchmark."""
    of_method = planned.paper.placebos.get(str(claim.left), [])
    if not of_method or claim.predicate != "greater" or not _scored(planned.item(claim.over)):
        return []
    if not _baselines(planned, claim):
        return []
    beside = {placebo: _beside(planned, claim, placebo) for placebo in of_method}
    return [_over(claim, item, placebo) if item else None for placebo, item in beside.items()]


def _baselines(planned: PaperPlan, claim: Claim) -> list[str]:
    """The right arms of a claim that are other methods: not the base policy, and no variant of the left arm."""

    def variant(arm: str | None) -> bool:
        return arm is not None and (arm == claim.left or variant(planned.paper.arms[arm].like))

    return [arm for arm in claim.right if arm != "base" and not variant(planned.methods.get(arm, arm))]


def _scored(item: Item) -> bool:
    """Whether claims over an item are of pass@k."""
    kind = kind_of(item).claims
    return kind is not None and bool(item.evaluations) and "k" in kind.reads and kind.evidence == "scores"


def tables_of(planned: PaperPlan, method: str, placebo: str) -> list[Item]:
    """The tables of pass@k that have a method and its placebo as rows; those first that have most seeds."""

    def seeds(item: Item) -> int:
        return max(len(cell.policies) for cell in item.cells)

    own = (item for item in planned.tables.values() if item.companion_of is None)
    both = [item for item in own if {method, placebo} <= {cell.row.arm for cell in item.cells} and _scored(item)]
    return sorted(both, key=seeds, reverse=True)


def _beside(planned: PaperPlan, claim: Claim, placebo: str) -> Item | None:
    over = planned.item(claim.over)
    asked = claim.benchmarks or list(over.benchmarks)
    tables = [item for item in tables_of(planned, str(claim.left), placebo) if set(asked) & set(item.benchmarks)]
    hard = getattr(over.content, "hard_levels", False)
    alike = [item for item in tables if getattr(item.content, "hard_levels", False) == hard]
    matched = {table.companion_of for table in planned.tables.values() if table.companion_of}
    return next(
        (item for item in sorted(alike, key=lambda item: (item.name != claim.over, item.name not in matched))), None
    )


def _over(claim: Claim, item: Item, placebo: str) -> Claim:
    """The claim that the method is above a placebo, at the same k, on those of the benchmarks that the table has."""
    benchmarks = [name for name in claim.benchmarks if name in item.benchmarks]
    models = [model for model in claim.models if model in {cell.model for cell in item.cells}]
    average = claim.average and len(benchmarks or item.benchmarks) > 1
    changes = {"over": item.name, "right": [placebo], "benchmarks": benchmarks, "models": models, "average": average}
    return claim.model_copy(update={**changes, "size": None, "threshold": 0.0, "at_least": None, "published": {}})


def vetoed(row: dict[str, Any], found: list[dict[str, Any]], holds: dict[str, str]) -> dict[str, Any]:
    """The row of a claim, with a verdict of `holds` replaced by that for "undecided" where a placebo is not beaten.

    `found` are the rows of the contrasts with placebos, `holds` the verdicts that say that a claim holds and what
    replaces each.
    """
    beaten = [one for one in found if one["verdict"] in holds]
    if row["verdict"] not in holds:
        return row
    if len(beaten) == len(found):
        return {**row, "p": max([row["p"], *(2 * one["p"] for one in found)])}
    reasons = [row["reason"], *(_reason(one) for one in found if one["verdict"] not in holds)]
    return {**row, "verdict": holds[row["verdict"]], "reason": "; ".join(filter(None, dict.fromkeys(reasons)))}


def _reason(one: dict[str, Any]) -> str:
    """Why a placebo withholds a verdict."""
    if "estimate" not in one:
        return f"the placebo was not compared ({one['says']}: {one['verdict']})"
    return f"not above the placebo: {one['says']} is {one['estimate']:.2f} [{one['low']:.2f}, {one['high']:.2f}]"
