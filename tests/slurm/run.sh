#!/usr/bin/env bash
# run.sh COMMAND...: the command with a SLURM of its own on this machine, which is gone afterwards. Installs what is missing (root).
set -euo pipefail
slurm=$(dirname "$(realpath "$0")")/local_slurm.sh
state=$(mktemp -d /tmp/hnclip.XXXXXX)
chmod 755 "$state"  # munged wants its socket to be reachable
trap '"$slurm" wipe "$state/slurm"; rm -rf "$state"' EXIT
"$slurm" install
LOCAL_SLURM_CPUS=16 LOCAL_SLURM_MEM_MB=64000 LOCAL_SLURM_GPUS=4 "$slurm" start "$state/slurm"
eval "$("$slurm" env "$state/slurm")"
"$@"
