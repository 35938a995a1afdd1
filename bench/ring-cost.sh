#!/bin/bash
# The cost of counting together over memcached for a node that decides all the time.
# Usage: bench/ring-cost.sh > bench/results/ring-cost.txt   (KEYS active keys, 10 times as many additions a second; a minute)
. "$(dirname "$0")/lib.sh"

KEYS=${KEYS:-10000}
cd "$root"
go -C bench build -o "$work/ring" ./ring
SERVER_CORE=0,1 start memcached memcached -l 127.0.0.1 -p "$PORT" -m 256 -U 0 -u nobody -t 1
sleep 0.5
machine | grep -v 'server on core'
echo "# command: bench/ring-cost.sh, KEYS=$KEYS; $(memcached -V) with one thread; nothing is bound to a core"
"$work/ring" -servers "127.0.0.1:$PORT" -keys "$KEYS" -rounds "$ROUNDS"
