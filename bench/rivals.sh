#!/bin/bash
# headgate's decision in process against other Go limiters, and their memory.
# Usage: bench/rivals.sh > bench/results/rivals.txt   (COUNT runs each; about COUNT minutes)
. "$(dirname "$0")/lib.sh"

COUNT=${COUNT:-6}
cd "$bench/rivals"
export GOFLAGS="${GOFLAGS:-} -mod=mod" # go.sum follows what headgate itself requires
go vet .
go test -count=1 . >/dev/null
machine | grep -v 'server on core'
echo "# command: bench/rivals.sh, COUNT=$COUNT; ns/op of 2,000,000 decisions, -2: two goroutines on two cores"
go test -run xxx -bench Take -benchtime 2000000x -cpu 1,2 -count "$COUNT" . >"$work/take.txt"
go test -run xxx -bench Memory -benchtime 1x -cpu 1 -count 3 . >"$work/memory.txt"

# medians prints the median of the field before UNIT for each benchmark of a file.
medians() {
	awk -v unit="$2" '/^Benchmark/ {for (i = 2; i < NF; i++) if ($(i+1) == unit) print $1 "\t" $i}' "$1" |
		sort -s -k1,1 -k2,2n | awk -F '\t' '
			function put() {if (n) printf "%s\t%.4g\n", name, (v[int((n+1)/2)] + v[int((n+2)/2)]) / 2}
			$1 != name {put(); name = $1; n = 0}
			{v[++n] = $2}
			END {put()}'
}
echo; echo "ns a decision, median"; medians "$work/take.txt" ns/op | column -t
echo; echo "allocations a decision, median"; medians "$work/take.txt" allocs/op | awk '$2 > 0' | column -t
echo; echo "bytes a key, a million keys, median"; medians "$work/memory.txt" B/key | column -t
echo; cat "$work/take.txt" "$work/memory.txt"
