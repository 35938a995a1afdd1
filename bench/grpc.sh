#!/bin/bash
# The gRPC door (RLS, two descriptors that name rules) beside a bare grpc-go server and a server in C that decides
# nothing, by h2load, rounds interleaved: requests a second, and the server's processor time a request.
# Usage: bench/grpc.sh > bench/results/grpc.txt   (ROUNDS=5; CALLS=200000 a round and server)
. "$(dirname "$0")/lib.sh"

CALLS=${CALLS:-200000}
command -v h2load >/dev/null || die "h2load is needed (nghttp2-client)"
(cd "$root" && go build -o "$work/headgate" ./cmd/headgate)
(cd "$root/edge/door/grpc/interop" && go build -o "$work/bare" ./bare)
gcc -O2 -o "$work/canned" "$bench/echo/c/canned.c"
cat >"$work/headgate.yaml" <<YAML
listen: {udp: [], http: [], admin: [], grpc: "127.0.0.1:$PORT"}
rules: [{name: a, limit: 1000000000, window: 10s}, {name: b, limit: 1000000000, window: 1m}]
YAML
# RateLimitRequest: domain 1; descriptors 2 of entries 1 {key 1, value 2}
printf '\0\0\0\0\x4c\x0a\x01d\x12\x21\x0a\x09\x0a\x04rule\x12\x01a\x0a\x14\x0a\x07address\x12\x09192.0.2.1\x12\x24\x0a\x09\x0a\x04rule\x12\x01b\x0a\x17\x0a\x04user\x12\x0fanna@example.or' >"$work/call"
printf '\0\0\0\0' | cat - <(printf "\\x$(printf %02x $(($(wc -c <"$work/call") - 5)))") <(tail -c +6 "$work/call") >"$work/body"
# RateLimitResponse: overall_code 1 OK; two statuses of code OK
printf '\0\0\0\0\x0a\x08\x01\x12\x02\x08\x01\x12\x02\x08\x01' >"$work/answer"

machine
start headgate env GOMAXPROCS=1 "$work/headgate" serve -c "$work/headgate.yaml"
start bare env GOMAXPROCS=1 "$work/bare" "127.0.0.1:$((PORT + 1))"
start canned "$work/canned" 127.0.0.1 $((PORT + 2)) "$work/answer"
sleep 1

# spent PID prints the processor time of a process, in hundredths of a second.
spent() { awk '{print $14 + $15}' "/proc/$1/stat"; }

# run NAME PORT CONNECTIONS STREAMS prints one round.
run() {
	local before after rate
	before=$(spent "${pids[$1]}")
	rate=$(taskset -c "$LOAD_CORE" h2load -n "$CALLS" -c "$3" -m "$4" -d "$work/body" -H 'content-type: application/grpc' -H 'te: trailers' \
		"http://127.0.0.1:$2/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit" 2>&1 |
		tee "$work/h2load.log" | awk '/^finished in/ {print $4}')
	after=$(spent "${pids[$1]}")
	grep -q " $CALLS succeeded, 0 failed" "$work/h2load.log" || die "$1: $(grep '^requests' "$work/h2load.log")"
	awk -v n="$1" -v c="$3" -v m="$4" -v r="$rate" -v t="$((after - before))" -v calls="$CALLS" \
		'BEGIN {printf "%-9s %3d x %-3d %9d calls/s %6.2f us of processor time a call\n", n, c, m, r, t * 10000 / calls}'
}
for ((round = 0; round < ROUNDS; round++)); do
	for form in "2 32" "64 1"; do
		# shellcheck disable=SC2086 # two words
		run headgate "$PORT" $form
		# shellcheck disable=SC2086 # likewise
		run bare $((PORT + 1)) $form
		# shellcheck disable=SC2086 # likewise
		run canned $((PORT + 2)) $form
	done
done | sort -s -k1,1 -k2,4
