"""From a plan to jobs with costs: SFT -> run -> evaluation. Data, models, grading and tables need no GPU."""

from collections.abc import Callable
from dataclasses import dataclass, field

from rlvr.config.order import items_asked_for, needs, ranks
from rlvr.config.plan import Plan
from rlvr.cost.model import Costs, Estimate
from rlvr.cost.schedule import Job

Name = tuple[str, str]  # (paper, table or figure)


@dataclass(frozen=True, kw_only=True)
class PlannedJob(Job):
    """A job of a plan, with its estimate."""

    kind: str  # sft, run or evaluation
    whole: str  # its output, which several jobs may share
    model: str
    estimate: Estimate


@dataclass(frozen=True)
class Work:
    """The jobs of a plan, and those of each table and figure."""

    jobs: dict[str, PlannedJob] = field(default_factory=dict)
    items: dict[Name, set[str]] = field(default_factory=dict)  # table or figure -> jobs, in the order of finishing
    shown_in: dict[Name, set[Name]] = field(default_factory=dict)  # table -> figures that show it

    @property
    def refused(self) -> dict[str, list[str]]:
        """Why runs cannot fit, and the runs of each reason."""
        reasons: dict[str, list[str]] = {}
        for name, job in self.jobs.items():
            if job.estimate.refusal:
                reasons.setdefault(job.estimate.refusal, []).append(name)
        return reasons

    def gpu_hours(self, names: set[str] | None = None) -> float:
        return sum(self.jobs[name].estimate.gpu_hours for name in sorted(self.jobs if names is None else names))

    def only(self, item: Name) -> set[str]:
        """The jobs that only this item and the figures that show it need."""
        group = {item, *self.shown_in.get(item, ())}
        return self.items[item].difference(*(jobs for name, jobs in self.items.items() if name not in group))

    def added(self, item: Name) -> set[str]:
        """The jobs that no item before it, in the order of finishing, needs."""
        names = list(self.items)
        return self.items[item].difference(*(self.items[name] for name in names[: names.index(item)]))

    def count(self, kind: str, names: set[str] | None = None) -> int:
        """The number of SFTs, runs or evaluations; an evaluation may be several jobs."""
        jobs = (self.jobs[name] for name in (self.jobs if names is None else names))
        return len({job.whole for job in jobs if job.kind == kind})


def evaluation_name(policy: str, evaluation: str) -> str:
    return f"{policy} on {evaluation}"


def shard_names(whole: str, shards: int) -> list[str]:
    return [whole] if shards == 1 else [f"{whole}, job {i + 1} of {shards}" for i in range(shards)]


def work_of(plan: Plan, costs: Costs, *, only: list[Name] | None = None) -> Work:
    """All jobs of a plan's tables and figures, or only those of some items. Raises ConfigError."""
    builder = _Builder(plan, costs)
    for paper, item in only if only is not None else items_asked_for(plan):
        inputs = needs(plan, paper, item)
        names = [builder.policy(policy) for policy in inputs.policies]
        names += [name for pair in inputs.evaluations for name in builder.evaluation(*pair)]
        builder.work.items[paper, item] = {name for name in names if name is not None}
        for source in plan.papers[paper].statistics_of(item):
            if source != item:
                builder.work.shown_in.setdefault((paper, source), set()).add((paper, item))
    return builder.work


class _Builder:
    def __init__(self, plan: Plan, costs: Costs):
        self.plan, self.costs, self.rank = plan, costs, ranks(plan)
        self.work = Work()
        self.cache: dict[object, Estimate] = {}

    def policy(self, policy: str) -> str | None:
        """The job that trains a policy; None for a published model."""
        if policy in self.work.jobs:
            return policy
        if policy in self.plan.runs:
            spec, execution = self.plan.runs[policy], self.plan.executions[policy]
            # Runs that differ only in seed, weights and loss cost the same, but for the passes of a reference.
            key = spec.model_dump_json(exclude={"seed", "estimator", "loss"}), spec.needs_reference
            estimate = self._estimate((key, execution), lambda: self.costs.run(spec, execution))
            return self._add(policy, "run", policy, self.plan.base_of(policy), policy, spec.base.model.name, estimate)
        spec = self.plan.policies[policy]
        if spec.sft is None:
            return None
        estimate = self._estimate(policy, lambda: self.costs.sft(spec, self.plan.execution))
        before = [None, *(self.policy(name) for name in self.plan.before(policy))][-1]
        return self._add(policy, "sft", policy, before, policy, spec.model.name, estimate)

    def evaluation(self, policy: str, evaluation: str) -> list[str]:
        """The jobs that draw an evaluation's samples. Joining them needs no GPU."""
        whole, shards = evaluation_name(policy, evaluation), self.plan.shards(evaluation)
        names = shard_names(whole, shards)
        if names[0] in self.work.jobs:
            return names
        base, spec = self.plan.policies[self.plan.base_of(policy)], self.plan.evaluations[evaluation]
        estimate = self._estimate(
            (base.model.name, evaluation),
            lambda: self.costs.evaluation(spec, base.model, self.plan.execution, shards=shards),
        )
        key = policy, evaluation
        return [self._add(name, "evaluation", whole, policy, key, base.model.name, estimate) for name in names]

    def _estimate(self, key: object, make: Callable[[], Estimate]) -> Estimate:
        if key not in self.cache:
            self.cache[key] = make()
        return self.cache[key]

    def _add(
        self, name: str, kind: str, whole: str, before: str | None, key: str | Name, model: str, estimate: Estimate
    ) -> str:
        after = (before,) if before is not None and before in self.work.jobs else ()
        own = (estimate.seconds, estimate.gpus, after, self.rank[key])
        self.work.jobs[name] = PlannedJob(name, *own, kind=kind, whole=whole, model=model, estimate=estimate)
        return name
