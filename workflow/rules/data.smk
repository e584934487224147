# Problems and demonstrations. An entry's `about` goes into the card and into no parameter: new wording reruns nothing.
from rlvr.config.schema.models_and_data import Synthetic


rule data:
    output:
        problems=f"{PATHS.results}/data/{{data}}/problems.jsonl",
        card=f"{PATHS.results}/data/{{data}}/card.json",
    log:
        f"{PATHS.results}/logs/data/{{data}}.log",
    wildcard_constraints:
        data=one_of(set(PLAN.data) - WITH_DEMONSTRATIONS),
    priority: AT_ONCE
    resources:
        **cluster("data"),
        source=source_of("data"),
    params:
        spec=lambda w: spec_of(PLAN.data[w.data]),
        folder=lambda w, output: os.path.dirname(output.problems),
    shell:
        "python -m rlvr.data.prepare --spec {params.spec:q} --out {params.folder:q} --source={resources.source:q} > {log:q} 2>&1"


use rule data as demonstrations with:
    output:
        problems=f"{PATHS.results}/data/{{data}}/problems.jsonl",
        demonstrations=f"{PATHS.results}/data/{{data}}/demonstrations.jsonl",
        card=f"{PATHS.results}/data/{{data}}/card.json",
    wildcard_constraints:
        data=one_of(WITH_DEMONSTRATIONS),
    resources:
        **cluster("demonstrations"),
        source="",


rule overlap:
    input:
        sets=lambda w: [problems_of(data) for data in PLAN.papers[w.paper].disjoint],
    output:
        f"{PATHS.papers}/{{paper}}/overlap.json",
    log:
        f"{PATHS.results}/logs/papers/{PATHS.scale}/{{paper}}/overlap.log",
    resources:
        **cluster("overlap"),
    params:
        training=lambda w: given("--training", map(problems_of, PLAN.papers[w.paper].trained_on)),
        how=lambda w: (
            "--no-tolerate --no-near"
            if all(isinstance(data, Synthetic) for data in PLAN.papers[w.paper].disjoint)
            else "--tolerate --near"
        ),
    shell:
        "python -m rlvr.data.overlap {input.sets:q} {params.training:q} {params.how} --out {output:q} > {log:q} 2>&1"
