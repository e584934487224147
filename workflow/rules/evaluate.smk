# Generate -> grade -> score. Grading again samples nothing; scoring again grades nothing.
# vLLM's samples are drawn by `execution.shards` jobs: each draws some slices of an evaluation, and `merge` joins them.
# Which slices there are does not depend on the number of jobs, so another number makes no evaluation stale.
from importlib import import_module

from rlvr.config.arms import items_of_arm
from rlvr.config.schema import SLICES

EVALUATION = f"{PATHS.results}/evaluations/{{policy}}/{{evaluation}}"

SLICE_FILES = [f"{EVALUATION}/slices/{number:02d}.jsonl.gz" for number in range(SLICES)]
BY_VLLM = {
    name for name, spec in PLAN.evaluations.items() if spec.sampling.engine == "vllm"
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
        evaluation=one_of(PLAN.evaluations.keys() - BY_VLLM),
    priority: lambda w: PRIORITY[w.policy, w.evaluation]
    threads: 1
    resources:
        **cluster("generate"),
    params:
        spec=lambda w: spec_of(PLAN.evaluations[w.evaluation]),
        state=f"{EVALUATION}/state",  # no output: it must outlive a failed job
    shell:
        "python -m rlvr.evaluation.generate --spec {params.spec:q} --policy {input.policy:q} "
        "--problems {input.problems:q} --out {output.completions:q} --tokens {output.tokens:q} "
        "--state {params.state:q} > {log:q} 2>&1"


for shard in range(PLAN.execution.shards):

    rule:
        name:
            f"generate_vllm_{shard + 1}"
        input:
            policy=lambda w: manifest(w.policy),
            problems=lambda w: problems_of(PLAN.evaluations[w.evaluation].data),
        output:
            temp(SLICE_FILES[shard :: PLAN.execution.shards]),
        log:
            f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/generate_{shard + 1}.log",
        wildcard_constraints:
            evaluation=one_of(BY_VLLM),
        priority: lambda w: PRIORITY[w.policy, w.evaluation]
        threads: 1
        resources:
            **cluster("generate_vllm"),
            tensor_parallel=PLAN.execution.tensor_parallel,
            gpu_memory=str(PLAN.execution.gpu_memory_utilization),
        params:
            spec=lambda w: spec_of(PLAN.evaluations[w.evaluation]),
            state=f"{EVALUATION}/state",  # no output: it must outlive a failed job
        shell:
            in_environment("vllm")
            + " -m rlvr.evaluation.generate --spec {params.spec:q} --policy {input.policy:q} "
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
        evaluation=one_of(BY_VLLM),
    priority: AT_ONCE
    resources:
        **cluster("merge"),
    params:
        spec=lambda w: spec_of(PLAN.evaluations[w.evaluation]),
        state=f"{EVALUATION}/state",
    shell:
        "python -m rlvr.evaluation.merge --spec {params.spec:q} --problems {input.problems:q} "
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
        **cluster("agreement"),
    shell:
        "python -m rlvr.evaluation.agreement --policy {input.policy:q} --tokens {input.tokens:q} --out {output:q} "
        "> {log:q} 2>&1"


rule grade:
    input:
        completions=f"{EVALUATION}/completions.jsonl.gz",
        problems=lambda w: problems_of(PLAN.evaluations[w.evaluation].data),
    output:
        f"{EVALUATION}/grades.jsonl.gz",
    log:
        f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/grade.log",
    priority: AT_ONCE
    threads: PLAN.execution.judges
    resources:
        **cluster("grade"),
        verifier_errors=str(PLAN.execution.verifier_errors),  # no parameter: a change of it grades nothing again
    params:
        verifier=lambda w: PLAN.evaluations[w.evaluation].data.verifier,
        # A verifier whose verdicts changed grades again.
        version=lambda w: import_module(
            f"rlvr.verifiers.{PLAN.evaluations[w.evaluation].data.verifier}"
        ).VERSION,
    shell:
        "python -m rlvr.evaluation.grade --verifier {params.verifier} --completions {input.completions:q} "
        "--problems {input.problems:q} --workers {threads} "
        "--verifier-errors {resources.verifier_errors} --out {output:q} > {log:q} 2>&1"


rule score:
    input:
        completions=f"{EVALUATION}/completions.jsonl.gz",
        grades=f"{EVALUATION}/grades.jsonl.gz",
        problems=lambda w: problems_of(PLAN.evaluations[w.evaluation].data),
    output:
        f"{EVALUATION}/scores.csv",
    log:
        f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/score.log",
    priority: AT_ONCE
    resources:
        **cluster("score"),
    params:
        version=import_module("rlvr.evaluation.votes").VERSION,
    shell:
        "python -m rlvr.evaluation.score --policy {wildcards.policy:q} --evaluation {wildcards.evaluation:q} "
        "--completions {input.completions:q} --grades {input.grades:q} --problems {input.problems:q} "
        "--out {output:q} > {log:q} 2>&1"


rule diversity:
    # How different the correct solutions are. Asked for by tables of this kind alone: it needs an embedding model.
    input:
        completions=f"{EVALUATION}/completions.jsonl.gz",
        grades=f"{EVALUATION}/grades.jsonl.gz",
        problems=lambda w: problems_of(PLAN.evaluations[w.evaluation].data),
    output:
        f"{EVALUATION}/diversity.csv",
    log:
        f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/diversity.log",
    priority: AT_ONCE
    resources:
        **cluster("diversity"),
    params:
        embedding=PLAN.diversity.embedding,
        common=PLAN.diversity.common,
        version=import_module("rlvr.evaluation.votes").VERSION,
    shell:
        "python -m rlvr.evaluation.diversity --policy {wildcards.policy:q} --evaluation {wildcards.evaluation:q} "
        "--completions {input.completions:q} --grades {input.grades:q} --problems {input.problems:q} "
        "--embedding {params.embedding:q} --common {params.common} --out {output:q} > {log:q} 2>&1"


rule arm:
    # One ablation on every model and benchmark, each seed and over seeds, and the arm that it is compared with, whose
    # runs are made too.
    input:
        lambda w: [
            PATHS.scores(*pair)
            for item in items_of_arm(
                PLAN, w.paper, known(w.arm, PLAN.papers[w.paper].arms)
            )
            for pair in item.scored()
        ],
    output:
        values=PATHS.arm("{paper}", "{arm}"),
        counts=PATHS.arm("{paper}", "{arm}-counts"),
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/arms/{{arm}}.log",
    resources:
        **cluster("arm"),
    params:
        layout=lambda w: json.dumps(
            layouts.of_arm(PLAN, w.paper, w.arm), sort_keys=True
        ),
    shell:
        "python -m rlvr.statistics.arm {input:q} --layout {params.layout:q} --out {output.values:q} "
        "--counts {output.counts:q} > {log:q} 2>&1"
