# Sampling: completions of a policy on a benchmark. Engines with their own environment split an evaluation:
# `execution.shards` jobs each draw some slices, and `merge` joins them. The slices do not depend on the number of jobs, so
# another number makes no evaluation stale.
from itertools import product

from rlvr.config.schema.settings import SLICES

EVALUATION = f"{PATHS.results}/evaluations/{{policy}}/{{evaluation}}"

SLICE_FILES = [f"{EVALUATION}/slices/{number:02d}.jsonl.gz" for number in range(SLICES)]
SLICED = {  # evaluations by engine
    engine: {n for n, s in PLAN.evaluations.items() if s.sampling.engine == engine} for engine in SLICING
}


rule generate:
    input:
        policy=lambda w: manifest(w.policy),
        problems=lambda w: problems_of(PLAN.evaluations[w.evaluation].data),
    output:
        completions=f"{EVALUATION}/completions.jsonl.gz",
        tokens=f"{EVALUATION}/tokens.jsonl.gz",
        origin=f"{EVALUATION}/origin.json",
    log:
        f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/generate.log",
    wildcard_constraints:
        evaluation=one_of(PLAN.evaluations.keys() - set().union(*SLICED.values())),
    priority: lambda w: PRIORITY[w.policy, w.evaluation]
    threads: 1
    resources:
        **cluster("generate", GPU),
    params:
        spec=lambda w: spec_of(PLAN.evaluations[w.evaluation]),
        state=f"{EVALUATION}/state",  # no output: it must outlive a failed job
    shell:
        "python -m rlvr.sampling.generate --spec {params.spec:q} --policy {input.policy:q} "
        "--problems {input.problems:q} --out {output.completions:q} --tokens {output.tokens:q} "
        "--state {params.state:q} > {log:q} 2>&1"


for engine, shard in product(SLICED, range(PLAN.execution.shards)):

    rule:
        name:
            f"generate_{engine}_{shard + 1}"
        input:
            policy=lambda w: manifest(w.policy),
            problems=lambda w: problems_of(PLAN.evaluations[w.evaluation].data),
        output:
            temp(SLICE_FILES[shard :: PLAN.execution.shards]),
        log:
            f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/generate_{shard + 1}.log",
        wildcard_constraints:
            evaluation=one_of(SLICED[engine]),
        priority: lambda w: PRIORITY[w.policy, w.evaluation]
        threads: 1
        resources:
            **by_model(f"generate_{engine}"),
            tensor_parallel=lambda w: PLAN.shared_by(w.policy),
            gpu_memory=str(PLAN.execution.gpu_memory_utilization),
        params:
            spec=lambda w: spec_of(PLAN.evaluations[w.evaluation]),
            state=f"{EVALUATION}/state",  # no output: it must outlive a failed job
        shell:
            python_of(registries.ENGINES.load(engine).environment).replace("{", "{{").replace("}", "}}")
            + " -m rlvr.sampling.generate --spec {params.spec:q} --policy {input.policy:q} "
            "--problems {input.problems:q} --state {params.state:q} --tensor-parallel {resources.tensor_parallel} "
            "--gpu-memory {resources.gpu_memory} {output:q} > {log:q} 2>&1"


rule merge:
    input:
        slices=SLICE_FILES,
        problems=lambda w: problems_of(PLAN.evaluations[w.evaluation].data),
    output:
        completions=f"{EVALUATION}/completions.jsonl.gz",
        tokens=f"{EVALUATION}/tokens.jsonl.gz",
        origin=f"{EVALUATION}/origin.json",
    log:
        f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/merge.log",
    wildcard_constraints:
        evaluation=one_of(set().union(*SLICED.values())),
    priority: AT_ONCE
    resources:
        **cluster("merge", "short"),
    params:
        spec=lambda w: spec_of(PLAN.evaluations[w.evaluation]),
        state=f"{EVALUATION}/state",
    shell:
        "python -m rlvr.sampling.merge --spec {params.spec:q} --problems {input.problems:q} "
        "--out {output.completions:q} --tokens {output.tokens:q} --state {params.state:q} {input.slices:q} "
        "> {log:q} 2>&1"


rule agreement:
    # The engine's log-probabilities against the trainer's, on some of an evaluation's samples.
    input:
        policy=lambda w: manifest(w.policy),
        tokens=f"{EVALUATION}/tokens.jsonl.gz",
    output:
        f"{EVALUATION}/agreement.json",
    log:
        f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/agreement.log",
    threads: 1
    resources:
        **cluster("agreement", GPU),
    shell:
        "python -m rlvr.sampling.agreement --policy {input.policy:q} --tokens {input.tokens:q} --out {output:q} "
        "> {log:q} 2>&1"
