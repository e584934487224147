"""The order of tables and figures, hence of runs, for Snakemake and `rlvr plan`."""

from dataclasses import dataclass

from rlvr.config.plan import Plan, asked_for, core_items, first_items


@dataclass(frozen=True)
class Inputs:
    """The inputs of a table or figure: policies with their bases, and pairs (policy, evaluation)."""

    policies: tuple[str, ...]
    evaluations: tuple[tuple[str, str], ...]


def items_in_order(plan: Plan) -> list[tuple[str, str]]:
    """(paper, item) pairs: first the default target, then every paper's core, then the rest in the files' order."""
    rest = [(name, item) for name, paper_plan in plan.papers.items() for item in paper_plan.all_items()]
    return list(dict.fromkeys([*first_items(plan), *core_items(plan), *rest]))


def items_asked_for(plan: Plan) -> list[tuple[str, str]]:
    """The pairs that the targets `paper_<name>` make at this scale, in the same order."""
    wanted = {(name, item) for name in plan.papers for item in asked_for(plan, name)}
    return [pair for pair in items_in_order(plan) if pair in wanted]


def needs(plan: Plan, paper: str, name: str) -> Inputs:
    """The inputs of one table or figure. A figure that shows tables has theirs."""
    paper_plan = plan.papers[paper]
    sources = [paper_plan.item(source) for source in paper_plan.statistics_of(name)]
    pairs = [pair for item in sources for pair in item.scored()]
    policies = [policy for item in sources for policy in item.policies()]
    bases = [base for policy in policies for base in plan.before(policy)]
    return Inputs(tuple(dict.fromkeys([*bases, *policies])), tuple(dict.fromkeys(pairs)))


def ranks(plan: Plan) -> dict[str | tuple[str, str], int]:
    """Each policy and (policy, evaluation) -> the position, from 0, of the first item that needs it."""
    places: dict[str | tuple[str, str], int] = {}
    for rank, (paper, name) in enumerate(items_in_order(plan)):
        inputs = needs(plan, paper, name)
        for key in (*inputs.policies, *inputs.evaluations):
            places.setdefault(key, rank)
    return places


def priorities(plan: Plan) -> dict[str | tuple[str, str], int]:
    """The same for Snakemake, where larger goes first; the smallest is 1."""
    last = len(items_in_order(plan))
    return {key: last - rank for key, rank in ranks(plan).items()}
