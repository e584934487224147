# Training: SFT turns a model into a base policy, RL a base policy into a policy. `resources.start` is the command of the
# stage's backend (src/rlvr/training/backends); `rlvr.training.retry_guard` ends repeated failures.
rule sft:
    input:
        model=lambda w: trained_from(PLAN.policies[fitting(w.sft)]),
        demonstrations=lambda w: PATHS.demonstrations(PLAN.policies[w.sft].sft_data),
    output:
        manifest=f"{PATHS.results}/sft/{{sft}}/manifest.json",
        metrics=f"{PATHS.results}/sft/{{sft}}/metrics.jsonl",
    log:
        f"{PATHS.results}/logs/sft/{{sft}}.log",
    priority: lambda w: PRIORITY[w.sft]
    threads: lambda w: threads_of_sft(w.sft)
    resources:
        **by_backend("sft", "sft"),
        # No parameter: a change makes no policy stale.
        options=lambda w, threads: f"--threads {threads}" if threads > 1 else "",
    params:
        spec=lambda w: spec_of(PLAN.policies[w.sft]),
        state=f"{PATHS.results}/sft/{{sft}}/state",  # no output: it must outlive a failed job
    shell:
        "python -m rlvr.training.retry_guard {params.state:q} {log:q} -- {resources.start} --spec {params.spec:q} --model {input.model:q} "
        "--demonstrations {input.demonstrations:q} --out {output.manifest:q} --state {params.state:q} {resources.options} > {log:q} 2>&1"


# One RL run: a base policy, an estimator with its settings, a seed.
rule rl:
    input:
        base=lambda w: manifest(PLAN.base_of(fitting(known(w.run, PLAN.runs)))),
        problems=lambda w: problems_of(PLAN.runs[w.run].data),
        validation=lambda w: problems_of(PLAN.runs[w.run].validation),
    output:
        manifest=f"{PATHS.results}/runs/{{run}}/manifest.json",
        metrics=f"{PATHS.results}/runs/{{run}}/metrics.jsonl",
        probe=f"{PATHS.results}/runs/{{run}}/probe.jsonl",
    log:
        f"{PATHS.results}/logs/runs/{{run}}.log",
    priority: lambda w: PRIORITY[w.run]
    threads: 1
    resources:
        **by_backend("rl", "run"),
        execution=lambda w: execution_of(w.run),
    params:
        spec=lambda w: spec_of(PLAN.runs[w.run]),
        state=f"{PATHS.results}/runs/{{run}}/state",  # no output: it must outlive a failed job
    shell:
        "python -m rlvr.training.retry_guard {params.state:q} {log:q} -- {resources.start} --spec {params.spec:q} "
        "--base {input.base:q} --problems {input.problems:q} "
        "--validation {input.validation:q} --out {output.manifest:q} --state {params.state:q} "
        "--execution {resources.execution:q} > {log:q} 2>&1"
