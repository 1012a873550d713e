#!/usr/bin/env bash
# local_slurm.sh - a throw-away SLURM of several nodes on one machine, for tests.
#
#   local_slurm.sh install         install the Debian packages that are missing (needs root)
#   local_slurm.sh start  DIR      start munged, slurmctld and one slurmd a node, state in DIR
#   local_slurm.sh status DIR      exit 0 when the cluster answers and its nodes are usable
#   local_slurm.sh env    DIR      print the exports that a client's shell needs
#   local_slurm.sh stop   DIR      cancel what runs, end exactly these daemons
#   local_slurm.sh wipe   DIR      stop, then delete DIR
#
# No systemd, no cgroups, no /etc/slurm, no fixed ports, no accounting: everything is below DIR, and every daemon is
# ended by the pid that it wrote there. DIR must be a short path: munged's socket lies in it (108 bytes at most).
#
# Settings (environment):
#   LOCAL_SLURM_NODES    nodes, called n1, n2, ...   (default: 2)
#   LOCAL_SLURM_CPUS     CPUs that a node claims     (default: 4, more than there are is fine)
#   LOCAL_SLURM_MEM_MB   memory that a node claims   (default: 16000)
#   LOCAL_SLURM_GPUS     fake GPUs of a node         (default: 2, at most 6, 0 = none)
set -euo pipefail

prog=$(basename "$0")
export PATH="$PATH:/usr/sbin:/sbin"
die() {
  echo "$prog: $*" >&2
  exit 1
}

usage() { sed -n '2,/^set -euo/p' "$0" | sed '$d; s/^# \{0,1\}//'; }

cmd_install() {
  local missing=() package
  for package in munge slurm-client slurmctld slurmd; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  # It keeps the packages from starting daemons of their own.
  local policy=/usr/sbin/policy-rc.d
  if [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

pid_of() { # NAME [PROGRAM] -> its pid, if it is alive and still that program
  local file=$dir/run/$1.pid pid
  [[ -s $file ]] || return 1
  pid=$(<"$file")
  [[ -r /proc/$pid/comm && $(<"/proc/$pid/comm") == "${2:-$1}"* ]] || return 1
  echo "$pid"
}

wait_for() { # SECONDS COMMAND...
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || return 1
    sleep 0.2
  done
}

free_ports() { # COUNT -> the first of so many successive free TCP ports
  python3 - "$1" <<'PY'
import random, socket, sys
for _ in range(200):
    base, held = random.randrange(20000, 32000), []
    try:
        for port in range(base, base + int(sys.argv[1])):
            held.append(socket.socket())
            held[-1].bind(("127.0.0.1", port))
    except OSError:
        continue
    finally:
        for each in held:
            each.close()
    print(base)
    break
PY
}

nodes() { # the names of the nodes that slurm.conf has
  sed -n 's/^NodeName=\([^ ]*\) .*/\1/p' "$dir/conf/slurm.conf"
}

write_conf() {
  local me host count cpus memory gpus port number gres='' types='' devices
  me=$(id -un) host=$(hostname -s)
  count=${LOCAL_SLURM_NODES:-2} cpus=${LOCAL_SLURM_CPUS:-4}
  memory=${LOCAL_SLURM_MEM_MB:-16000} gpus=${LOCAL_SLURM_GPUS:-2}
  port=$(free_ports $((count + 1)))
  # SLURM wants a character device for each GPU; without cgroups nobody opens it, so any distinct ones do.
  devices=(/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/ptmx)
  ((gpus <= ${#devices[@]})) || die "at most ${#devices[@]} fake GPUs"
  if ((gpus > 0)); then
    gres=" Gres=gpu:fake:$gpus" types="GresTypes=gpu"
    for ((number = 0; number < gpus; number++)); do
      echo "NodeName=n[1-$count] Name=gpu Type=fake File=${devices[number]}"
    done >"$dir/conf/gres.conf"
  fi
  {
    cat <<CONF
ClusterName=local
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.sock
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
SlurmdParameters=config_overrides
PlugStackConfig=/dev/null
MpiDefault=none
# No cgroups, no affinity: it works in a container. pgid, not linuxproc: the latter loses a Snakemake whose parent
# shell was killed first.
ProctrackType=proctrack/pgid
TaskPlugin=task/none
# The memory of each step is looked at every second, and what exceeds its request is killed.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=0
ReturnToService=2
MinJobAge=300
KillWait=2
OverTimeLimit=0
InactiveLimit=0
Waittime=0
JobRequeue=0
$types
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$dir/log/jobcomp.txt
CONF
    for ((number = 1; number <= count; number++)); do
      echo "NodeName=n$number NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + number))" \
        "CPUs=$cpus RealMemory=$memory$gres State=UNKNOWN"
    done
    echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefMemPerCPU=256 State=UP"
  } >"$dir/conf/slurm.conf"
  # snakemake-executor-plugin-slurm-jobstep takes every SLURM_* variable away that it does not know before it calls
  # srun, SLURM_CONF included. Wrappers first on PATH put it back (sbatch exports PATH to the job).
  local tool path
  for tool in srun sbatch scancel squeue sinfo scontrol; do
    path=$(PATH=/usr/local/bin:/usr/bin:/bin command -v "$tool") || die "$tool is missing"
    printf '#!/bin/sh\nSLURM_CONF=%q exec %q "$@"\n' "$dir/conf/slurm.conf" "$path" >"$dir/bin/$tool"
    chmod 755 "$dir/bin/$tool"
  done
  # The nodes' names are no names of hosts, by which processes on several nodes would find the first of them.
  # shellcheck disable=SC2016  # $PATH is for the shell that evaluates it
  printf 'export SLURM_CONF=%q\nexport PATH=%q:"$PATH"\nexport MASTER_ADDR=127.0.0.1\n' \
    "$dir/conf/slurm.conf" "$dir/bin" >"$dir/env"
}

start_munge() {
  if pid_of munged >/dev/null; then return; fi
  [[ -s $dir/conf/munge.key ]] || dd if=/dev/urandom of="$dir/conf/munge.key" bs=1 count=128 status=none
  chmod 600 "$dir/conf/munge.key"
  rm -f "$dir/run/munge.sock"*
  munged --socket="$dir/run/munge.sock" --key-file="$dir/conf/munge.key" \
    --pid-file="$dir/run/munged.pid" --log-file="$dir/log/munged.log" \
    --seed-file="$dir/state/munge.seed" --num-threads=2
  wait_for 10 munge -S "$dir/run/munge.sock" -n || die "munged does not answer, see $dir/log/munged.log"
}

nodes_usable() {
  local usable
  usable=$(sinfo -h -N -o '%N %T' | grep -Ec ' (idle|mixed|allocated)$')
  ((usable == $(nodes | wc -l)))
}

cmd_start() {
  local need name
  for need in munged munge slurmctld slurmd sinfo sbatch; do
    command -v "$need" >/dev/null || die "$need is missing: run '$prog install' first"
  done
  ((${#dir} + 20 < 108)) || die "$dir is too long for a UNIX socket"
  mkdir -p "$dir"/{bin,conf,run,state,spool,log}
  chmod 755 "$dir" "$dir/run" "$dir/conf"
  chmod 700 "$dir/state"
  [[ -s $dir/env ]] || write_conf
  export SLURM_CONF=$dir/conf/slurm.conf
  start_munge
  pid_of slurmctld >/dev/null || slurmctld -f "$SLURM_CONF"
  wait_for 20 scontrol ping || die "slurmctld does not answer, see $dir/log/slurmctld.log"
  for name in $(nodes); do
    mkdir -p "$dir/spool/$name"
    pid_of "slurmd-$name" slurmd >/dev/null || slurmd -f "$SLURM_CONF" -N "$name"
  done
  wait_for 30 nodes_usable || die "the nodes did not come up, see $dir/log: $(sinfo -N -o '%N %T %E')"
  echo "SLURM is up; in a client's shell: eval \"\$($prog env $dir)\""
}

end_pid() { # NAME [PROGRAM]
  local pid tries
  if pid=$(pid_of "$@"); then
    kill "$pid" 2>/dev/null || true
    for ((tries = 0; tries < 75; tries++)); do
      [[ -d /proc/$pid ]] || break
      sleep 0.2
    done
    [[ ! -d /proc/$pid ]] || kill -KILL "$pid" 2>/dev/null || true
  fi
  rm -f "$dir/run/$1.pid"
}

job_pids() { # processes of jobs of this very cluster, whoever their parent is now
  local process
  for process in /proc/[0-9]*; do
    { tr '\0' '\n' <"$process/environ"; } 2>/dev/null |
      awk -v conf="SLURM_CONF=$dir/conf/slurm.conf" \
        '$0 == conf {c = 1} /^SLURM_JOB_ID=/ {j = 1} END {exit !(c && j)}' && echo "${process#/proc/}"
  done
  return 0
}

no_jobs() { [[ -z $(squeue -h -t running,completing,pending) ]]; }

cmd_stop() {
  [[ -d $dir ]] || die "no such directory: $dir"
  export SLURM_CONF=$dir/conf/slurm.conf
  local ids left name
  if pid_of slurmctld >/dev/null; then
    mapfile -t ids < <(timeout 10 squeue -h -t running,completing,pending -o %A | sort -u)
    ((${#ids[@]} == 0)) || timeout 10 scancel "${ids[@]}" || true
    wait_for 10 no_jobs || true
  fi
  if [[ -s $SLURM_CONF ]]; then
    for name in $(nodes); do end_pid "slurmd-$name" slurmd; done
  fi
  end_pid slurmctld
  end_pid munged
  mapfile -t left < <(job_pids)
  if ((${#left[@]})); then
    echo "ending ${#left[@]} left-over process(es) of jobs: ${left[*]}"
    kill -KILL "${left[@]}" 2>/dev/null || true
  fi
}

cmd_status() {
  local name ok=0
  for name in munged slurmctld; do
    pid_of "$name" >/dev/null || { echo "$name: not running" && ok=1; }
  done
  for name in $(nodes); do
    pid_of "slurmd-$name" slurmd >/dev/null || { echo "slurmd of $name: not running" && ok=1; }
  done
  ((ok == 0)) || return 1
  export SLURM_CONF=$dir/conf/slurm.conf
  timeout 10 sinfo -N -o '%N %P %T %c %m %G' && nodes_usable
}

cmd_wipe() {
  [[ -e $dir ]] || return 0
  [[ -e $dir/conf/slurm.conf ]] || die "$dir is not a folder of $prog"
  cmd_stop
  rm -rf "$dir"
}

main() {
  local action=${1:-}
  case $action in
  install)
    cmd_install
    return
    ;;
  start | stop | status | env | wipe) ;;
  -h | --help | help)
    usage
    return
    ;;
  *)
    usage >&2
    exit 2
    ;;
  esac
  [[ -n ${2:-} ]] || die "a folder for the state is needed: $prog $action DIR"
  dir=$(realpath -m "$2")
  case $action in
  env) cat "$dir/env" ;;
  *) "cmd_$action" ;;
  esac
}
main "$@"
