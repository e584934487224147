"""Memory of runs: against tensors that autograd keeps, against allocations, and laws of what fits."""

import pytest
import torch
from conftest import ROOT, copied
from test_cost import CLUSTER, HARDWARE
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.config import paper_folders
from rlvr.config.cluster import Cluster, JobResources
from rlvr.config.layers import read_yaml
from rlvr.config.validate import validate
from rlvr.cost import activations, hardware, refusals
from rlvr.cost.model import Costs
from rlvr.planning.expansion import make_plan
from rlvr.planning.papers import read_sources
from rlvr.policies.decoder import Decoder
from rlvr.policies.shared_prefixes import Branches
from rlvr.policies.sources.scratch import scratch_policy

PAPERS = paper_folders.names(ROOT / "config")
HALF_B = HARDWARE.shapes["Qwen/Qwen2.5-0.5B-Instruct"].model_copy(update={"vocabulary": 1000})
TINY = HALF_B.model_copy(
    update={"hidden_size": 64, "layers": 3, "heads": 2, "kv_heads": 1, "head_dim": 32, "intermediate_size": 128}
)
CONFIGS = {"llama": LlamaConfig, "qwen2": Qwen2Config, "qwen3": Qwen3Config}


def model_of(shape: hardware.ModelShape, layers: int, dtype=torch.float32):
    """Random weights in a shape, with fewer layers."""
    config = CONFIGS[shape.architecture](
        hidden_size=shape.hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        intermediate_size=shape.intermediate_size,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=shape.tie_embeddings,
    )
    return AutoModelForCausalLM.from_config(config, attn_implementation="sdpa", dtype=dtype).train()


def kept(model, forward) -> int:
    """Bytes of the tensors that autograd keeps, each storage once, without the parameters."""
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    sizes, alive = {}, []

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            sizes[storage.data_ptr()] = storage.nbytes()
            alive.append(tensor)  # else its address may be used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = forward()
    del result
    return sum(sizes.values())


def of_whole(shape: hardware.ModelShape, measure) -> float:
    """A measure of all layers of a shape, from those of one and two layers."""
    one, two = measure(1), measure(2)
    return one + (shape.layers - 1) * (two - one)


def autocast(on: bool):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=on)


# ---- tensors that autograd keeps ----


@pytest.mark.parametrize("shape", [TINY, HALF_B], ids=["tiny", "0.5b"])
@pytest.mark.parametrize(
    ("weights", "mixed", "compute", "stream"),
    [(torch.float32, False, 4, 4), (torch.float32, True, 2, 4), (torch.bfloat16, True, 2, 2)],
    ids=["float32", "autocast", "fsdp"],
)
def test_what_transformers_keeps_of_its_layers(shape, weights, mixed, compute, stream):
    """bfloat16 weights stand for those that FSDP casts before the pass."""
    tokens = torch.randint(0, 1000, (2, 128))

    def measure(layers: int) -> int:
        model = model_of(shape, layers, weights)

        def forward():
            with autocast(mixed):
                return model.model(input_ids=tokens, use_cache=False).last_hidden_state

        return kept(model, forward)

    predicted = shape.layers * tokens.numel() * activations.layer(shape, compute=compute, stream=stream)
    if compute != stream:
        predicted += shape.layers * compute * activations.layer_matrices(shape)
    assert predicted == pytest.approx(of_whole(shape, measure), rel=0.15)


@pytest.mark.parametrize("architecture", sorted(CONFIGS))
def test_what_a_layer_of_each_architecture_keeps(architecture):
    shape, tokens = TINY.model_copy(update={"architecture": architecture}), torch.randint(0, 1000, (2, 64))

    def measure(layers: int) -> int:
        model = model_of(shape, layers, torch.bfloat16)
        return kept(model, lambda: model.model(input_ids=tokens, use_cache=False).last_hidden_state)

    predicted = tokens.numel() * activations.layer(shape, compute=2, stream=2)
    assert predicted == pytest.approx(measure(2) - measure(1), rel=0.01)


@pytest.mark.parametrize("weights", [torch.float32, torch.bfloat16])
def test_checkpointed_layers_keep_their_inputs(weights):
    tokens = torch.randint(0, 1000, (2, 64))

    def measure(layers: int) -> int:
        model = model_of(HALF_B, layers, weights)
        model.activation_checkpointing_enable({"use_reentrant": True})  # the kind that the hooks see
        model.enable_input_require_grads()
        return kept(model, lambda: model.model(input_ids=tokens, use_cache=False).last_hidden_state)

    width = torch.empty(0, dtype=weights).element_size()
    assert measure(2) - measure(1) == pytest.approx(width * tokens.numel() * HALF_B.hidden_size, rel=0.15)


@pytest.mark.parametrize("mixed", [False, True], ids=["float32", "autocast"])
@pytest.mark.parametrize("shape", [TINY, HALF_B], ids=["tiny", "0.5b"])
def test_what_the_decoder_keeps(shape, mixed):
    rows, prompt, response = 4, 32, 96
    prompts, lengths = torch.randint(0, 1000, (1, prompt)), torch.tensor([prompt])
    responses, compute = torch.randint(0, 1000, (rows, response)), 2 if mixed else 4

    def measure(layers: int) -> int:
        model = model_of(shape, layers)
        decoder = Decoder(model)

        def forward():
            with autocast(mixed):
                return decoder.logprobs(prompts, lengths, torch.zeros(rows, dtype=torch.long), responses)

        return kept(model, forward)

    nodes, length = prompt + rows * response, prompt + response
    predicted = shape.layers * activations.decoder_layer(shape, nodes=nodes, rows=rows, length=length, compute=compute)
    predicted += activations.decoder_head(shape, tokens=rows * response, compute=compute)
    assert predicted == pytest.approx(of_whole(shape, measure), rel=0.15)


def test_weights_gradients_moments_and_cache():
    model = model_of(TINY, TINY.layers)
    model(input_ids=torch.randint(0, 1000, (1, 8))).logits.sum().backward()
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.step()
    states = [t for state in optimizer.state.values() for t in state.values() if t.dim()]
    held = [*model.parameters(), *(p.grad for p in model.parameters()), *states]
    assert sum(tensor.nbytes for tensor in held) == 16 * TINY.parameters
    _, prefix = Decoder(model, frozen=True).prefill(torch.randint(0, 1000, (2, 5)), torch.tensor([5, 5]))
    assert Branches(prefix, rows=6, tokens=7).store.nbytes == 6 * (5 + 7) * TINY.cache_values * 4


# ---- what fits ----


@pytest.mark.parametrize(
    ("scale", "gpus"), [("paper", 8), ("gpu", 1), ("gpu-verl", 1), ("rehearsal", 1), ("pretrained-gpu", 1)]
)
def test_every_run_of_every_paper_fits(scale, gpus):
    plan, cluster = make_plan(ROOT, scale, PAPERS), CLUSTER.with_gpus(32 if scale == "paper" else gpus)
    assert not refusals.refused(plan, cluster, ROOT)
    costs, peaks = Costs(HARDWARE, "h100", cluster), []
    for name, spec in plan.runs.items():
        asked = costs.gpus_of("rl", spec.rl.backend, spec.base.model)
        found, refusal = costs.memory(spec, plan.executions[name], asked)
        assert asked == (32 if spec.base.model.name == "cwm-32b" else gpus) and found.fits and not refusal, name
        peaks.append(max(found.peaks.values()) / found.usable)
    print(f"{len(peaks)} runs at scale {scale}: {min(peaks):.0%} to {max(peaks):.0%} of the usable memory")


def test_the_reasoning_sft_fits_the_gpus_that_its_job_asks_for():
    """FADE's of Qwen2.5-7B at demonstrations of 16,384 tokens, in float32; half as many GPUs are refused."""
    plan = make_plan(ROOT, "paper", ["fade"])
    ((name, spec),) = ((name, spec) for name, spec in plan.policies.items() if spec.sft)
    assert not refusals.refused(plan, CLUSTER, ROOT)
    costs = Costs(HARDWARE, "h100", CLUSTER)
    assert costs.gpus_of("sft", "verl", spec.model) == 8 and CLUSTER.devices("sft.verl", "gpu") == (1, 8)
    limited = [Costs(HARDWARE, "h100", CLUSTER, gpus_per_run=gpus) for gpus in (4, 16)]
    assert [one.gpus_of("sft", "verl", spec.model) for one in limited] == [4, 8], "an SFT stays on one node"
    found, refusal = costs.memory_of_sft(spec, 8)
    assert found.fits and not refusal and set(found.phases) == {"update", "optimizer"}
    parameters = 7_615_616_512
    assert sum(found.phases["optimizer"].values()) == 20 * parameters / 8 + 1.5e9
    assert found.phases["update"]["hidden states"] == 4 * 16384 * 28 * 3584
    estimate = costs.sft(spec, plan.execution)
    assert estimate.gpus == 8 and estimate.memory == found
    site = CLUSTER.model_copy(update={"rules": {**CLUSTER.rules, "sft.verl": JobResources(gpus=4)}})
    ((refused, why),) = refusals.refused(plan, site, ROOT).items()
    assert refused == name and why.startswith(f"{name} cannot fit on h100: update need 82.8 GB") and "; 8 GPUs" in why


def test_cwm_32b_needs_32_gpus_for_a_run_and_two_for_samples():
    plan = make_plan(ROOT, "paper", ["fade"])
    name, spec = next((name, spec) for name, spec in plan.runs.items() if spec.base.model.name == "cwm-32b")
    costs, model = Costs(HARDWARE, "h100", CLUSTER), spec.base.model
    assert HARDWARE.shape(model).parameters == 32_581_097_472  # the hub has 32.581 billion
    assert costs.memory(spec, plan.executions[name], 32)[0].fits
    half, refusal = costs.memory(spec, plan.executions[name], 16)
    assert half.peaks["update"] > half.usable and half.peaks["rollouts"] > half.usable and "; 32 GPUs fits" in refusal
    shared = plan.shared_by(name)
    assert shared == plan.shared_by(plan.base_of(name)) == CLUSTER.devices("generate_vllm.cwm-32b", "gpu")[1] == 2
    for evaluation in plan.evaluations.values():
        assert costs.evaluation(evaluation, model, plan.execution).gpus == shared
    others = {policy for policy in plan.policies if plan.policies[policy].model.name != "cwm-32b"}
    assert others and all(plan.shared_by(policy) == 1 for policy in others)


@pytest.fixture(scope="module")
def paper():
    return make_plan(ROOT, "paper", ["ace"])


def memory_of(plan, device="h100", gpus=8, critic=None, **settings):
    """The memory of a plan's first run with other settings, and why it cannot fit."""
    name, spec = next(iter(plan.runs.items()))
    execution = plan.executions[name].model_copy(update=settings)
    return Costs(HARDWARE, device, CLUSTER).memory(spec.model_copy(update={"critic": critic}), execution, gpus)


def test_more_gpus_fewer_tokens_and_a_smaller_engine_need_less(paper):
    usual = memory_of(paper)[0].peaks
    for other in (memory_of(paper, gpus=16)[0].peaks, memory_of(paper, tokens_per_gpu=8192)[0].peaks):
        assert all(other[phase] <= peak for phase, peak in usual.items()) and other["update"] < usual["update"]
    smaller = memory_of(paper, gpu_memory_utilization=0.5)[0].peaks
    assert usual["rollouts"] - smaller["rollouts"] == pytest.approx(0.25 * 80e9)
    assert smaller["update"] == usual["update"] < memory_of(paper, attention="sdpa")[0].peaks["update"]


def test_a_critic_is_a_second_model_with_moments(paper):
    critic = next(iter(paper.runs.values())).rl  # any object: only its presence counts
    alone, both = (memory_of(paper, critic=one)[0].peaks for one in (None, critic))
    assert both["rollouts"] - alone["rollouts"] == 12 * 7_615_616_512 / 8
    assert both["optimizer"] - alone["optimizer"] == 16 * 7_615_616_512 / 8


@pytest.mark.parametrize(
    ("device", "gpus", "settings", "words"),
    [
        ("h100", 4, {}, ["rollouts need 85.8 GB of 76.0", "vllm 60.0", "gpu_memory_utilization: 0.6; or 8 GPUs fits"]),
        ("h100", 8, {"tokens_per_gpu": 131072}, ["update need", "logits", "execution.tokens_per_gpu: "]),
        ("h100", 8, {"tokens_per_gpu": 2048}, ["the longest sequence has 1976 tokens", "tokens_per_gpu: 4096 fits"]),
        ("l40s", 2, {}, ["vllm 36.0", "; 16 GPUs fits"]),
        ("h100", 2, {"tokens_per_gpu": 131072}, ["update need", "no value of one setting fits"]),
        ("h100", 8, {"gpu_memory_utilization": 0.1}, ["vllm lacks 7.5 GB for its weights and one sequence"]),
    ],
)  # fmt: skip
def test_a_run_that_cannot_fit_is_told_what_does(paper, device, gpus, settings, words):
    found, refusal = memory_of(paper, device, gpus, **settings)
    assert not found.fits
    for word in words:
        assert word in refusal, refusal


def test_what_is_suggested_fits_and_the_next_larger_does_not(paper):
    _, refusal = memory_of(paper, tokens_per_gpu=131072)
    tokens = int(refusal.partition("tokens_per_gpu: ")[2].split()[0].strip(";"))
    for more, fits in ((0, True), (1024, False)):
        assert memory_of(paper, tokens_per_gpu=tokens + more)[0].fits is fits


def test_a_plan_refuses_all_runs_that_cannot_fit_at_once(paper, tmp_path):
    cluster = copied(tmp_path, "config") / "config/cluster.yaml"
    assert "gpus: 8, cpus: 64" in cluster.read_text()
    cluster.write_text(cluster.read_text().replace("gpus: 8, cpus: 64", "gpus: 4, cpus: 64"))
    done = CliRunner().invoke(app, ["plan", "ace", "--config-folder", str(tmp_path / "config")])
    lines = done.stderr.strip().splitlines()
    assert done.exit_code == 2 and done.stdout == "" and len(lines) == 3
    for line, (model, runs) in zip(lines, [("qwen2.5", 80), ("qwen3", 30), ("llama", 30)], strict=True):
        assert line.startswith(f"rlvr plan: {model}") and f" and {runs - 1} more cannot fit on h100: " in line
    four = validate(Cluster, [read_yaml(cluster, tmp_path)])
    refused = refusals.refused(paper, four, ROOT)
    assert set(refused) == set(paper.runs)  # also those not asked for
    reasons = dict.fromkeys(text.partition(" cannot fit on ")[2] for text in refused.values())
    assert [line.partition(" cannot fit on ")[2] for line in lines] == list(reasons)


def test_the_type_of_gpu_is_the_sites(paper):
    kind = CLUSTER.kinds["gpu"].model_copy(update={"gpu_type": "l40s"})
    site = CLUSTER.model_copy(update={"kinds": {**CLUSTER.kinds, "gpu": kind}})
    refused = refusals.refused(paper, site, ROOT)
    assert refused and all("cannot fit on l40s" in why for why in refused.values())


def test_a_processor_has_no_limit(tmp_path):
    assert not refusals.refused(make_plan(ROOT, "laptop", ["ace"]), CLUSTER, tmp_path)  # without a file of hardware
    done = CliRunner().invoke(app, ["plan", "ace", "--scale", "laptop", "--table", "table4"])
    assert done.exit_code == 0 and "GB of a core in rollouts" in done.stdout


def test_a_tiny_vision_towers_parameters_are_those_of_its_model():
    model = read_sources(ROOT, "smoke", ["agrae"]).models["qwen2.5-vl-tiny"]
    parameters = scratch_policy(model).model.named_parameters()
    tower = hardware.Tower.of(model.vision, model.hidden_size)
    assert tower.parameters == sum(tensor.numel() for name, tensor in parameters if "visual" in name)
