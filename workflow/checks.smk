"""What is looked at before anything runs: the config, the machine, the commits of cells that are there."""

import atexit

import yaml
from snakemake.exceptions import WorkflowError

from hnclip import check_schema, commits

STARTED_IN = Path.cwd()  # Snakemake has left it when a dry run ends


def check(config):
    """Stop with one message that names everything wrong with the config."""
    schema = Path(workflow.basedir) / "workflow" / "schemas" / "config.schema.yaml"
    try:
        check_schema.check_keys(workflow.configfiles)
        checks.check(config, yaml.load(schema.read_text(encoding="utf-8"), check_schema.yaml_loader()))
    except ValueError as error:
        raise WorkflowError(str(error)) from None


def check_nodes():
    """Say before anything runs that cells on several nodes need a cluster."""
    wanted = {str(cell) for cell in cells.trained(config) if cells.recipe_of(config, cell).get("nodes", 1) > 1}
    if wanted and not on_cluster(EXECUTOR, os.environ):
        print(
            f"{len(wanted)} cells are to be trained on several nodes, which this machine is not (first: {min(wanted)}): "
            "run with --workflow-profile profiles/slurm, or set `nodes: 1` in the recipe",
            file=sys.stderr,
        )


def mixed_commits(finished=False):
    """What is wrong with the commits of the cells that are there and of those to train; whether tables are refused."""
    if not workflow.is_main_process or workflow.touch or workflow.dag is None:
        return "", False
    jobs = list(workflow.dag.needrun_jobs(exclude_finished=not finished))
    left = {job.wildcards.cell for job in jobs if job.rule.name == "train"}
    return commits.would_mix(config, left, STARTED_IN), any(job.rule.name == "collect" for job in jobs)


def check_commits():
    """Stop a run whose tables would be refused in the end; of one that makes none it is only said."""
    problem, refused = mixed_commits()
    if problem and refused:
        raise WorkflowError(problem)
    elif problem:
        print(f"Note: {problem}", file=sys.stderr)


@atexit.register
def tell_commits():
    """The same at the end of a dry run, for which Snakemake calls no hook."""
    problem, refused = mixed_commits(finished=True) if workflow.dryrun else ("", False)
    if problem:
        print(f"{commits.WOULD_STOP if refused else 'Note:'}\n{problem}", file=sys.stderr)
