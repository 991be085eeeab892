# SPDX-License-Identifier: Apache-2.0
# Runs one training to its end, once, beside a server.
#
#   train-once.sh WORK COMMAND...
#
# A Deployment starts a container again whenever it ends, also after success, and a finished run that is started again
# would publish its version again. So success leaves the file WORK/published, and from then on this waits for SIGTERM.
# SIGTERM goes on to the command, which writes its state; its exit code is handed back, so that Kubernetes starts a run
# that failed again, ever more slowly.
set -u
work=$1
shift
stopped=
child=
stop() {
  stopped=1
  if [ -n "$child" ]; then kill -TERM "$child" 2>/dev/null; fi
}
trap stop TERM INT

# await PID: its exit code. A trapped signal ends wait early, and one that came before `child` was set has reached nobody.
await() {
  child=$1
  if [ -n "$stopped" ]; then kill -TERM "$child" 2>/dev/null; fi
  wait "$child"
  code=$?
  while kill -0 "$child" 2>/dev/null; do
    wait "$child"
    code=$?
  done
  child=
  return "$code"
}

if [ ! -e "$work/published" ]; then
  "$@" &
  await "$!" || exit
  : >"$work/published" || exit 1
fi
echo "train-once: $work is published; waiting for the end" >&2
# Short sleeps: a signal that meets a process between fork and exec is lost.
while [ -z "$stopped" ]; do
  sleep 2 &
  await "$!"
done
exit 0
