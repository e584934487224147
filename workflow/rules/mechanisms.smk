# Do the runs exercise what the papers propose? Judged by their metrics, before any score is read.
rule mechanisms_of_paper:
    # Below results/first/ by the runs of the default target.
    input:
        lambda w: [PATHS.rows(run)[1] for run in mechanisms.needs(criteria_of(w.acting, bool(w.first)))],
    output:
        f"{PATHS.results}/{{first}}mechanisms/{PATHS.scale}/{{acting}}.csv",
    log:
        f"{PATHS.results}/logs/mechanisms/{PATHS.scale}/{{first}}{{acting}}.log",
    wildcard_constraints:
        acting=one_of(MECHANISTIC),
        first="(first/)?",
    priority: AT_ONCE
    resources:
        **cluster("mechanisms_of_paper"),
    params:
        spec=lambda w: criteria_spec(w.acting, bool(w.first)),
        results=lambda w, output: Path(output[0]).parents[3 if w.first else 2],
    shell:
        "python -m rlvr.claims.mechanisms --spec {params.spec:q} --results {params.results:q} --out {output:q} "
        "> {log:q} 2>&1"


rule mechanisms:
    # From this scale and all scales judged before.
    input:
        judged_criteria(),
    output:
        f"{PATHS.results}/mechanisms.csv",
        f"{PATHS.results}/mechanisms.md",
    log:
        f"{PATHS.results}/logs/mechanisms/mechanisms.log",
    resources:
        **cluster("mechanisms"),
    params:
        folder=lambda w, output: output[0].removesuffix(".csv"),
        others=lambda w: digest(optional_inputs.mechanisms(PATHS, judged_criteria())),
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.claims.mechanism_table --folder {params.folder:q} {params.out:q} > {log:q} 2>&1"
