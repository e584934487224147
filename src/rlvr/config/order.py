"""In which order tables and figures are to be finished, and so which run goes first: for Snakemake and `rlvr plan`."""

from __future__ import annotations

from dataclasses import dataclass

from rlvr.config.plan import Plan, asked_for, core_items, first_items


@dataclass(frozen=True)
class Needs:
    """What a table or figure is made of: policies, the bases they start from included, and (policy, evaluation)."""

    policies: tuple[str, ...]
    evaluations: tuple[tuple[str, str], ...]


def items_in_order(plan: Plan) -> list[tuple[str, str]]:
    """(paper, item): what the default target makes, every paper's core, then all tables and figures, in their files'
    order."""
    rest = [(name, item) for name, made in plan.papers.items() for item in made.all_items()]
    return list(dict.fromkeys([*first_items(plan), *core_items(plan), *rest]))


def items_asked_for(plan: Plan) -> list[tuple[str, str]]:
    """Those of them that the targets `paper_<name>` make at this scale."""
    wanted = {(name, item) for name in plan.papers for item in asked_for(plan, name)}
    return [pair for pair in items_in_order(plan) if pair in wanted]


def needs(plan: Plan, paper: str, name: str) -> Needs:
    """Of a table or figure alone. A figure that shows tables needs what they need."""
    made = plan.papers[paper]
    sources = [made.item(source) for source in made.statistics_of(name)]
    pairs = [pair for item in sources for pair in item.scored()]
    policies = [policy for item in sources for policy in item.policies()]
    bases = [plan.base_of(policy) for policy in policies]
    return Needs(tuple(dict.fromkeys([*bases, *policies])), tuple(dict.fromkeys(pairs)))


def ranks(plan: Plan) -> dict[str | tuple[str, str], int]:
    """Of each policy and each (policy, evaluation): the place of the first item that needs it, from 0."""
    found: dict[str | tuple[str, str], int] = {}
    for rank, (paper, name) in enumerate(items_in_order(plan)):
        wanted = needs(plan, paper, name)
        for key in (*wanted.policies, *wanted.evaluations):
            found.setdefault(key, rank)
    return found


def priorities(plan: Plan) -> dict[str | tuple[str, str], int]:
    """The same for Snakemake, where the larger goes first; from 1."""
    last = len(items_in_order(plan))
    return {key: last - rank for key, rank in ranks(plan).items()}
