"""What Snakemake does once in place of once per job gives what it gives."""

import gc
import inspect

import pytest
import snakemake.common
import snakemake.jobs
import snakemake.rules

from rlvr.workflow import quick


@pytest.fixture
def prepared(monkeypatch):
    """Twice, as where this workflow is a module of another one beside itself; taken back at the end."""
    thresholds = gc.get_threshold()
    for module in (snakemake.common, snakemake.jobs, snakemake.rules):
        monkeypatch.setattr(module, "get_function_params", snakemake.common.get_function_params)
    quick.prepare()
    first = snakemake.common.get_function_params
    quick.prepare()
    assert snakemake.common.get_function_params is first
    yield
    gc.set_threshold(*thresholds)


class Callable:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, wildcards, attempt):
        return wildcards, attempt


def test_signatures_are_those_of_the_functions(prepared, monkeypatch):
    seen, signature = [], inspect.signature
    monkeypatch.setattr(snakemake.common.inspect, "signature", lambda f: seen.append(f) or signature(f))
    functions = [lambda wildcards: wildcards, lambda w, input, threads=1: w, Callable()]
    for _ in range(3):
        for function in functions:
            for module in (snakemake.common, snakemake.jobs, snakemake.rules):
                assert module.get_function_params(function) == signature(function).parameters
    assert len(seen) == 2 + 9, "each once, but the one that cannot be a key"


def test_parameters_that_were_set_by_hand_stay(prepared):
    def function(*arguments):
        return arguments

    snakemake.common.overwrite_function_params(function, ["wildcards", "input"])
    assert list(snakemake.common.get_function_params(function)) == ["wildcards", "input"]
