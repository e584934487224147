# Named collections of files.
rule core:
    input:
        [path for paper, name in core_items(PLAN) for path in PATHS.item(PLAN, paper, name)],
    localrule: True


if "methods" in PLAN.papers:
    LEAGUE = "mine" if SETTING["mine"] else "league"

    rule league:
        # Every policy weight, or with --config mine=NAME a method of yours and five others.
        input:
            [path for paper, name in by_name(PLAN)[LEAGUE] for path in PATHS.item(PLAN, paper, name)],
            PATHS.page(LEAGUE),
        localrule: True


for paper in PLAN.papers:

    rule:
        name:
            f"paper_{paper}"
        input:
            [path for name in asked_for(PLAN, paper) for path in PATHS.item(PLAN, paper, name)],
            PATHS.page(paper),
        localrule: True

    rule:
        name:
            f"effort_{paper}"
        input:
            [path for name in companions(PLAN.papers[paper]) for path in PATHS.item(PLAN, paper, name)],
        localrule: True

    rule:
        name:
            f"other_verifier_{paper}"
        input:
            PATHS.other_verifier(paper),
        localrule: True


rule all_papers:
    # The papers' comparisons, a verdict on each claim, and the overview of all.
    input:
        [path for paper in CLAIMING for name in asked_for(PLAN, paper) for path in PATHS.item(PLAN, paper, name)],
        [PATHS.page(paper) for paper in CLAIMING],
        rules.claims.output,
        rules.mechanisms.output,
        PATHS.entrance(),
    localrule: True
