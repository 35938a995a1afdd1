# Functions of the measuring scripts: building, starting and stopping servers, medians. Source it.
# Servers run on core $SERVER_CORE, the load on $LOAD_CORE; only processes started here are stopped.
set -euo pipefail

SERVER_CORE=${SERVER_CORE:-0}
LOAD_CORE=${LOAD_CORE:-1}
ROUNDS=${ROUNDS:-5}
PORT=${PORT:-24100} # the first of a handful
LOAD_SECONDS=${LOAD_SECONDS:-60}
TRIES=${TRIES:-4}

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$bench")
work=$(mktemp -d)
raw=$work/raw.jsonl
declare -A pids=()

# ticks prints the time that all cores were busy so far, and the time that other machines took (steal), in hundredths of a second.
ticks() { awk '/^cpu / {for (n = 2; n <= 9; n++) sum += $n; print sum, $9}' /proc/stat; }
# since "TICKS" says which share of the processor time other machines had since then: so much of a measured second is missing.
since() { echo "$1 $(ticks)" | awk '{printf "# %.1f %% of the processor time was taken by other machines\n", 100 * ($4 - $2) / ($3 - $1 + 1)}'; }

die() { echo "$(basename "$0"): $*" >&2; exit 1; }
note() { echo "$*" >&2; }

# stop NAME ends a server started here.
stop() {
	local pid=${pids[$1]:-}
	[ -n "$pid" ] || return 0
	unset "pids[$1]"
	kill "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

cleanup() {
	local name
	for name in "${!pids[@]}"; do stop "$name"; done
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# start NAME COMMAND… runs a server on its core.
start() {
	local name=$1
	shift
	taskset -c "$SERVER_CORE" "$@" >"$work/$name.log" 2>&1 &
	pids[$name]=$!
}

# build compiles the load and the echoes; headgate itself is built by make. From then on the script's own work
# stays off the server's core.
build() {
	command -v jq >/dev/null || die "jq is needed"
	go -C "$bench" build -o "$work/load" ./load
	go -C "$bench" build -o "$work/echo" ./echo
	gcc -O2 -o "$work/echo-c" "$bench/echo/c/echo.c"
	taskset -cp "$LOAD_CORE" $$ >/dev/null
}

# ask COMMAND… runs the load on its core, for a bounded time.
ask() { timeout "$LOAD_SECONDS" taskset -c "$LOAD_CORE" "$work/load" "$@"; }

# await NAME udp|http ADDRESS [PATH] waits until a server answers, 10 s at most.
await() {
	local try args=(-addr "$3" -requests 1 -window 1 -timeout 50ms)
	[ "$2" = http ] && args+=(-path "${4:-/v1/check?rule=open&key={key}}")
	for try in $(seq 100); do
		kill -0 "${pids[$1]}" 2>/dev/null || break
		ask "$2" "${args[@]}" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	die "$1 does not answer at $3: $(tail -n 5 "$work/$1.log")"
}

# spent NAME prints how long, in ns, the threads of a server have run, and how long anything has on its core
# (by ticks, so only to a few per cent).
# Not %d: mawk stops at 2^31-1, two seconds, and every difference after that is 0.
spent() {
	local own all
	own=$(cat "/proc/${pids[$1]}"/task/*/schedstat 2>/dev/null | awk '{s += $1} END {printf "%.0f", s}')
	all=$(awk -v core="cpu$SERVER_CORE" '$1 == core {printf "%.0f", ($2 + $3 + $4 + $7 + $8 + $9) * 1e7}' /proc/stat)
	echo "${own:-0} ${all:-0}"
}

# record ROW WHO SERVER ROUND COMMAND… runs the load once and keeps its report, with how far others disturbed
# it: 1 is the most that counts as quiet, the load without its core for 5 % of the time or others on the
# server's for 10 %. (Measured: quiet runs stay below 9 %, busy ones begin at 20 %, a spinner shows as 53 %.)
# A disturbed run is repeated, at most TRIES times in all, and the least disturbed one is kept. How long the
# server was ready and did not run says nothing: each wake-up takes microseconds on a quiet machine too.
record() {
	local row=$1 who=$2 server=$3 round=$4 try report best=null own0 all0 own1 all1
	shift 4
	for try in $(seq "$TRIES"); do
		read -r own0 all0 < <(spent "$server")
		report=$(ask "$@" -json) || note "$row, $who, round $round, try $try: $(jq -r '"\(.lost) lost of \(.requests + .lost), load had its core for \(.core_share)"' <<<"${report:-null}" 2>/dev/null || echo no report)"
		[ -n "$report" ] || continue
		read -r own1 all1 < <(spent "$server")
		report=$(jq -c --arg row "$row" --arg who "$who" --argjson round "$round" \
			--argjson own $((own1 - own0)) --argjson all $((all1 - all0)) '
			{row: $row, who: $who, round: $round} + .
			+ {server_us: ($own / 1e3 / (.requests + .lost + .warmup)),
			   disturbed: ([0, (1 - .core_share) / 0.05, ($all - $own) / 1e9 / .seconds / 0.10] | max)}' <<<"$report")
		best=$(jq -cn --argjson a "$best" --argjson b "$report" 'if $a == null or $b.disturbed < $a.disturbed then $b else $a end')
		jq -en --argjson b "$best" '$b.disturbed <= 1' >/dev/null && break
	done
	[ "$best" != null ] || die "$row, $who: no report in $TRIES tries"
	echo "$best" >>"$raw"
}

# disturbed says how many kept runs others still disturbed.
disturbed() {
	jq -rs '"# \(map(select(.disturbed > 1)) | length) of \(length) runs were disturbed by other work (the load without its core for 5 % of the time, or others on the server core for 10 %)"' "$raw"
}

# machine prints the hardware, the software and the date of a measurement.
machine() {
	echo "# $(date -u +%Y-%m-%dT%H:%MZ), commit $(git -C "$root" describe --always --dirty 2>/dev/null || echo none)"
	echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc --all) cores, $(awk '/MemTotal/ {printf "%.0f", $2/1048576}' /proc/meminfo) GiB, Linux $(uname -r)"
	echo "# $(go version | cut -d' ' -f3-), $(nginx -v 2>&1 | sed 's/.*: //'), gcc $(gcc -dumpversion)"
	echo "# server on core $SERVER_CORE, load on core $LOAD_CORE, $ROUNDS interleaved rounds, load average at the start $(cut -d' ' -f1 /proc/loadavg)"
}

# spread prints, for every row and contender in $raw, the median and range of a field over the undisturbed
# runs, and how many of how many those were; where there were none, over all of them, marked.
spread() {
	jq -rs --arg field "$1" --arg unit "$2" '
		def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
		def figure: if . < 1000 then . * 10 | round / 10 else round end;
		group_by([.row, .who])[] | . as $all | map(select(.disturbed <= 1)) as $quiet
		| (if $quiet == [] then $all else $quiet end | map(getpath($field | split(".")))) as $v
		| "\(.[0].row)\t\(.[0].who)\t\($v | median | figure)\t\($v | min | figure)..\($v | max | figure)\t\($unit)\t\($quiet | length) of \($all | length)\(if $quiet == [] then ", ALL DISTURBED" else "" end)"' "$raw" |
		column -t -s $'\t'
}
