"""config/cluster.yaml: what jobs ask for, and mistakes in it."""

import re

import pytest
import yaml
from conftest import ROOT, snakemake

from rlvr.config.cluster import Cluster, JobResources, Kind, read_cluster
from rlvr.config.load import ConfigError
from rlvr.workflow.rules import of_the_cluster

RULES = of_the_cluster(ROOT)


def site(folder, **changes):
    content = yaml.safe_load((ROOT / "config" / "cluster.yaml").read_text()) | changes
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def cluster_of(folder, **changes) -> Cluster:
    """The site of the repository with some keys changed."""
    return read_cluster(site(folder, **changes), folder, RULES)


def test_the_file_of_the_repository_and_what_jobs_ask_for(tmp_path):
    cluster = cluster_of(tmp_path)
    training = cluster.resources("rl", "gpu")
    assert training["slurm_partition"] == "gpu" and training["gpu"] == 1 and training["cpus_per_task"] == 8
    assert not {"slurm_account", "qos", "gpu_model"} & set(training)  # null: the site's own
    assert [training["runtime"](None, attempt) for attempt in (1, 2, 9)] == [1440] * 3  # it goes on in the next job
    assert cluster.devices("rl.in_process", "gpu") == (1, 1) and cluster.devices("rl.verl", "gpu") == (1, 8)
    others = cluster.resources("grade", "cpu")
    assert [others["runtime"](None, attempt) for attempt in (1, 2, 9)] == [60, 120, 480] and "gpu" not in others
    assert [others["mem_mb"](None, attempt) for attempt in (1, 2, 9)] == [4000, 8000, 16000]
    assert [training["mem_mb"](None, attempt) for attempt in (1, 9)] == [64000] * 2  # no limit is given
    assert cluster.resources("generate", "gpu")["runtime"](None, 1) == 240  # a rule of its own
    for rule, kind in (("rl", "cpu"), ("rl.verl", "gpu"), ("generate_vllm", "gpu"), ("grade", "short")):
        assert cluster.resources(rule, kind)["nodes"] == 1


def test_a_site_says_it_once(tmp_path):
    kinds = {
        "cpu": {"partition": "main", "runtime": 30},
        "short": {"partition": "main", "runtime": 1},
        "gpu": {"partition": "a100", "runtime": 600, "gpus": 4, "gpu_type": "a100", "nodes": 2},
    }
    cluster = cluster_of(tmp_path, account="lab", constraint="ib", kinds=kinds, rules={"rl": {"gpus": 8}})
    found = cluster.resources("rl", "gpu")
    assert found.pop("runtime")(None, 3) == 600
    named = {"slurm_partition": "a100", "slurm_account": "lab", "constraint": "ib"}
    assert found == {**named, "nodes": 2, "tasks": 2, "slurm_extra": "--gpus-per-node=a100:4"}
    assert cluster.devices("rl", "gpu") == (2, 4)
    with pytest.raises(ConfigError, match="3 GPUs do not divide by 2 nodes"):
        cluster_of(tmp_path, kinds=kinds, rules={"rl": {"gpus": 3}}).devices("rl", "gpu")


def test_what_a_site_says_of_one_backend_is_on_top_of_what_it_says_of_the_stage(tmp_path):
    cluster = cluster_of(tmp_path, rules={"rl": {"runtime": 100, "cpus": 3}, "rl.verl": {"cpus": 9}})
    for rule, cpus in (("rl.in_process", 3), ("rl.verl", 9)):
        asked = cluster.resources(rule, "gpu")
        assert asked["cpus_per_task"] == cpus and asked["runtime"](None, 1) == 100


def test_what_a_site_says_of_one_model_is_on_top_of_that(tmp_path):
    rules = {"rl.verl": {"gpus": 8, "cpus": 9}, "rl.verl.qwen2.5-7b": {"gpus": 16, "nodes": 2, "gpu_type": "h200"}}
    cluster = cluster_of(tmp_path, rules=rules)
    assert cluster.devices("rl.verl.qwen2.5-7b", "gpu") == (2, 8)
    assert cluster.devices("rl.verl.cwm-32b", "gpu") == (1, 8)
    assert cluster.resources("rl.verl.qwen2.5-7b", "gpu")["cpus_per_task"] == 9
    assert cluster.gpu_type("rl.verl.qwen2.5-7b", "gpu") == "h200" and cluster.gpu_type("rl.verl", "gpu") is None
    with pytest.raises(ConfigError, match=r"unknown rule 'rl.verl.cwm-33b'; did you mean 'rl.verl.cwm-32b'\?"):
        cluster_of(tmp_path, rules={"rl.verl.cwm-33b": {"gpus": 8}})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"acount": "lab"}, r"cluster.yaml: acount: unknown key; did you mean 'account'\?"),
        ({"kinds": {"cpu": {"partition": "cpu", "runtime": 1}}}, "kinds: `short` is missing"),
        ({"kinds": {"cpu": {"runtime": 1}, "short": {}}}, "kinds.cpu: a kind of job needs partition"),
        ({"rules": {"genrate": {"runtime": 5}}}, r"rules.genrate: unknown rule 'genrate'; did you mean 'generate'\?"),
        ({"rules": {"rl_verl": {"runtime": 5}}}, r"rules.rl_verl: unknown rule 'rl_verl'; did you mean 'rl.verl'\?"),
        ({"environments": {"verll": "python"}}, r"environments.verll: unknown environment .*did you mean 'verl'\?"),
        ({"overrides": {"vllm": []}}, r"overrides.vllm: unknown backend 'vllm'"),
        ({"rules": {"rl": {"runtime": "long"}}}, "rules.rl.runtime: .*integer"),
    ],
)
def test_mistakes_are_named(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        cluster_of(tmp_path, **changes)


@pytest.mark.slow
def test_a_kind_that_a_plan_needs_and_the_site_lacks_stops_before_any_job(tmp_path):
    kinds = {"cpu": {"partition": "cpu", "runtime": 30}, "short": {"partition": "cpu", "runtime": 1}}
    path = site(tmp_path, kinds=kinds)
    done = snakemake("-n", "--config", "scale=paper", f"cluster={path}", "--", "paper_ace", check=False)
    assert done.returncode != 0 and "kinds.gpu: this key is missing" in done.stdout + done.stderr
    assert snakemake("-n", "--quiet", "all", "--config", f"cluster={path}", "--", "core").returncode == 0


def test_the_profile_puts_short_rules_together_and_no_other():
    profile = yaml.safe_load((ROOT / "workflow" / "profiles" / "slurm" / "config.yaml").read_text())
    grouped = {entry.partition("=")[0] for entry in profile["groups"]}
    texts = [path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk")]
    short = {name for text in texts for name in re.findall(r'cluster\("(\w+)", (?:"short"|GRADING)\)', text)}
    assert grouped == short and len(short) > 4


@pytest.mark.broad
def test_no_group_of_jobs_waits_for_itself():
    """With everything that a paper may ask for: diversity stands between grading and its statistics."""
    done = snakemake("-n", "--quiet", "all", "--profile", "slurm", "--config", "scale=smoke", "--", "paper_methods")
    assert done.returncode == 0


def test_a_limit_of_gpus_shrinks_what_belongs_to_them():
    """8 GPUs on two nodes become two on two, one on one; CPUs and memory shrink alike."""
    kind = {"partition": "gpu", "runtime": 60}
    site = Cluster(
        account=None,
        kinds={"cpu": Kind(**kind), "short": Kind(**kind), "gpu": Kind(**kind, gpus=1, cpus=8)},
        rules={"rl.verl": JobResources(gpus=8, cpus=64, mem_mb=500_000, nodes=2)},
    )
    two, one = site.with_gpus(2), site.with_gpus(1)
    assert two.devices("rl.verl", "gpu") == (2, 1) and one.devices("rl.verl", "gpu") == (1, 1)
    asked = one.rules["rl.verl"]
    assert (asked.gpus, asked.cpus, asked.mem_mb) == (1, 16, 125_000)  # cpus and mem_mb are of each node, which had 4
    assert two.rules["rl.verl"].cpus == 16
    assert two.kinds == site.kinds and site.with_gpus(8) == site
