# Checks of the papers' statements: `snakemake theory`.
rule ledger:
    output:
        PATHS.ledger(),
        report(
            f"{PATHS.results}/theory/ledger.md",
            caption="../report/table.rst",
            category="theory",
        ),
    log:
        f"{PATHS.results}/logs/theory/ledger.log",
    resources:
        **cluster("ledger"),
    params:
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.theory.ledger {params.out:q} > {log:q} 2>&1"


rule theory:
    input:
        PATHS.ledger(),
        f"{PATHS.results}/theory/ledger.md",
    localrule: True
