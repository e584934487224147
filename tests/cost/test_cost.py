"""The cost of a plan: FLOPs by hand, the order, a paper of 3,000 runs, and the laptop's measured time."""

import time
from dataclasses import replace
from statistics import median

import pandas as pd
import pytest
import yaml
from conftest import ROOT, copied, tiny
from support.runs_by_hand import changed
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.config.cluster import Cluster
from rlvr.config.layers import read_yaml
from rlvr.config.load import ConfigError
from rlvr.config.order import items_in_order, needs, priorities, ranks
from rlvr.config.plan import asked_for, core_items, first_items, runs_of
from rlvr.config.validate import validate
from rlvr.cost import hardware, summary
from rlvr.cost.hardware import Measured
from rlvr.cost.jobs import evaluation_name, shard_names, work_of
from rlvr.cost.model import Costs, Sampling, Throughput, forward_flops, probe_steps, update_flops
from rlvr.planning.expansion import make_plan
from rlvr.planning.papers import read_sources
from rlvr.training.backends.verl.watchdog import patience

HARDWARE = hardware.read(ROOT / "config")
CLUSTER = validate(Cluster, [read_yaml(ROOT / "config/cluster.yaml", ROOT)])


# Of ACE at paper scale, five seeds each: the 6 arms of Tables 1 and 2 on 3 models; beside them 2 arms of Table 3, 4 of
# Table 4 and 4 of the readings. Evaluations: the former on 2 benchmarks, and 3 base policies.
RUNS = 5 * (6 * 3 + 2 + 4 + 4)
EVALUATIONS = RUNS + 5 * 6 * 3 + 3 * 2


@pytest.fixture(scope="module")
def ace():
    return make_plan(ROOT, "paper", ["ace"])


# ---- parameters and FLOPs ----

SIZES = {"hidden_size": 4, "layers": 2, "heads": 2, "kv_heads": 1, "head_dim": 2, "intermediate_size": 8}
SMALL = hardware.ModelShape(architecture="llama", **SIZES, vocabulary=10, tie_embeddings=False)


def test_flops_by_hand():
    # A layer: 4x4 queries and output, 4x2 keys and values, three 4x8 of the MLP, two norms of 4.
    assert SMALL.parameters == 2 * (2 * 16 + 2 * 8 + 3 * 32 + 8) + 4 + 2 * 40
    assert SMALL.multiplied == SMALL.parameters - 40
    assert SMALL.cache_values == 2 * 2 * 1 * 2
    assert forward_flops(SMALL, tokens=1, seen=5) == 2 * 348 + 4 * 2 * 2 * 2 * 5
    assert update_flops(SMALL, tokens=7, seen=5) == 7 * (6 * 348 + 12 * 2 * 2 * 2 * 5)
    assert SMALL.model_copy(update={"tie_embeddings": True}).multiplied == 348


@pytest.mark.parametrize(
    ("repo", "parameters"),
    [
        ("Qwen/Qwen2.5-0.5B-Instruct", 494_032_768),
        ("Qwen/Qwen2.5-3B", 3_085_938_688),
        ("Qwen/Qwen2.5-Math-7B", 7_615_616_512),
        ("Qwen/Qwen3-4B", 4_022_468_096),
        ("Qwen/Qwen3-14B", 14_768_307_200),
        ("Qwen/Qwen3-8B-Base", 8_190_735_360),
        ("meta-llama/Llama-3.1-8B-Instruct", 8_030_261_248),
    ],
)
def test_parameters_of_published_models(repo, parameters):
    assert HARDWARE.shapes[repo].parameters == parameters


@pytest.mark.parametrize("architecture", ["qwen2", "qwen3", "llama"])
def test_parameters_of_models_from_scratch_are_those_of_the_model(architecture):
    spec = read_sources(ROOT, "smoke", ["ace"]).models[f"{architecture}-tiny"]
    assert HARDWARE.shape(spec).parameters == sum(p.numel() for p in tiny(architecture).model.parameters())


def test_every_configured_model_has_a_shape():
    for model in read_sources(ROOT, "paper", ["ace"]).models.values():
        assert HARDWARE.shape(model).parameters > 0


def throughput(ace, device="h100"):
    return Throughput(HARDWARE, device, next(iter(ace.models.values())), "rl.verl", "bfloat16", 0.75)


def test_decoding_is_as_fast_as_memory_is_read_or_products_are_made(ace):
    rates, assumed = throughput(ace), HARDWARE.assumptions
    overhead = assumed.decode_overhead.value
    one = rates.decode_seconds(1, seen=0, spread=1) - overhead
    assert one == pytest.approx(2 * 7_615_616_512 / (3.35e12 * assumed.decode_bandwidth.value))
    many = rates.decode_seconds(10_000, seen=0, spread=1) - overhead
    flops = forward_flops(rates.shape, 10_000, 0)
    assert many == pytest.approx(flops / (989.4e12 * assumed.scoring_mfu.value), rel=1e-9)


def test_generation_takes_no_less_than_its_longest_sequence(ace):
    rates = throughput(ace)
    few = Sampling(sequences=2, prompts=1, prompt=100, response=1000, longest=4000)
    assert rates.generation_seconds(few, 8) >= 4000 * rates.decode_seconds(1, 2100, 1)
    many = replace(few, sequences=100_000)
    assert rates.generation_seconds(many, 8) == pytest.approx(rates.generation_seconds(many, 4) / 2, rel=1e-3)


def test_measured_rates_replace_assumed_ones(ace, tmp_path):
    run = next(iter(ace.runs.values()))
    file = tmp_path / "measured.yaml"
    entry = {"model": "Qwen/Qwen2.5-Math-7B", "device": "h100", "update_tokens_per_second": 1000.0, "source": "a test"}
    file.write_text(yaml.safe_dump({"measured": [entry]}))
    measured = Throughput(hardware.read(ROOT / "config", file), "h100", run.base.model, "rl.verl", "bfloat16", 0.75)
    drawn = Sampling(sequences=10, prompts=1, prompt=100, response=900, longest=2000)
    assert measured.update_seconds(drawn, 2) == 10 * 1000 / (2 * 1000)
    assert measured.scoring_seconds(drawn, 2) == pytest.approx(10 * 1000 / (2 * 3000))
    assert measured.generation_seconds(drawn, 2) == throughput(ace).generation_seconds(drawn, 2)
    for device, words in (("h100", "in place of assumed ones"), ("h200", "without use here")):
        done = CliRunner().invoke(app, ["plan", "ace", "--measured", str(file), "--gpu", device])
        assert f"{words}: Qwen/Qwen2.5-Math-7B on h100 (a test)" in done.stdout


def test_a_run_by_hand(ace):
    """Qwen2.5-Math-7B: 10 epochs of 17,270 problems, 2,048 a step, 8 rollouts of 1,500 tokens."""
    name, spec = next((n, s) for n, s in ace.runs.items() if n.startswith("qwen2.5-math-7b-grpo-lr1e-05-seed1"))
    made = Costs(HARDWARE, "h100", CLUSTER).run(spec, ace.executions[name])
    parameters, sequences = 7_615_616_512, 2048 * 8
    probes = len(probe_steps(spec, 84)) * 128 * 32  # all held-out problems
    assert made.steps == 84 and made.tokens == 1500 * (84 * sequences + probes)
    # config/cluster.yaml asks for 8 GPUs. verl's policy is bfloat16; of two checkpoints, and a third while it is
    # written, the newest's float32 weights stay.
    assert made.gpus == 8 and made.disk == (2 + 4) * parameters and made.checkpoints == 3 * 12 * parameters
    tokens = 84 * sequences * 1650
    forward = tokens * (2 * (parameters - 152064 * 3584) + 4 * 28 * 3584 * 825) / (8 * 989.4e12)
    assert dict(made.phases)["log-probabilities"] == pytest.approx(2 * forward / 0.45)  # old and reference
    update = 4 * forward / 0.35  # forward, backward (two), and each layer again
    assert dict(made.phases)["update"] == pytest.approx(update)
    assert made.seconds == pytest.approx(sum(seconds for _, seconds in made.phases))


def test_in_process_a_pass_computes_a_prompt_once_for_its_group():
    """8 groups of 4 at hand: 10 tokens of a prompt, which see 5, and 20 of each response, which see 20."""
    apart = Sampling(sequences=32, prompts=8, prompt=10, response=20, longest=20)
    shared = replace(apart, shared=True)
    assert (apart.all_tokens, shared.all_tokens) == (32 * 30, 8 * 10 + 32 * 20)
    assert apart.seen_by_all == pytest.approx(15) and shared.seen_by_all == pytest.approx((80 * 5 + 640 * 20) / 720)
    costs = Costs(HARDWARE, "cpu-core", CLUSTER)
    for scale, prompt in (("laptop", 28), ("pretrained", 45)):  # at most `max_prompt_tokens`
        spec = next(iter(make_plan(ROOT, scale, ["ace"]).runs.values()))
        kept = costs._drawn(spec).kept
        assert (kept.prompt, kept.shared) == (prompt, True) and kept.sequences == 8 * kept.prompts
    for scale in ("gpu", "pretrained-gpu", "paper"):  # transformers' own pass, and verl's
        spec = next(iter(make_plan(ROOT, scale, ["ace"]).runs.values()))
        assert not Costs(HARDWARE, "h100", CLUSTER)._drawn(spec).kept.shared


@pytest.mark.parametrize(("scale", "device"), [("laptop", "cpu-core"), ("paper", "h100")])
def test_a_critic_is_scored_and_updated_whatever_the_backend(scale, device):
    """A step of PPO has the values' pass and a second update."""
    plan, costs = make_plan(ROOT, scale, ["pacs"]), Costs(HARDWARE, device, CLUSTER)
    ppo = next(name for name, spec in plan.runs.items() if spec.critic is not None)
    grpo = next(name for name, spec in plan.runs.items() if spec.estimator["name"] == "grpo" and spec.critic is None)
    both, one = (dict(costs.run(plan.runs[name], plan.executions[name]).phases) for name in (ppo, grpo))
    assert both["update"] == pytest.approx(2 * one["update"])
    assert both["log-probabilities"] > one["log-probabilities"]


def test_dynamic_sampling_draws_more_and_trains_on_as_much(ace):
    costs = Costs(HARDWARE, "h100", CLUSTER)
    name, spec = next((n, s) for n, s in ace.runs.items() if not s.rollout.dynamic_sampling)
    dynamic = changed(spec, rollout={"dynamic_sampling": True})
    plain, drawn = (dict(costs.run(s, ace.executions[name]).phases) for s in (spec, dynamic))
    assert drawn["rollouts"] == pytest.approx(2 * plain["rollouts"], rel=1e-6)
    assert {k: v for k, v in drawn.items() if k != "rollouts"} == {k: v for k, v in plain.items() if k != "rollouts"}


# ---- the order ----


def test_core_tables_are_finished_first(ace):
    order, rank = items_in_order(ace), ranks(ace)
    first, core = first_items(ace), core_items(ace)
    assert order[: len(first)] == first and set(order[: len({*first, *core})]) == {*first, *core}
    assert order.index(("ace", "table1")) < order.index(("ace", "table3")) < order.index(("ace", "table1_frontier"))
    wanted = needs(ace, "ace", "start")
    assert {rank[policy] for policy in wanted.policies} == {rank[pair] for pair in wanted.evaluations} == {0}
    assert {*ace.runs, *ace.policies} <= set(rank) and min(priorities(ace).values()) >= 1
    work, schedule = summary.scheduled(ace, Costs(HARDWARE, "h100", CLUSTER), 4, 8)
    done = {name: schedule.finished(jobs) for name, jobs in work.items.items()}
    assert max(done[name] for name in first) < 0.1 * schedule.makespan
    assert not [name for name in done if name[1].endswith(("_matched", "_frontier"))], "asked for apart at this scale"
    assert max(done[name] for name in core if name in done) < min(done["ace", f"table{i}"] for i in (1, 3, 4))
    assert done["ace", "core"] < done["ace", "table1"] < done["ace", "table4"] < done["ace", "readings"]


def test_jobs_are_those_that_the_tables_need(ace):
    work = work_of(ace, Costs(HARDWARE, "h100", CLUSTER))
    items = [ace.papers["ace"].item(name) for name in asked_for(ace, "ace")]
    pairs = {pair for item in items for pair in item.scored()}
    runs = {policy for item in items for policy in item.policies() if policy in ace.runs}
    jobs = {pair: shard_names(evaluation_name(*pair), 4) for pair in pairs}
    assert set(work.jobs) == {*runs, *(name for names in jobs.values() for name in names)}
    assert all(work.jobs[name].after == (run,) for (run, _), names in jobs.items() if run in ace.runs for name in names)
    assert (work.count("run"), work.count("evaluation")) == (RUNS, EVALUATIONS) == (140, 236)
    alone = work_of(ace, Costs(HARDWARE, "h100", CLUSTER), only=[("ace", "table4")])
    assert set(alone.jobs) == work.items["ace", "table4"] and alone.count("run") == 30
    # What each adds to those before it is the whole; what goes with one is no more than what it needs.
    assert sum(work.gpu_hours(work.added(name)) for name in work.items) == pytest.approx(work.gpu_hours())
    for name, jobs in work.items.items():
        assert work.only(name) <= jobs
    assert work.only(("ace", "readings")) and not work.only(("ace", "core"))


def test_an_evaluation_over_several_jobs_is_the_same_samples_and_more_starts(ace):
    costs, run = Costs(HARDWARE, "h100", CLUSTER), next(iter(ace.runs.values()))
    spec = next(spec for spec in ace.evaluations.values() if spec.data.name == "math-500")
    one, four = (costs.evaluation(spec, run.base.model, ace.execution, shards=shards) for shards in (1, 4))
    assert (4 * four.tokens, 4 * four.flops) == pytest.approx((one.tokens, one.flops))
    start = costs.assumed.job_start.value
    assert 4 * (four.seconds - start) == pytest.approx(one.seconds - start)
    assert {ace.shards(name) for name in ace.evaluations} == {4}
    small = make_plan(ROOT, "gpu", ["ace"])
    assert {small.shards(name) for name in small.evaluations} == {1}


def test_sft_comes_before_the_runs_that_start_from_it():
    plan = make_plan(ROOT, "full-laptop", ["ace"])
    work = work_of(plan, Costs(HARDWARE, "cpu-core", CLUSTER))
    assert work.count("sft") == 4 * (1 + 12), "three families, and the one on shortest paths"
    assert work.count("run") == len(runs_of(plan, "ace"))
    for run in runs_of(plan, "ace"):
        (base,) = work.jobs[run].after
        assert base == plan.base_of(run) and work.jobs[base].after == (plan.before(base)[-1],)


def test_the_prediction_for_the_laptop_against_the_measured_time():
    """docs/benchmarks.md: the default target's 20 runs took 5.8 minutes on two cores."""
    plan = make_plan(ROOT, "laptop", ["ace"])
    work, schedule = summary.scheduled(plan, Costs(HARDWARE, "cpu-core", CLUSTER), 1, 2, only=first_items(plan))
    assert work.count("run") == 20
    print(f"makespan {schedule.makespan / 60:.1f} of 5.8 min")
    assert 1 / 2 < schedule.makespan / 60 / 5.8 < 2


@pytest.mark.parametrize(("device", "level"), [("cpu-core", "v4"), ("cpu-core-avx2", "v3")])
def test_the_prediction_for_the_pretrained_model_against_its_recorded_runs(device, level):
    """A run's plan has its start and its probes, which the recorded seconds of training leave out."""
    recorded = pd.read_csv(ROOT / "docs/pretrained/runs.csv.xz")
    recorded = recorded[recorded["device"].str.endswith(level) & (recorded["stage"] == "rl")]["seconds"]
    plan, costs = make_plan(ROOT, "pretrained", ["ace", "agrae"]), Costs(HARDWARE, device, CLUSTER)
    planned = [job.seconds for job in work_of(plan, costs).jobs.values() if job.kind == "run"]
    assert len(recorded) >= 18 and 1.0 < median(planned) / recorded.median() < 1.25


def test_a_rate_of_one_job_is_not_that_of_another():
    (model,) = make_plan(ROOT, "pretrained", ["ace"]).models.values()
    rates = {job: HARDWARE.measured_on("h200", model, job) for job in ("rl.verl", "rl.in_process", "rl.native")}
    assert rates["rl.native"] is None and rates["rl.verl"] != rates["rl.in_process"]
    everywhere = Measured(model=model.name, device="h200", job="rl", update_tokens_per_second=1.0, source="a test")
    more = HARDWARE.model_copy(update={"measured": [*HARDWARE.measured, everywhere]})
    assert all(more.measured_on("h200", model, job) == everywhere for job in rates)
    assert more.measured_on("h200", model, "generate.vllm") != everywhere


# ---- a paper of 3,000 runs ----


@pytest.fixture
def large(tmp_path):
    """ACE with an alpha of 600 values: five seeds each."""
    copied(tmp_path, "config")
    content = yaml.safe_load((ROOT / "config/papers/ace/paper.yaml").read_text())
    content["name"] = "large"
    values = [i / 100 + 0.01 for i in range(600)]
    content["sweeps"] = {"alpha": {"like": ["ace_grpo"], "set": "estimator.alpha", "values": values}}
    table = {"title": "Large", "benchmark": "math-500", "models": ["qwen2.5-math-7b"], "k": [1], "sweep": "alpha"}
    content |= {"tables": {"large": table}, "figures": {}, "core": {}, "first": {}, "defaults": {}, "controls": []}
    (tmp_path / "config/papers/large").mkdir()
    (tmp_path / "config/papers/large/paper.yaml").write_text(yaml.safe_dump(content))
    return tmp_path / "config"


def test_three_thousand_runs_are_planned_and_scheduled_in_seconds(large):
    began = time.process_time()
    plan = make_plan(large.parent, "paper", ["large"])
    read = time.process_time()
    work, schedule = summary.scheduled(plan, Costs(HARDWARE, "h100", CLUSTER), 16, 8)
    done = time.process_time()
    print(f"3,000 runs: plan {read - began:.1f} s, costs and schedule {done - read:.1f} s")
    assert (work.count("run"), work.count("evaluation")) == (3000, 3000)
    assert schedule.makespan >= schedule.gpu_seconds / (16 * 8)
    assert done - read < 5 and done - began < 60


def test_a_benchmark_without_a_number_of_problems_has_no_cost(ace):
    spec = next(iter(ace.evaluations.values()))
    unknown = spec.model_copy(update={"data": spec.data.model_copy(update={"problems": None})})
    model = next(iter(ace.models.values()))
    with pytest.raises(ConfigError, match="problems: this key is missing"):
        Costs(HARDWARE, "h100", CLUSTER).evaluation(unknown, model, ace.execution)


def test_no_hardware_fact_is_in_an_identity(ace, tmp_path):
    (copied(tmp_path, "config") / "config/hardware.yaml").unlink()
    assert list(make_plan(tmp_path, "paper", ["ace"]).runs) == list(ace.runs)


def test_no_run_by_verl_is_planned_to_be_taken_for_hung():
    """Until its first step a run waits for its first probe and for a step; half of its patience is enough by plan."""
    plan, costs = make_plan(ROOT, "paper", ["ace", "agrae", "fade", "lens", "pacs"]), Costs(HARDWARE, "h100", CLUSTER)
    for name, spec in plan.runs.items():
        execution = plan.executions[name]
        estimate = costs.run(spec, execution)
        phases = dict(estimate.phases)
        step = (phases["rollouts"] + phases["log-probabilities"] + phases["update"]) / estimate.steps
        probe = phases["probes"] / len(probe_steps(spec, estimate.steps))
        assert max(step, probe) < patience(execution.hung_minutes, []) / 2, name
        assert probe < patience(execution.hung_minutes, [step]) / 2, name
