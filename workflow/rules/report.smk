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
        layout=lambda w: json.dumps(
            layouts.of_page(PLAN, w.page, PAGES[w.page]), sort_keys=True
        ),
        results=lambda w, output: os.path.dirname(os.path.dirname(output[0])),
    shell:
        "python -m rlvr.report.page --layout {params.layout:q} --results {params.results:q} --out {output:q} > {log:q} 2>&1"
