# What a page of the report shows, and what it waits for. No rules here.
PAGES = {page: pages.items_of_page(PLAN, page) for page in pages.names(PLAN)}


@cache
def page_files(page):
    """The files of each item, its statistics, and the manifests of its policies."""
    files = []
    for paper, name in PAGES[page]:
        item = PLAN.papers[paper].item(name)
        files += PATHS.item(PLAN, paper, name)
        files += [PATHS.statistics(paper, source) for source in PLAN.papers[paper].statistics_of(name)]
        files += [manifest(policy) for policy in item.policies()]
    overlaps = [PATHS.overlap(paper) for paper, _ in PAGES[page] if PLAN.papers[paper].data]
    claimed = [path for paper in CLAIMING if paper == page for path in PATHS.claims(paper)]
    verdicts = PATHS.first_verdicts() if page == "index" and FIRST_CLAIMING else []
    # The overview shows whatever is there; where every paper is asked for, it waits for all.
    all_pages = [PATHS.page(paper) for paper in CLAIMING] if "all_papers" in COMMAND_LINE.targets else []
    after = [*all_pages, f"{PATHS.results}/claims/claims.md"] if all_pages and page == "index" else []
    return list(dict.fromkeys([*files, *overlaps, *claimed, *verdicts, *after]))


def beside(page):
    """Files that a page shows and that are no inputs of its rule; for the overview, all existing files of each paper.

    Snakemake does not compare parameters whose function takes `input`, so this one asks for the inputs itself.
    """
    own = page_files(page)
    shown = optional_inputs.overview(PLAN, PATHS, own) if page == "index" else []
    paper = "" if page == "index" else page
    theory = optional_inputs.ledger(PATHS, paper=paper)
    known, judged = optional_inputs.controls(PATHS), optional_inputs.other_verifier(PATHS, paper=paper)
    return [shown, optional_inputs.claims(PATHS, own, paper=paper), *filter(None, [theory, known, judged])]


def scales_with_pages():
    """The scales with an overview, including this one."""
    found = Path(PATHS.results).glob("report/*/index.html")
    return sorted({PATHS.scale, *(path.parent.name for path in found)})
