"""`rlvr` as a user calls it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from conftest import ROOT
from scipy import stats
from support.members import fields
from typer.testing import CliRunner

from rlvr import estimators
from rlvr.commands import app
from rlvr.planning.expansion import make_plan

LINES = [
    {
        "step": step,
        **fields([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]]),
        "lengths": [[10, 12, 8, 9], [20, 5, 6, 7], [11, 12, 13, 14]],
        "logp": [[-3.0, -4.5, -2.0, -1.0], [-8.0, -2.0, -3.0, -1.5], [-4.0, -4.0, -4.5, -6.0]],
        "logp_ref": [[-3.5, -4.0, -3.0, -1.0], [-6.0, -2.5, -3.0, -2.5], [-4.0, -5.0, -4.0, -5.0]],
        "logp_old": [[-3.1, -4.4, -2.0, -1.1], [-8.0, -2.1, -3.0, -1.5], [-4.1, -4.0, -4.5, -6.1]],
        "entropy": 0.8 - 0.1 * step,
    }
    for step in range(2)
]


def rlvr(*arguments: str, lines=LINES, text: str | None = None):
    given = text if text is not None else "".join(json.dumps(line) + "\n" for line in lines)
    return CliRunner().invoke(app, arguments, input=given)


def refused(*arguments: str, lines=LINES) -> str:
    """The error of a command that prints nothing else."""
    done = rlvr(*arguments, lines=lines)
    assert done.exit_code == 2 and done.stdout == "", (done.stderr, done.stdout)
    return done.stderr


def rows_of(*arguments: str, lines) -> list[dict]:
    done = rlvr(*arguments, lines=lines)
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def weighed(*arguments: str, lines=LINES) -> list[dict]:
    return rows_of("weigh", *arguments, lines=lines)


def test_weights_are_those_of_the_function():
    made = weighed("ace", "--set", "alpha=2.0", "--set", "base=dr_grpo", "--group-mass")
    assert [line["step"] for line in made] == [0, 1] and made[0]["state"] == {}
    fields_of_ace = ("rewards", "lengths", "logp", "logp_ref")
    rewards, lengths, logp, logp_ref = (torch.tensor(LINES[0][key], dtype=torch.float64) for key in fields_of_ace)
    inputs = {"log_ratio_PG": logp - logp_ref, "lengths_PG": lengths}
    weights = estimators.load("ace")(rewards, **inputs, alpha=2.0, base="dr_grpo")
    assert made[0]["weights"] == weights.tolist()
    assert made[0]["m_S"] == pytest.approx((weights * rewards).mean(1).tolist())
    assert made[0]["m_F"] == pytest.approx((-weights * (1 - rewards)).mean(1).tolist())


def test_state_goes_from_line_to_line():
    first, second = weighed("fade", "--set", "ema=smooth")
    assert {"alpha", "delta", "p_hat", "h_hat"} <= set(first["state"])
    assert second["state"]["p_hat"] == pytest.approx(0.98 * first["state"]["p_hat"] + 0.02 * 5 / 12)
    assert second["state"]["h_hat"] == pytest.approx(0.98 * 0.8 + 0.02 * 0.7)
    assert weighed("a_grae")[0]["state"] == {"omega": pytest.approx(5 / 12)}


def test_only_what_the_method_needs_must_be_there():
    bare = [{"step": 7, "rewards": LINES[0]["rewards"]}]
    assert weighed("grpo", lines=bare)[0]["step"] == 7
    some = [{key: LINES[0][key] for key in ("rewards", "logp", "logp_ref")}]
    assert weighed("ace", "--set", "aggregation=sum", lines=some)[0]["step"] == 0
    assert "line 1: lengths: is missing" in refused("weigh", "ace", lines=some)


def test_every_method_weighs_by_its_name():
    for name in estimators.names():
        for line in weighed(name, "--group-mass"):
            assert torch.isfinite(torch.tensor(line["weights"])).all() and len(line["m_S"]) == 3, name


def broken(**changes) -> list[dict]:
    return [LINES[0], {**LINES[1], **changes}]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (broken(rewards=[[1, 0, 0, 1], [0, 0, 0], [1, 1, 1, 0]]), "line 2: rewards[1]: has 3 rollouts"),
        (broken(rewards=[[1, 0, 0, float("nan")]] * 3), "line 2: rewards[0][3]: must be a finite number"),
        (broken(rewards=[[1, 0, 0, "1"]] * 3), 'line 2: rewards[0][3]: must be a finite number (got "1")'),
        (broken(rewards=[[1, 0, True, 1]] * 3), "line 2: rewards[0][2]: must be a finite number"),
        (broken(rewards=[]), "line 2: rewards: must be a list of groups"),
        (broken(logp=[[1.0] * 4] * 2), "line 2: logp: has 2 groups, rewards have 3"),
        (broken(lengths=[[1, 2, 3, 0]] * 3), "line 2: lengths: must be positive"),
        (broken(step="two"), "line 2: step: must be an integer"),
        ([LINES[0], {k: v for k, v in LINES[1].items() if k != "logp_ref"}], "line 2: logp_ref: is missing"),
        ([LINES[0], [1, 2]], "line 2: must be a JSON object"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(lines, message):
    assert message in refused("weigh", "ace", lines=lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gpro",), "unknown method 'gpro'; did you mean 'grpo'?"),
        ((), "name a method"),
        (("ace", "--set", "alfa=1"), "alfa: ace has no such setting; did you mean 'alpha'?"),
        (("ace", "--set", "alpha=big"), "alpha: must be a finite number of type float (got 'big')"),
        (("ace", "--set", "alpha"), "must be KEY=VALUE"),
        (("ace", "--set", "alpha=1", "--set", "alpha=2"), "alpha: is given twice"),
        (("ace", "--set", "base=gpro"), "base: 'gpro' is not one of its values; did you mean 'grpo'?"),
        (("pass_at_k", "--set", "k=5"), "line 1: k must be between 1 and the 4 rollouts of a group: 5"),
        (("pass_at_k", "--set", "k=2.5"), "k: must be a finite number of type int"),
        (("pacs", "--set", "class_weights=maybe"), "class_weights: must be of type bool"),
        (("fade", "--set", "target_entropy=nan"), "target_entropy: must be a finite number"),
        (("t2t", "--set", "alpha=1e200"), "alpha: must be finite, at most 1e+15 in size"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    assert message in refused("weigh", *arguments)


@pytest.mark.parametrize(
    ("arguments", "line", "message"),
    [
        (("grpo",), {"rewards": [[1e308, -1e308]]}, "line 1: rewards: the numbers given are too large (1e+308"),
        (("grpo",), {"rewards": [[1, 0], [10**200, 0]]}, "line 1: rewards: the numbers given are too large (1e+200"),
        (("max_rl",), {"rewards": [[1, -1]]}, "line 1: max_rl takes a group's mean reward for its solve rate"),
        (("a_grae",), {"rewards": [[1e308, 1e308]]}, "line 1: rewards: the numbers given are too large"),
        (
            ("pacs", "--set", "score=grpo"),
            {"rewards": [[1, 0]], "logp": [[-1e200, -1]], "logp_ref": [[-1, -1]]},
            "line 1: logp: the numbers given are too large",
        ),
        (("fade",), {"rewards": [[1, 0]], "entropy": 1e200}, "line 1: entropy: the numbers given are too large"),
        (("ha_dw",), {"rewards": [[1, 0], [1e119, 0]]}, "line 1: weights[0][0]: is inf"),
        (("power_alpha", "--set", "alpha=1000", "--set", "scale=peak"), {"rewards": [[1, 0]]}, "line 1: "),
        (("fade", "--set", "control=schedule"), {"rewards": [[1, 0]], "entropy": 1}, "control = schedule needs"),
    ],
)
def test_numbers_out_of_range_are_named_and_nothing_is_written(arguments, line, message):
    assert message in refused("weigh", *arguments, lines=[line])


def test_lines_end_at_newlines_only_and_a_byte_order_mark_is_no_content():
    text = "\ufeff" + json.dumps({"rewards": [[1, 0]], "note": "a\u2028b"}, ensure_ascii=False) + "\r\n\n"
    done = rlvr("weigh", "dr_grpo", text=text)
    assert done.exit_code == 0 and json.loads(done.stdout)["weights"] == [[0.5, -0.5]], done.stderr


def test_the_list_shows_every_method_with_settings_and_source():
    """As its own process, and by the name that installing the package gives it."""
    command = [str(Path(sys.executable).with_name("rlvr")), "weigh", "--list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    blocks = {block.split(":")[0]: block for block in done.stdout.split("\n\n")}
    assert set(blocks) == set(estimators.names())
    assert "FADE, Eq. 11" in blocks["fade"] and "--set  ema=paper  (paper, smooth)" in blocks["fade"]
    assert "needs  rewards, logp, logp_ref" in blocks["ace"] and "target_entropy=null" in blocks["fade"]


# ---- rlvr passk ----

COUNTS = [{"problem": f"p{i}", "n": 16, "c": c} for i, c in enumerate([0, 0, 1, 3, 8, 12, 16, 16])]


def passk(*arguments: str, lines=COUNTS) -> list[dict]:
    return rows_of("passk", *arguments, lines=lines)


def test_passk_is_the_hypergeometric_law_with_both_intervals():
    for row in passk("--k", "1,2,8,16"):
        expected = [stats.hypergeom.sf(0, 16, line["c"], row["k"]) for line in COUNTS]
        assert row["value"] == pytest.approx(sum(expected) / 8, abs=1e-12)
        for interval in ("over_samples", "over_problems"):
            low, high = row[interval]
            assert 0 <= low <= row["value"] <= high <= 1
        assert row["problems"] == 8 and row["confidence"] == 0.95
    one, both = passk("--k", "8")[0], passk("--k", "1,8")[1]
    assert one == both, "an interval does not depend on the other k"
    assert passk("--k", "8", "--seed", "1")[0]["over_problems"] != one["over_problems"]


def test_passk_interval_over_problems_is_scipys_bca():
    import numpy as np

    values = np.array([line["c"] / 16 for line in COUNTS])
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence((0, 1))))
    found = stats.bootstrap((values,), np.mean, n_resamples=9999, rng=generator, batch=500).confidence_interval
    assert passk("--k", "1")[0]["over_problems"] == pytest.approx([found.low, found.high])


def test_passk_of_one_problem_or_equal_ones_says_so():
    assert passk(lines=COUNTS[:1])[0]["over_problems"] == [None, None]
    assert passk(lines=[{**COUNTS[6], "problem": i} for i in range(3)])[0]["over_problems"] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("lines", "arguments", "message"),
    [
        ([*COUNTS, COUNTS[0]], (), "line 9: problem: 'p0' is in line 1 too"),
        ([{"problem": "a", "n": 4, "c": 5}], (), "line 1: c: 5 correct of 4 samples"),
        ([{"problem": "a", "n": 4, "c": 1}], ("--k", "8"), "line 1: n: 4 samples are fewer than k = 8"),
        ([{"problem": "a", "n": 4}], (), "line 1: c: is missing"),
        ([{"problem": "a", "n": 4.5, "c": 1}], (), "line 1: n: must be a whole number"),
        ([{"problem": "a", "n": 4, "c": -1}], (), "line 1: c: must be a whole number, not negative"),
        ([{"problem": None, "n": 4, "c": 1}], (), "line 1: problem: must be a name"),
        ([{"problme": "a", "n": 4, "c": 1}], (), 'problem: is missing; unknown key "problme"; did you mean "problem"?'),
        ([{"problem": "a", "n": 10**6 + 1, "c": 1}], (), "line 1: n: must be at most 1,000,000 (got 1,000,001)"),
        (COUNTS, ("--k", "1,x"), "--k: must be whole numbers"),
        (COUNTS, ("--k", "1" * 5000), "--k: must be whole numbers"),
        (COUNTS, ("--k", "1,99999999999999999999"), "--k: must be at least 1, at most 1,000,000, each once"),
        (COUNTS, ("--confidence", "nan"), "--confidence: must be between 0 and 1"),
        (COUNTS, ("--k", "0"), "--k: must be at least 1"),
        (COUNTS, ("--confidence", "1.5"), "--confidence: must be between 0 and 1"),
    ],
)
def test_passk_names_what_is_wrong(lines, arguments, message):
    assert message in refused("passk", *arguments, lines=lines)


# ---- rlvr verl-config ----


def chosen(run: str) -> str:
    said = refused("verl-config", run, "--paper", "ace")
    assert len(said.splitlines()) == 1 and len(said) < 500, "no list of every run"
    return said


def test_verl_config_names_the_nearest_run_and_how_many_there_are():
    plan = make_plan(ROOT, "paper", ["ace"])
    name = next(iter(plan.runs))
    wrong = chosen(name.replace("seed1", "seed7"))
    assert "none of the runs at scale paper has this name; did you mean " in wrong
    assert wrong.strip().rsplit("'", 2)[1] in plan.runs
    assert f"and {len(plan.runs) - 5:,} more" in chosen("nope")
    begin = [run for run in plan.runs if run.startswith("qwen3-8b-base-ace")]
    wrong = chosen("qwen3-8b-base-ace")
    assert f"{len(begin)} of the runs at scale paper begin so: qwen3-8b-base-ace" in wrong
    done = rlvr("verl-config", name, "--paper", "ace")
    assert done.exit_code == 0 and "rlvr verl-config: rollouts: 74.4 of 76.0 GB on h100 (vllm 60.0, " in done.stderr
    assert "GB on" not in done.stdout
    assert "data.image_key" not in done.stdout
    done = rlvr("verl-config", name, "--paper", "ace", "--gpus-per-node", "4")
    assert done.exit_code == 2 and "or 8 GPUs fits on h100" in done.stderr


def test_verl_config_of_a_model_that_sees_has_the_pictures():
    name = next(run for run in make_plan(ROOT, "paper", ["agrae"]).runs if run.startswith("qwen2.5-vl-3b-instruct"))
    done = rlvr("verl-config", name, "--paper", "agrae")
    assert "data.image_key='images'" in done.stdout and "rlvr.training.backends.verl.dataset" in done.stdout
