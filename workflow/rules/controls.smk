# Does an experiment find what is known? Placebos and controls (docs/claims.md).
rule controls_of_paper:
    input:
        lambda w: controls_files(w.controlled),
    output:
        PATHS.controls("{controlled}"),
    log:
        f"{PATHS.results}/logs/controls/{PATHS.scale}/{{controlled}}.log",
    wildcard_constraints:
        controlled=one_of(CONTROLLED),
    priority: AT_ONCE
    resources:
        **cluster("claims_of_paper"),
    params:
        spec=lambda w: controls_spec(w.controlled),
        results=lambda w, output: Path(output[0]).parents[2],
    shell:
        "python -m rlvr.claims.controls --spec {params.spec:q} --results {params.results:q} --out {output:q} "
        "> {log:q} 2>&1"


rule controls:
    # Fails where a control was not found, unless --config controls=warn.
    input:
        [PATHS.controls(paper) for paper in CONTROLLED],
    output:
        PATHS.all_controls(),
    log:
        f"{PATHS.results}/logs/controls/{PATHS.scale}.log",
    resources:
        **cluster("claims"),
    params:
        files=lambda w, input: given("--file", input),
        mode=SETTING["controls"] or PLAN.controls,
    shell:
        "python -m rlvr.claims.found_controls {params.files:q} --mode {params.mode} --out {output:q} > {log:q} 2>&1"
