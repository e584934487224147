"""Claims as contrasts of an item's cells: how they are planned, what a stage gets of them, and what it estimates.

A contrast is a weighted sum of terms. A term is the score of an arm on a benchmark (at one k, on all problems or those
of the hard levels), or a measure of an arm's training. A claim holds if all its contrasts hold.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rlvr.config.layouts import Rate, Spec
from rlvr.config.plan import Item, Plan
from rlvr.config.schema.items import Claim
from rlvr.config.schema.settings import Statistics

if TYPE_CHECKING:  # a plan loads this module, and no pandas for it
    from rlvr.statistics.scores import Scores

Rows = dict[str, list[dict[str, Any]]]  # of probes, metrics or a measure of runs, by run
Value = TypeVar("Value")
RUNS = "runs"  # the rows of probes and metrics, beside the names of measures of runs


# ---- planned ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """One summand of a contrast."""

    weight: float
    arm: str
    k: int | None = None
    hard: bool = False
    benchmark: str | None = None  # of a mean over benchmarks; else the contrast's


@dataclass(frozen=True)
class Contrast:
    """One part of a claim: a sum of terms on a model (and a benchmark) that should be above a threshold, or near 0."""

    says: str
    model: str
    benchmark: str | None
    terms: tuple[Term, ...]


# ---- what the stage gets ------------------------------------------------------------------------


class TermSpec(Spec):
    """A term with its policies, one per seed."""

    weight: float
    arm: str
    label: str
    k: int | None
    levels: tuple[str, ...] | None  # of the problems; None: all
    evaluation: str | None  # None: a measure of training
    learning_rate: float | None
    policies: tuple[str, ...]

    @property
    def on(self) -> str:
        """The evaluation of a term that has scores."""
        assert self.evaluation is not None, self.label
        return self.evaluation

    @property
    def at_k(self) -> int:
        """The k of a term of pass@k."""
        assert self.k is not None, self.label
        return self.k


class ContrastSpec(Spec):
    """A contrast; without terms it is not run. At equal pass@1 `curve` has the baseline's policies at each rate.

    `of_rates`: its arms differ only in the learning rate.
    """

    says: str
    model: str
    stand_in: str
    benchmark: str | None
    data: str | None
    baseline: str = ""  # its arm, at equal pass@1
    curve: tuple[Rate, ...] = ()
    of_rates: bool = False
    terms: tuple[TermSpec, ...]

    @property
    def seeds(self) -> int:
        """The number of training seeds."""
        return max(len(term.policies) for term in self.terms)

    @property
    def policies(self) -> list[str]:
        """All that it reads, each once."""
        return list(dict.fromkeys(policy for part in (*self.terms, *self.curve) for policy in part.policies))


class PublishedTerm(Spec):
    weight: float
    k: int | None
    hard: bool
    method: str | None
    benchmark: str


class PublishedContrast(Spec):
    """A contrast of values in the paper's table, by the names that it has there."""

    says: str
    model: str | None
    benchmark: str
    terms: tuple[PublishedTerm, ...]
    of: tuple[str, str | None]  # the model and benchmark by our names
    value: float | None = None  # where the claim itself has the numbers


class ClaimSpec(Spec):
    """A claim at the paper's setting or at equal pass@1 (`effort`).

    `margin` is the smallest difference of practical size, in the unit of its contrasts; 0: there is none.
    """

    paper: str
    short: str
    claim: str
    says: str
    place: str
    of: str
    over: str
    effort: str
    predicate: str
    threshold: float
    no_effect: float = 0.0
    size: float | None = None
    margin: float = 0.0
    at_least: int | None = None
    own_models: bool = False
    about: str = "method"  # or mechanism, or base
    acting: tuple[str, ...] = ()  # its arms that have criteria of their mechanism
    measure: str | None
    reference: str | None
    published: tuple[PublishedContrast, ...]
    contrasts: tuple[ContrastSpec, ...]
    placebos: tuple[ContrastSpec, ...] = ()  # of its method: it holds only if it holds against them too
    kind: tuple[str, str]  # of the item: tables or figures, and its kind
    options: dict[str, Any]  # of its kind of claim: `ClaimKind.options`
    evidence: Literal["scores", "diversity"]
    rows: str  # of runs that it reads, where its terms are of no evaluation: RUNS, or a measure of runs
    statistics: Statistics

    @property
    def bound(self) -> float:
        """What a contrast must be above: the threshold (minus it with `not_below`), or half of a claimed size."""
        if self.size is not None:
            return (self.no_effect + self.size) / 2
        return self.no_effect + (-self.threshold if self.predicate == "not_below" else self.threshold)

    @property
    def refuted_below(self) -> float:
        """What a contrast would have to be below for the claim to fail: the claimed size, or `bound`."""
        return self.bound if self.size is None else self.size

    @property
    def tests_a_method(self) -> bool:
        """Whether it is not judged where the runs of an arm do not exercise what the paper proposes."""
        return self.about != "base" and self.of in ("paper", "margin")

    @property
    def near(self) -> bool:
        """Whether contrasts should be within the threshold of 0."""
        return self.predicate == "within"

    @property
    def directional(self) -> bool:
        """Whether the claim says that a difference has a sign: then one of no practical size is no such difference."""
        return self.predicate in ("greater", "ordering", "crossing", "slope", "harder") and not self.threshold


# ---- estimates ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """The inputs of estimates: scores and diversity by policy and evaluation, and the rows of runs.

    `measured` are the rows of measures of runs, by the measure's name. `once(key, make)` makes a value at its first
    use: claims share policies, and so what is computed from them. A key begins with the name of what it is.
    """

    scores: Scores = field(default_factory=dict)
    probes: Rows = field(default_factory=dict)
    metrics: Rows = field(default_factory=dict)
    diversity: Scores = field(default_factory=dict)
    measured: Mapping[str, Rows] = field(default_factory=dict)
    _made: dict[tuple[Hashable, ...], Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: tuple[Hashable, ...], make: Callable[[], Value]) -> Value:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


@dataclass(frozen=True)
class Estimate:
    """A contrast's value, its interval, and a wider interval for all contrasts of its claim together.

    `p` is of "the claim does not hold here" (one-sided), `p_of_all` of "it holds here", adjusted for all contrasts,
    `p_equal` of "the difference has a practical size", adjusted likewise. `room` is the largest value that the contrast
    could have with its negative terms as they are. `at_bound` says that all its scores are as high or as low as can be,
    `identical` that its arms have equal results.
    """

    value: float
    low: float
    high: float
    low_of_all: float
    high_of_all: float
    seeds: int
    problems: int | None
    unit: str
    p: float = float("nan")
    p_of_all: float = float("nan")
    p_equal: float = float("nan")
    room: float = float("inf")
    at_bound: str = ""
    identical: bool = False

    @property
    def of_several(self) -> Estimate:
        """With the wider interval as its own: where any of several contrasts may hold, each is tested as one of all."""
        return replace(self, low=self.low_of_all, high=self.high_of_all)


@dataclass(frozen=True)
class NotComparable:
    """Why a contrast has no verdict although it ran."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class ClaimKind:
    """What contrasts of a kind's cells are made of.

    what       what an item of this kind is, for messages
    reads      the optional keys of a claim that it reads
    check      (claim, item, config, plan, place): raises ConfigError where a claim names something that is not there
    contrasts  (claim, item, ks): all contrasts of a claim, over its models, benchmarks and k
    estimates  (contrasts, claim, evidence): one for each contrast
    options    (claim, item, plan, paper): what `estimates` needs beside the contrasts
    evidence   what it reads of a policy on a benchmark
    rows       (claim): the rows of runs that it reads
    published  by measure: a benchmark's column in published tables; empty: they are of pass@k
    point      (claim): a percent point in the unit of its contrasts; None: they are not of shares of responses
    variants   (claim): the claim with other parts of training, where the parts are a choice of ours
    """

    what: str
    reads: tuple[str, ...] = ()
    check: Callable[[Claim, Item, Any, Plan, str], None]
    contrasts: Callable[[Claim, Item, list[int]], list[Contrast]]
    estimates: Callable[[list[ContrastSpec], ClaimSpec, Evidence], list[Estimate | NotComparable]]
    options: Callable[[Claim, Item, Plan, str], Spec] = lambda claim, item, plan, paper: Spec()
    evidence: Literal["scores", "diversity"] = "scores"
    rows: Callable[[Claim], str] = lambda claim: RUNS
    published: Mapping[str, str] = field(default_factory=dict)
    point: Callable[[Claim], float | None] = lambda claim: None
    variants: Callable[[ClaimSpec], list[ClaimSpec]] = lambda claim: []
