"""Shortest paths of reasoning-gym: one regime for the papers that have them."""

from conftest import ROOT

from rlvr.planning.expansion import make_plan


def test_shortest_paths_are_trained_alike_for_every_paper():
    """A regime that was chosen once, for ACE's core, is written in four files."""
    parts = {}
    for paper in ("ace", "lens", "agrae", "pacs"):
        runs = make_plan(ROOT, "full-short", [paper]).runs
        run = next(run for name, run in runs.items() if name.startswith("qwen2-path-grpo-"))
        parts[paper] = (run.rl, run.rollout, run.base)
    assert len({repr(part) for part in parts.values()}) == 1, parts
