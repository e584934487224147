"""The plan's types: models, data, runs, evaluations, tables, figures. `rlvr.planning.expansion` makes a plan."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

from rlvr.config import identity
from rlvr.config.registries import ENGINES
from rlvr.config.schema.items import ItemConfig, Row
from rlvr.config.schema.paper import Core, Paper
from rlvr.config.schema.settings import Diversity, Execution, Settings
from rlvr.config.schema.specs import EvaluationSpec, PolicySpec, RunSpec

Policies = tuple[tuple[str, int | None], ...]  # (id, training seed), None for a base policy


@dataclass(frozen=True)
class SweptArm:
    """An arm with one value of a sweep."""

    arm: str
    sweep: str
    value: float

    @property
    def name(self) -> str:
        return f"{self.arm}-{self.sweep}-{self.value}"

    @property
    def named(self) -> dict[str, Any]:
        """What a label of the sweep may contain."""
        return {"name": self.sweep, "value": self.value}


@dataclass(frozen=True)
class Cell:
    """A model and an arm of a table or figure, with the policies (id, seed) whose scores it shows."""

    model: str
    row: Row
    policies: Policies
    learning_rate: float | None = None
    rates: tuple[tuple[float, Policies], ...] = ()  # of the baseline at equal pass@1: its policies by learning rate

    def candidates(self) -> Policies:
        """Every policy that the cell may show: its own, and of the baseline at equal pass@1 those at all its rates."""
        return tuple(dict.fromkeys([*self.policies, *(pair for _, pairs in self.rates for pair in pairs)]))


@dataclass(frozen=True)
class Item:
    """A table or figure with its inputs."""

    folder: str  # tables or figures
    name: str
    content: ItemConfig
    cells: tuple[Cell, ...] = ()
    evaluations: dict[str, tuple[str, ...]] = field(default_factory=dict)  # model -> ids, one per benchmark
    benchmarks: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # items whose statistics it shows instead of cells
    companion_of: str | None = None  # the table that it comes with; None: an item of the paper itself
    shown_by: dict[str, str] = field(default_factory=dict)  # a model -> another whose cells have the same runs

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

    def references(self) -> list[str]:
        """The published tables, below config/papers/, that the item shows: its own first, then those of single rows."""
        named = [getattr(self.content, "reference", None), *(cell.row.reference for cell in self.cells)]
        return list(dict.fromkeys(name for name in named if name is not None))

    def in_one_block(self) -> Self:
        """The item without duplicate cells: models whose policies and evaluations are equal are kept once, the first.

        A scale may put one model in the place of several. Their cells would repeat each other, and a claim would count
        them as so many confirmations.
        """
        first: dict[Any, str] = {}
        shown_by = {}
        for model in dict.fromkeys(cell.model for cell in self.cells):
            made = [(cell.row.arm, cell.policies, cell.rates) for cell in self.cells if cell.model == model]
            shown_by[model] = first.setdefault((*made, self.evaluations.get(model)), model)
        cells = tuple(cell for cell in self.cells if shown_by[cell.model] == cell.model)
        return replace(self, cells=cells, shown_by={model: by for model, by in shown_by.items() if model != by})

    def in_all_blocks(self) -> Self:
        """The item with the cells of every model again."""
        models = [*dict.fromkeys(cell.model for cell in self.cells), *self.shown_by]
        cells = (
            replace(cell, model=model)
            for model in models
            for cell in self.cells
            if cell.model == self.shown_by.get(model, model)
        )
        return replace(self, cells=tuple(cells), shown_by={})


@dataclass
class PaperPlan:
    paper: Paper
    tables: dict[str, Item] = field(default_factory=dict)
    figures: dict[str, Item] = field(default_factory=dict)
    arms: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # arm -> (policy, evaluation)
    settings: dict[str, Settings] = field(default_factory=dict)  # model -> settings without an arm
    methods: dict[str, str] = field(default_factory=dict)  # a swept arm -> the paper's own arm that it varies
    data: list[Any] = field(default_factory=list)  # every set of the paper, at this scale
    trained_on: list[Any] = field(default_factory=list)  # the sets it trains on

    @property
    def disjoint(self) -> list[Any]:
        """The sets that may share no problem: those with another's pictures repeat questions and pictures."""
        return [data for data in self.data if getattr(data, "pictures", "own") == "own"]

    def item(self, name: str) -> Item:
        return self.tables[name] if name in self.tables else self.figures[name]

    def by_name(self, name: str) -> bool:
        """Whether an item, or the one it comes with, is made only where it is asked for by name."""
        item = self.item(name)
        return item.content.by_name or (item.companion_of is not None and self.by_name(item.companion_of))

    def all_items(self) -> list[str]:
        return [*self.tables, *self.figures]

    def statistics_of(self, name: str) -> list[str]:
        """The items whose statistics a table or figure shows: itself, or its sources."""
        item = self.item(name)
        return list(item.sources) or ([name] if item.cells else [])


@dataclass
class Plan:
    scale: str
    about: str  # one sentence about the scale, for readers
    stand_ins: dict[str, str]  # a paper's model -> its stand-in
    data_stand_ins: dict[str, str]  # the same for data sets
    execution: Execution  # of stages that belong to no single run
    diversity: Diversity  # one for all evaluations, since papers share them
    items: str = "all"  # what the target `paper_<name>` makes: core or all
    companions: list[str] = field(default_factory=list)  # papers made with tables at equal pass@1, and frontiers
    models: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    policies: dict[str, PolicySpec] = field(default_factory=dict)
    runs: dict[str, RunSpec] = field(default_factory=dict)
    executions: dict[str, Execution] = field(default_factory=dict)  # by run
    spreads: dict[str, int] = field(default_factory=dict)  # base policy -> the GPUs that share its model in vllm
    starts: dict[str, str] = field(default_factory=dict)  # run -> the policy that it starts from
    evaluations: dict[str, EvaluationSpec] = field(default_factory=dict)
    papers: dict[str, PaperPlan] = field(default_factory=dict)
    controls: str = "none"  # none, warn or fail: what `claims` does if a control is not found
    notes: list[str] = field(default_factory=list)  # what this machine lacks, and what the plan takes instead

    def stage(self, policy: str) -> str:
        """The folder below results/ of a policy's manifest: runs/<id>, sft/<id> or models/<id>."""
        if policy in self.runs:
            return f"runs/{policy}"
        spec = self.policies[policy]
        return f"sft/{policy}" if spec.sft else f"models/{identity.model_id(spec.model)}"

    def shards(self, evaluation: str) -> int:
        """The number of jobs that sample an evaluation; one for an engine in the workflow's own environment."""
        return self.execution.shards if ENGINES.load(self.evaluations[evaluation].sampling.engine).environment else 1

    def shared_by(self, policy: str) -> int:
        """The GPUs that share a policy's model while an engine samples it."""
        return self.spreads.get(self.base_of(policy), self.execution.tensor_parallel)

    def base_of(self, policy: str) -> str:
        """The policy that a run starts from; a base policy is its own base."""
        return self.starts.get(policy, policy)

    def before(self, policy: str) -> list[str]:
        """The policies that are trained before a policy, the first of all first."""
        base = self.base_of(policy)
        start = self.policies[base].start
        earlier = [*self.before(identity.policy_id(start)), identity.policy_id(start)] if start else []
        return [*earlier, *([base] if base != policy else [])]


def first_items(plan: Plan) -> list[tuple[str, str]]:
    """The (paper, item) pairs of the default target."""
    return [(name, item) for name, paper_plan in plan.papers.items() for item in _items(paper_plan.paper.first)]


def core_items(plan: Plan) -> list[tuple[str, str]]:
    """The (paper, item) pairs of every paper's core."""
    return [(name, item) for name, paper_plan in plan.papers.items() for item in _items(paper_plan.paper.core)]


def _items(core: Core) -> list[str]:
    return [*core.tables, *core.figures]


def asked_for(plan: Plan, paper: str) -> list[str]:
    """The items that `paper_<name>` makes at this scale; a paper without a core makes all, but those made by name.

    `core` is the core with its companions, `all` is all, and `both` is the core with its companions and all beyond it
    without companions.
    """
    made = plan.papers[paper]
    core, coming = _items(made.paper.core), companions(made)
    others = [name for name in made.all_items() if not made.by_name(name)]
    beyond = [name for name in others if name not in {*core, *coming}]
    asked = {"core": core or others, "all": others, "both": [*core, *beyond]}[plan.items]
    left_out = () if paper in plan.companions else coming
    return [name for name in asked if name not in left_out]


def by_name(plan: Plan) -> dict[str, list[tuple[str, str]]]:
    """Each item that is made only by name, such as `league`, with its companions, as (paper, item) pairs."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for paper, paper_plan in plan.papers.items():
        for name in paper_plan.all_items():
            if paper_plan.by_name(name):
                groups.setdefault(paper_plan.item(name).companion_of or name, []).append((paper, name))
    return groups


def runs_of(plan: Plan, paper: str) -> list[str]:
    """The RL runs that `paper_<name>` needs at this scale, each once, in the order of its items."""
    paper_plan = plan.papers[paper]
    policies = dict.fromkeys(policy for name in asked_for(plan, paper) for policy in paper_plan.item(name).policies())
    return [policy for policy in policies if policy in plan.runs]


def companions(paper_plan: PaperPlan) -> list[str]:
    """The items that come with a paper's own: tables at equal pass@1, and frontiers."""
    return [name for name in paper_plan.all_items() if paper_plan.item(name).companion_of is not None]
