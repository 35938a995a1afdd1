#!/bin/bash
# Which HTTP library the decision listener should use: a prototype of GET /v1/check on net/http and on
# fasthttp, rounds interleaved, and the memory that 1,000 idle keep-alive connections cost when headers
# of 64 KiB must be accepted. Usage: bench/http-library.sh > bench/results/http-library.txt
. "$(dirname "$0")/lib.sh"

CONNECTIONS=${CONNECTIONS:-64}
REQUESTS=${REQUESTS:-100000}
IDLE=1000
target='/v1/check?rule=per-ip&key={key}'
names=(check-std check-fast check-fast-lean)
declare -A port=([check-std]=$PORT [check-fast]=$((PORT + 1)) [check-fast-lean]=$((PORT + 2)))

at() { echo "127.0.0.1:${port[$1]}"; }
rss() { awk '/VmRSS/ {printf "%.1f", $2/1024}' "/proc/${pids[$1]}/status"; }
serve() {
	start "$1" "$work/echo" "$1" "$(at "$1")"
	await "$1" http "$(at "$1")" "$target"
}

speed() {
	local round name
	for name in "${names[@]}"; do serve "$name"; done
	for round in $(seq "$ROUNDS"); do
		for name in "${names[@]}"; do
			record "$CONNECTIONS-conns" "$name" "$name" "$round" http -addr "$(at "$name")" -path "$target" -window "$CONNECTIONS" -warmup 5000 -requests "$REQUESTS"
			record one-conn "$name" "$name" "$round" http -addr "$(at "$name")" -path "$target" -window 1 -warmup 1000 -requests $((REQUESTS / 10))
		done
	done
	for name in "${names[@]}"; do stop "$name"; done
}

# headers NAME BYTES prints the status of a request with that much in its headers.
headers() {
	local i args=()
	for i in $(seq $(($2 / 1024))); do args+=(-H "X-$i: $(printf 'a%.0s' $(seq 1015))"); done
	curl -s -o /dev/null -w '%{http_code}' "${args[@]}" "http://$(at "$1")/v1/check?rule=per-ip&key=k" || true
}

# idle NAME HEADER_BYTES prints the memory of IDLE connections after one request each.
idle() {
	local name=$1 fresh used collected
	serve "$name"
	curl -s "http://$(at "$name")/mem" >/dev/null
	fresh=$(rss "$name")
	rm -f "$work/held" # the report of the case before would be taken for this one's
	taskset -c "$LOAD_CORE" "$work/load" http -addr "$(at "$name")" -path "$target" -window $IDLE -requests $IDLE \
		-header-bytes "$2" -hold -json >"$work/held" &
	pids[held]=$!
	for _ in $(seq 100); do [ -s "$work/held" ] && break; sleep 0.1; done
	[ -s "$work/held" ] || die "$name: the idle connections did not come up"
	[ "$(find "/proc/${pids[$name]}/fd" -lname 'socket:*' | wc -l)" -gt $IDLE ] || die "$name: fewer than $IDLE connections are open"
	used=$(rss "$name")
	collected=$(curl -s "http://$(at "$name")/mem")
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$2" "$fresh" "$used" "$(rss "$name")" "$collected"
	stop held
	stop "$name"
}

memory() {
	local name bytes
	printf 'server\theader bytes\tfresh MiB\tafter one request each\tafter a collection\tGo bytes then\n'
	for bytes in 0 60000; do
		for name in "${names[@]}"; do idle "$name" "$bytes"; done
	done
}

limits() {
	local name
	for name in "${names[@]}"; do
		serve "$name"
		echo "$name: 62 KiB of headers answered $(headers "$name" 63488), 80 KiB $(headers "$name" 81920)"
		stop "$name"
	done
}

# ratios prints fasthttp against net/http, from the rounds in which neither was disturbed.
ratios() {
	jq -rs '
		def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
		group_by([.row, .round]) | map(
			map(select(.who == "check-std"))[0] as $std | .[] | select(.who != "check-std")
			| {row, who, ratio: (.requests_per_s / $std.requests_per_s), quiet: (.disturbed <= 1 and $std.disturbed <= 1)})
		| group_by([.row, .who])[] | length as $all | map(select(.quiet).ratio) as $r
		| "\(.[0].row)\t\(.[0].who) / check-std\t\(if ($r | length) < 3 then "UNDECIDED" else $r | median * 1000 | round / 1000 end)\t\($r | length) of \($all) rounds undisturbed"' "$raw" |
		column -t -s $'\t'
}

build
machine
echo "# fasthttp $(cd "$bench" && go list -m -f '{{.Version}}' github.com/valyala/fasthttp); command: ROUNDS=$ROUNDS REQUESTS=$REQUESTS TRIES=$TRIES bench/http-library.sh"
speed
disturbed
echo; echo "requests/s against net/http, median of the rounds"; ratios
echo; echo "requests/s: median, range"; spread requests_per_s /s
echo; echo "processor time of the server a request, µs: median, range"; spread server_us us
echo; echo "p50 latency, µs: median, range"; spread latency_us.p50 us
echo; echo "p99 latency, µs: median, range"; spread latency_us.p99 us
echo; echo "$IDLE idle keep-alive connections, resident MiB"; memory | column -t -s $'\t'
echo; limits
