#!/usr/bin/env bash
# A real Docker engine for tests, as root on Debian.
#   docker.sh install              install Debian's docker.io and mmdebstrap
#   docker.sh start DIR            start a dockerd with all its files in DIR, without a bridge; print DOCKER_HOST=...
#   docker.sh stop DIR             stop it, with its containers
#   docker.sh image NAME TAR       give the engine of DOCKER_HOST an image with python3 from Debian's packages;
#                                  TAR is its file system, made if there is none (half a minute)
# No container registry is needed, and containers have no network.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/end_processes.bash"

verb=${1:?install, start, stop or image}
case $verb in
install)
  command -v dockerd >/dev/null && command -v mmdebstrap >/dev/null && exit 0
  apt-get update -qq && apt-get install -y -qq --no-install-recommends docker.io mmdebstrap >/dev/null
  ;;
start)
  dir=${2:?a directory}; mkdir -p "$dir"; dir=$(realpath "$dir")
  export DOCKER_HOST=unix://$dir/docker.sock
  nohup dockerd --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/dockerd.pid" --bridge=none \
    --iptables=false --host "$DOCKER_HOST" >"$dir/dockerd.log" 2>&1 </dev/null &
  for _ in $(seq 120); do
    docker version >/dev/null 2>&1 && { echo "DOCKER_HOST=$DOCKER_HOST"; exit 0; }
    sleep 0.25
  done
  tail -3 "$dir/dockerd.log" >&2; exit 1
  ;;
stop)
  dir=$(realpath "${2:?a directory}")
  pid=$(cat "$dir/dockerd.pid" 2>/dev/null) || exit 0
  end_processes 40 "$pid"
  ;;
image)
  name=${2:?an image name}; tar=${3:?a file}
  if [ ! -f "$tar" ]; then
    mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } | sed '/^ *#/d' |
      grep -oE 'https?://[^ ]+' | sed '/security/d' | sed -n 1p)
    half=$(dirname "$tar")/half-$$-$(basename "$tar")
    mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,ca-certificates \
      "$(. /etc/os-release; echo "$VERSION_CODENAME")" "$half" "$mirror" >&2
    mv "$half" "$tar"
  fi
  docker import "$tar" "$name"
  ;;
*)
  echo "docker.sh: $verb is not install, start, stop or image" >&2; exit 2
  ;;
esac
