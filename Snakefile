"""One study: from nothing, or from your own images and captions, to tables, figures and a report."""

from snakemake.utils import min_version

min_version("9.19")


configfile: "config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/grid.smk"
include: "workflow/resources.smk"
include: "workflow/checks.smk"


check(config)
check_nodes()


include: "rules/fetch.smk"
include: "rules/data.smk"
include: "rules/overlap.smk"
include: "rules/inputs.smk"
include: "rules/starter.smk"
include: "rules/embed.smk"
include: "rules/captions.smk"
include: "rules/train.smk"
include: "rules/tune.smk"
include: "rules/audit.smk"
include: "rules/evaluate.smk"
include: "rules/report.smk"


localrules:
    all,


onstart:
    check_commits()
    # Snakemake's limit of jobs a second wakes the scheduler once a second for every job that ever ended, until that
    # takes a whole core. Jobs here are long and few.
    workflow.scheduler.job_rate_limiter = None


# A job's message stands for all that Snakemake tells of it, what it asks of a cluster included.
if workflow.output_settings.verbose:
    for known in workflow.rules:
        known.message = None


onerror:
    print(unfinished.table(config), file=sys.stderr)


rule all:
    default_target: True
    input:
        results(),
        cell_results(),
    message:
        "The study is finished"
