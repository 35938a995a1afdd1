#!/bin/bash
# The doors of headgate against bare echoes and nginx: server on one core, load
# on the other, rounds interleaved, ratios taken round by round and their median judged.
# Usage: bench/doors.sh [--without-headgate] [ROW…] > bench/results/doors.txt
# Rows: udp sockets unix latency packed asks http auth. Needs bin/headgate (make build). Exit 1 when a
# demand fails, 3 when the machine was too busy to judge them all.
. "$(dirname "$0")/lib.sh"

HEADGATE=${HEADGATE:-$root/bin/headgate}
REQUESTS=${REQUESTS:-300000}
THOUSANDS="-keys 4096 -dist uniform"
MILLION="-keys 1000000 -dist zipf -zipf-s 1.01"

with=1
if [ "${1:-}" = --without-headgate ]; then
	with=0
	shift
fi
rows=("$@")
[ $# -gt 0 ] || rows=(udp sockets unix latency packed asks http auth)

declare -A addr=(
	[c]=127.0.0.1:$PORT [go]=127.0.0.1:$((PORT + 1)) [go-batch]=127.0.0.1:$((PORT + 2))
	[unix-c]=unix:$work/c.sock [unix-go]=unix:$work/go.sock [unix-headgate]=unix:$work/hg.sock
	[nginx-204]=127.0.0.1:$((PORT + 3)) [nginx-limit_req]=127.0.0.1:$((PORT + 4)) [nginx-tight]=127.0.0.1:$((PORT + 5))
	[fasthttp-204]=127.0.0.1:$((PORT + 6)) [nethttp-204]=127.0.0.1:$((PORT + 7))
	[headgate]=127.0.0.1:$((PORT + 8)) [headgate-http]=127.0.0.1:$((PORT + 9)) [admin]=127.0.0.1:$((PORT + 10))
)

# The rule open allows everything asked here, tight refuses nearly everything.
headgate_config() {
	cat <<-YAML
		listen:
		  udp: ["${addr[headgate]}", "${addr[unix-headgate]}"]
		  http: "${addr[headgate-http]}"
		  admin: "${addr[admin]}"
		memory: 64MiB
		state_dir: ""
		rules:
		  - {name: open, limit: 1000000000, window: 10s, scope: node}
		  - {name: tight, limit: 100, window: 10s, scope: node}
		policies: # each request below these paths asks two questions, by the client and by it and its path
		  - {name: open-client, match: {path: "/open/**"}, limit: 1000000000, window: 10s}
		  - {name: open-path, match: {path: "/open/**"}, key: [client, path], limit: 1000000000, window: 10s}
		  - {name: tight-client, match: {path: "/tight/**"}, limit: 100, window: 10s}
		  - {name: tight-path, match: {path: "/tight/**"}, key: [client, path], limit: 1000000000, window: 10s}
	YAML
}

# limit_req is judged in a later phase than "return", so its locations answer with a static handler.
nginx_config() {
	cat <<-CONF
		daemon off; master_process off; worker_processes 1;
		pid $work/nginx.pid; error_log $work/nginx-error.log crit;
		events { worker_connections 4096; }
		http {
			access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
			client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
			uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
			limit_req_zone \$arg_key zone=wide:32m rate=1000000r/s;
			limit_req_zone \$arg_key zone=narrow:1m rate=1r/m;
			server { listen ${addr[nginx-204]}; location / { return 204; } }
			server { listen ${addr[nginx-limit_req]}; location / { limit_req zone=wide burst=1000000 nodelay; empty_gif; } }
			server { listen ${addr[nginx-tight]}; location / { limit_req zone=narrow; limit_req_status 429; empty_gif; } }
		}
	CONF
}

echoes() {
	start c "$work/echo-c" 127.0.0.1 "${addr[c]#*:}"
	start go "$work/echo" udp "${addr[go]}"
	start go-batch "$work/echo" udp-batch "${addr[go-batch]}"
	start unix-c "$work/echo-c" unix "${addr[unix-c]#unix:}"
	start unix-go "$work/echo" unixgram "${addr[unix-go]}"
	local name
	for name in c go go-batch unix-c unix-go; do await "$name" udp "${addr[$name]}"; done
}

https() {
	nginx_config >"$work/nginx.conf"
	start nginx nginx -p "$work" -c "$work/nginx.conf"
	start fasthttp-204 "$work/echo" http-fast "${addr[fasthttp-204]}"
	start nethttp-204 "$work/echo" http-std "${addr[nethttp-204]}"
	await nginx http "${addr[nginx-204]}"
	await fasthttp-204 http "${addr[fasthttp-204]}"
	await nethttp-204 http "${addr[nethttp-204]}"
	# Each server that is compared must do the work: a zone of one a minute has to refuse the second request.
	ask http -addr "${addr[nginx-tight]}" -requests 10 -window 1 -dist one -json |
		jq -e '.verdicts.deny == 9' >/dev/null || die "nginx limit_req does not limit"
}

headgate_up() {
	[ -x "$HEADGATE" ] || die "$HEADGATE is missing: make build, or --without-headgate"
	headgate_config >"$work/headgate.yaml"
	start headgate "$HEADGATE" serve -c "$work/headgate.yaml"
	await headgate udp "${addr[headgate]}"
	await headgate udp "${addr[unix-headgate]}"
	await headgate http "${addr[headgate-http]}"
	# The same for us: tight has to refuse most, open nothing.
	ask udp -addr "${addr[headgate]}" -rule tight -requests 1000 -dist one -json |
		jq -e '.verdicts.deny > 800' >/dev/null || die "headgate does not limit"
	ask udp -addr "${addr[headgate]}" -rule open -requests 1000 -dist one -json |
		jq -e '.verdicts.allow == 1000' >/dev/null || die "headgate refuses what it should allow"
}

# both ROW ADDRESS ROUND FLAGS… asks headgate by both rules.
both() {
	local rule row=$1 at=$2 round=$3
	shift 3
	[ $with = 1 ] || return 0
	for rule in open tight; do record "$row" "headgate-$rule" headgate "$round" "$1" -addr "${addr[$at]}" -rule $rule "${@:2}"; done
}

# echoed ROW ROUND "NAMES" FLAGS… asks each bare server.
echoed() {
	local name row=$1 round=$2 names=$3
	shift 3
	for name in $names; do record "$row" "$name" "${name/#nginx-*/nginx}" "$round" "$1" -addr "${addr[$name]}" "${@:2}"; done
}

row_udp() {
	local flags="udp -window 64 -warmup 20000 -requests $REQUESTS $THOUSANDS"
	echoed udp "$1" "c go go-batch" $flags
	both udp headgate "$1" $flags
}

# The same outstanding on 64 sockets: no reply can leave with another.
row_sockets() {
	local flags="udp -window 64 -sockets 64 -warmup 20000 -requests $REQUESTS $THOUSANDS"
	echoed sockets "$1" "c go go-batch" $flags
	both sockets headgate "$1" $flags
}

# A unix datagram socket queues ten (net.unix.max_dgram_qlen): a larger window would measure what each
# server does when its reply does not fit.
row_unix() {
	local flags="udp -window 10 -warmup 20000 -requests $REQUESTS $THOUSANDS"
	echoed unix "$1" "unix-c unix-go" $flags
	both unix unix-headgate "$1" $flags
}

row_latency() {
	local flags="udp -window 1 -warmup 1000 -requests $((REQUESTS / 10)) $THOUSANDS"
	echoed latency "$1" "c go go-batch" $flags
	both latency headgate "$1" $flags
}

row_packed() {
	local flags="udp -checks 40 -window 32 -warmup 5000 -requests $((REQUESTS / 4))"
	echoed packed-thousands "$1" c $flags $THOUSANDS
	both packed-thousands headgate "$1" $flags $THOUSANDS
	echoed packed-million "$1" c $flags $MILLION
	both packed-million headgate "$1" $flags $MILLION
}

# Whole requests with two questions each, 20 a packet.
row_asks() {
	local rule
	[ $with = 1 ] || return 0
	for rule in open tight; do
		record asks "headgate-$rule" headgate "$1" udp -addr "${addr[headgate]}" -line "ask method=GET path=/$rule/x host=a.example client={key}" \
			-checks 20 -window 32 -warmup 5000 -requests $((REQUESTS / 4)) $THOUSANDS
	done
}

# Whole requests with two questions each, as nginx and Envoy send them, beside a question by a rule. Without a
# trusted header the client is this host: the path makes the keys.
row_auth() {
	local path
	[ $with = 1 ] || return 0
	for path in 'check?rule=open&key={key}' 'auth/envoy/open/{key}'; do
		record auth "headgate-${path%%[?/]*}" headgate "$1" http -addr "${addr[headgate-http]}" -path "/v1/$path" -window 64 -warmup 5000 -requests $((REQUESTS / 2)) $THOUSANDS
	done
}

row_http() {
	local flags="http -window 64 -warmup 5000 -requests $((REQUESTS / 2)) $THOUSANDS"
	echoed http "$1" "nginx-limit_req nginx-204 fasthttp-204 nethttp-204" $flags
	both http headgate-http "$1" $flags
}

# judge prints one line for each demand. Exit 1: one failed; 3: none failed, but the machine was too busy
# to judge them all.
judge() {
	if [ $with = 0 ]; then
		echo "headgate was left out: nothing is judged"
		return 0
	fi
	jq -rs -f "$bench/doors.jq" "$raw" >"$work/verdicts"
	column -t -s $'\t' "$work/verdicts"
	! grep -q FAIL "$work/verdicts" || return 1
	! grep -q UNDECIDED "$work/verdicts" || return 3
}

build
for row in "${rows[@]}"; do declare -F "row_$row" >/dev/null || die "no row $row"; done
echoes
https
[ $with = 0 ] || headgate_up
machine
echo "# command: ROUNDS=$ROUNDS REQUESTS=$REQUESTS TRIES=$TRIES bench/doors.sh ${rows[*]}"
[ $with = 0 ] || echo "# headgate $("$HEADGATE" version 2>/dev/null | head -1)"
for round in $(seq "$ROUNDS"); do
	for row in "${rows[@]}"; do "row_$row" "$round"; done
done
[ -z "${RAW:-}" ] || cp "$raw" "$RAW"
disturbed
echo; echo "decisions or requests a second: median, range of $ROUNDS rounds"
spread decisions_per_s /s
echo; echo "p50 latency, µs"; spread latency_us.p50 us
echo; echo "processor time of the server a packet or request, µs"; spread server_us us
echo; judge
