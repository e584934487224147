# Supervised fine-tuning: a model from scratch becomes a base policy.
rule sft:
    input:
        model=lambda w: PATHS.model(PLAN.policies[w.sft].model),
        demonstrations=lambda w: PATHS.demonstrations(PLAN.policies[w.sft].sft_data),
    output:
        manifest=f"{PATHS.results}/sft/{{sft}}/manifest.json",
        metrics=f"{PATHS.results}/sft/{{sft}}/metrics.jsonl",
    log:
        f"{PATHS.results}/logs/sft/{{sft}}.log",
    priority: lambda w: PRIORITY[w.sft]
    threads: 1
    resources:
        **cluster("sft"),
    params:
        spec=lambda w: PLAN.policies[w.sft].model_dump_json(),
        state=f"{PATHS.results}/sft/{{sft}}/state",  # no output: it must outlive a failed job
    shell:
        "python -m rlvr.training.sft --spec {params.spec:q} --model {input.model:q} "
        "--demonstrations {input.demonstrations:q} --out {output.manifest:q} --state {params.state:q} > {log:q} 2>&1"
