# Checks of the papers' statements: `snakemake theory`.
rule ledger:
    output:
        f"{PATHS.results}/theory/ledger.csv",
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
        f"{PATHS.results}/theory/ledger.csv",
        f"{PATHS.results}/theory/ledger.md",
    localrule: True
