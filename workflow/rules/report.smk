# Pages: index.html is the core of every paper, <paper>.html all of one paper.
PAGES = {"index": core_items(PLAN), **{name: [(name, item) for item in paper.all_items()] for name, paper in PLAN.papers.items()}}


def page_files(page):
    """Each item's rendered file, its statistics, and the manifests of the policies behind it."""
    files = []
    for paper, name in PAGES[page]:
        item = PLAN.papers[paper].item(name)
        files += PATHS.table(paper, name) if name in PLAN.papers[paper].tables else PATHS.figure(paper, name)
        files += [PATHS.statistics(paper, source) for source in PLAN.papers[paper].statistics_of(name)]
        files += [manifest(policy) for policy in item.policies()]
    return list(dict.fromkeys([*files, *(PATHS.overlap(paper) for paper, _ in PAGES[page])]))


rule report:
    input:
        lambda w: page_files(w.page),
    output:
        f"{PATHS.results}/report/{{page}}.html",
    wildcard_constraints:
        page=one_of(PAGES),
    params:
        layout=lambda w: json.dumps(layouts.of_page(PLAN, w.page, PAGES[w.page]), sort_keys=True),
        results=PATHS.results,
    log:
        f"{PATHS.results}/logs/report/{{page}}.log",
    shell:
        "python -m rlvr.report.page --layout {params.layout:q} --results {params.results:q} --out {output:q} > {log:q} 2>&1"
