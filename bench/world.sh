#!/bin/sh
# The world: the control loop on virtual time, at 3, 10, 100 and 1000 nodes, under seeds that no setting was chosen by.
# About twenty minutes, half of them the many keys, which take 2 GB. Run it alone if you want to know how long it takes; its figures do not depend on the machine.
set -eu
cd "$(dirname "$0")/.."
out=bench/results/world.txt
{
	echo "# bench/world.sh, commit $(git rev-parse --short HEAD), $(go version | cut -d' ' -f3)"
	for n in 3 10 100 1000; do
		echo "# go -C bench run ./world -n $n -seed 21,22,23"
		go -C bench run ./world -n "$n" -seed 21,22,23 2>/dev/null
	done
	echo "# go -C bench run ./world -n 3 -seed 21,22,23 -scenario keys"
	go -C bench run ./world -n 3 -seed 21,22,23 -scenario keys 2>/dev/null
	echo "# go -C bench run ./world -fast -n 100,1000 -seed 21 -scenario step,below,nodes,ring"
	go -C bench run ./world -fast -n 100,1000 -seed 21 -scenario step,below,nodes,ring 2>/dev/null
} >"$out"
echo "written to $out"
