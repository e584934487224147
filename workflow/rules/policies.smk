# Models: from a configuration and a seed, or from the hub.
rule model:
    output:
        f"{PATHS.results}/models/{{model}}/manifest.json",
    log:
        f"{PATHS.results}/logs/models/{{model}}.log",
    priority: AT_ONCE
    resources:
        **cluster("model"),
    params:
        spec=lambda w: spec_of(PLAN.models[w.model]),
    shell:
        "python -m rlvr.policies.build --spec {params.spec:q} --out {output:q} > {log:q} 2>&1"
