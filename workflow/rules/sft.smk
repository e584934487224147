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
    wildcard_constraints:
        sft=one_of(FINE_TUNED.keys() - FINE_TUNED_BY_VERL),
    priority: lambda w: PRIORITY[w.sft]
    threads: 1
    resources:
        **cluster("sft"),
    params:
        spec=lambda w: PLAN.policies[w.sft].model_dump_json(exclude=ABOUT_SETS),
        state=f"{PATHS.results}/sft/{{sft}}/state",  # no output: it must outlive a failed job
    shell:
        "python -m rlvr.training.sft --spec {params.spec:q} --model {input.model:q} "
        "--demonstrations {input.demonstrations:q} --out {output.manifest:q} --state {params.state:q} > {log:q} 2>&1"


rule sft_verl:
    input:
        model=lambda w: PATHS.model(PLAN.policies[w.sft].model),
        demonstrations=lambda w: PATHS.demonstrations(PLAN.policies[w.sft].sft_data),
    output:
        manifest=f"{PATHS.results}/sft/{{sft}}/manifest.json",
        metrics=f"{PATHS.results}/sft/{{sft}}/metrics.jsonl",
    log:
        f"{PATHS.results}/logs/sft/{{sft}}.log",
    # The same by verl's SFT trainer.
    wildcard_constraints:
        sft=one_of(FINE_TUNED_BY_VERL),
    priority: lambda w: PRIORITY[w.sft]
    threads: 1
    resources:
        **cluster("sft_verl"),
    params:
        spec=lambda w: PLAN.policies[w.sft].model_dump_json(exclude=ABOUT_SETS),
        state=f"{PATHS.results}/sft/{{sft}}/state",  # no output: it must outlive a failed job
    shell:
        SFT_BY_VERL + " --spec {params.spec:q} --model {input.model:q} "
        "--demonstrations {input.demonstrations:q} --out {output.manifest:q} --state {params.state:q} > {log:q} 2>&1"
