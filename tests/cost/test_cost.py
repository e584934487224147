"""`rlvr plan`: FLOPs by hand, laws of the schedule, a paper of 3,000 runs, and the laptop's measured time."""

import csv
import json
import random
import shutil
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import yaml
from conftest import ROOT, tiny
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.config.cluster import Cluster
from rlvr.config.explain import validate
from rlvr.config.layers import read_yaml
from rlvr.config.load import ConfigError
from rlvr.config.order import items_in_order, needs, priorities, ranks
from rlvr.config.plan import asked_for, core_items, first_items, runs_of
from rlvr.cost import hardware, summary
from rlvr.cost.jobs import evaluation_name, shard_names, work_of
from rlvr.cost.model import Costs, Sampling, Throughput, forward_flops, probe_steps, update_flops
from rlvr.cost.schedule import DoesNotFit, Job, longest_chain, simulate, tails
from rlvr.planning.expansion import make_plan

HARDWARE = hardware.read(ROOT / "config")
CLUSTER = validate(Cluster, [read_yaml(ROOT / "config/cluster.yaml", ROOT)])


# Of ACE at paper scale, five seeds each: the 6 arms of Tables 1 and 2 on 3 models; beside them 2 arms of Table 3, 4 of
# Table 4 and 4 of the readings. Evaluations: the former on 2 benchmarks, and 3 base policies.
RUNS = 5 * (6 * 3 + 2 + 4 + 4)
EVALUATIONS = RUNS + 5 * 6 * 3 + 3 * 2


def rlvr(*arguments: str):
    done = CliRunner().invoke(app, ["plan", *arguments])
    return SimpleNamespace(returncode=done.exit_code, stdout=done.stdout, stderr=done.stderr)


def planned(*arguments: str) -> dict:
    done = rlvr(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ace():
    return make_plan(ROOT, "paper", ["ace"])


@pytest.fixture(scope="module")
def ace_planned():
    return planned("ace")


# ---- parameters and FLOPs ----

SMALL = hardware.Shape(
    architecture="llama",
    hidden_size=4,
    layers=2,
    heads=2,
    kv_heads=1,
    head_dim=2,
    intermediate_size=8,
    vocabulary=10,
    tie_embeddings=False,
)


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
        ("Qwen/Qwen3-8B-Base", 8_190_735_360),
        ("meta-llama/Llama-3.1-8B-Instruct", 8_030_261_248),
    ],
)
def test_parameters_of_published_models(repo, parameters):
    assert HARDWARE.shapes[repo].parameters == parameters


@pytest.mark.parametrize("architecture", ["qwen2", "qwen3", "llama"])
def test_parameters_of_models_from_scratch_are_those_of_the_model(architecture):
    from rlvr.planning.papers import read_sources

    spec = read_sources(ROOT, "smoke", ["ace"]).models[f"{architecture}-tiny"]
    assert HARDWARE.shape(spec).parameters == sum(p.numel() for p in tiny(architecture).model.parameters())


def test_every_configured_model_has_a_shape(ace):
    from rlvr.planning.papers import read_sources

    for model in read_sources(ROOT, "paper", ["ace"]).models.values():
        assert HARDWARE.shape(model).parameters > 0


def throughput(ace, device="h100"):
    return Throughput(HARDWARE, device, next(iter(ace.models.values())), "bfloat16", 0.75)


def test_decoding_is_as_fast_as_memory_is_read_or_products_are_made(ace):
    rates, assumed = throughput(ace), HARDWARE.assumptions
    overhead = assumed.decode_overhead.value
    one = rates.decode_seconds(1, seen=0, spread=1) - overhead
    assert one == pytest.approx(2 * 7_615_616_512 / (3.35e12 * assumed.decode_bandwidth.value))
    many = rates.decode_seconds(10_000, seen=0, spread=1) - overhead
    assert many == pytest.approx(
        forward_flops(rates.shape, 10_000, 0) / (989.4e12 * assumed.scoring_mfu.value), rel=1e-9
    )


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
    measured = Throughput(hardware.read(ROOT / "config", file), "h100", run.base.model, "bfloat16", 0.75)
    drawn = Sampling(sequences=10, prompts=1, prompt=100, response=900, longest=2000)
    assert measured.update_seconds(drawn, 2) == 10 * 1000 / (2 * 1000)
    assert measured.scoring_seconds(drawn, 2) == pytest.approx(10 * 1000 / (2 * 3000))
    assert measured.generation_seconds(drawn, 2) == throughput(ace).generation_seconds(drawn, 2)
    place = "Qwen/Qwen2.5-Math-7B on h100 (a test)"
    assert f"in place of assumed ones: {place}" in rlvr("ace", "--measured", str(file)).stdout
    assert f"without use here: {place}" in rlvr("ace", "--measured", str(file), "--gpu", "h200").stdout


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
    dynamic = spec.model_copy(update={"rollout": spec.rollout.model_copy(update={"dynamic_sampling": True})})
    plain, drawn = (dict(costs.run(s, ace.executions[name]).phases) for s in (spec, dynamic))
    assert drawn["rollouts"] == pytest.approx(2 * plain["rollouts"], rel=1e-6)
    assert {k: v for k, v in drawn.items() if k != "rollouts"} == {k: v for k, v in plain.items() if k != "rollouts"}


# ---- the schedule ----


def made_up(seed: int, count: int = 60) -> list[Job]:
    """Jobs of random length, size and rank, each after up to two earlier ones."""
    draw = random.Random(seed)
    jobs: list[Job] = []
    for i in range(count):
        after = tuple(job.name for job in draw.sample(jobs, min(len(jobs), draw.randrange(3))))
        jobs.append(
            Job(f"job{i}", draw.choice([0.0, 1.0, 2.5, 7.0]), draw.choice([1, 2, 4, 16]), after, draw.randrange(4))
        )
    return jobs


@pytest.mark.parametrize("seed", range(20))
def test_laws_of_a_schedule(seed):
    jobs, nodes, each = made_up(seed), 3, 8
    made = simulate(jobs, nodes=nodes, gpus_per_node=each)
    assert sorted(slot.job.name for slot in made.slots) == sorted(job.name for job in jobs)
    for slot in made.slots:
        assert all(made.ends[name] <= slot.start for name in slot.job.after)
        assert len(set(slot.nodes)) == (2 if slot.job.gpus == 16 else 1)
    for moment in {slot.start for slot in made.slots}:
        used = [0] * nodes
        for slot in made.slots:
            if slot.start <= moment < slot.end:
                for node in slot.nodes:
                    used[node] += min(slot.job.gpus, each)
        assert max(used) <= each
    chain = sum(job.seconds for job in longest_chain(jobs))
    assert chain == max(tails(jobs).values())
    assert made.makespan >= max(chain, made.gpu_seconds / (nodes * each)) and 0 <= made.idle_share < 1
    assert made.makespan <= sum(job.seconds for job in jobs)  # something always runs
    shuffled = list(jobs)
    random.Random(seed + 1).shuffle(shuffled)
    assert simulate(shuffled, nodes=nodes, gpus_per_node=each) == made


def test_a_schedule_by_hand():
    """Two GPUs: `urgent` first though it is short, then the longer chain; the last waits for both."""
    jobs = [
        Job("long", 4.0, 1, (), 1),
        Job("short", 1.0, 1, (), 1),
        Job("urgent", 2.0, 1, (), 0),
        Job("both", 3.0, 2, ("long", "short"), 1),
    ]
    made = simulate(jobs, nodes=1, gpus_per_node=2)
    assert [(slot.job.name, slot.start) for slot in made.slots] == [
        ("urgent", 0.0),
        ("long", 0.0),
        ("short", 2.0),
        ("both", 4.0),
    ]
    assert made.makespan == 7.0 and made.gpu_seconds == 13.0 and made.idle_share == pytest.approx(1 / 14)
    assert [job.name for job in longest_chain(jobs)] == ["long", "both"]
    assert made.finished({"urgent", "short"}) == 3.0


def test_trivial_schedules():
    one = simulate([Job("one", 5.0)], nodes=1, gpus_per_node=1)
    assert (one.makespan, one.idle_share) == (5.0, 0.0)
    none = simulate([], nodes=2, gpus_per_node=8)
    assert (none.makespan, none.idle_share, longest_chain([])) == (0.0, 0.0, [])


def test_what_cannot_be_scheduled_is_an_error():
    with pytest.raises(DoesNotFit, match="big needs 16 GPUs; there are 1 x 8"):
        simulate([Job("big", 1.0, 16)], nodes=1, gpus_per_node=8)
    with pytest.raises(ValueError, match="cycle"):
        simulate([Job("a", 1.0, 1, ("b",)), Job("b", 1.0, 1, ("a",))], nodes=1, gpus_per_node=1)


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
    assert work.count("sft") == 3 * (1 + 8) and work.count("run") == len(runs_of(plan, "ace"))
    for run in runs_of(plan, "ace"):
        (base,) = work.jobs[run].after
        assert base == plan.base_of(run) and work.jobs[base].after == (plan.before(base)[-1],)


def test_the_prediction_for_the_laptop_against_the_measured_time():
    """docs/benchmarks.md: the default target's 16 runs took 6.2 minutes on two cores."""
    plan = make_plan(ROOT, "laptop", ["ace"])
    work, schedule = summary.scheduled(plan, Costs(HARDWARE, "cpu-core", CLUSTER), 1, 2, only=first_items(plan))
    assert work.count("run") == 16
    print(f"makespan {schedule.makespan / 60:.1f} of 6.2 min")
    assert 1 / 2 < schedule.makespan / 60 / 6.2 < 2


# ---- a paper of 3,000 runs ----


@pytest.fixture
def large(tmp_path):
    """ACE with an alpha of 600 values: five seeds each."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    content = yaml.safe_load((ROOT / "config/papers/ace/paper.yaml").read_text())
    content["name"] = "large"
    content["sweeps"] = {
        "alpha": {"like": ["ace_grpo"], "set": "estimator.alpha", "values": [i / 100 + 0.01 for i in range(600)]}
    }
    table = {"title": "Large", "benchmark": "math-500", "models": ["qwen2.5-math-7b"], "k": [1], "sweep": "alpha"}
    content |= {"tables": {"large": table}, "figures": {}, "core": {}, "first": {}, "defaults": {}}
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


# ---- the command ----


def test_the_plan_of_ace_names_all_that_it_should(ace_planned):
    done = rlvr("ace")
    assert done.returncode == 0, done.stderr
    for name in asked_for(make_plan(ROOT, "paper", ["ace"]), "ace"):
        assert f"ace/{name} " in done.stdout
    for name in type(HARDWARE.assumptions).model_fields:
        assert f"\n{name} " in done.stdout
    assert f"{RUNS}, 0, {EVALUATIONS}" in done.stdout
    for words in ("GPU-hours", "makespan", "idle share", "longest chain", "disk", "not measurements"):
        assert words in done.stdout
    assert f"{RUNS} runs ask for more than one GPU" in done.stdout
    total = ace_planned["total"]
    assert sum(row["gpu_hours"] for row in ace_planned["jobs"]) == pytest.approx(total["gpu_hours"])
    assert sum(row["jobs"] for row in ace_planned["jobs"] if row["kind"] == "run") == total["runs"] == RUNS
    assert {row["device"] for row in ace_planned["devices"]} == {"h100", "h200", "a100", "l40s"}
    assert [row["hours"] for row in ace_planned["longest_chain"]] and total["price"] is None


def test_one_table_alone(ace_planned, tmp_path):
    file = tmp_path / "order.csv"
    alone = planned("ace", "--table", "table4", "--price", "2.5", "--order", str(file))
    assert [row["item"] for row in alone["items"]] == ["table4"]
    of_all = next(row for row in ace_planned["items"] if row["item"] == "table4")
    assert alone["total"]["gpu_hours"] == pytest.approx(of_all["alone_gpu_hours"])
    assert alone["total"]["price"] == pytest.approx(2.5 * alone["total"]["gpu_hours"])
    rows = list(csv.DictReader(file.open()))
    assert len(rows) == 30 + 4 * 30 and {row["first_for"] for row in rows} == {"ace/table4"}
    starts = [float(row["start_hours"]) for row in rows]
    assert starts == sorted(starts) and rows[0]["kind"] == "run"


def test_a_closed_form_has_no_runs():
    assert "no runs" in rlvr("fade", "--table", "table1").stdout
    assert planned("fade", "--table", "table1")["total"]["gpu_hours"] == 0


@pytest.mark.parametrize("scale", ["smoke", "laptop", "full-laptop"])
def test_small_scales_are_planned_on_cores(scale):
    file = "config/scale/smoke.yaml" if scale == "smoke" else "config/scale/laptop.yaml"
    done = rlvr("ace", "--scale", scale)
    assert done.returncode == 0 and "GPU" not in done.stdout, done.stderr
    assert f"at scale {scale} on 1 x 2 cores: core of a server processor" in done.stdout
    assert f"\nDevice: cpu-core, 1 node, 2 cores a node from {file}: hardware.\n" in done.stdout
    for words in ("core-hours", "core-hours, all", "core-hours alone", "idle share of the cores", "1 core  sft: "):
        assert words in done.stdout
    assert planned("ace", "--scale", scale)["devices"] == []


def test_a_scale_names_its_device_and_options_replace_parts_of_it():
    def device(*arguments: str) -> tuple[str, int, int]:
        made = planned("ace", "--table", "core", *arguments)
        return made["device"]["name"], made["nodes"], made["gpus_per_node"]

    assert device() == ("h100", 4, 8)
    assert device("--scale", "gpu") == ("h100", 1, 1)
    assert device("--scale", "laptop", "--nodes", "3") == ("cpu-core", 3, 2)
    assert device("--nodes", "2", "--gpu", "h200", "--gpus-per-node", "4") == ("h200", 2, 4)
    text = rlvr("ace", "--table", "core", "--scale", "laptop", "--device", "h100").stdout
    assert "Device: h100 from --device; 1 node, 2 GPUs a node from config/scale/laptop.yaml: hardware." in text
    assert "GPU-hours" in text and "core-hours" not in text
    assert "Device: h100, 4 nodes from config/scale/paper.yaml: hardware; 8 GPUs a node from config/hardware.yaml." in (
        rlvr("ace", "--table", "core").stdout
    )


def test_a_scale_without_a_device_has_the_default(tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config/scale/gpu.yaml"
    path.write_text("".join(line for line in path.open() if not line.startswith("hardware:")))
    asked = ("ace", "--scale", "gpu", "--table", "core", "--config-folder", str(tmp_path / "config"))
    text = rlvr(*asked).stdout
    assert "Device: h100, 4 nodes from the default; 8 GPUs a node from config/hardware.yaml." in text
    path.write_text(path.read_text() + "hardware: {device: h1000}\n")
    assert (
        "config/scale/gpu.yaml: hardware.device: unknown device of config/hardware.yaml 'h1000'; did you mean 'h100'?"
        in rlvr(*asked).stderr
    )


def test_cores_that_do_not_suffice_are_called_cores():
    done = rlvr("ace", "--table", "table4", "--device", "cpu-core", "--nodes", "1", "--gpus-per-run", "4")
    assert done.returncode == 2 and "cores; there are 1 x 2" in done.stderr and "GPU" not in done.stderr


def test_more_gpus_a_run_are_faster_and_no_cheaper(ace_planned):
    more = planned("ace", "--gpus-per-run", "16")
    runs = [[r for r in made["jobs"] if r["kind"] == "run"] for made in (ace_planned, more)]
    assert {row["gpus"] for row in runs[1]} == {16}
    assert max(row["hours"] for row in runs[1]) < max(row["hours"] for row in runs[0])
    assert more["total"]["gpu_hours"] >= ace_planned["total"]["gpu_hours"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("acee",), "config/papers/acee/paper.yaml: no such file; did you mean 'ace'?"),
        (("ace", "--scale", "papr"), "config/scale/papr.yaml: no such file; did you mean 'paper'?"),
        (("ace", "--gpu", "h10"), "--device: unknown device 'h10'; did you mean 'h100'?"),
        (("ace", "--table", "tabel4"), "--table: unknown table or figure 'tabel4'; did you mean 'table4'?"),
        (("ace", "fade", "--table", "table1"), "'table1' is in ace, fade; say PAPER/table1"),
        (("ace", "--nodes", "1", "--gpus-per-node", "2"), "needs 8 GPUs; there are 1 x 2"),
        (("ace", "--measured", "no.yaml"), "no.yaml: no such file"),
        (("ace", "--order", "/dev/null/order.csv"), "/dev/null"),
    ],
)
def test_mistakes_are_named_in_one_line(arguments, message):
    done = rlvr(*arguments)
    code = 1 if message == "/dev/null" else 2  # a file that cannot be written is no mistake of the command line
    assert done.returncode == code and done.stdout == ""
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "decode_batch:",
            "decode_batchh:",
            "config/hardware.yaml: assumptions.decode_batchh: unknown key; did you mean",
        ),
        ("Qwen/Qwen3-8B-Base:", "Qwen/Qwen3-8B-Bas:", "unknown shape of the model 'Qwen/Qwen3-8B-Base'; did you mean"),
        ("job_start: {value: 2.0", "job_begin: {value: 2.0", "unknown assumption 'job_begin'"),
        ("bandwidth: 2.039e12", "bandwidth: -1", "devices.a100.bandwidth: Input should be greater than 0"),
        ("device: cpu-core\n    update", "device: h1000\n    update", "unknown device 'h1000'; did you mean 'h100'"),
    ],
)
def test_mistakes_in_the_file_are_named(tmp_path, old, new, message):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config/hardware.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    done = rlvr("ace", "--config-folder", str(tmp_path / "config"))
    assert done.returncode == 2 and message in done.stderr, done.stderr


def test_a_benchmark_without_a_number_of_problems_has_no_cost(ace):
    spec = next(iter(ace.evaluations.values()))
    unknown = spec.model_copy(update={"data": spec.data.model_copy(update={"problems": None})})
    model = next(iter(ace.models.values()))
    with pytest.raises(ConfigError, match="problems: this key is missing"):
        Costs(HARDWARE, "h100", CLUSTER).evaluation(unknown, model, ace.execution)


def test_no_hardware_fact_is_in_an_identity(ace, tmp_path):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "config/hardware.yaml").unlink()
    assert list(make_plan(tmp_path, "paper", ["ace"]).runs) == list(ace.runs)
