"""The interface between a kind and the planning of a paper, for one item."""

from typing import Any, NamedTuple, Protocol

from rlvr.config.plan import Cell, PaperPlan, Plan
from rlvr.config.schema.items import Row
from rlvr.config.schema.paper import Matched, Paper


class Curve(NamedTuple):
    """The baseline of a comparison at equal pass@1, and the sweep of its learning rates."""

    baseline: str
    sweep: str


class Scope(Protocol):
    """A partly planned paper at a scale. Each method raises ConfigError, which names file and key."""

    place: str  # file and key of the table or figure
    paper: Paper
    plan: Plan  # of all papers
    planned: PaperPlan  # the tables, then the figures before this one
    matched: Matched  # the part of comparisons at equal pass@1 that the scale makes

    def models(self, names: list[str]) -> list[str]:
        """The models. Raises ConfigError for one that the paper lacks."""
        ...

    def rows(self, config: Any, *, trained: bool = False) -> list[Row]:
        """A table's rows, or one per arm, then those of its sweep; `trained`: without the base policy."""
        ...

    def arms(self, config: Any) -> list[str]:
        """A figure's arms and those of its sweep."""
        ...

    def largest(self, k: list[int]) -> list[int]:
        """The k up to the scale's largest; at least one must remain."""
        ...

    def cells(
        self, models: list[str], rows: list[Row], *, curve: Curve | None = None, seeds: int | None = None
    ) -> tuple[Cell, ...]:
        """One cell per model and row with its runs, of the paper's seeds or the first `seeds` of them.

        With `curve`, the baseline's cell also has those at each learning rate of the sweep.
        """
        ...

    def trained(self, config: Any, models: list[str], rows: list[Row]) -> tuple[Cell, ...]:
        """The same for items about training, with the item's number of seeds (`repeats`)."""
        ...

    def evaluations(self, benchmarks: list[str], models: list[str], k: list[int]) -> dict[str, tuple[str, ...]]:
        """The evaluations of each model, one per benchmark, with at least as many samples as the largest k."""
        ...

    def show_arms(self, cells: tuple[Cell, ...], evaluations: dict[str, tuple[str, ...]]) -> None:
        """Records the scores of arms, for the tables of single arms."""
        ...

    def label_with_value(self, arm: str) -> str:
        """The label of an arm; a swept arm's includes the value, to distinguish the arms of a sweep."""
        ...

    def label_of_curve(self, arm: str) -> str:
        """The label of the arm whose learning rates a curve covers."""
        ...

    def swept(self, arm: str, sweep: str) -> list[str]:
        """The arms of a sweep over one arm, of learning rates those that the scale has; none of another arm's sweep."""
        ...
