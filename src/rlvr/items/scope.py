"""What a kind may ask of the planning of a paper, for one of its tables or figures."""

from __future__ import annotations

from typing import Any, Protocol

from rlvr.config.plan import Cell, PaperPlan, Plan
from rlvr.config.schema.items import Row
from rlvr.config.schema.paper import Paper


class Scope(Protocol):
    """A paper at a scale, as far as it is planned. Each method raises ConfigError, in words that name file and key."""

    place: str  # file and key of the table or figure
    paper: Paper
    plan: Plan  # of all papers
    planned: PaperPlan  # the tables, then the figures before this one

    def models(self, names: list[str]) -> list[str]:
        """The models, each looked up in the paper."""
        ...

    def rows(self, config: Any, *, trained: bool = False) -> list[Row]:
        """A table's own rows, or one per arm, and those of its sweep; `trained`: without the base policy."""
        ...

    def arms(self, config: Any) -> list[str]:
        """A figure's arms and those of its sweep."""
        ...

    def largest(self, k: list[int]) -> list[int]:
        """Those k that are not beyond the scale's largest. There must be one."""
        ...

    def cells(self, models: list[str], rows: list[Row], *, matched: str | None = None) -> tuple[Cell, ...]:
        """A cell per model and row with its runs; `matched`: and those at each learning rate of this sweep."""
        ...

    def trained(self, config: Any, models: list[str], rows: list[Row]) -> tuple[Cell, ...]:
        """The same for what is shown of training, with the item's own number of seeds (`repeats`)."""
        ...

    def evaluations(self, benchmarks: list[str], models: list[str], k: list[int]) -> dict[str, tuple[str, ...]]:
        """The evaluations of each model, one per benchmark, with at least as many samples as the largest k."""
        ...

    def show_arms(self, cells: tuple[Cell, ...], evaluations: dict[str, tuple[str, ...]]) -> None:
        """Notes that arms have scores, for the tables of single arms."""
        ...

    def label(self, arm: str) -> str:
        """The label of an arm; a swept arm has that of the arm it varies."""
        ...

    def label_with_value(self, arm: str) -> str:
        """The same with the value of a sweep, so that several of one arm are told apart."""
        ...

    def label_of_curve(self, arm: str) -> str:
        """The label of the arm whose learning rates a curve is over."""
        ...

    def swept(self, arm: str, sweep: str) -> list[str]:
        """The arms that a sweep makes of one arm; none where it is not over that arm."""
        ...
