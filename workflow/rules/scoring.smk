# Scoring: grade -> score. Grading again samples nothing; scoring again grades nothing.
from rlvr.scoring import votes


rule grade:
    # Short enough to share a cluster job with others.
    input:
        completions=f"{EVALUATION}/completions.jsonl.gz",
        problems=lambda w: problems_of(PLAN.evaluations[w.evaluation].data),
    output:
        f"{EVALUATION}/grades.jsonl.gz",
    log:
        f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/grade.log",
    wildcard_constraints:
        evaluation=one_of(PLAN.evaluations.keys() - ALONE),
    priority: AT_ONCE
    threads: PLAN.execution.judges
    resources:
        **cluster("grade", "short"),
    params:
        verifier=lambda w: PLAN.evaluations[w.evaluation].data.verifier,
        # A verifier with changed verdicts grades again.
        version=lambda w: verifiers.kind(PLAN.evaluations[w.evaluation].data.verifier).version,
    shell:
        "python -m rlvr.scoring.grade --verifier {params.verifier} --completions {input.completions:q} "
        "--problems {input.problems:q} --workers {threads} "
        f"--verifier-errors {PLAN.execution.verifier_errors} "  # no parameter: changing it must not grade again
        "--out {output:q} > {log:q} 2>&1"


use rule grade as grade_alone with:
    # Too long for that: no group of the profile has this rule.
    wildcard_constraints:
        evaluation=one_of(ALONE),
    resources:
        **cluster("grade"),


rule score:
    input:
        completions=f"{EVALUATION}/completions.jsonl.gz",
        grades=f"{EVALUATION}/grades.jsonl.gz",
        problems=lambda w: problems_of(PLAN.evaluations[w.evaluation].data),
    output:
        f"{EVALUATION}/scores.csv",
    log:
        f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/score.log",
    priority: AT_ONCE
    resources:
        **cluster("score", "short"),
    params:
        version=votes.VERSION,
        task=lambda w: task_option(PLAN.evaluations[w.evaluation].data),
    shell:
        "python -m rlvr.scoring.score --policy {wildcards.policy:q} --evaluation {wildcards.evaluation:q} "
        "--completions {input.completions:q} --grades {input.grades:q} --problems {input.problems:q} "
        "{params.task} --out {output:q} > {log:q} 2>&1"


rule diversity:
    # Differences between correct solutions. Only tables of this kind need it: it loads an embedding model.
    input:
        completions=f"{EVALUATION}/completions.jsonl.gz",
        grades=f"{EVALUATION}/grades.jsonl.gz",
        problems=lambda w: problems_of(PLAN.evaluations[w.evaluation].data),
    output:
        f"{EVALUATION}/diversity.csv",
    log:
        f"{PATHS.results}/logs/evaluations/{{policy}}/{{evaluation}}/diversity.log",
    priority: AT_ONCE
    resources:
        **cluster("diversity", EMBEDDING),
    params:
        embedding=PLAN.diversity.embedding,
        common=PLAN.diversity.common,
        version=votes.VERSION,
    shell:
        "python -m rlvr.scoring.diversity --policy {wildcards.policy:q} --evaluation {wildcards.evaluation:q} "
        "--completions {input.completions:q} --grades {input.grades:q} --problems {input.problems:q} "
        "--embedding {params.embedding:q} --common {params.common} --out {output:q} > {log:q} 2>&1"


rule other_verifier:
    # Only by name, `snakemake other_verifier_<paper>`: the paper's page then shows it.
    input:
        lambda w: compared_by(w.paper)[1],
    output:
        table=PATHS.other_verifier("{paper}")[0],
        numbers=PATHS.other_verifier("{paper}")[1],
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/other_verifier.log",
    threads: PLAN.execution.judges
    resources:
        **cluster("grade"),
    params:
        spec=lambda w: spec_file(compared_by(w.paper)[0]),
        versions=lambda w: other_verifier.versions(compared_by(w.paper)[0]),
        results=lambda w, output: Path(output.table).parents[3],
    shell:
        "python -m rlvr.scoring.other_verifier --spec {params.spec:q} --results {params.results:q} "
        "--workers {threads} --out {output.table:q} > {log:q} 2>&1"
