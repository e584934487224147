# The papers' claims against our results: `snakemake claims`, which runs all that claims need.
rule claims_of_paper:
    # The specification names the scores and curves: a command line cannot hold thousands of paths.
    input:
        lambda w: claims_files(w.claiming),
    output:
        PATHS.claims("{claiming}"),
    log:
        f"{PATHS.results}/logs/claims/{PATHS.scale}/{{claiming}}.log",
    wildcard_constraints:
        claiming=one_of(CLAIMING),
    priority: AT_ONCE
    resources:
        **cluster("claims_of_paper"),
    params:
        spec=lambda w: claims_spec(w.claiming),
        results=lambda w, output: Path(output[0]).parents[2],
        criteria=lambda w: criteria_option(w.claiming),
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.claims.evaluate --spec {params.spec:q} --results {params.results:q} {params.criteria:q} {params.out:q} "
        "> {log:q} 2>&1"


rule claims:
    # From this scale and all scales evaluated before.
    input:
        evaluated_claims(),
        controls=PATHS.all_controls(),
    output:
        f"{PATHS.results}/claims/claims.csv",
        report(
            f"{PATHS.results}/claims/claims.md",
            caption="../report/claims.rst",
            category="claims",
        ),
        report(
            f"{PATHS.results}/claims/claims.png",
            caption="../report/claims.rst",
            category="claims",
        ),
    log:
        f"{PATHS.results}/logs/claims/claims.log",
    resources:
        **cluster("claims"),
    params:
        folder=lambda w, output: os.path.dirname(output[0]),
        others=lambda w: digest(optional_inputs.claims(PATHS, evaluated_claims())),
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.claims.table --folder {params.folder:q} {params.out:q} > {log:q} 2>&1"


rule first_claims_of_paper:
    # As far as the runs of the default target decide them.
    input:
        lambda w: claims_files(w.claiming, first=True),
    output:
        PATHS.first_claims("{claiming}"),
    log:
        f"{PATHS.results}/logs/claims/{PATHS.scale}/first-{{claiming}}.log",
    wildcard_constraints:
        claiming=one_of(FIRST_CLAIMING),
    priority: AT_ONCE
    resources:
        **cluster("claims_of_paper"),
    params:
        spec=lambda w: claims_spec(w.claiming, first=True),
        results=lambda w, output: Path(output[0]).parents[2],
        criteria=lambda w: criteria_option(w.claiming, first=True),
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.claims.evaluate --spec {params.spec:q} --results {params.results:q} {params.criteria:q} {params.out:q} "
        "> {log:q} 2>&1"


rule first_verdicts:
    input:
        [path for paper in FIRST_CLAIMING for path in PATHS.first_claims(paper)],
    output:
        PATHS.first_verdicts(),
    log:
        f"{PATHS.results}/logs/claims/{PATHS.scale}/first.log",
    resources:
        **cluster("claims"),
    params:
        folder=lambda w, output: os.path.dirname(output[0]),
        scale=PATHS.scale,
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.claims.table --folder {params.folder:q} --scale {params.scale} --judged {params.out:q} > {log:q} 2>&1"
