"""The scales of one GPU and the rehearsal, as far as their plans show them: nothing here runs on a GPU."""

import json
import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from conftest import ROOT, snakemake
from typer.testing import CliRunner

from rlvr.commands import app
from rlvr.config import paper_folders
from rlvr.config.schema.models_and_data import Synthetic
from rlvr.cost.hardware import read
from rlvr.planning.expansion import make_plan
from rlvr.training.backends.verl.overrides import Places, settings

slow = partial(pytest.param, marks=pytest.mark.slow)
REHEARSAL = "results/papers/rehearsal/methods/tables/rehearsal.md"


@pytest.mark.parametrize("gpus", [slow("1"), "2"])
def test_the_rehearsal_trains_by_verl_on_the_gpus_that_are_asked_for(gpus):
    text = snakemake("-n", "--profile", "slurm", "--config", "scale=rehearsal", f"gpus={gpus}", "--", REHEARSAL).stdout
    jobs = re.findall(r"rule (sft|rl|generate_vllm_1):.*?resources: ([^\n]*)", text, flags=re.S)
    assert Counter(rule for rule, _ in jobs) == {"sft": 1, "rl": 2, "generate_vllm_1": 3}
    for rule, resources in jobs:
        assert f"gpu={1 if rule == 'generate_vllm_1' else gpus}," in resources and "nodes=1" in resources
        if rule == "generate_vllm_1":
            assert "tensor_parallel=1," in resources
        else:
            assert f"rlvr.training.backends.verl.{rule}" in resources and f"--gpus-per-node {gpus}" in resources
    (trained,) = re.findall(r"rule sft:.*?input: ([^\n]*)", text, flags=re.S)
    assert trained.startswith("results/models/smollm2-135m-instruct-")


@pytest.fixture(scope="module")
def rehearsal():
    return make_plan(ROOT, "rehearsal", paper_folders.names(ROOT / "config"))


def test_the_rehearsal_needs_no_hub(rehearsal):
    """One model, of a Python package, and problems that are made here; also in tables that are made by name."""
    assert {spec.model.source for spec in rehearsal.policies.values()} == {"wheel"}
    sets = [spec.data for spec in (*rehearsal.runs.values(), *rehearsal.evaluations.values())]
    assert {(isinstance(data, Synthetic), data.name.split("-")[0]) for data in sets} == {(True, "words")}


@pytest.mark.parametrize(("gpus", "shared"), [(1, 1), (2, 1), (3, 3), (4, 1), (6, 3), (8, 1)])
def test_each_run_of_the_rehearsal_is_one_of_verl(rehearsal, gpus, shared):
    """Its rollouts can be shared by these GPUs, its heads by as many as hold one copy of the model."""
    shape = read(ROOT / "config").shape(next(iter(rehearsal.policies.values())).model)
    assert (shape.heads, shape.kv_heads) == (9, 3) and shape.heads % shared == shape.kv_heads % shared == 0
    places = Places.of(Path("state"), "model", gpus_per_node=gpus)
    for name, spec in rehearsal.runs.items():
        execution = rehearsal.executions[name]
        assert execution.tensor_parallel == 1
        made = settings(spec, places, execution.model_copy(update={"tensor_parallel": shared}))
        assert made["actor_rollout_ref.rollout.tensor_model_parallel_size"] == shared and gpus % shared == 0
        assert (made["data.train_batch_size"], made["trainer.total_training_steps"]) == (6, 2)


def test_the_rehearsal_is_planned_below_twenty_minutes():
    words = ["plan", "methods", "--scale", "rehearsal", "--table", "rehearsal", "--json"]
    total = json.loads(CliRunner().invoke(app, words).stdout)["total"]
    assert total["makespan_hours"] < 20 / 60, total


@pytest.mark.parametrize(("scale", "sampling"), [("gpu", "generate_vllm_1"), slow("pretrained-gpu", "generate")])
def test_jobs_that_need_the_gpu_ask_for_it_and_others_do_not(scale, sampling):
    profile, table = "workflow/profiles/gpu", f"results/papers/{scale}/ace/tables/core.md"
    text = snakemake("-n", "--profile", profile, "--config", f"scale={scale}", "--", table).stdout
    jobs = re.findall(rf"rule (rl|{sampling}|grade|table):.*?resources: ([^\n]*)", text, flags=re.S)
    assert {rule for rule, _ in jobs} == {"rl", sampling, "grade", "table"}
    for rule, resources in jobs:
        assert ("gpu=1" in resources) == (rule in ("rl", sampling)), rule


def of_fade(table, *settings):
    target = f"results/papers/paper/fade/tables/{table}.md"
    settings = ("scale=paper", "papers=fade", *settings)
    return snakemake("-n", "--profile", "slurm", "--config", *settings, "--", target, check=False)


def test_a_model_has_jobs_of_its_own_size():
    """FADE's Table 5: CWM-32B trains on 32 GPUs and is sampled on two."""
    jobs = re.findall(r"rule (rl|generate_vllm_1):.*?resources: ([^\n]*)", of_fade("table5").stdout, flags=re.S)
    assert [rule for rule, _ in jobs].count("rl") == 21 and [rule for rule, _ in jobs].count("generate_vllm_1") == 44
    for rule, resources in jobs:
        of_its_own = {"rl": ("nodes=4,", "tasks=4,", "slurm_extra=--gpus-per-node=8,", "--nodes 4")}
        usual = ("nodes=1,", "gpu=2,", "tensor_parallel=2,")
        assert all(word in resources for word in of_its_own.get(rule, usual)), resources


def test_a_run_that_cannot_fit_is_refused_where_a_target_needs_it():
    table4, table5 = (of_fade(table, "gpus=8") for table in ("table4", "table5"))
    assert table4.returncode == 0 and "tensor_parallel=1" in table4.stdout and "tensor_parallel=2" not in table4.stdout
    said = table5.stdout + table5.stderr
    assert table5.returncode != 0 and "cannot fit on h100: update need 119.9 GB of 76.0" in said


@pytest.mark.parametrize("value", ["0", *map(slow, ("two", "-1", "1.5"))])
def test_a_number_of_gpus_that_is_none_is_an_error(value):
    ended = snakemake("-n", "--config", "scale=gpu", f"gpus={value}", "--", "paper_ace", check=False)
    assert ended.returncode != 0 and f"--config gpus={value}: a whole number of GPUs, at least 1" in ended.stderr
