"""A paper's tables, figures and claims."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model, model_validator

from rlvr.config.schema.fields import Name, Positive, Strict, Two


class ItemConfig(Strict):
    """The keys of every table and figure. A kind's module adds its own (`rlvr.items`)."""

    title: str
    kind: str  # a module of rlvr.tables or rlvr.figures
    note: str | None = None
    by_name: bool = False  # made only where it is asked for by name, not by `paper_<name>`

    def either(self, *pairs: str) -> None:
        """Raises ValueError where the first key is set together with one that would override it."""
        ignored, *others = pairs
        for other in others:
            if getattr(self, ignored) and getattr(self, other):
                raise ValueError(f"{ignored}: has no effect beside `{other}`; remove one of them")


class Row(Strict):
    """One row of a table: an arm, and the method's name in the published table (null: not in it)."""

    arm: str
    label: str
    published: str | None = None
    reference: str | None = None  # another published table with this method, for a table of pass@k


class Claim(Strict):
    """A statement of the paper as a predicate over results: one contrast per model, benchmark and k (or training step).

    `over` names a table (its models, benchmarks and published values) or a figure of curves. A contrast is a weighted
    sum of arms (docs/claims.md):

    - greater: `left` minus each of `right` (or `weights`) is above the threshold
    - ordering: each of `arms` minus the next one is above the threshold
    - not_below: `left` minus each of `right` (or `weights`) is above minus the threshold
    - within: `left` minus `right` is at most the threshold away from 0
    - crossing: `right` is ahead at the first k, `left` at the last, each by more than the threshold
    - slope: `left` minus `right` at each later k is above that at the first, by more than the threshold
    - sooner: `left` reaches the last value of each of `right` earlier than that arm does, by more than the threshold, a
      share of training (over a figure of curves)
    - harder: `left` minus `right` on the hard levels is above that on all problems, by more than the threshold

    Over a figure of curves an arm has the mean of `measure` over the part `during` of the steps that the figure shows
    (its `up_to_step`). With `since` it has the change: this mean minus that over the part `since`. A claim with
    `each_checkpoint` must hold at each checkpoint of `during` (multiples of `probe.every`), not for the mean over rows:
    a denser grid of the first steps would dominate that.

    `size` is the effect that the paper claims, where it gives one: the value of the contrast, as `threshold` is ours.
    `no_effect` is the contrast's value where there is no effect: 0 of a difference, 1 of a ratio. With `at_least` the
    claim holds where so many of its contrasts do ("in several cases"). A level that follows from the paper's own data
    (`own_models`) is not judged on stand-ins.
    """

    name: Name
    says: str
    place: str
    of: Literal["paper", "margin", "control"] = "paper"  # the paper's; the paper's within a margin of ours; only ours
    over: str
    predicate: Literal["greater", "not_below", "within", "ordering", "crossing", "slope", "harder", "sooner"]
    left: str | None = None
    right: list[str] = []
    weights: dict[str, float] = {}
    arms: list[str] = []  # for ordering: the best first
    models: list[str] = []  # empty: all of the table
    benchmarks: list[str] = []  # empty: all of the table
    average: bool = False  # over a table of scores: of the mean over the benchmarks, each with the same weight
    k: list[Positive] = []  # empty: all of the table; for crossing and slope: the first and the last (slope: or more)
    measure: str | None = None  # for a figure of curves or laws, and a table of measures of runs
    part: str | None = None  # for a table of measures of runs: the part of training; default: its end
    during: Two = (0.0, 1.0)  # for curves: the part of the training steps that is averaged
    since: Two | None = None  # for curves: the earlier part whose mean is subtracted
    relative: bool = False  # for curves with `since`: the share of the earlier mean that is left, not the difference
    each_checkpoint: bool = False  # for curves: every checkpoint of the part, not its mean
    threshold: Annotated[float, Field(ge=0)] = 0.0  # percent points, or the curve's unit
    no_effect: float = 0.0
    size: float | None = None
    margin: Annotated[float, Field(ge=0)] | None = None  # a smaller difference has no practical size; null: the paper's
    at_least: Positive | None = None  # contrasts that must hold; null: all
    own_models: bool = False
    about: Literal["base", "method", "mechanism"] | None = None  # null: by its arms (`rlvr.claims.mechanisms`)
    published: dict[str, float] = {}  # arm -> the paper's number, where no table of it has the measure

    @model_validator(mode="after")
    def has_one_size(self):
        if self.size is None and self.no_effect == 0.0:
            return self
        if self.predicate not in ("greater", "slope", "ordering"):
            raise ValueError(f"{self.predicate} has a threshold; size and no_effect are of greater, ordering and slope")
        if self.size is not None and (self.threshold or self.size <= self.no_effect):
            raise ValueError("size: a claimed size is above `no_effect`, and there is no threshold beside it")
        return self

    @model_validator(mode="after")
    def has_what_its_predicate_needs(self):
        if self.predicate == "ordering":
            good = len(self.arms) > 1 and not (self.left or self.right or self.weights)
        elif self.weights:
            good = self.predicate in ("greater", "not_below") and not (self.left or self.right or self.arms)
        else:
            good = self.left is not None and bool(self.right) and not self.arms
        if not good:
            raise ValueError("ordering needs `arms`; others need `left` and `right`, or greater `weights`")
        if self.predicate == "not_below" and self.threshold == 0:
            raise ValueError("not_below needs a threshold, by which `left` may be lower; without one use greater")
        if self.predicate == "crossing" and (len(self.k) != 2 or self.k[0] >= self.k[1]):
            raise ValueError("crossing needs two `k`, the first and the last")
        if self.predicate == "slope" and (len(self.k) < 2 or self.k != sorted(set(self.k))):
            raise ValueError("slope needs two `k` or more, the smallest first")
        if self.predicate == "sooner" and (self.since or self.during != (0.0, 1.0) or self.each_checkpoint):
            raise ValueError("sooner is over the whole of training: remove during, since and each_checkpoint")
        return self

    @model_validator(mode="after")
    def has_parts_in_order(self):
        parts = [*(self.since or ()), *self.during]
        if self.relative and self.since is None:
            raise ValueError("relative: needs `since`, the earlier part that the measure is a share of")
        if parts != sorted(parts):
            raise ValueError("during: a part of the steps ends after its start, and begins after `since` has ended")
        return self


# ---- a claim in its file (rlvr.config.claim_words) --------------------------------------------------

Names = Annotated[
    list[str],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value, json_schema_input_type=str | list[str]),
]


class Sides(Strict):
    """The sides of a comparison: one arm or several on one side, one on the other; or a weighted sum of arms."""

    left: Names = []
    right: Names = []
    weights: dict[str, float] = {}
    threshold: Annotated[float, Field(ge=0)] = 0.0
    no_effect: float = 0.0
    size: float | None = None

    @model_validator(mode="after")
    def has_two_sides(self):
        if bool(self.weights) == bool(self.left or self.right) or bool(self.left) != bool(self.right):
            raise ValueError("needs `left` and `right`, or `weights`")
        return self


class Whole(Strict):
    """A table or a figure."""

    table: str | None = None
    figure: str | None = None

    @model_validator(mode="after")
    def is_one_of_them(self):
        if (self.table is None) == (self.figure is None):
            raise ValueError("table: needs the name of a `table` or of a `figure`")
        return self


PART_OF_A_CLAIM = (
    "models",
    "benchmarks",
    "average",
    "k",
    "measure",
    "part",
    "during",
    "since",
    "relative",
    "each_checkpoint",
)
_OF_CLAIM: Any = {key: (Claim.model_fields[key].annotation, Claim.model_fields[key]) for key in PART_OF_A_CLAIM}
Over = create_model("Over", __base__=Whole, __doc__="A table or figure, or a part of it.", **_OF_CLAIM)
