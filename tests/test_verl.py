"""verl as a backend. What needs verl itself runs in its own environment: `make test-verl`."""

import json
import shlex
import subprocess
import sys

import pytest
from conftest import ROOT

from rlvr.backends.verl.overrides import Places, needs_reference, overrides, settings
from rlvr.config.plan import make_plan

PLACES = Places("model", "train.parquet", "validation.parquet", "state", nodes=2, gpus_per_node=8)
PAPERS = sorted(path.stem for path in (ROOT / "config" / "papers").glob("*.yaml"))


@pytest.fixture(scope="module")
def paper_scale():
    return make_plan(ROOT, "paper", PAPERS)


def of(plan, beginning):
    name = next(name for name in plan.runs if name.startswith(beginning))
    return settings(plan.runs[name], PLACES, plan.executions[name])


def test_the_settings_of_ace_table_5_are_in_verls_keys(paper_scale):
    made = of(paper_scale, "qwen2.5-math-7b-ace_grpo-lr1e-05-seed1")
    actor = "actor_rollout_ref.actor"
    assert (made["data.train_batch_size"], made[f"{actor}.ppo_mini_batch_size"]) == (2048, 1024)
    assert (made[f"{actor}.optim.lr"], made["actor_rollout_ref.rollout.n"]) == (1e-5, 8)
    assert (made[f"{actor}.loss_agg_mode"], made[f"{actor}.kl_loss_coef"]) == ("seq-mean-token-mean", 0.001)
    assert json.loads(made["+rlvr.estimator"])["name"] == "ace"
    assert "algorithm.filter_groups.enable" not in made and made["trainer.nnodes"] == 2


def test_dapo_and_dr_grpo_by_their_own_keys(paper_scale):
    dapo = of(paper_scale, "qwen2.5-math-7b-grpo-dapo-lr1e-05-seed1")
    assert dapo["algorithm.filter_groups.enable"] is True and dapo["algorithm.filter_groups.metric"] == "acc"
    assert dapo["actor_rollout_ref.actor.clip_ratio_high"] == 0.28
    assert dapo["actor_rollout_ref.actor.loss_agg_mode"] == "token-mean"
    name = next(name for name, spec in paper_scale.runs.items() if spec.loss.aggregation == "sequence_sum")
    made = settings(paper_scale.runs[name], PLACES, paper_scale.executions[name])
    assert made["actor_rollout_ref.actor.loss_agg_mode"] == "seq-mean-token-sum-norm"
    assert made["actor_rollout_ref.actor.loss_scale_factor"] == paper_scale.runs[name].rollout.max_response_tokens


def test_the_reference_is_kept_where_a_method_weighs_by_it(paper_scale):
    by_method = {}
    for spec in paper_scale.runs.values():
        without_kl = spec.model_copy(update={"loss": spec.loss.model_copy(update={"kl_coefficient": 0.0})})
        by_method[spec.estimator["name"]] = needs_reference(without_kl)
    assert by_method["ace"] and by_method["pacs"] and not by_method["grpo"] and not by_method["rloo"]


def test_equal_runs_but_for_a_seed_differ_in_nothing_else(paper_scale):
    one, two = (of(paper_scale, f"qwen2.5-math-7b-grpo-lr1e-05-seed{seed}") for seed in (1, 2))
    assert {key for key in one if one[key] != two[key]} == {
        "data.seed",
        "actor_rollout_ref.actor.data_loader_seed",
        "actor_rollout_ref.actor.fsdp_config.seed",
    }


def test_the_command_shows_them(paper_scale):
    name = next(iter(paper_scale.runs))
    command = [sys.executable, "-m", "rlvr", "verl-config", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "algorithm.adv_estimator='rlvr'" in done.stdout.splitlines()
    assert not [line for line in done.stdout.splitlines() if len(shlex.split(line)) != 1]
    wrong = subprocess.run([*command[:-1], "no-such-run"], cwd=ROOT, capture_output=True, text=True)
    assert wrong.returncode == 2 and "no run" in wrong.stderr


@pytest.mark.verl
def test_every_run_of_every_paper_composes_into_a_valid_configuration(paper_scale):
    """verl's own hydra configuration and its own check; equal sets of overrides (but for the seed) once."""
    import verl
    from hydra import compose, initialize_config_module
    from verl.trainer.main_ppo import need_critic, need_reference_policy, validate_config

    from rlvr.backends.verl.overrides import VERL

    assert verl.__version__ == VERL
    distinct = {}
    for name, spec in paper_scale.runs.items():
        lines = overrides(spec, PLACES, paper_scale.executions[name])
        distinct.setdefault(tuple(line for line in lines if "seed=" not in line), (name, lines))
    with initialize_config_module("verl.trainer.config", version_base=None):
        for name, lines in distinct.values():
            config = compose("ppo_trainer", overrides=lines)
            validate_config(config, need_reference_policy(config), need_critic(config))
            spec = paper_scale.runs[name]
            assert json.loads(config.rlvr.estimator) == spec.estimator
            assert config.actor_rollout_ref.actor.optim.lr == spec.rl.learning_rate
            assert need_reference_policy(config) == needs_reference(spec)
    print(f"{len(paper_scale.runs)} runs, {len(distinct)} distinct configurations")
    assert len(distinct) >= 20
