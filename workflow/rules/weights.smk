# What RL changed in the weights and hidden states of one run (FADE, App. 15).


rule weights:
    input:
        base=lambda w: manifest(PLAN.base_of(known(w.run, PLAN.runs))),
        run=f"{PATHS.results}/runs/{{run}}/manifest.json",
    output:
        rows=f"{PATHS.results}/weights/{{run}}/weights.jsonl",
        summary=f"{PATHS.results}/weights/{{run}}/summary.json",
    log:
        f"{PATHS.results}/logs/weights/{{run}}/weights.log",
    priority: AT_ONCE
    resources:
        **cluster("weights"),
    shell:
        "python -m rlvr.weights.change --base {input.base:q} --run {input.run:q} --out {output.rows:q} > {log:q} 2>&1"


rule hidden:
    input:
        base=lambda w: manifest(PLAN.base_of(known(w.run, PLAN.runs))),
        run=f"{PATHS.results}/runs/{{run}}/manifest.json",
        problems=lambda w: problems_of(PLAN.runs[w.run].data),
    output:
        rows=f"{PATHS.results}/weights/{{run}}/hidden.jsonl",
        origin=f"{PATHS.results}/weights/{{run}}/hidden.json",
    log:
        f"{PATHS.results}/logs/weights/{{run}}/hidden.log",
    priority: AT_ONCE
    resources:
        **cluster("hidden", GPU),
    shell:
        "python -m rlvr.weights.hidden --base {input.base:q} --run {input.run:q} --problems {input.problems:q} "
        "--out {output.rows:q} > {log:q} 2>&1"
