# Sourced by the scripts beside it.

end_processes() { # SECONDS PID...: end them cleanly, and those that are left then with SIGKILL
  local quarters=$(($1 * 4))
  shift
  kill "$@" 2>/dev/null || true
  while ((quarters-- > 0)); do
    kill -0 "$@" 2>/dev/null || return 0
    sleep 0.25
  done
  kill -9 "$@" 2>/dev/null || true
}
