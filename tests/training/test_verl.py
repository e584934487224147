"""verl as a backend. What needs verl itself runs in its own environment: `make test-verl`."""

import importlib.util
import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from conftest import ROOT, run_module, spec_file

from rlvr.config import paper_folders
from rlvr.config.registries import BACKENDS
from rlvr.config.schema.settings import Execution
from rlvr.estimators import names
from rlvr.planning.expansion import make_plan
from rlvr.training.backends.verl.overrides import (
    NO_DUAL_CLIP,
    RECEIVER,
    Places,
    Unsupported,
    overrides,
    settings,
    sft_overrides,
)
from rlvr.training.losses import gspo, kl, ppo_clip

PLACES = Places.of(Path("state"), "model", nodes=2, gpus_per_node=8)
EXECUTION = Execution(
    save_every=10,
    save_minutes=20,
    keep_checkpoints=2,
    device="gpu",
    gpu_memory_utilization=0.75,
    tokens_per_gpu=16384,
    attention="flash_attention_2",
    judges=1,
    tensor_parallel=1,
    shards=1,
    verifier_errors=0.01,
    failed_groups=0.1,
    hung_minutes=20,
    logprob_gap_warning=0.05,
    logprob_gap_limit=0.5,
    kept_prompts=2,
    kept_mb=64,
    loggers=[],
    first_rollouts=256,
)
PAPERS = paper_folders.names(ROOT / "config")


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
        without_kl = with_changes(spec, loss={"kl_coefficient": 0.0})
        assert without_kl.needs_reference  # for the OEF of its probes
        unprobed = with_changes(without_kl, probe={"problems": 0, "keep_steps": ()})
        by_method[spec.estimator["name"]] = unprobed.needs_reference
    assert by_method["ace"] and by_method["pacs"] and not by_method["grpo"] and not by_method["rloo"]


def test_a_microbatch_is_the_hardwares_and_holds_the_longest_sequence(paper_scale):
    """One budget for update, log-probabilities, reference and critic; FlashAttention packs, SDPA pads."""
    spec = dict(one_of_each_method(paper_scale))["ppo"]
    places = [
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu",
        "actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu",
        "actor_rollout_ref.ref.log_prob_max_token_len_per_gpu",
        "+critic.ppo_infer_max_token_len_per_gpu",
    ]
    longest = spec.rollout.max_prompt_tokens + spec.rollout.max_response_tokens
    for tokens, attention in ((longest, "sdpa"), (20000, "flash_attention_2")):
        execution = EXECUTION.model_copy(update={"tokens_per_gpu": tokens, "attention": attention})
        made = settings(spec, PLACES, execution)
        assert {made[place] for place in places} == {tokens}
        for model in ("actor_rollout_ref.model", "critic.model"):
            assert made[f"+{model}.override_config.attn_implementation"] == attention
            assert made[f"{model}.use_remove_padding"] is (attention == "flash_attention_2")
    short = EXECUTION.model_copy(update={"tokens_per_gpu": longest - 1})
    wrong = rf"execution.tokens_per_gpu is {longest - 1}, but one sequence may have {longest} tokens"
    with pytest.raises(Unsupported, match=wrong):
        settings(spec, PLACES, short)


def test_equal_runs_but_for_a_seed_differ_in_nothing_else(paper_scale):
    one, two = (of(paper_scale, f"qwen2.5-math-7b-grpo-lr1e-05-seed{seed}") for seed in (1, 2))
    assert {key for key in one if one[key] != two[key]} == {
        "data.seed",
        "+rlvr.seed",
        "actor_rollout_ref.rollout.seed",
        "actor_rollout_ref.actor.data_loader_seed",
        "actor_rollout_ref.actor.fsdp_config.seed",
    }


def test_a_run_on_one_node_starts_its_own_ray(paper_scale):
    spec = next(iter(paper_scale.runs.values()))
    one, several = (settings(spec, replace(PLACES, nodes=nodes), EXECUTION) for nodes in (1, 2))
    of_ray = {key.rpartition(".")[2]: value for key, value in one.items() if "ray_kwargs.ray_init." in key}
    assert of_ray == {"num_cpus": 64, "address": "local", "include_dashboard": False}
    assert not [key for key in several if "ray_kwargs" in key]  # the launcher starts that of several


def test_the_command_shows_them(paper_scale):
    name = next(iter(paper_scale.runs))
    command = [sys.executable, "-m", "rlvr", "verl-config", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "algorithm.adv_estimator='rlvr'" in done.stdout.splitlines()
    assert not [line for line in done.stdout.splitlines() if len(shlex.split(line)) != 1]
    wrong = subprocess.run([*command[:-1], "no-such-run"], cwd=ROOT, capture_output=True, text=True)
    assert wrong.returncode == 2 and "none of the runs at scale paper has this name" in wrong.stderr


def the_sft(plan):
    """FADE's reasoning SFT of Qwen2.5-7B, the one SFT at this scale: its name and its policy."""
    ((name, spec),) = ((name, spec) for name, spec in plan.policies.items() if spec.sft)
    return name, spec


def test_the_command_shows_an_sft(paper_scale):
    """Demonstrations of 16,384 tokens, each of which a microbatch can hold."""
    name, spec = the_sft(paper_scale)
    command = [sys.executable, "-m", "rlvr", "verl-config", name, "--paper", "fade"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    state = f"results/sft/{name}/state"
    lines = sft_overrides(
        spec.sft, "Qwen/Qwen2.5-7B", f"{state}/inputs/tokenizer", f"{state}/inputs/train.parquet", state, 100
    )
    assert done.returncode == 0 and done.stdout.splitlines() == lines
    assert {"data.max_length=16384", "data.max_token_len_per_gpu=16384", "data.train_batch_size=128"} <= set(lines)
    wrong = subprocess.run([*command, "--nodes", "2"], cwd=ROOT, capture_output=True, text=True)
    assert wrong.returncode == 2 and "an SFT by verl runs on one node (got 2)" in wrong.stderr


def test_an_sft_whose_batch_gpus_cannot_share_is_refused(paper_scale):
    _, spec = the_sft(paper_scale)
    with pytest.raises(Unsupported, match=r"sft.sequences_per_step 128 cannot be shared by 3 GPUs equally"):
        sft_overrides(spec.sft, "m", "t", "d", "s", 100, gpus=3)
    assert sft_overrides(spec.sft, "m", "t", "d", "s", 100, gpus=8) == sft_overrides(spec.sft, "m", "t", "d", "s", 100)


def with_changes(spec, **parts):
    """A specification with some settings of its parts changed, checked as if it were read."""
    content = spec.model_dump()
    for part, values in parts.items():
        content[part] = {**content[part], **values} if isinstance(content.get(part), dict) else values
    return type(spec).model_validate(content)


def one_of_each_method(plan):
    """Every estimator by its defaults, and the objectives beside GRPO's, at the size of ACE Table 5."""
    base = plan.runs[next(name for name in plan.runs if name.startswith("qwen2.5-math-7b-grpo-lr1e-05-seed1"))]
    for name in names():
        of_method = base.model_copy(update={"estimator": {"name": name}})
        yield name, with_changes(of_method, rl={"reference_reset": 1 if name == "pacs" else 0})
    yield "gspo", with_changes(base, loss={"ratio": "sequence", "clip_low": 3e-4, "clip_high": 4e-4})
    yield "dr_grpo by its aggregation", with_changes(base, loss={"aggregation": "sequence_sum"})
    critic = {"learning_rate": 1e-5, "lam": 0.95}
    yield "ppo", with_changes(base.model_copy(update={"estimator": {"name": "reinforce"}}), critic=critic)


def test_ppo_and_gspo_in_verls_keys(paper_scale):
    made = {name: settings(spec, PLACES, EXECUTION) for name, spec in one_of_each_method(paper_scale)}
    actor = "actor_rollout_ref.actor"
    assert made["gspo"][f"{actor}.policy_loss.loss_mode"] == "gspo" and made["gspo"][f"{actor}.clip_ratio_high"] == 4e-4
    assert made["ppo"]["algorithm.adv_estimator"] == "gae" and made["ppo"]["critic.optim.lr"] == 1e-5
    assert not [key for key in made["grpo"] if key.startswith("critic.")]
    dual = with_changes(next(iter(paper_scale.runs.values())), loss={"dual_clip": 3})
    assert settings(dual, PLACES, EXECUTION)[f"{actor}.clip_ratio_c"] == 3 < made["grpo"][f"{actor}.clip_ratio_c"]
    with pytest.raises(ValueError, match="dual_clip bounds the ratio of a token"):
        with_changes(dual, loss={"ratio": "sequence"})
    assert made["pacs"]["+rlvr.reference_reset"] == 1 and made["pacs"][f"{actor}.use_kl_loss"]


def test_what_verl_cannot_carry_out_is_said(paper_scale, monkeypatch):
    spec = next(iter(paper_scale.runs.values()))
    chosen = with_changes(spec, selection={"rule": "best_validation"})
    with pytest.raises(Unsupported, match="best_validation"):
        settings(chosen, PLACES, EXECUTION)
    with pytest.raises(Unsupported, match=r"a minibatch of 3 prompts x 8 rollouts cannot be shared by 16 GPUs equally"):
        settings(with_changes(spec, rl={"prompts_per_step": 7, "prompts_per_minibatch": 4}), PLACES, EXECUTION)
    with pytest.raises(Unsupported, match=r"rl.precision float32 needs execution.attention: sdpa"):
        settings(with_changes(spec, rl={"precision": "float32"}), PLACES, EXECUTION)
    warm = {"learning_rate": 1e-5, "warmup": 2}
    reinforce = spec.model_copy(update={"estimator": {"name": "reinforce"}})
    with pytest.raises(Unsupported, match=r"critic.warmup needs the backend in_process or native"):
        settings(with_changes(reinforce, critic=warm), PLACES, EXECUTION)
    with pytest.raises(ValueError, match="so ace cannot have one"):
        with_changes(spec.model_copy(update={"estimator": {"name": "ace"}}), critic={"learning_rate": 1e-5})
    without = {name: replace(kind, critic=name == "verl") for name, kind in BACKENDS.all()}
    monkeypatch.setattr(BACKENDS, "load", without.get)  # as if no other backend trained one
    with pytest.raises(ValueError, match=r"PPO needs rl.backend: verl"):
        with_changes(spec, rl={"backend": "in_process"}, critic={"learning_rate": 1e-5})


@pytest.mark.verl
def test_gspo_is_verls_own():
    from verl.trainer.ppo.core_algos import compute_policy_loss_gspo
    from verl.workers.config import FSDPActorConfig

    generator = torch.Generator().manual_seed(0)
    lengths = torch.tensor([3, 7, 5, 1])
    mask = (torch.arange(7) < lengths[:, None]).float()
    old = -torch.rand(4, 7, generator=generator)
    weights = torch.randn(4, 1, generator=generator)
    bounds = {"clip_ratio_low": 0.05, "clip_ratio_high": 0.1}
    config = FSDPActorConfig(
        **bounds, use_dynamic_bsz=True, rollout_n=1, ppo_micro_batch_size_per_gpu=1, strategy="fsdp2"
    )
    gradients = []
    for ours in (True, False):
        new = (old + 0.2 * torch.randn(4, 7, generator=torch.Generator().manual_seed(1))).requires_grad_()
        if ours:
            losses, _ = gspo.surrogate(new, old, weights, mask, clip_low=0.05, clip_high=0.1)
            loss = (losses * mask / mask.sum(-1, keepdim=True)).sum() / 4
        else:
            loss, _ = compute_policy_loss_gspo(old, new, weights * mask, mask, "seq-mean-token-mean", config)
        loss.backward()
        gradients.append((float(loss.detach()), new.grad))
    assert gradients[0][0] == pytest.approx(gradients[1][0], rel=1e-5)
    torch.testing.assert_close(gradients[0][1], gradients[1][1])


@pytest.mark.verl
@pytest.mark.parametrize("dual_clip", [None, 1.5])
@pytest.mark.parametrize("of_tokens", [True, False])
def test_ppo_clip_is_verls_own(dual_clip, of_tokens):
    """With a weight a response, as of a group's estimator, and with one a token, as of PPO's critic."""
    from verl.trainer.ppo.core_algos import compute_policy_loss_vanilla
    from verl.workers.config import FSDPActorConfig

    generator = torch.Generator().manual_seed(0)
    mask = (torch.arange(7) < torch.tensor([3, 7, 5, 1])[:, None]).float()
    old = -torch.rand(4, 7, generator=generator)
    weights = torch.randn(4, 7 if of_tokens else 1, generator=generator).expand(4, 7)
    config = FSDPActorConfig(
        **{
            "clip_ratio": 0.2,
            "clip_ratio_low": 0.2,
            "clip_ratio_high": 0.28,
            "clip_ratio_c": dual_clip or NO_DUAL_CLIP,
        },
        **{"use_dynamic_bsz": True, "rollout_n": 1, "ppo_micro_batch_size_per_gpu": 1, "strategy": "fsdp2"},
    )
    found = []
    for ours in (True, False):
        new = (old + 0.8 * torch.randn(4, 7, generator=torch.Generator().manual_seed(1))).requires_grad_()
        if ours:
            losses, _ = ppo_clip.surrogate(new, old, weights, clip_low=0.2, clip_high=0.28, dual_clip=dual_clip)
            loss = (losses * mask).sum() / mask.sum()
        else:
            loss, _ = compute_policy_loss_vanilla(old, new, weights, mask, "token-mean", config)
        loss.backward()
        found.append((float(loss.detach()), new.grad))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-5)
    torch.testing.assert_close(found[0][1], found[1][1])


@pytest.mark.verl
def test_k3_is_verls_own():
    from verl.trainer.ppo.core_algos import kl_penalty

    reference, results = torch.linspace(-40, 40, 1601), []
    for function in (kl.k3, lambda new, ref: kl_penalty(new, ref, "low_var_kl")):
        new = torch.zeros(1601, requires_grad=True)
        divergence = function(new, reference)
        divergence.sum().backward()
        results.append((divergence.detach(), new.grad))
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=0)


def test_an_environment_without_verl_says_where_to_name_one():
    """The stage as a rule would start it in this environment, which has no verl."""
    if importlib.util.find_spec("verl") is not None:
        pytest.skip("this environment has verl")
    names = ("spec", "base", "problems", "validation", "out", "state", "execution")
    given = [word for name in names for word in (f"--{name}", str(spec_file(EXECUTION)))]
    done = run_module("rlvr.training.backends.verl.rl", *given, check=False)
    assert done.returncode != 0 and "verl is not installed in this environment; config/cluster.yaml" in done.stderr


@pytest.mark.verl
def test_this_verl_is_the_one_that_was_written_against(monkeypatch):
    from rlvr.training.backends.verl import requirements

    requirements.check()
    monkeypatch.setattr(requirements, "version", lambda _: "0.10.0")
    with pytest.raises(requirements.Unfit, match=r"verl 0.10.0 is installed, and this backend is for 0.9.1"):
        requirements.check()
    monkeypatch.undo()
    monkeypatch.setitem(requirements.RELIED_ON, "ppo_loss", ("config", "uids"))
    with pytest.raises(requirements.Unfit, match=r"verl's ppo_loss has no parameter 'uids' any more"):
        requirements.check()


@pytest.mark.verl
def test_every_run_of_every_paper_composes_into_a_valid_configuration(paper_scale, policy, tmp_path):
    """verl's own hydra configuration and its own check; overrides equal but for seed and learning rate once.

    verl's check loads the model's configuration and the tokenizer of a critic: here those of a tiny one.
    """
    import verl
    from hydra import compose, initialize_config_module
    from verl.trainer.main_ppo import need_critic, need_reference_policy, validate_config

    from rlvr.policies.store import save
    from rlvr.training.backends.verl.data import write_tokenizer
    from rlvr.training.backends.verl.overrides import VERL

    assert verl.__version__ == VERL
    places = Places.of(tmp_path, str(tmp_path / "model"), nodes=2, gpus_per_node=8)
    save(policy, Path(places.model))
    write_tokenizer(Path(places.tokenizer), places.model)
    distinct = {}
    runs = {**paper_scale.runs, **dict(one_of_each_method(paper_scale))}
    for name, spec in runs.items():
        lines = overrides(spec, places, paper_scale.executions.get(name, EXECUTION))
        kind = tuple(line for line in lines if "seed=" not in line and "actor.optim.lr=" not in line)
        distinct.setdefault(kind, (name, lines))
    with initialize_config_module("verl.trainer.config", version_base=None):
        for name, lines in distinct.values():
            config = compose("ppo_trainer", overrides=lines)
            validate_config(config, need_reference_policy(config), need_critic(config))
            spec = runs[name]
            assert json.loads(config.rlvr.estimator) == spec.estimator
            assert config.actor_rollout_ref.actor.optim.lr == spec.rl.learning_rate
            assert config.actor_rollout_ref.actor.fsdp_config.entropy_from_logits_with_chunking
            assert config.actor_rollout_ref.ref.fsdp_config.entropy_from_logits_with_chunking
            assert config.actor_rollout_ref.rollout.engine_kwargs.vllm.worker_extension_cls == RECEIVER
            assert need_reference_policy(config) == spec.needs_reference
            assert need_critic(config) == (spec.critic is not None)
            models = config.actor_rollout_ref.actor, config.actor_rollout_ref.ref
            assert not any(model.fsdp_config.use_torch_compile for model in models)
            assert not config.critic.fsdp.use_torch_compile or spec.critic is None
    print(f"{len(paper_scale.runs)} runs, {len(distinct)} distinct configurations with one of each method")
    assert len(distinct) >= len(names()) + 20


@pytest.mark.verl
def test_the_sft_composes(paper_scale, policy, tmp_path):
    """By verl's SFT configuration; its dataclasses check engine, model and optimizer."""
    from hydra import compose, initialize_config_module
    from verl.utils.config import omega_conf_to_dataclass

    from rlvr.policies.store import save

    save(policy, tmp_path / "model")
    _, spec = the_sft(paper_scale)
    lines = sft_overrides(spec.sft, str(tmp_path / "model"), str(tmp_path / "model"), "train.parquet", "state", 100)
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("sft_trainer_engine", overrides=lines)
    assert (config.data.max_length, config.data.max_token_len_per_gpu, config.data.pad_mode) == (
        16384,
        16384,
        "no_padding",
    )
    engine, optimizer = omega_conf_to_dataclass(config.engine), omega_conf_to_dataclass(config.optim)
    assert engine.strategy == "fsdp2" and engine.mixed_precision["param_dtype"] == "float32"
    assert optimizer.lr == spec.sft.learning_rate and optimizer.lr_warmup_steps == 100
    assert omega_conf_to_dataclass(config.model).use_remove_padding is False
