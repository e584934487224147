"""Mixtures of sets."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, spec_file
from support.published_sets import DATA, SETS, dapo_row, lines, loaded, parquet, rlvr, small

from rlvr.config.identity import data_id
from rlvr.config.schema.models_and_data import Mixture, Share
from rlvr.data import card, prepare
from rlvr.data.rows import DataError
from rlvr.files import read_json
from rlvr.planning.expansion import make_plan
from rlvr.records import Problem, read_records


@pytest.fixture
def at_hand(tmp_path, monkeypatch):
    """Thirty problems of MATH and twenty of DAPO, as published, where a user would lay them."""
    rows = [{"problem": f"m{i}", "level": f"Level {i % 5 + 1}", "solution": f"\\boxed{{{i}}}"} for i in range(30)]
    lines(tmp_path / "data/math-train/m.jsonl", rows)
    parquet(tmp_path / "data/dapo-math-17k-raw/d.parquet", [dapo_row(f"d{i}", str(i)) for i in range(20)] * 3)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mixture(name: str, seed: int = 0, **shares: dict) -> Mixture:
    """Of sets named as in Python: math_train, dapo_math_17k_raw."""
    made = [Share(data=small(of.replace("_", "-")), **given) for of, given in shares.items()]
    return Mixture(name=name, task="mixture", shares=made, seed=seed)


def mixed(spec: Mixture, out: Path) -> list[Problem]:
    out.mkdir(parents=True)
    card.write(out, prepare.make(spec, out))
    return read_records(out / "problems.jsonl", Problem)


def test_a_mixture_takes_its_shares_and_says_so(at_hand):
    spec = mixture("both", math_train={"skip": 10}, dapo_math_17k_raw={"problems": 7})
    problems = mixed(spec, at_hand / "out")
    made = read_json(at_hand / "out/card.json")
    assert made["shares"] == {"math-train": 20, "dapo-math-17k-raw": 7} and made["problems"] == 27 == len(problems)
    assert len({p.id for p in problems}) == 27 and {p.id.split("/")[0] for p in problems} == set(made["shares"])
    origin = {problem.id: problem for problem in loaded("math-train", at_hand / "data/math-train/m.jsonl")[0]}
    for problem in problems:
        if problem.id.startswith("math-train/"):
            before = origin[problem.id.partition("/")[2]]
            assert (problem.prompt, problem.gold, problem.level) == (before.prompt, before.gold, before.level)
    kinds = [problem.id.split("/")[0] for problem in problems]
    assert kinds != sorted(kinds) and kinds != sorted(kinds, reverse=True), "in one order, not set after set"
    assert "Of math-train: 20" in (at_hand / "out/card.md").read_text()
    assert all(SETS[name].about.licence in made["licence"] for name in made["shares"])


def test_two_mixtures_with_one_seed_divide_a_set(at_hand):
    held_out = mixture("held-out", math_train={"problems": 10})
    rest = mixture("rest", math_train={"skip": 10})
    with_more = mixture("more", math_train={"skip": 10}, dapo_math_17k_raw={"problems": 5})
    a, b, c = (mixed(spec, at_hand / spec.name) for spec in (held_out, rest, with_more))
    ids = [{problem.id for problem in problems if problem.id.startswith("math-train/")} for problems in (a, b, c)]
    assert len(ids[0]) == 10 and len(ids[0] | ids[1]) == 30 and not ids[0] & ids[1]
    assert ids[2] == ids[1], "what else is mixed in changes no share"
    assert ids[0] != {f"math-train/math-train-{i}" for i in range(10)}, "a draw, not the first ten"
    other = {p.id for p in mixed(mixture("other", seed=1, math_train={"problems": 10}), at_hand / "other")}
    assert other != ids[0]


def test_the_division_that_the_papers_use(at_hand):
    """math-held-out and math-rest: one seed, and what is passed over is what is held out."""
    held_out, rest = DATA["math-held-out"], DATA["math-rest"]
    (first,), (second,) = held_out.shares, rest.shares
    assert held_out.seed == rest.seed and first.data == second.data == SETS["math-train"]
    assert (first.skip, first.problems, second.skip, second.problems) == (0, 500, 500, None)
    assert held_out.problems + rest.problems == SETS["math-train"].problems
    for name in ("math-dapo", "math-numina"):
        assert DATA[name].seed == rest.seed and DATA[name].shares[0] == second
        assert DATA[name].problems == rest.problems + DATA[name].shares[1].most
    assert DATA["math-dapo"].shares[1].most == DATA["math-numina"].shares[1].problems == 17398


def test_the_division_of_dapo_that_ace_uses():
    """ACE's probes are on problems of DAPO-Math-17K that it does not train on (sec. 5.4)."""
    ace = make_plan(ROOT, "paper", ["ace", "methods"]).runs.values()
    held_out, rest = DATA["dapo-held-out"], DATA["dapo-rest"]
    (first,), (second,) = held_out.shares, rest.shares
    assert held_out.seed == rest.seed and first.data == second.data == SETS["dapo-math-17k"]
    assert first.skip == 0 and first.problems == second.skip == held_out.problems and second.problems is None
    assert held_out.problems + rest.problems == SETS["dapo-math-17k"].problems
    assert {(run.data.name, run.validation.name, run.probe.problems) for run in ace} == {
        ("dapo-rest", "dapo-held-out", held_out.problems)
    }


def test_the_same_mixture_is_the_same_bytes(at_hand):
    spec = mixture("both", math_train={"skip": 3, "problems": 9}, dapo_math_17k_raw={})
    for folder in ("one", "two"):
        mixed(spec, at_hand / folder)
    first, second = ((at_hand / folder / "problems.jsonl").read_bytes() for folder in ("one", "two"))
    assert first == second
    about = spec.about.model_copy(update={"note": "another"})
    assert data_id(spec.model_copy(update={"about": about})) == data_id(spec)
    for seed, skip in ((2, 3), (0, 4)):
        other = mixture("both", seed=seed, math_train={"skip": skip, "problems": 9}, dapo_math_17k_raw={})
        assert data_id(other) != data_id(spec)


@pytest.mark.parametrize("share", [{"problems": 31}, {"skip": 25, "problems": 6}, {"skip": 30}])
def test_a_share_of_more_than_there_is_is_an_error(at_hand, share):
    with pytest.raises(DataError, match="math-train has 30 problems, too few to skip"):
        mixed(mixture("large", math_train=share), at_hand / "out")


def test_a_mixture_has_one_verifier():
    with pytest.raises(ValueError, match="all sets of a mixture must have the same verifier"):
        mixture("two", math_train={}, gpqa_diamond={})


def test_a_mixture_of_a_set_that_is_not_whole_is_an_error_unless_asked_for(at_hand):
    done = rlvr("prepare", "math-rest")
    assert done.exit_code == 2 and "math-rest: math-train: 30 problems, and 7500 are published" in done.stderr
    done = rlvr("prepare", "math-rest", "--any-count")
    assert done.exit_code == 2 and "math-train has 30 problems, too few to skip 500" in done.stderr


def test_a_mixture_is_made_by_the_stages_command(at_hand):
    spec = mixture("both", math_train={"problems": 5}, dapo_math_17k_raw={"problems": 5})
    command = [sys.executable, "-m", "rlvr.data.prepare", "--spec", str(spec_file(spec)), "--out", str(at_hand / "x")]
    done = subprocess.run(command, cwd=at_hand, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    mixed(spec, at_hand / "y")
    assert (at_hand / "x/problems.jsonl").read_bytes() == (at_hand / "y/problems.jsonl").read_bytes()
