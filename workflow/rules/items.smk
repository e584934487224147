# Statistics -> tables and figures. Nothing here loads a model; drawing again recomputes nothing.
from rlvr.items import layout as items_layout
from rlvr.items import statistics as items_statistics
from rlvr.items import table as items_table
from rlvr.planning.single_arms import of_arm, scores_of_arm

# How tables and figures look is no part of a specification: other code renders them again, in seconds.
SOURCES = Path(items_layout.__file__).parents[1]
LOOKS = {
    stage: spec_files.of_sources(
        [SOURCES / f"{stage}s", *SOURCES.glob(f"papers/*/{stage}s")], SOURCES / "items" / f"{stage}.py"
    )
    for stage in ("table", "figure")
}


rule statistics:
    # The specification names the input files: a command line cannot hold hundreds of paths.
    input:
        lambda w: [file for files in items_statistics.files(PLAN, w.paper, w.item, PATHS).values() for file in files],
        reference=lambda w: references_of(w.paper, w.item),
    output:
        f"{PATHS.papers}/{{paper}}/statistics/{{item}}.csv",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/statistics/{{item}}.log",
    priority: AT_ONCE
    resources:
        **cluster("statistics", "short"),
    params:
        spec=lambda w: spec_file(items_statistics.specification(PLAN, w.paper, w.item, reference_of(w.paper, w.item))),
        results=lambda w, output: Path(output[0]).parents[4],
    shell:
        "python -m rlvr.items.statistics --spec {params.spec:q} --results {params.results:q} --out {output:q} "
        "> {log:q} 2>&1"


rule table:
    input:
        statistics=lambda w: [PATHS.statistics(w.paper, name) for name in PLAN.papers[w.paper].statistics_of(w.table)],
        reference=lambda w: references_of(w.paper, w.table),
    output:
        f"{PATHS.papers}/{{paper}}/tables/{{table}}.csv",
        report(
            f"{PATHS.papers}/{{paper}}/tables/{{table}}.md",
            caption="../report/table.rst",
            category="{paper}",
            subcategory="tables",
            labels={"table": "{table}"},
        ),
        f"{PATHS.papers}/{{paper}}/tables/{{table}}.tex",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/tables/{{table}}.log",
    priority: AT_ONCE
    resources:
        **cluster("table", "short"),
    params:
        spec=lambda w: spec_file(items_table.specification(PLAN, w.paper, w.table, reference_of(w.paper, w.table))),
        statistics=lambda w, input: given("--statistics", input.statistics),
        out=lambda w, output: given("--out", output),
        looks=LOOKS["table"],
    shell:
        "python -m rlvr.items.table --spec {params.spec:q} {params.statistics:q} {params.out:q} > {log:q} 2>&1"


rule figure:
    input:
        lambda w: [PATHS.statistics(w.paper, name) for name in PLAN.papers[w.paper].statistics_of(w.figure)],
    output:
        f"{PATHS.papers}/{{paper}}/figures/{{figure}}.pdf",
        report(
            f"{PATHS.papers}/{{paper}}/figures/{{figure}}.png",
            caption="../report/figure.rst",
            category="{paper}",
            subcategory="figures",
            labels={"figure": "{figure}"},
        ),
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/figures/{{figure}}.log",
    priority: AT_ONCE
    resources:
        **cluster("figure", "short"),
    params:
        spec=lambda w: spec_file(items_layout.of(PLAN, w.paper, w.figure).model_dump(mode="json")),
        out=lambda w, output: given("--out", output),
        looks=LOOKS["figure"],
    shell:
        "python -m rlvr.items.figure {input:q} --spec {params.spec:q} {params.out:q} > {log:q} 2>&1"


rule arm:
    # One arm on every model and benchmark, per seed and over seeds, with its baseline, whose runs it also needs.
    input:
        lambda w: scores_of_arm(PLAN, w.paper, known(w.arm, PLAN.papers[w.paper].arms), PATHS),
    output:
        values=PATHS.arm("{paper}", "{arm}"),
        counts=PATHS.arm("{paper}", "{arm}-counts"),
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/arms/{{arm}}.log",
    resources:
        **cluster("arm"),
    params:
        spec=lambda w: spec_file(of_arm(PLAN, w.paper, w.arm)),
        results=lambda w, output: Path(output[0]).parents[4],
    shell:
        "python -m rlvr.statistics.arm --spec {params.spec:q} --results {params.results:q} --out {output.values:q} "
        "--counts {output.counts:q} > {log:q} 2>&1"
