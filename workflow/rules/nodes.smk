# Whether a cluster's nodes are fit for their jobs: `snakemake --profile slurm --retries 0 -- check_nodes`, before any run.
import time

# One job of each kind, and one as large as each backend's that the site gives resources of its own.
CHECKED = {kind: (f"check_node_{kind}", kind) for kind in CLUSTER.kinds}
if "gpu" in CLUSTER.kinds:
    CHECKED |= {name: (name, "gpu") for name in BY_BACKEND if name in CLUSTER.rules}
OF_PAPERS = {data.verifier for made in PLAN.papers.values() for data in made.data}
VERIFIERS = sorted(name for name in OF_PAPERS if verifiers.kind(name).check is not verifiers.nothing)
HUB_MODELS = sorted(f"{model.repo}@{model.revision}" for model in PLAN.models.values() if model.source == "hub")
# Where the rule `model` fetches them: only its nodes need the hub.
FETCHES = "cpu"
if "model" in CLUSTER.rules:
    FETCHES = "model"
    CHECKED["model"] = ("model", "cpu")

for job, (of_rule, kind) in CHECKED.items():

    rule:
        name:
            f"check_node_{job.replace('.', '_')}"
        output:
            f"{PATHS.results}/nodes/{job}.txt",
        log:
            f"{PATHS.results}/logs/nodes/{job}.log",
        priority: AT_ONCE
        resources:
            **cluster(of_rule, kind) | {"runtime": 10},
        params:
            asked=lambda w: time.time(),  # nodes change, so each call checks them again
            gpus=CLUSTER.gpus_per_node(of_rule, kind),
            pythons=given("--python", [f"{name}={CLUSTER.python(name, ROOT)}" for name in CLUSTER.environments]),
            models=given("--model" if job == FETCHES else "--cached-model", HUB_MODELS),
            verifiers=given("--verifier", VERIFIERS),
        shell:
            "python -m rlvr.workflow.node_check --gpus {params.gpus} {params.pythons:q} "
            "{params.models:q} {params.verifiers:q} --out {output:q} > {log:q} 2>&1"


rule check_nodes:
    input:
        [f"{PATHS.results}/nodes/{job}.txt" for job in CHECKED],
    localrule: True
