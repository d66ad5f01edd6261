#!/usr/bin/env bash
# Replaces what runs by another release, one process at a time: worker-a, worker-b, then the server.
#
#   RELEASE=2026-12-02 ./roll.sh            builds the images from this checkout
#   RELEASE=2026-12-02 ./roll.sh --no-build takes them as they are on this machine
#
# A new worker has to be ready before the next old one is stopped; where it is not, the rest stays on the old release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# From start to a registered worker, migrations included.
READY_TIMEOUT_S=${READY_TIMEOUT_S:-120}

fail() {
  echo "roll: $1" >&2
  exit "${2:-1}"
}

build=yes
case "${1:-}" in
  '') ;;
  --no-build) build=no ;;
  *) fail "unknown option $1; usage: RELEASE=label ./roll.sh [--no-build]" 2 ;;
esac
[[ "${RELEASE:-}" =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$ ]] ||
  fail "RELEASE must be a label of letters, digits, dots, dashes and underscores, for example RELEASE=$(date +%F)" 2
export RELEASE
for file in postgres.env server.env worker.env; do
  [ -f "$file" ] || fail "deploy/$file is missing: copy $file.example and fill it in" 2
done

compose() { docker compose --file compose.yaml "$@"; }

if [ "$build" = yes ]; then compose build worker-a server; fi
# Never recreated here: a change of PostgreSQL itself is a decision of its own.
compose up --detach --no-recreate --wait --wait-timeout "$READY_TIMEOUT_S" postgres

for service in worker-a worker-b server; do
  echo "roll: $service to $RELEASE"
  # --no-deps: the others keep what they run. --wait: until the health check of the new one says so.
  compose up --detach --no-deps --no-build --wait --wait-timeout "$READY_TIMEOUT_S" "$service" ||
    fail "$service did not become ready within $READY_TIMEOUT_S s; what comes after it was left as it is.
roll: look with: docker compose --file deploy/compose.yaml logs --tail 50 $service
roll: go back with: RELEASE=<the one before> deploy/roll.sh --no-build"
done
# Read by Compose itself: a later `docker compose up` by hand stays on this release.
others=$(grep -v '^RELEASE=' .env 2>/dev/null || true)
printf '%s\n' ${others:+"$others"} "RELEASE=$RELEASE" >.env.new && mv .env.new .env
echo "roll: everything runs $RELEASE"
