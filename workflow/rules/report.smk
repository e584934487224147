# Pages: index.html is the core of every paper, <paper>.html all of one paper.
rule report:
    input:
        lambda w: page_files(w.page),
    output:
        f"{PATHS.results}/report/{{page}}.html",
    log:
        f"{PATHS.results}/logs/report/{{page}}.log",
    wildcard_constraints:
        page=one_of(PAGES),
    resources:
        **cluster("report"),
    params:
        shown=lambda w: digest(layouts.of_page(PLAN, w.page)),
        scale=SETTING["scale"],
        papers=",".join(PLAN.papers),
        results=lambda w, output: os.path.dirname(os.path.dirname(output[0])),
    shell:
        "python -m rlvr.report.page --page {wildcards.page} --scale {params.scale} --papers {params.papers} "
        "--results {params.results:q} --out {output:q} > {log:q} 2>&1"
