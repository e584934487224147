# Supervised fine-tuning: a model from scratch becomes a base policy.
rule sft:
    input:
        model=lambda w: PATHS.model(PLAN.policies[w.sft].model),
        demonstrations=lambda w: PATHS.demonstrations(PLAN.policies[w.sft].sft_data),
    output:
        f"{PATHS.results}/sft/{{sft}}/manifest.json",
        f"{PATHS.results}/sft/{{sft}}/metrics.jsonl",
    params:
        spec=lambda w: PLAN.policies[w.sft].model_dump_json(),
        state=f"{PATHS.results}/sft/{{sft}}/state",  # no output: it must outlive a failed job
    log:
        f"{PATHS.results}/logs/sft/{{sft}}.log",
    threads: 1
    resources:
        mem_mb=2000,
    shell:
        "python -m rlvr.training.sft --spec {params.spec:q} --model {input.model:q} "
        "--demonstrations {input.demonstrations:q} --out {output[0]:q} --state {params.state:q} > {log:q} 2>&1"
