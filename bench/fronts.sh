#!/bin/bash
# The time that asking headgate adds to a request in each proxy that `headgate init` has a snippet for: one client that asks one thing
# after the other, of the proxy with the snippet and of the same proxy without it, in turns.
# Usage: bench/fronts.sh > bench/results/fronts.txt   (half a minute)
. "$(dirname "$0")/lib.sh"

cd "$root"
PATH=$PATH:/usr/sbin:/sbin # Debian keeps proxies there
machine | grep -v 'server on core'
echo "# $(haproxy -v | head -1 | cut -d' ' -f1-3), Caddy $(caddy version), load average at the start $(cut -d' ' -f1 /proc/loadavg)"
echo "# command: bench/fronts.sh"
status=0
go test -tags soak -count=1 -v -run '^TestFrontOverhead$' ./cmd/headgate/systemtest >"$work/log.txt" 2>&1 || status=$?
grep -E 'guarded|^(FAIL|--- FAIL)' "$work/log.txt" | sed -E 's/^ +front_soak_test\.go:[0-9]+: //'
echo "# load average at the end $(cut -d' ' -f1 /proc/loadavg)"
exit "$status"
