"""Asks once Snakemake knows its jobs and before one starts, in a dry run too.

Snakemake's own hook, `onstart`, is of real runs, and comes after it has taken its locks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.workflow import Workflow


def planning_and_running(workflow: Workflow, ask: Callable[[], None]) -> None:
    """Have `ask` called when the workflow has built its DAG; it may end the process there."""
    build = workflow._build_dag

    def build_and_ask() -> None:
        build()
        ask()

    workflow._build_dag = build_and_ask  # type: ignore[method-assign]
