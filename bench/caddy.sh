#!/bin/bash
# The time that asking headgate adds to a request in Caddy: by forward_auth, as `headgate init caddy` has it, and by the module of
# edge/client/caddy, over UDP and over a unix socket; one client that asks one site after the other.
# Usage: bench/caddy.sh > bench/results/caddy.txt   (a minute; the first time the build of Caddy besides)
. "$(dirname "$0")/lib.sh"

cd "$root"
machine | grep -v 'server on core'
echo "# Caddy $(go -C edge/client/caddy list -m -f '{{.Version}}' github.com/caddyserver/caddy/v2), load average at the start $(cut -d' ' -f1 /proc/loadavg)"
echo "# command: bench/caddy.sh"
status=0
go -C edge/client/caddy test -tags soak -count=1 -timeout 30m -v -run '^TestOverhead$' . >"$work/log.txt" 2>&1 || status=$?
grep -E 'p50|^(FAIL|--- FAIL)' "$work/log.txt" | sed -E 's/^ +overhead_soak_test\.go:[0-9]+: //'
echo "# load average at the end $(cut -d' ' -f1 /proc/loadavg)"
exit "$status"
