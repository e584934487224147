"""What has to be made: models, data, runs, evaluations, tables, figures. `rlvr.planning.expansion` makes the plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rlvr.config import identity, registries
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.config.schema.paper import Core, Paper
from rlvr.config.schema.settings import Diversity, Execution, Settings
from rlvr.config.schema.specs import EvaluationSpec, PolicySpec, RunSpec

Policies = tuple[tuple[str, int | None], ...]  # (id, training seed), None for a base policy


@dataclass(frozen=True)
class SweptArm:
    """An arm that a sweep makes of another one."""

    arm: str
    sweep: str
    value: float

    @property
    def name(self) -> str:
        return f"{self.arm}-{self.sweep}-{self.value}"


@dataclass(frozen=True)
class Cell:
    """A model and an arm of a table or figure, and the policies (id, seed) whose scores make it."""

    model: str
    row: Row
    policies: Policies
    learning_rate: float | None = None
    rates: tuple[tuple[float, Policies], ...] = ()  # at matched effort: to choose from

    def candidates(self) -> Policies:
        """Every policy that the cell may show: its own, or at matched effort those of all rates."""
        return tuple(dict.fromkeys(pair for _, pairs in self.rates for pair in pairs)) or self.policies


@dataclass(frozen=True)
class Item:
    """A table or figure with what it is made of."""

    folder: str  # tables or figures
    name: str
    content: ItemConfig
    cells: tuple[Cell, ...] = ()
    evaluations: dict[str, tuple[str, ...]] = field(default_factory=dict)  # model -> ids, one per benchmark
    benchmarks: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # the items whose statistics it shows, where it has no cells

    def scored(self) -> list[tuple[str, str]]:
        """The (policy, evaluation) pairs whose scores the item needs."""
        pairs = [
            (policy, evaluation)
            for cell in self.cells
            for evaluation in self.evaluations.get(cell.model, ())
            for policy, _ in cell.candidates()
        ]
        return list(dict.fromkeys(pairs))

    def policies(self) -> list[str]:
        return list(dict.fromkeys(policy for cell in self.cells for policy, _ in cell.candidates()))

    def probed(self) -> list[str]:
        """Runs whose probes choose among learning rates."""
        return list(dict.fromkeys(policy for cell in self.cells if cell.rates for policy, _ in cell.candidates()))


@dataclass
class PaperPlan:
    paper: Paper
    tables: dict[str, Item] = field(default_factory=dict)
    figures: dict[str, Item] = field(default_factory=dict)
    arms: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # arm -> (policy, evaluation)
    settings: dict[str, Settings] = field(default_factory=dict)  # model -> settings without an arm
    methods: dict[str, str] = field(default_factory=dict)  # a swept arm -> the paper's own arm that it varies
    data: list[Any] = field(default_factory=list)  # every set that the paper uses, as this scale has it
    trained_on: list[Any] = field(default_factory=list)  # those of them that it trains on

    def item(self, name: str) -> Item:
        return self.tables[name] if name in self.tables else self.figures[name]

    def all_items(self) -> list[str]:
        return [*self.tables, *self.figures]

    def statistics_of(self, name: str) -> list[str]:
        """The items whose statistics a table or figure is drawn from: itself, or the tables that it shows."""
        item = self.item(name)
        return list(item.sources) or ([name] if item.cells else [])


@dataclass
class Plan:
    scale: str
    about: str  # what the scale is, in a sentence for readers
    stand_ins: dict[str, str]  # a paper's model -> the model in its place
    data_stand_ins: dict[str, str]  # likewise of data sets
    execution: Execution  # how what belongs to no single run is carried out
    diversity: Diversity  # one way to measure it for every evaluation, whichever papers share it
    items: str = "all"  # what is made of a paper that is asked for by name: its core, all, or what it has itself
    models: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    policies: dict[str, PolicySpec] = field(default_factory=dict)
    runs: dict[str, RunSpec] = field(default_factory=dict)
    executions: dict[str, Execution] = field(default_factory=dict)  # how each run is carried out
    evaluations: dict[str, EvaluationSpec] = field(default_factory=dict)
    papers: dict[str, PaperPlan] = field(default_factory=dict)

    def stage(self, policy: str) -> str:
        """The folder below results/ that holds a policy's manifest, without its id: runs, sft or models."""
        if policy in self.runs:
            return f"runs/{policy}"
        spec = self.policies[policy]
        return f"sft/{policy}" if spec.sft else f"models/{identity.model_id(spec.model)}"

    def shards(self, evaluation: str) -> int:
        """Jobs that an evaluation's sampling spreads over; in the workflow's own environment it is one."""
        return self.execution.shards if registries.environment(self.evaluations[evaluation].sampling.engine) else 1

    def base_of(self, policy: str) -> str:
        """The policy that a run starts from; a base policy is its own."""
        return identity.policy_id(self.runs[policy].base) if policy in self.runs else policy


def first_items(plan: Plan) -> list[tuple[str, str]]:
    """The (paper, item) pairs of the default target."""
    return [(name, item) for name, made in plan.papers.items() for item in _items(made.paper.first)]


def core_items(plan: Plan) -> list[tuple[str, str]]:
    """The (paper, item) pairs of every paper's core."""
    return [(name, item) for name, made in plan.papers.items() for item in _items(made.paper.core)]


def _items(chosen: Core) -> list[str]:
    return [*chosen.tables, *chosen.figures]


def asked_for(plan: Plan, paper: str) -> list[str]:
    """The items that `paper_<name>` makes at this scale; all of a paper that names no core."""
    made = plan.papers[paper]
    if plan.items == "core":
        return _items(made.paper.core) or made.all_items()
    matched = set(at_matched_effort(made)) if plan.items == "published" else set()
    return [name for name in made.all_items() if name not in matched]


def runs_of(plan: Plan, paper: str) -> list[str]:
    """The RL runs that `paper_<name>` needs at this scale, each once, in the order of its items."""
    made = plan.papers[paper]
    policies = dict.fromkeys(policy for name in asked_for(plan, paper) for policy in made.item(name).policies())
    return [policy for policy in policies if policy in plan.runs]


def at_matched_effort(made: PaperPlan) -> list[str]:
    """The tables at matched effort and the frontiers that stand beside a paper's own."""
    return [name for name in made.all_items() if name not in {**made.paper.tables, **made.paper.figures}]
