"""The schema of a paper's mechanism.yaml: when runs exercise what the paper proposes, in a regime where they can."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from rlvr.config.measures import METRICS, every
from rlvr.config.schema.fields import Fraction, Name, Strict

Part = Literal["start", "all", "end"]  # of training: the first twentieth of its steps, all, the last twentieth
BY_CORRECT = ("positive_mass_by_correct", "negative_mass_by_correct")
Limit = float | str  # a number, or another measure


class Statistic(Strict):
    """A statistic of the metrics of each run of an arm, and its bounds. docs/claims.md has the statistics.

    It is the mean of `measure` over the part `over` of the steps. With `above` or `below` it is the share of these
    steps in which the measure is above, or below, a number or another measure. With `against`, another arm, the measure
    is a mass by solve rate: the statistic is by how much, at those solve rates `at` where it is least, the two arms'
    masses differ in shape. With `of_start` the statistic is divided by that over the start.
    """

    name: Name
    says: str
    place: str  # of the paper's text that motivates it
    measure: str
    over: Part = "end"
    of_start: bool = False
    above: Limit | None = None
    below: Limit | None = None
    against: str | None = None
    at: list[Fraction] = []
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def has_bounds(self):
        if self.at_least is None and self.at_most is None:
            raise ValueError("at_least: a criterion needs `at_least`, `at_most` or both")
        return self

    @model_validator(mode="after")
    def is_one_statistic(self):
        if sum(key is not None for key in (self.above, self.below, self.against)) > 1:
            raise ValueError("above: a criterion has one of `above`, `below` and `against`")
        if self.of_start and (self.over == "start" or self.against is not None):
            raise ValueError("of_start: compares `over: end` or `over: all` with the start, and has no `against`")
        if (self.against is None) == bool(self.at):
            raise ValueError("against: a difference in shape needs `against`, an arm, and `at`, solve rates")
        return self

    @property
    def measures(self) -> dict[str, str]:
        """By key: the measures that it names."""
        named = {"measure": self.measure, "above": self.above, "below": self.below}
        return {key: name for key, name in named.items() if isinstance(name, str)}

    @property
    def known(self) -> list[str]:
        """The measures that it can name."""
        return [*BY_CORRECT] if self.against else [name for name, one in every().items() if METRICS in one.rows]


class Criterion(Statistic):
    """What runs of some arms must show.

    One of the kind `regime` says what a baseline does where the settings are as they were chosen; no verdict depends
    on it.
    """

    kind: Literal["criterion", "regime"] = "criterion"
    model: str | None = None  # null: each whose runs a scale has
    arms: Annotated[list[str], Field(min_length=1)]
    runs_of: str | None = None  # another arm that it is measured in, which shows what these arms have to act on


class Regime(Strict):
    """config/regime.yaml. A paper's mechanism.yaml names the arm whose runs must show it."""

    regime: list[Statistic]
