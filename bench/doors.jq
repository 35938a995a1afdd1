# Judges the reports of doors.sh: one line for each demand of DESIGN section 8 that was measured.
# A ratio is taken within one round, where both sides met the same noise; the median over the rounds is
# judged. headgate must pass with both rules, so the slower one counts.
def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;

def rounds($row): map(select(.row == $row)) | group_by(.round);
def who($name): map(select(.who == $name))[0];
def ours: map(select(.who | startswith("headgate")));
def slowest: ours | map(.decisions_per_s) | min;
def figure: (. * 1000 | round) / 1000;

# Whatever was lost, cut short or answered with an error spoils the row it belongs to.
def clean($row): map(select(.row == $row)) | all(.lost == 0 and .short == 0 and .verdicts.error == 0);

def line($row; $what; $value; $want; $good):
	[$what, ($value | figure | tostring), $want,
	 if $good and clean($row) then "PASS" elif $good then "FAIL (losses or errors)" else "FAIL" end] | @tsv;

def ratio($row; $name; $least):
	[rounds($row)[] | select((ours | length) > 0) | slowest / who($name).decisions_per_s] as $r
	| if ($r | length) == 0 then empty
	  else line($row; "\($row): headgate / \($name)"; $r | median; ">= \($least)"; ($r | median) >= $least) end;

def note($row; $name):
	[rounds($row)[] | select((ours | length) > 0) | slowest / who($name).decisions_per_s] as $r
	| if ($r | length) == 0 then empty else ["\($row): headgate / \($name)", ($r | median | figure | tostring), "-", "-"] | @tsv end;

def rate($row; $least):
	[rounds($row)[] | select((ours | length) > 0) | slowest] as $r
	| if ($r | length) == 0 then empty
	  else line($row; "\($row): decisions/s"; $r | median; ">= \($least)"; ($r | median) >= $least) end;

# The faster Go echo of the round is the one to stay near.
def lag($row; $most):
	[rounds($row)[] | select((ours | length) > 0)
	 | (ours | map(.latency_us.p50) | max) - ([who("go"), who("go-batch")] | map(.latency_us.p50) | min)] as $r
	| if ($r | length) == 0 then empty
	  else line($row; "\($row): headgate p50 - Go echo p50, us"; $r | median; "<= \($most)"; ($r | median) <= $most) end;

ratio("udp"; "go"; 0.9),
ratio("udp"; "go-batch"; 0.9),
ratio("udp"; "c"; 0.7),
note("unix"; "unix-go"),
note("unix"; "unix-c"),
lag("latency"; 3),
rate("packed-thousands"; 5000000),
rate("packed-million"; 3000000),
ratio("http"; "nginx-limit_req"; 1),
note("http"; "nginx-204"),
note("http"; "fasthttp-204")
