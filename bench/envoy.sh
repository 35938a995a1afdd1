#!/bin/bash
# headgate's rate limit service beside envoyproxy/ratelimit with Redis, by one file of limits and calls of two descriptors: calls a
# second by h2load, the processor time a call (of theirs with Redis), the same with a traceparent of its own in each call, and how
# long a call of grpc-go takes at 8 callers: likewise of a server in C that sends headgate's answer and does nothing else, which is
# the callers' own time. Servers have one core; Redis runs on the load's. Rounds are interleaved.
# Usage: bench/envoy.sh > bench/results/envoy.txt   (ROUNDS=5; CALLS=100000 a round and server, a tenth of it at theirs)
. "$(dirname "$0")/lib.sh"

CALLS=${CALLS:-100000}
for program in h2load redis-server curl gcc; do command -v "$program" >/dev/null || die "$program is needed"; done
(cd "$root" && go build -o "$work/headgate" ./cmd/headgate)
go -C "$bench" build -o "$work/calls" ./calls
(cd "$root/edge/door/grpc/interop" && go build -o "$work/callers" ./callers)
(cd "$root/edge/config/envoy/oracle" && go build -o "$work/service" github.com/envoyproxy/ratelimit/src/service_cmd)
gcc -O2 -o "$work/canned" "$bench/echo/c/canned.c"
mkdir -p "$work/runtime/ratelimit/config"
cat >"$work/runtime/ratelimit/config/limits.yaml" <<YAML
domain: d
descriptors:
  - {key: address, rate_limit: {unit: hour, requests_per_unit: 1000000000}}
  - {key: user, rate_limit: {unit: hour, requests_per_unit: 1000000000}}
YAML
cat >"$work/headgate.yaml" <<YAML
listen: {udp: [], http: [], admin: [], grpc: "127.0.0.1:$PORT"}
rules: []
rls: {files: ["$work/runtime/ratelimit/config/*.yaml"]}
YAML
# RateLimitRequest: domain 1; descriptors 2 of entries 1 {key 1, value 2}; in a gRPC frame
printf '\0\0\0\0\x36\x0a\x01d\x12\x16\x0a\x14\x0a\x07address\x12\x09192.0.2.1\x12\x19\x0a\x17\x0a\x04user\x12\x0fanna@example.or' >"$work/body"

machine
echo "# $(redis-server --version | cut -d' ' -f1-3); envoyproxy/ratelimit $(cd "$root/edge/config/envoy/oracle" && go list -m -f '{{.Version}}' github.com/envoyproxy/ratelimit)"
start headgate env GOMAXPROCS=1 "$work/headgate" serve -c "$work/headgate.yaml"
SERVER_CORE=$LOAD_CORE start redis redis-server --port $((PORT + 1)) --bind 127.0.0.1 --save '' --appendonly no
sleep 1
start service env GOMAXPROCS=1 REDIS_SOCKET_TYPE=tcp REDIS_URL="127.0.0.1:$((PORT + 1))" RUNTIME_ROOT="$work/runtime" RUNTIME_SUBDIRECTORY=ratelimit \
	RUNTIME_WATCH_ROOT=false USE_STATSD=false LOG_LEVEL=error GRPC_HOST=127.0.0.1 GRPC_PORT=$((PORT + 2)) HOST=127.0.0.1 PORT=$((PORT + 3)) \
	DEBUG_HOST=127.0.0.1 DEBUG_PORT=$((PORT + 4)) "$work/service"
sleep 3
curl -sS --http2-prior-knowledge -H 'content-type: application/grpc' -H 'te: trailers' --data-binary "@$work/body" -o "$work/answer" \
	"http://127.0.0.1:$PORT/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
start canned "$work/canned" 127.0.0.1 $((PORT + 5)) "$work/answer"

# used NAMES… prints the processor time of processes, in hundredths of a second.
used() {
	local name
	for name in "$@"; do awk '{print $14 + $15}' "/proc/${pids[$name]}/stat"; done | awk '{s += $1} END {print s}'
}

# run NAME PORT CALLS "PROCESSES" CONNECTIONS STREAMS prints a round by h2load.
run() {
	local before rate
	before=$(used $4)
	rate=$(taskset -c "$LOAD_CORE" h2load -n "$3" -c "$5" -m "$6" -d "$work/body" -H 'content-type: application/grpc' -H 'te: trailers' \
		"http://127.0.0.1:$2/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit" 2>&1 | tee "$work/h2load.log" | awk '/^finished in/ {print $4}')
	grep -q " $3 succeeded, 0 failed" "$work/h2load.log" || die "$1: $(grep '^requests' "$work/h2load.log")"
	awk -v n="$1" -v c="$5" -v m="$6" -v r="$rate" -v t="$(($(used $4) - before))" -v calls="$3" \
		'BEGIN {printf "%-9s %3d x %-3d %-12s %9d calls/s %7.2f us of processor time a call\n", n, c, m, "", r, t * 10000 / calls}'
}

# traced NAME PORT CALLS "PROCESSES" prints a round of 2 x 32 with a traceparent in each call, and one without.
traced() {
	local before rate with
	for with in "" -traceparent; do
		before=$(used $4)
		rate=$(taskset -c "$LOAD_CORE" "$work/calls" -at "127.0.0.1:$2" -body "$work/body" -n "$3" $with | awk '{print $1}') || die "$1: calls"
		awk -v n="$1" -v w="${with:+traceparent}" -v r="$rate" -v t="$(($(used $4) - before))" -v calls="$3" \
			'BEGIN {printf "%-9s %3d x %-3d %-12s %9d calls/s %7.2f us of processor time a call (raw frames)\n", n, 2, 32, w, r, t * 10000 / calls}'
	done
}
for ((round = 0; round < ROUNDS; round++)); do
	for form in "2 32" "64 1"; do
		# shellcheck disable=SC2086 # two words
		run headgate "$PORT" "$CALLS" headgate $form
		# shellcheck disable=SC2086 # likewise
		run service $((PORT + 2)) $((CALLS / 10)) "service redis" $form
	done
	traced headgate "$PORT" "$CALLS" headgate
	traced service $((PORT + 2)) $((CALLS / 10)) "service redis"
	for at in "headgate $PORT" "service $((PORT + 2))" "canned $((PORT + 5))"; do
		printf '%-9s %s\n' "${at% *}" "$(taskset -c "$LOAD_CORE" "$work/callers" "127.0.0.1:${at#* }" 8 3s)"
	done
done | sort -s -k1,1 -k2,5
