#!/bin/bash
# One limit over three PoPs on real processes: 6 daemons and 3 memcached on loopback, or in network namespaces where packets are
# lost. Steps, moving attacks, dead owners and rings, partitions, loss, a member that lies, many keys. Every figure is logged
# by a test of cmd/headgate/systemtest/together; a line with "want" is a bound that was missed.
# Usage: bench/global.sh > bench/results/global.txt   (about 20 minutes; RUN=Name to narrow)
. "$(dirname "$0")/lib.sh"

cd "$root"
machine | grep -v 'server on core'
echo "# $(memcached -V), other work on the same cores, load average at the start $(cut -d' ' -f1 /proc/loadavg)"
echo "# command: bench/global.sh; make test runs the ones without Soak, make soak all of them"
status=0
began=$(ticks)
go test -tags soak -count=1 -timeout 60m -v -run "${RUN:-^TestWorld}" ./cmd/headgate/systemtest/together >"$work/log.txt" 2>&1 || status=$?
# names and results of tests, and what they say without the line that says it
sed -E -e 's/^=== RUN +/\n/' -e 's/^( +(ring|world)_[a-z]+_?(test|linux_test)?\.go:[0-9]+: )+/  /' "$work/log.txt" | cut -c1-700
echo "# load average at the end $(cut -d' ' -f1 /proc/loadavg)"
since "$began"
exit "$status"
