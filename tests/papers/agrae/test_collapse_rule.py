"""The paper's rule for runs that collapse: the paper's own is one, chance alone is none."""

import functools

import numpy as np
import pytest
from conftest import ROOT

from rlvr.items.layout import of as layout_of
from rlvr.planning.expansion import make_plan
from rlvr.statistics.collapse import judge


@functools.cache
def rule_of(scale: str) -> dict:
    return layout_of(make_plan(ROOT, scale, ["agrae"]), "agrae", "collapse").collapse.model_dump()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("before", "after", "collapsed"), [(40, 100, True), (60, 100, True), (50, 55, False)])
def test_the_papers_collapse_is_one_by_the_papers_rule(before, after, collapsed, seed):
    """A-GRAE App. D.3: from step 78 of 140 on an upward trend with large oscillations, to over 110 of 1,024 prompts."""
    step = np.arange(140)
    late = np.clip((step - 78) / 61, 0, 1)
    level = before + (115 - before) * np.exp(-step / 12) + (after - before) * late
    swing = 0.2 * (after - before) * late * np.sin(1.3 * step)
    unsolved = np.random.default_rng(seed).binomial(1024, (level + swing) / 1024)
    assert (unsolved[78:].max() > 110) == collapsed
    assert judge(unsolved / 1024, **rule_of("paper")).collapsed == collapsed


@pytest.mark.parametrize(("scale", "prompts", "steps"), [("paper", 1024, 140), ("gpu", 64, 100)])
@pytest.mark.parametrize("share", [0.02, 0.06, 0.1, 0.2, 0.4])
def test_chance_alone_is_no_collapse(scale, prompts, steps, share):
    draws = np.random.default_rng(0).binomial(prompts, share, (40, steps)) / prompts
    assert not any(judge(unsolved, **rule_of(scale)).collapsed for unsolved in draws)
