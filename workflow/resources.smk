"""What jobs ask of their machine or cluster: GPUs, memory, run time, by the backbone and by what the cell computes."""

import shutil

from snakemake.exceptions import WorkflowError

from hnclip.plan.memory import SAM, megabytes  # noqa: E402
from hnclip.plan.runtime import Minutes  # noqa: E402
from hnclip.profiles import chosen, on_cluster  # noqa: E402

try:
    EXECUTOR = chosen(sys.argv[1:], Path(workflow.basedir))
except ValueError as error:
    raise WorkflowError(str(error)) from None

minutes = Minutes(config)
CACHED = 4000  # MB of a job on cached embeddings, which loads no backbone


@cache
def on_gpu():
    """Whether a GPU is asked for: always of a cluster (its profile may say otherwise), here where there is one."""
    return on_cluster(EXECUTOR, os.environ) or shutil.which("nvidia-smi") is not None


def gpus(wildcards):
    """Of a job that computes on one GPU at most."""
    return int(on_gpu())


def memory(wildcards, attempt):
    """Main memory of a job that loads the backbone of its cell or of its path, in MB; more at each further attempt."""
    if "cell" not in wildcards.keys():
        return attempt * backbone_memory(wildcards.backbone)
    cell = parsed(wildcards)
    return attempt * (CACHED if cells.is_cached(config, cell) else backbone_memory(cell.backbone))


@cache
def backbone_memory(name):
    return megabytes(config["backbones"][name])


def segments_memory(wildcards, attempt):
    """The same for finding regions: the backbone that matches them, and a model that finds them."""
    entry = config["segments"][wildcards.segments]
    return attempt * (backbone_memory(entry["backbone"]) + 3000 + SAM * (entry["kind"] == "sam"))


def segments_minutes(wildcards, attempt):
    """Of a shard of a split, or of all of it."""
    return attempt * minutes.regions(wildcards.segments, wildcards.benchmark, wildcards.split)


def growing(amount):
    """So much (MB or minutes), and as much again at each further attempt."""
    return lambda wildcards, attempt: attempt * amount


# a cell


def cell_recipe(wildcards):
    return cells.recipe_of(config, parsed(wildcards))


def cell_threads(wildcards):
    return cell_recipe(wildcards)["threads"]


def processes(wildcards):
    """Processes on each node, and nodes, that train a cell together."""
    recipe = cell_recipe(wildcards)
    return recipe["gpus"], recipe["nodes"]


def train_threads(wildcards):
    """Threads of all processes on one node."""
    return cell_threads(wildcards) * processes(wildcards)[0]


def train_memory(wildcards, attempt):
    """Main memory on each node; every process loads the backbone."""
    return processes(wildcards)[0] * memory(wildcards, attempt)


def train_gpus(wildcards):
    """GPUs of all nodes together, as SLURM counts them."""
    count, nodes = processes(wildcards)
    return count * nodes * on_gpu()


def train_minutes(wildcards, attempt):
    return attempt * minutes.training(parsed(wildcards))


def audit_minutes(wildcards, attempt):
    return attempt * minutes.auditing(parsed(wildcards))


def embed_minutes(wildcards, attempt):
    return attempt * minutes.embedding(wildcards.backbone, wildcards.benchmark, [wildcards.split])


def embed_cell_minutes(wildcards, attempt):
    cell = parsed(wildcards)
    names = study_runs.embedded_splits(config, cell, wildcards.benchmark)["splits"]
    return attempt * minutes.embedding(
        cell.backbone, wildcards.benchmark, [split["name"].rpartition("/")[2] for split in names]
    )


def evaluate_minutes(wildcards, attempt):
    names = split_files.test_splits(config, wildcards.benchmark)
    return attempt * minutes.embedding(parsed(wildcards).backbone, wildcards.benchmark, names)


# a cell on several nodes: the job starts its tasks itself, so Snakemake runs on the first node and not within a task


def over_nodes(value):
    """The value that `value` gives of processes on a node, nodes and threads, for a cell on several nodes alone."""

    def asked(wildcards):
        count, nodes = processes(wildcards)
        return value(count, nodes, cell_threads(wildcards)) if nodes > 1 else None

    return asked


def node_options(count, nodes, threads):
    """What the executor has no resource for: so many processes and GPUs on each node."""
    return f"--ntasks-per-node={count}" + (f" --gpus-per-node={count}" if on_gpu() else "")
