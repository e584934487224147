# Measures of trained runs: a paper's own, such as what RL changed in the weights.
KIND_OF_MEASURE = {name: cluster("measure", GPU if measure.gpu else "cpu") for name, measure in RUN_MEASURES.all()}


rule measure:
    input:
        base=lambda w: manifest(PLAN.base_of(known(w.run, PLAN.runs))),
        run=f"{PATHS.results}/runs/{{run}}/manifest.json",
        problems=lambda w: problems_of(PLAN.runs[w.run].data),
    output:
        rows=f"{PATHS.results}/measures/{{measure}}/{{run}}/rows.jsonl",
        summary=f"{PATHS.results}/measures/{{measure}}/{{run}}/summary.json",
    log:
        f"{PATHS.results}/logs/measures/{{measure}}/{{run}}.log",
    priority: AT_ONCE
    resources:
        **by_job(KIND_OF_MEASURE, lambda w: w.measure),
    shell:
        "python -m rlvr.training.measure_run --measure {wildcards.measure} --base {input.base:q} --run {input.run:q} "
        "--problems {input.problems:q} --out {output.rows:q} > {log:q} 2>&1"
