#!/usr/bin/env bash
# A real Slurm of several nodes on loopback, for tests, as root on Debian.
#   slurm.sh install           install Debian's slurm-wlm and munge
#   slurm.sh start DIR NODES   start one slurmctld and NODES slurmds (n1, n2, ...) and print SLURM_CONF=...
#   slurm.sh stop DIR          stop them, with what their jobs left behind
# A node dies by: kill -9 "$(cat DIR/n1.pid)". Its jobs' slurmstepds stay, as on a real cluster.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/end_processes.bash"

conf() { # DIR NODES PORT
  cat <<CONF
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$1/munge.socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
SlurmctldPort=$3
StateSaveLocation=$1/state
SlurmdSpoolDir=$1/spool/%n
SlurmctldPidFile=$1/slurmctld.pid
SlurmdPidFile=$1/%n.pid
SlurmctldLogFile=$1/log/slurmctld.log
SlurmdLogFile=$1/log/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory,CR_LLN
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
ReturnToService=2
SlurmdTimeout=6
MessageTimeout=4
KillWait=20
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
CONF
  for i in $(seq "$2"); do
    echo "NodeName=n$i NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$(($3 + i)) CPUs=2 RealMemory=6000 State=UNKNOWN"
  done
  echo "PartitionName=main Nodes=n[1-$2] Default=YES MaxTime=INFINITE State=UP"
}

free_port() { # the first of 40 neighbouring ports that nothing uses
  python3 - <<'PY'
import random, socket
while True:
    first = random.randrange(20_000, 32_000)
    try:
        for port in range(first, first + 40):
            with socket.socket() as one:
                one.bind(("127.0.0.1", port))
    except OSError:
        continue
    print(first)
    break
PY
}

start_munge() { # DIR: a munged of our own, on a socket in DIR
  mungekey --create --keyfile "$1/munge.key"
  chmod 600 "$1/munge.key"
  munged --force --socket "$1/munge.socket" --key-file "$1/munge.key" --pid-file "$1/munged.pid" \
    --log-file "$1/log/munged.log" --seed-file "$1/munge.seed" 2>>"$1/log/munged.log"
}

verb=${1:?install, start or stop}
case $verb in
install)
  command -v slurmctld >/dev/null && command -v munged >/dev/null && exit 0
  apt-get update -qq && apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null
  ;;
start)
  dir=${2:?a directory}; nodes=${3:?how many nodes}
  mkdir -p "$dir"/{spool,state,log}; dir=$(realpath "$dir")
  start_munge "$dir"
  conf "$dir" "$nodes" "$(free_port)" >"$dir/slurm.conf"
  export SLURM_CONF=$dir/slurm.conf
  slurmctld -f "$SLURM_CONF"
  for i in $(seq "$nodes"); do mkdir -p "$dir/spool/n$i"; slurmd -f "$SLURM_CONF" -N "n$i"; done
  for _ in $(seq 120); do
    idle=$(sinfo -h -t idle -o %D 2>/dev/null || true)
    [ "$idle" = "$nodes" ] && { echo "SLURM_CONF=$SLURM_CONF"; exit 0; }
    sleep 0.25
  done
  tail -3 "$dir/log/slurmctld.log" >&2; exit 1
  ;;
stop)
  dir=$(realpath "${2:?a directory}")
  export SLURM_CONF=$dir/slurm.conf
  timeout 10 scancel --state=PENDING --user=root 2>/dev/null || true
  timeout 10 scancel --signal=KILL --full --user=root 2>/dev/null || true
  pids=$(cat "$dir"/*.pid 2>/dev/null || true)
  # shellcheck disable=SC2086 # one word a process
  end_processes 10 $pids
  # A killed slurmd leaves its slurmstepds.
  for stepd in $(pgrep -x slurmstepd || true); do
    tr '\0' '\n' <"/proc/$stepd/environ" 2>/dev/null | grep -qx "SLURM_CONF=$SLURM_CONF" && kill -9 "$stepd" || true
  done
  ;;
*)
  echo "slurm.sh: $verb is not install, start or stop" >&2; exit 2
  ;;
esac
