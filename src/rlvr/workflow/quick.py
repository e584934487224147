"""Snakemake does some things anew for each job of a plan. Here they are done once, where that changes nothing."""

import gc
from collections.abc import Callable
from typing import Any

import snakemake.common
import snakemake.jobs
import snakemake.rules

OBJECTS = 200_000  # between two collections: a plan's jobs live as long as the process, so there is little to collect


def prepare() -> None:
    """Look at the signature of each function of a rule once, not several times per job; collect less garbage."""
    gc.set_threshold(OBJECTS, 50, 50)
    asked = snakemake.common.get_function_params
    known: dict[Callable[..., Any], Any] = {}

    def params(function: Callable[..., Any]) -> Any:
        try:
            if function not in known:
                known[function] = asked(function)
            return known[function]
        except TypeError:  # cannot be a key
            return asked(function)

    if not hasattr(asked, "keeps"):  # another workflow may have this one as a module
        params.keeps = True  # type: ignore[attr-defined]
        for module in (snakemake.common, snakemake.rules, snakemake.jobs):
            module.get_function_params = params  # type: ignore[attr-defined]
