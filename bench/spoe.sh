#!/bin/bash
# What asking adds to a request in HAProxy: by SPOE, over TCP and over a unix socket, by Lua, and by SPOE to an agent in C that decides
# nothing, which is HAProxy's own part. Each has a HAProxy of one thread that answers by itself; HAProxy and the load share a core,
# headgate has the other. One client's time of a request (p50), requests a second of 32 clients, and the processor time of a request, of
# HAProxy and of who answers it. Rounds are interleaved.
# Usage: bench/spoe.sh > bench/results/spoe.txt   (ROUNDS=5; REQUESTS=100000 a round and way, a tenth of it by one client)
. "$(dirname "$0")/lib.sh"

REQUESTS=${REQUESTS:-100000}
PATH=$PATH:/usr/sbin
for program in haproxy h2load gcc curl; do command -v "$program" >/dev/null || die "$program is needed"; done
(cd "$root" && go build -o "$work/headgate" ./cmd/headgate)
gcc -O2 -o "$work/agent" "$bench/echo/c/agent.c"
spop=$((PORT + 6)) agent=$((PORT + 7))
cat >"$work/headgate.yaml" <<YAML
listen: {udp: [], http: "127.0.0.1:$((PORT + 5))", admin: [], spop: ["127.0.0.1:$spop", "unix:$work/spop.sock"]}
clients: {from: peer}
rules: [{name: per-ip, limit: 1000000000, window: 1h}]
policies: [{name: everybody, match: {}, rules: [per-ip]}]
YAML

# write WAY PORT SNIPPET… writes the configuration of a HAProxy; without a snippet it asks nobody.
write() {
	local way=$1 port=$2 global="" ask="" rest=""
	shift 2
	if [ $# -gt 0 ]; then
		"$work/headgate" init "$@" --timeout 1s --write "$work/$way" >/dev/null 2>&1
		sed -i "s#/etc/haproxy/#$work/$way/#" "$work/$way/headgate.cfg"
		global=$(sed '/^# In the frontend/,$d' "$work/$way/headgate.cfg")
		ask=$(sed '1,/^# In the frontend/d; /^# A section of its own/,$d' "$work/$way/headgate.cfg")
		rest=$(sed '1,/^# A section of its own/d' "$work/$way/headgate.cfg")
	fi
	printf '%s\n' global "    nbthread 1" "    maxconn 200" "$global" defaults "    mode http" "    timeout client 30s" "    timeout connect 5s" "    timeout server 30s" \
		"frontend site" "    bind 127.0.0.1:$port" "$ask" "    http-request return status 200 content-type text/plain string ok" "$rest" >"$work/$way.cfg"
}
write bare "$PORT"
write spoe $((PORT + 1)) haproxy --address "127.0.0.1:$spop"
write spoe-unix $((PORT + 2)) haproxy --address "unix:$work/spop.sock"
write lua $((PORT + 3)) haproxy-lua --address "127.0.0.1:$((PORT + 5))"
write spoe-agent $((PORT + 4)) haproxy --address "127.0.0.1:$agent"

machine
echo "# $(haproxy -v | head -1 | cut -d' ' -f1-3); HAProxy on core $LOAD_CORE, too"
start headgate "$work/headgate" serve -c "$work/headgate.yaml"
start agent "$work/agent" 127.0.0.1 "$agent"
sleep 1
SERVER_CORE=$LOAD_CORE
ways=(bare spoe spoe-unix lua spoe-agent)
for way in "${ways[@]}"; do start "$way" haproxy -db -f "$work/$way.cfg"; done
sleep 1
for n in 1 2 3 4; do
	curl -sS -D - -o /dev/null "http://127.0.0.1:$((PORT + n))/" | grep -qi '^ratelimit:' || die "${ways[$n]} does not ask: $(tail -n 3 "$work/${ways[$n]}.log")"
done

# spent WAY prints how long, in ns, HAProxy and who answers it have run.
spent() {
	local who=headgate
	[ "$1" = spoe-agent ] && who=agent
	cat "/proc/${pids[$1]}"/task/*/schedstat /proc/"${pids[$who]}"/task/*/schedstat | awk '{s += $1} END {printf "%.0f", s}'
}

# load PORT REQUESTS CLIENTS asks, and leaves the time of each request in the file log.
load() {
	rm -f "$work/log"
	taskset -c "$LOAD_CORE" h2load --h1 -n "$2" -c "$3" --log-file "$work/log" "http://127.0.0.1:$1/" >"$work/h2load" 2>&1
	grep -q "status codes: $2 2xx" "$work/h2load" || die "port $1: $(grep -E '^(requests|status)' "$work/h2load")"
}

# run WAY PORT prints a round.
run() {
	local before p50
	load "$2" $((REQUESTS / 10)) 1
	p50=$(cut -f3 "$work/log" | sort -n | awk '{t[NR] = $1} END {print t[int((NR + 1) / 2)]}')
	before=$(spent "$1")
	load "$2" "$REQUESTS" 32
	awk -v w="$1" -v p="$p50" -v r="$(awk '/^finished in/ {print $4}' "$work/h2load")" -v s=$(($(spent "$1") - before)) -v n="$REQUESTS" \
		'BEGIN {printf "%-11s one client: p50 %5d us; 32 clients: %8.0f requests/s, %6.2f us of processor time a request\n", w, p, r, s / 1e3 / n}'
}
for ((round = 0; round < ROUNDS; round++)); do
	for n in "${!ways[@]}"; do run "${ways[$n]}" $((PORT + n)); done
done | sort -s -k1,1
