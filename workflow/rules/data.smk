# Problems, demonstrations and models: what everything starts from.
rule data:
    output:
        f"{PATHS.results}/data/{{data}}/problems.jsonl",
        f"{PATHS.results}/data/{{data}}/card.json",
    wildcard_constraints:
        data=one_of(set(PLAN.data) - WITH_DEMONSTRATIONS),
    params:
        spec=lambda w: PLAN.data[w.data].model_dump_json(),
    log:
        f"{PATHS.results}/logs/data/{{data}}.log",
    shell:
        "python -m rlvr.tasks.prepare --spec {params.spec:q} --out $(dirname {output[0]:q}) > {log:q} 2>&1"


rule demonstrations:
    output:
        f"{PATHS.results}/data/{{data}}/problems.jsonl",
        f"{PATHS.results}/data/{{data}}/demonstrations.jsonl",
        f"{PATHS.results}/data/{{data}}/card.json",
    wildcard_constraints:
        data=one_of(WITH_DEMONSTRATIONS),
    params:
        spec=lambda w: PLAN.data[w.data].model_dump_json(),
    log:
        f"{PATHS.results}/logs/data/{{data}}.log",
    shell:
        "python -m rlvr.tasks.prepare --spec {params.spec:q} --out $(dirname {output[0]:q}) > {log:q} 2>&1"


rule overlap:
    input:
        lambda w: [problems_of(data) for data in PLAN.papers[w.paper].data],
    output:
        f"{PATHS.results}/papers/{{paper}}/overlap.json",
    params:
        tolerate=lambda w: "--no-tolerate" if all(d.task == "operator_fill" for d in PLAN.papers[w.paper].data) else "--tolerate",
    log:
        f"{PATHS.results}/logs/papers/{{paper}}/overlap.log",
    shell:
        "python -m rlvr.tasks.overlap {input:q} {params.tolerate} --out {output:q} > {log:q} 2>&1"


rule model:
    output:
        f"{PATHS.results}/models/{{model}}/manifest.json",
    params:
        spec=lambda w: PLAN.models[w.model].model_dump_json(),
    log:
        f"{PATHS.results}/logs/models/{{model}}.log",
    shell:
        "python -m rlvr.policies.build --spec {params.spec:q} --out {output:q} > {log:q} 2>&1"
