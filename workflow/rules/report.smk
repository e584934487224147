# Pages: index.html is the overview, <paper>.html the page of one paper, league.html that of the league.
rule report:
    input:
        lambda w: page_files(w.page),
    output:
        PATHS.page("{page}"),
    log:
        f"{PATHS.results}/logs/report/{PATHS.scale}/{{page}}.log",
    wildcard_constraints:
        page=one_of(PAGES),
    resources:
        **cluster("report"),
    params:
        spec=lambda w: spec_file(pages.of_page(PLAN, w.page)),
        beside=lambda w: digest(beside(w.page)),
        results=lambda w, output: Path(output[0]).parents[2],
    shell:
        "python -m rlvr.report.page --spec {params.spec:q} --results {params.results:q} --out {output:q} > {log:q} 2>&1"


rule entrance:
    # One start page for all scales.
    input:
        PATHS.page("index"),
    output:
        PATHS.entrance(),
    log:
        f"{PATHS.results}/logs/report/entrance.log",
    resources:
        **cluster("entrance"),
    params:
        scales=lambda w: scales_with_pages(),
    shell:
        "python -m rlvr.report.landing_page {params.scales:q} --out {output:q} > {log:q} 2>&1"
