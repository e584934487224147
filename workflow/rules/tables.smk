# Statistics -> tables and figures. Nothing here loads a model; drawing again computes nothing again.
from rlvr.planning.arms import items_of_arm


rule scored_statistics:
    input:
        scores=lambda w: [
            PATHS.scores(*pair)
            for pair in PLAN.papers[w.paper].item(w.scored).scored()
        ],
        reference=lambda w: reference_of(w, w.scored),
        probes=lambda w: [
            PATHS.probe(run) for run in PLAN.papers[w.paper].item(w.scored).probed()
        ],
    output:
        f"{PATHS.papers}/{{paper}}/statistics/{{scored}}.csv",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/statistics/{{scored}}.log",
    priority: AT_ONCE
    resources:
        **cluster("scored_statistics"),
    params:
        layout=lambda w: item_layout(w.paper, w.scored),
        reference=lambda w, input: given("--reference", input.reference),
        probes=lambda w, input: given("--probe", input.probes),
    shell:
        "python -m rlvr.statistics.scored_table {input.scores:q} --layout {params.layout:q} {params.reference:q} "
        "{params.probes:q} --out {output:q} > {log:q} 2>&1"


rule across_statistics:
    input:
        lambda w: [
            PATHS.scores(*pair)
            for pair in PLAN.papers[w.paper].item(w.across).scored()
        ],
    output:
        f"{PATHS.papers}/{{paper}}/statistics/{{across}}.csv",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/statistics/{{across}}.log",
    priority: AT_ONCE
    resources:
        **cluster("across_statistics"),
    params:
        layout=lambda w: item_layout(w.paper, w.across),
    shell:
        "python -m rlvr.statistics.across_benchmarks {input:q} --layout {params.layout:q} --out {output:q} "
        "> {log:q} 2>&1"


rule diversity_statistics:
    input:
        diversity=lambda w: [
            PATHS.diversity(*pair)
            for pair in PLAN.papers[w.paper].item(w.diverse).scored()
        ],
        reference=lambda w: reference_of(w, w.diverse),
    output:
        f"{PATHS.papers}/{{paper}}/statistics/{{diverse}}.csv",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/statistics/{{diverse}}.log",
    priority: AT_ONCE
    resources:
        **cluster("diversity_statistics"),
    params:
        layout=lambda w: item_layout(w.paper, w.diverse),
        reference=lambda w, input: given("--reference", input.reference),
    shell:
        "python -m rlvr.statistics.diversity_table {input.diversity:q} --layout {params.layout:q} {params.reference:q} "
        "--out {output:q} > {log:q} 2>&1"


rule curve_statistics:
    input:
        lambda w: [
            file
            for run in PLAN.papers[w.paper].item(w.curves).policies()
            for file in PATHS.rows(run)
        ],
    output:
        f"{PATHS.papers}/{{paper}}/statistics/{{curves}}.csv",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/statistics/{{curves}}.log",
    priority: AT_ONCE
    resources:
        **cluster("curve_statistics"),
    params:
        layout=lambda w: item_layout(w.paper, w.curves),
    shell:
        "python -m rlvr.statistics.curves {input:q} --layout {params.layout:q} --out {output:q} > {log:q} 2>&1"


rule analytic_statistics:
    # Closed forms: no run, the same at any scale.
    output:
        f"{PATHS.papers}/{{paper}}/statistics/{{analytic}}.csv",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/statistics/{{analytic}}.log",
    resources:
        **cluster("analytic_statistics"),
    params:
        content=lambda w: PLAN.papers[w.paper].item(w.analytic).content.content,
    shell:
        "python -m rlvr.theory.analytic --content {params.content} --out {output:q} > {log:q} 2>&1"


rule ledger:
    # What the papers state, checked. `snakemake theory` asks for it.
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


rule table:
    input:
        statistics=f"{PATHS.papers}/{{paper}}/statistics/{{table}}.csv",
        reference=lambda w: reference_of(w, w.table),
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
        **cluster("table"),
    params:
        layout=lambda w: item_layout(w.paper, w.table),
        reference=lambda w, input: given("--reference", input.reference),
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.tables.scored {input.statistics:q} --layout {params.layout:q} {params.reference:q} {params.out:q} "
        "> {log:q} 2>&1"


rule analytic_table:
    input:
        f"{PATHS.papers}/{{paper}}/statistics/{{analytic_table}}.csv",
    output:
        f"{PATHS.papers}/{{paper}}/tables/{{analytic_table}}.csv",
        report(
            f"{PATHS.papers}/{{paper}}/tables/{{analytic_table}}.md",
            caption="../report/table.rst",
            category="{paper}",
            subcategory="tables",
            labels={"table": "{analytic_table}"},
        ),
        f"{PATHS.papers}/{{paper}}/tables/{{analytic_table}}.tex",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/tables/{{analytic_table}}.log",
    resources:
        **cluster("analytic_table"),
    params:
        layout=lambda w: item_layout(w.paper, w.analytic_table),
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.tables.analytic {input:q} --layout {params.layout:q} {params.out:q} > {log:q} 2>&1"


rule settings_table:
    input:
        lambda w: reference_of(w, w.settings_table),
    output:
        f"{PATHS.papers}/{{paper}}/tables/{{settings_table}}.csv",
        report(
            f"{PATHS.papers}/{{paper}}/tables/{{settings_table}}.md",
            caption="../report/table.rst",
            category="{paper}",
            subcategory="tables",
            labels={"table": "{settings_table}"},
        ),
        f"{PATHS.papers}/{{paper}}/tables/{{settings_table}}.tex",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/tables/{{settings_table}}.log",
    resources:
        **cluster("settings_table"),
    params:
        layout=lambda w: item_layout(w.paper, w.settings_table),
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.tables.settings --reference {input:q} --layout {params.layout:q} {params.out:q} > {log:q} 2>&1"


rule published_table:
    input:
        lambda w: reference_of(w, w.published_table),
    output:
        f"{PATHS.papers}/{{paper}}/tables/{{published_table}}.csv",
        report(
            f"{PATHS.papers}/{{paper}}/tables/{{published_table}}.md",
            caption="../report/table.rst",
            category="{paper}",
            subcategory="tables",
            labels={"table": "{published_table}"},
        ),
        f"{PATHS.papers}/{{paper}}/tables/{{published_table}}.tex",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/tables/{{published_table}}.log",
    resources:
        **cluster("published_table"),
    params:
        layout=lambda w: item_layout(w.paper, w.published_table),
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.tables.published --reference {input:q} --layout {params.layout:q} {params.out:q} > {log:q} 2>&1"


rule collapse_table:
    input:
        f"{PATHS.papers}/{{paper}}/statistics/{{collapse_table}}.csv",
    output:
        f"{PATHS.papers}/{{paper}}/tables/{{collapse_table}}.csv",
        report(
            f"{PATHS.papers}/{{paper}}/tables/{{collapse_table}}.md",
            caption="../report/table.rst",
            category="{paper}",
            subcategory="tables",
            labels={"table": "{collapse_table}"},
        ),
        f"{PATHS.papers}/{{paper}}/tables/{{collapse_table}}.tex",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/tables/{{collapse_table}}.log",
    priority: AT_ONCE
    resources:
        **cluster("collapse_table"),
    params:
        layout=lambda w: item_layout(w.paper, w.collapse_table),
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.tables.collapse {input:q} --layout {params.layout:q} {params.out:q} > {log:q} 2>&1"


rule figure:
    input:
        lambda w: [
            PATHS.statistics(w.paper, name)
            for name in PLAN.papers[w.paper].statistics_of(w.figure)
        ],
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
        **cluster("figure"),
    params:
        layout=lambda w: json.dumps(
            layouts.of_drawing(PLAN, w.paper, w.figure), sort_keys=True
        ),
        out=lambda w, output: given("--out", output),
    shell:
        "python -m rlvr.figures.draw {input:q} --layout {params.layout:q} {params.out:q} > {log:q} 2>&1"


rule arm:
    # One ablation on every model and benchmark, each seed and over seeds, and the arm that it is compared with, whose
    # runs are made too.
    input:
        lambda w: [
            PATHS.scores(*pair)
            for item in items_of_arm(
                PLAN, w.paper, known(w.arm, PLAN.papers[w.paper].arms)
            )
            for pair in item.scored()
        ],
    output:
        values=PATHS.arm("{paper}", "{arm}"),
        counts=PATHS.arm("{paper}", "{arm}-counts"),
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/arms/{{arm}}.log",
    resources:
        **cluster("arm"),
    params:
        layout=lambda w: json.dumps(
            layouts.of_arm(PLAN, w.paper, w.arm), sort_keys=True
        ),
    shell:
        "python -m rlvr.statistics.arm {input:q} --layout {params.layout:q} --out {output.values:q} "
        "--counts {output.counts:q} > {log:q} 2>&1"
