#!/bin/bash
# CL.THROTTLE over RESP beside INCR of a Redis server, by redis-benchmark, rounds interleaved: 50 connections, 1,000,000 keys, at
# pipelines of 1, 16 and 64: requests a second, and the processor time a request of the server and of redis-benchmark. Both servers
# have one core, and redis-benchmark the other: whoever takes longer there sets the rate.
# Usage: bench/resp.sh > bench/results/resp.txt   (ROUNDS=3; REQUESTS=500000 a round and server)
. "$(dirname "$0")/lib.sh"

ROUNDS=${ROUNDS:-3}
REQUESTS=${REQUESTS:-500000}
for program in redis-server redis-benchmark; do command -v "$program" >/dev/null || die "$program is needed"; done
(cd "$root" && go build -o "$work/headgate" ./cmd/headgate)
cat >"$work/headgate.yaml" <<YAML
listen: {udp: [], http: "127.0.0.1:$((PORT + 2))", admin: [], resp: "127.0.0.1:$PORT"}
memory: 512MiB
rules: []
YAML

machine
echo "# $(redis-server --version | cut -d' ' -f1-3)"
start headgate env GOMAXPROCS=1 "$work/headgate" serve -c "$work/headgate.yaml"
start redis redis-server --port $((PORT + 1)) --bind 127.0.0.1 --save '' --appendonly no
for port in "$PORT" $((PORT + 1)); do # redis-benchmark never ends where nobody listens
	for _ in $(seq 100); do redis-cli -p "$port" ping >/dev/null 2>&1 && break || sleep 0.1; done
	redis-cli -p "$port" ping >/dev/null || die "nobody answers at port $port"
done

# ran PID prints how long, in ns, a process has run.
ran() { awk '{s += $1} END {printf "%.0f", s}' /proc/"$1"/task/*/schedstat; }

# run NAME PORT PIPELINE COMMAND… prints one round.
run() {
	local name=$1 port=$2 pipeline=$3 before rate
	shift 3
	before=$(ran "${pids[$name]}")
	TIMEFORMAT='%U %S'
	{ time taskset -c "$LOAD_CORE" redis-benchmark -p "$port" -c 50 -n "$REQUESTS" -P "$pipeline" -r 1000000 --csv "$@" >"$work/report" 2>/dev/null; } 2>"$work/time"
	rate=$(tail -1 "$work/report" | cut -d'"' -f4)
	awk -v w="$name" -v p="$pipeline" -v r="$rate" -v s=$(($(ran "${pids[$name]}") - before)) -v n="$REQUESTS" \
		'{printf "%-8s pipeline %2d %10.0f requests/s %6.2f us of processor time a request, redis-benchmark %5.2f us\n", w, p, r, s / 1e3 / n, ($1 + $2) * 1e6 / n}' "$work/time"
}
for ((round = 0; round < ROUNDS; round++)); do
	for pipeline in 1 16 64; do
		run headgate "$PORT" "$pipeline" CL.THROTTLE user:__rand_int__ 15 30 60
		run redis $((PORT + 1)) "$pipeline" INCR user:__rand_int__
	done
done | sort -s -k3,3n -k1,1
