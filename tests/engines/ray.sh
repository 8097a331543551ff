#!/usr/bin/env bash
# A real Ray cluster of several nodes on loopback, for tests.
#   ray.sh start DIR NODES   start a head without cores and NODES nodes (n1, n2, ...) and print RAY_ADDRESS=...
#   ray.sh stop DIR          stop them
# PYTHON names an interpreter that has ray. A node dies by: kill -9 "$(cat DIR/n1.raylet)"
# Usage statistics are off, and there is no dashboard. DIR must be short: sockets are below it.
#
# Ray replaces 127.0.0.1 by the machine's address in its network, and then listens on all interfaces. Here it must
# not, so `ray start` is run without that. What connects to the cluster needs RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0,
# which has Ray keep 127.0.0.1 there.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/end_processes.bash"
python=${PYTHON:-python3}
as_is='
from ray._private import services
services.resolve_ip_for_localhost = lambda host: host
from ray.scripts.scripts import main
main()
'

start_node() { # DIR NAME ARGUMENT...
  local dir=$1 name=$2
  shift 2
  nohup "$python" -c "$as_is" start --block --node-ip-address 127.0.0.1 --node-name "$name" --object-store-memory 80000000 \
    --disable-usage-stats "$@" >"$dir/log/$name.log" 2>&1 </dev/null &
  echo $! >"$dir/$name.pid"
  raylet_of "$dir" "$name" >"$dir/$name.raylet"
}

raylet_of() { # DIR NAME: the process id, once it has one
  for _ in $(seq 240); do
    for pid in $(pgrep -x raylet || true); do
      local words
      words=$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || true)
      if [[ $words == *"$1/"* && $words == *"--node-name=$2 "* ]]; then echo "$pid"; return; fi
    done
    sleep 0.25
  done
  tail -3 "$1/log/$2.log" >&2
  return 1
}

free_port() {
  python3 -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])'
}

verb=${1:?start or stop}; dir=${2:?a directory}
case $verb in
start)
  nodes=${3:?how many nodes}
  mkdir -p "$dir/log"; dir=$(realpath "$dir")
  port=$(free_port)
  start_node "$dir" head --head --port "$port" --num-cpus 0 --temp-dir "$dir/ray" --include-dashboard false
  for i in $(seq "$nodes"); do start_node "$dir" "n$i" --address "127.0.0.1:$port" --num-cpus 2; done
  echo "RAY_ADDRESS=127.0.0.1:$port"
  ;;
stop)
  dir=$(realpath "$dir")
  pids=$(cat "$dir"/*.pid "$dir"/*.raylet 2>/dev/null || true)
  # shellcheck disable=SC2086 # one word a process
  end_processes 20 $pids
  ;;
*)
  echo "ray.sh: $verb is not start or stop" >&2; exit 2
  ;;
esac
