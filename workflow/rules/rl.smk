# One RL run: a base policy, an estimator with its settings, a seed.
rule rl:
    input:
        base=lambda w: manifest(PLAN.base_of(w.run)),
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
        **cluster("rl"),
        # How a run is carried out: no parameter, since a change of it makes no run stale.
        save_every=lambda w: PLAN.executions[w.run].save_every,
        keep=lambda w: PLAN.executions[w.run].keep_checkpoints,
        judges=lambda w: PLAN.executions[w.run].judges,
    params:
        spec=lambda w: PLAN.runs[w.run].model_dump_json(),
        state=f"{PATHS.results}/runs/{{run}}/state",  # no output: it must outlive a failed job
    shell:
        "python -m rlvr.training.rl --spec {params.spec:q} --base {input.base:q} --problems {input.problems:q} "
        "--validation {input.validation:q} --out {output.manifest:q} --state {params.state:q} "
        "--save-every {resources.save_every} --keep {resources.keep} --judges {resources.judges} > {log:q} 2>&1"
