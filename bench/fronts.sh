#!/bin/bash
# The time that asking headgate adds to a request in each proxy that `headgate init` has a snippet for: one client that asks one thing
# after the other, of the proxy with the snippet and of the same proxy without it, in turns.
# Usage: bench/fronts.sh > bench/results/fronts.txt   (half a minute). AWAKE=1 keeps the cores from sleeping, by loops at the lowest
# priority: most of what a question adds on a machine with nothing else to do is that a core is woken for it.
. "$(dirname "$0")/lib.sh"

cd "$root"
PATH=$PATH:/usr/sbin:/sbin # Debian keeps proxies there
machine | grep -v 'server on core'
echo "# $(haproxy -v | head -1 | cut -d' ' -f1-3), Caddy $(caddy version), load average at the start $(cut -d' ' -f1 /proc/loadavg)"
echo "# command: bench/fronts.sh"
if [ -n "${AWAKE:-}" ]; then
	for core in $(seq 0 $(($(nproc) - 1))); do
		taskset -c "$core" nice -n 19 bash -c 'while :; do :; done' &
		pids[awake$core]=$!
	done
fi
status=0
go test -tags soak -count=1 -v -run '^TestFrontOverhead$' ./cmd/headgate/systemtest/front >"$work/log.txt" 2>&1 || status=$?
grep -E 'guarded|^(FAIL|--- FAIL)' "$work/log.txt" | sed -E 's/^ +front_soak_test\.go:[0-9]+: //'
echo "# load average at the end $(cut -d' ' -f1 /proc/loadavg)"
exit "$status"
