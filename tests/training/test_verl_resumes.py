"""A run by verl that begins and resumes: its checkpoint, its GPUs, and the random numbers of its rollouts."""

import pytest
from conftest import ROOT
from test_verl import EXECUTION, PLACES, of

from rlvr.planning.expansion import make_plan
from rlvr.training.backends.verl.overrides import RECEIVER, Unsupported, rollout_seed, settings
from rlvr.training.backends.verl.rl import from_newest
from rlvr.training.backends.verl.state import EXTRAS, RunFolder


@pytest.fixture(scope="module")
def paper_scale():
    return make_plan(ROOT, "paper", ["ace"])


def test_a_run_resumes_on_as_many_gpus_as_it_had(tmp_path):
    state, step = RunFolder(tmp_path), tmp_path / "global_step_3"
    assert from_newest(state, 8, seed=1) == ["trainer.resume_mode='disable'"]
    (step / "actor").mkdir(parents=True)
    for name in ("data.pt", EXTRAS, "actor/model_world_size_8_rank_0.pt"):
        (step / name).touch()
    of_path, of_seed = from_newest(state, 8, seed=1)[1:]
    assert of_path == f"trainer.resume_from_path='{step}'"
    assert of_seed == f"actor_rollout_ref.rollout.seed={rollout_seed(1, 3)}"
    with pytest.raises(SystemExit, match="global_step_3 is of another number of GPUs than 4"):
        from_newest(state, 4, seed=1)


def test_no_two_engines_of_runs_and_resumes_have_one_seed(paper_scale):
    """verl adds a replica's rank to the seed; 32 replicas of 8 runs that each begin at 50 of their steps."""
    seeds = [
        rollout_seed(seed, step) + rank for seed in range(1, 9) for step in range(0, 500, 10) for rank in range(32)
    ]
    assert len(set(seeds)) == len(seeds) and max(seeds) < 2**32
    spec = next(iter(paper_scale.runs.values()))
    for changes in ({"seed": 1024}, {"rl": spec.rl.model_copy(update={"steps": 1 << 15})}):
        with pytest.raises(Unsupported, match="vLLM's seed holds both in 32 bits"):
            settings(spec.model_copy(update=changes), PLACES, EXECUTION)


def test_the_entropy_is_the_same_function_on_gpus_and_cpus(paper_scale):
    made = of(paper_scale, "qwen2.5-math-7b-ace_grpo-lr1e-05-seed1")
    compiled = {key: value for key, value in made.items() if key.endswith("use_torch_compile")}
    assert len(compiled) == 4 and not any(compiled.values())


@pytest.mark.verl
def test_the_newest_seed_and_the_attention_of_the_node_reach_vllm(monkeypatch):
    """By verl's own configuration: a later line has the last word, and an override of a site a later one than this."""
    from hydra import compose, initialize_config_module

    from rlvr.training.backends.verl.run_training import settle_attention

    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    vllm = "actor_rollout_ref.rollout.engine_kwargs.vllm"
    lines = [f"+{vllm}.worker_extension_cls='{RECEIVER}'", "actor_rollout_ref.rollout.name='vllm'"]
    lines += [f"actor_rollout_ref.rollout.seed={rollout_seed(1, step)}" for step in (0, 3)]
    for more, attention in (([], "FLASH_ATTN"), ([f"+{vllm}.attention_backend=TRITON_ATTN"], "TRITON_ATTN")):
        with initialize_config_module("verl.trainer.config", version_base=None):
            config = compose("ppo_trainer", overrides=[*lines, *more])
        settle_attention(config)
        rollout = config.actor_rollout_ref.rollout
        assert rollout.seed == rollout_seed(1, 3)
        assert rollout.engine_kwargs.vllm == {"worker_extension_cls": RECEIVER, "attention_backend": attention}
