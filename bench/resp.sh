#!/bin/bash
# CL.THROTTLE over RESP beside INCR of a Redis server, by redis-benchmark, rounds interleaved: 50 connections, 1,000,000 keys, at
# pipelines of 1, 16 and 64. Both servers have one core.
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
sleep 1

# run NAME PORT PIPELINE COMMAND… prints one round.
run() {
	local name=$1 port=$2 pipeline=$3 rate
	shift 3
	rate=$(taskset -c "$LOAD_CORE" redis-benchmark -p "$port" -c 50 -n "$REQUESTS" -P "$pipeline" -r 1000000 --csv "$@" 2>/dev/null | tail -1 | cut -d'"' -f4)
	printf '%-8s pipeline %2d %10.0f requests/s\n' "$name" "$pipeline" "$rate"
}
for ((round = 0; round < ROUNDS; round++)); do
	for pipeline in 1 16 64; do
		run headgate "$PORT" "$pipeline" CL.THROTTLE user:__rand_int__ 15 30 60
		run redis $((PORT + 1)) "$pipeline" INCR user:__rand_int__
	done
done | sort -s -k3,3n -k1,1
