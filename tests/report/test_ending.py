"""What a command ends with: results in words, by hand, and paths that exist."""

from pathlib import Path

import pandas as pd
import pytest

from rlvr.config.paths import Paths
from rlvr.config.plan import by_name
from rlvr.papers.methods.tables.league import rank_of
from rlvr.planning.expansion import make_plan
from rlvr.report.ending import lines, result

ROOT = Path(__file__).resolve().parents[2]


def cell(arm: str, k: int, value: float, *difference: float, seeds: int = 4) -> dict:
    gain, low, high = difference or (None, None, None)
    return {
        **{"benchmark": "math-500", "stand_in": "qwen2-chain", "data": "chain-easy", "arm": arm, "label": arm.upper()},
        **{"k": k, "value": value, "value_low": value - 2, "value_high": value + 2, "seeds": seeds, "problems": 150},
        **{"difference": gain, "difference_low": low, "difference_high": high},
    }


FRAME = pd.DataFrame(
    [
        *(cell("base", 1, 40.4, -10.0, -13, -7, seeds=0), cell("base", 32, 97.6, 7.0, 4, 10, seeds=0)),
        *(cell("grpo", 1, 51.2), cell("grpo", 32, 90.1)),
        *(cell("ace", 1, 51.3, 0.1, -1, 1), cell("ace", 32, 88.7, -1.4, -3.2, 0.3)),
        *(cell("lens", 1, 51.3, 0.1, -1, 1), cell("lens", 32, 92.3, 2.2, 0.5, 3.9)),
        *(cell("fade", 1, 51.3, 0.1, -1, 1), cell("fade", 32, 84.0, -6.1, -8.6, -3.5)),
        *(cell("placebo", 1, 51.3, 0.1, -1, 1), cell("placebo", 32, 84.0, -6.1, -8.6, -3.5)),
        *(cell("blind", 1, 0.3, seeds=0), cell("blind", 32, 9.2, seeds=0)),
    ]
)


def test_a_result_is_the_baselines_and_each_methods_in_words():
    (line,) = result(FRAME, {"placebo"})
    assert line == (
        "qwen2-chain on chain-easy (in place of math-500): GRPO solves 51.2 % [49.2, 53.2] (before RL 40.4 %) in 1 try "
        "and 90.1 % [88.1, 92.1] (before RL 97.6 %) in 32 tries. Difference to GRPO in 32 tries: ACE −1.4 points "
        "[−3.2, +0.3], undecided; LENS +2.2 points [+0.5, +3.9], higher; FADE −6.1 points [−8.6, −3.5], "
        "lower. 95 % intervals over 4 training seeds and 150 problems."
    )
    assert list(result(FRAME[FRAME["arm"].isin(["grpo", "base"])], set())) == []


@pytest.fixture(scope="module")
def made():
    return make_plan(ROOT, "smoke", ["ace", "methods"])


def laid(path: str, frame: pd.DataFrame | None = None) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("" if frame is None else frame.to_csv(index=False))


def test_the_default_target_ends_with_its_tables_the_page_and_the_verdicts(made, tmp_path):
    paths = Paths(str(tmp_path), "smoke")
    assert lines(made, paths, []) == []
    laid(paths.statistics("ace", "start"), FRAME)
    laid(paths.entrance())
    laid(paths.first_verdicts()[0])
    meaningless, ours, page, verdicts = lines(made, paths, ["all"])
    assert "mean nothing" in meaningless and ours.startswith("qwen2-chain on chain-easy") and "PLACEBO" in ours
    assert page == f"page to open: {tmp_path}/report/index.html"
    assert verdicts == f"verdicts on the claims: {tmp_path}/first/smoke-verdicts.md"
    laid(paths.page("ace"))
    assert lines(made, paths, ["paper_ace", "theory"])[1:] == [f"page: {paths.page('ace')}"]


def of_league(arm: str, rank: float | None, gain: float | None) -> list[dict]:
    common = {"rank": (2.0, 1, 3), "gain": (1.0, -1, 3), "pass_k": (80.0, 78, 82)}
    equal = {"rank": (rank, 1, 3), "gain": (gain, -0.5, 0.5)}
    return [
        {"arm": arm, "label": arm, "k": 64, "at": at, "measure": name, "value": v, "value_low": low, "value_high": high}
        for at, several in (("common", common), ("equal", equal))
        for name, (v, low, high) in several.items()
    ]


LEAGUE = pd.DataFrame([*of_league("grpo", 2, None), *of_league("mine", 1, 0.2), *of_league("far", None, None)])


def test_a_league_of_ones_own_ends_with_its_rank_and_its_table(made, tmp_path):
    paths = Paths(str(tmp_path), "smoke")
    for paper, name in by_name(made)["mine"]:
        laid(paths.statistics(paper, name), LEAGUE)
    _, rank, table, page = lines(made, paths, ["league"], mine="mine")
    assert rank == "mine: rank 1 [1, 3] of 2 by pass@64 at equal pass@1; minus the baseline: +0.2 [−0.5, +0.5] points"
    assert table == f"table: {tmp_path}/papers/smoke/methods/tables/mine.md"
    assert page == f"page to open: {tmp_path}/report/smoke/mine.html"


def test_a_method_out_of_the_baselines_reach_is_ranked_at_one_rate():
    said = rank_of(LEAGUE, "far")
    assert said.startswith("far: rank 2 [1, 3] of 3 by pass@64 at one learning rate") and "does not reach" in said
