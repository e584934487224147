# From nothing to the tables of a paper. Data flows one way, and each arrow is a file under results/:
#
#   data -> SFT -> RL -> generate -> grade -> score -> statistics -> tables and figures -> report
#
#   snakemake                                               the default: a first look at ACE, and the report
#   snakemake -n --config scale=paper -- paper_ace          the jobs of one paper at its own size
#
# Every rule calls one module of src/rlvr; config/ says what runs.
from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"
include: "workflow/rules/judging.smk"
include: "workflow/rules/pages.smk"


rule all:
    input:
        PATHS.entrance(),
    localrule: True


include: "workflow/rules/data.smk"
include: "workflow/rules/policies.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/sampling.smk"
include: "workflow/rules/scoring.smk"
include: "workflow/rules/measures.smk"
include: "workflow/rules/items.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/mechanisms.smk"
include: "workflow/rules/controls.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/nodes.smk"
include: "workflow/rules/targets.smk"
include: "workflow/rules/hooks.smk"


report: "workflow/report/workflow.rst"
