"""What a paper shows: tables, figures and claims."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from rlvr.config.schema.fields import Name, Positive, Strict, Two


class Row(Strict):
    """A line of a table: an arm, and the method's name in the published table (null: not in it)."""

    arm: str
    label: str
    published: str | None = None


class Table(Strict):
    """Rows (or a sweep, or every arm) on one benchmark or several: pass@k, diversity. Or what became of their runs
    (collapse), or settings, or closed forms."""

    title: str
    kind: Literal["pass_at_k", "across_benchmarks", "diversity", "collapse", "settings", "analytic", "published"] = (
        "pass_at_k"
    )
    content: str | None = None
    benchmark: str | None = None
    benchmarks: list[str] = []  # or several: one below the other, or in one number (across_benchmarks)
    hard_levels: bool = False  # the problems of the benchmark's hard levels alone (config/datasets.yaml)
    models: list[str] = []
    rows: list[Row] = []
    every_arm: bool = False
    sweep: str | None = None
    k: list[Positive] = []
    measures: list[Literal["avg", "maj"]] = []  # columns beside k: avg@n, maj@n
    compare_with: str | None = None
    matched: str | None = None  # a sweep of learning rates: also the table at matched effort, and its frontier
    repeats: Positive | None = None  # seeds where runs are counted, in place of the paper's
    at_matched_effort: bool = False  # each row at the rate of its sweep `matched` that validation problems prefer
    reference: str | None = None
    note: str | None = None


class Figure(Strict):
    """A picture of tables, of arms on a benchmark, of closed forms, or of arms over their training.

    `measures` of a figure over steps are names of `rlvr.config.measures`; `smooth` is the number of steps of a running
    mean over what is measured on training batches.
    """

    title: str
    kind: Literal["pass_at_k_curves", "over_steps", "solve_rates", "masses", "collapse", "frontier", "analytic"]
    content: str | None = None
    tables: list[str] = []
    models: list[str] = []
    arms: list[str] = []
    sweep: str | None = None
    benchmark: str | None = None
    benchmarks: list[str] = []  # or several, side by side
    k: list[Positive] = []
    measures: list[str] = []
    up_to_step: Positive | None = None
    smooth: Positive | None = None
    repeats: Positive | None = None  # as in a table
    note: str | None = None


class Claim(Strict):
    """What a paper says, as a predicate over results, one contrast a model, benchmark and k (or training step).

    `over` names a table, whose models, benchmarks and published values the claim is about, or a figure of curves. A
    contrast is a weighted sum of arms (docs/claims.md):

    - greater: `left` minus each of `right` (or `weights`) is above the threshold; so is each neighbour's in `ordering`
    - within: `left` minus `right` is at most the threshold away from 0
    - crossing: `right` is ahead at the first k, `left` at the last, each by more than the threshold
    - slope: `left` minus `right` at the last k is above that at the first, by more than the threshold
    - harder: `left` minus `right` on the hard levels is above that on all problems, by more than the threshold
    """

    name: Name
    says: str
    place: str
    over: str
    predicate: Literal["greater", "within", "ordering", "crossing", "slope", "harder"]
    left: str | None = None
    right: list[str] = []
    weights: dict[str, float] = {}
    arms: list[str] = []  # of an ordering, the best first
    models: list[str] = []  # of the table's, where not all
    benchmarks: list[str] = []  # likewise
    k: list[Positive] = []  # likewise; of crossing and slope the first and the last
    measure: str | None = None  # of a figure of curves
    during: Two = (0.0, 1.0)  # of curves: the mean over this part of the training steps
    threshold: Annotated[float, Field(ge=0)] = 0.0  # percent points, or the curve's unit

    @model_validator(mode="after")
    def has_what_its_predicate_needs(self):
        if self.predicate == "ordering":
            good = len(self.arms) > 1 and not (self.left or self.right or self.weights)
        elif self.weights:
            good = self.predicate == "greater" and not (self.left or self.right or self.arms)
        else:
            good = self.left is not None and bool(self.right) and not self.arms
        if not good:
            raise ValueError("an ordering has `arms`, every other predicate `left` and `right`, or greater `weights`")
        if self.predicate in ("crossing", "slope") and (len(self.k) != 2 or self.k[0] >= self.k[1]):
            raise ValueError(f"{self.predicate} has two `k`, the first and the last")
        return self
