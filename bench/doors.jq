# Judges the reports of doors.sh: one line for each demand that was measured.
# A ratio is taken within one round, where both sides met the same noise; the median over the rounds is
# judged. Only runs that had their cores count: with too few such rounds nothing is judged, for a
# disturbed run can flatter as well as harm. headgate must pass with both rules, so the slower counts;
# 40 checks a packet have a target for each. HTTP is judged by the servers' processor time a request, and so are
# whole requests over HTTP, against a question by a rule.
def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
def figure: (. * 1000 | round) / 1000;

def leastRounds: 3;
def rounds($row): map(select(.row == $row)) | group_by(.round);
def who($name): map(select(.who == $name))[0];
def ours: map(select(.who | startswith("headgate")));
def slowest: ours | map(.decisions_per_s) | min;
def quiet($names): map(select((.who | startswith("headgate")) or (.who | IN($names[])))) | all(.disturbed <= 1);

# Whatever was lost, cut short or answered with an error spoils the row it belongs to.
def clean: all(.[][] | select(.who | startswith("headgate")); .lost == 0 and .short == 0 and .verdicts.error == 0);

# $names are the bare servers compared with; value is computed of one round; good judges the median.
def demand($row; $what; $names; value; $want; good):
	[rounds($row)[] | select((ours | length) > 0)] as $all
	| [$all[] | select(quiet($names))] as $kept
	| ($kept | length) as $n | "\($n) of \($all | length)" as $of
	| if ($all | length) == 0 then empty
	  elif $n < leastRounds then ["\($row): \($what)", "-", $want, $of, "UNDECIDED"]
	  else ($kept | map(value) | median) as $m
	  | ["\($row): \($what)", ($m | figure | tostring), $want, $of,
	     if $want == "-" then "-" elif ($kept | clean | not) then "FAIL (losses or errors)"
	     elif ($m | good) then "PASS" else "FAIL" end]
	  end | @tsv;

def ratio($row; $name; $least):
	demand($row; "headgate / \($name)"; [$name]; slowest / who($name).decisions_per_s; ">= \($least)"; . >= $least);
def note($row; $name):
	demand($row; "headgate / \($name)"; [$name]; slowest / who($name).decisions_per_s; "-"; true);
def rate($row; $rule; $least):
	demand($row; "\($rule) decisions/s"; []; who("headgate-\($rule)").decisions_per_s; ">= \($least)"; . >= $least);
def dearest: ours | map(.server_us) | max;
def cheaper($row; $name; $want; good):
	demand($row; "\($name) us / headgate us"; [$name]; who($name).server_us / dearest; $want; good);

# The faster Go echo of the round is the one to stay near.
def lag($row; $most):
	demand($row; "headgate p50 - Go echo p50, us"; ["go", "go-batch"];
		(ours | map(.latency_us.p50) | max) - ([who("go"), who("go-batch")] | map(.latency_us.p50) | min);
		"<= \($most)"; . <= $most);

. as $reports
| (["demand", "median", "wanted", "undisturbed rounds", "verdict"] | @tsv),
($reports |
note("udp"; "go"),
ratio("udp"; "go-batch"; 1.2),
ratio("udp"; "c"; 1.0),
cheaper("udp"; "c"; "-"; true),
note("sockets"; "go-batch"),
note("sockets"; "c"),
note("unix"; "unix-go"),
note("unix"; "unix-c"),
lag("latency"; 3),
rate("packed-thousands"; "open"; 5000000),
rate("packed-thousands"; "tight"; 3500000),
rate("packed-million"; "open"; 3000000),
rate("asks"; "open"; 1200000),
rate("asks"; "tight"; 1200000),
demand("auth"; "check us / auth us"; []; who("headgate-check").server_us / who("headgate-auth").server_us; ">= 0.85"; . >= 0.85),
cheaper("http"; "nginx-limit_req"; ">= 1"; . >= 1),
note("http"; "nginx-limit_req"),
note("http"; "nginx-204"),
note("http"; "fasthttp-204"))
