#!/bin/bash
# The counting of a PoP on real processes: 4 daemons, 3 memcached, on loopback. Limits, other clients of the same counters,
# faults, lies, and how long clients wait meanwhile. A test of cmd/headgate/systemtest/together logs every figure.
# Usage: bench/ring.sh > bench/results/ring-faults.txt   (about 12 minutes; RUN=Name to narrow)
. "$(dirname "$0")/lib.sh"

cd "$root"
machine | grep -v 'server on core'
echo "# $(memcached -V), other work on the same cores, load average at the start $(cut -d' ' -f1 /proc/loadavg)"
echo "# command: bench/ring.sh; make test runs the ones without Soak, make soak all of them"
status=0
go test -tags soak -count=1 -timeout 60m -v -run "${RUN:-^TestRing(SmallLimit|LargeLimit|Read|Behind|Faults|Liar|Soak)}" ./cmd/headgate/systemtest/together >"$work/log.txt" 2>&1 || status=$?
# names and results of tests, and their log without line numbers
sed -E -e 's/^=== RUN +/\n/' -e 's/^( +ring_[a-z]+_test\.go:[0-9]+: )+/  /' "$work/log.txt"
exit "$status"
