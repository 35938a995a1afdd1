package wire

import (
	"errors"
	"math"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

func TestAppendAnswer(t *testing.T) {
	for _, tt := range []struct {
		a    Answer
		want string
	}{
		{Answer{}, "allow remaining=0 reset=0 view=node"},
		{Answer{Remaining: 99, Reset: 10}, "allow remaining=99 reset=10 view=node"},
		{
			Answer{Remaining: 1_000_000_000, Reset: 86400, View: ViewGlobal, ID: []byte("a7")},
			"id=a7 allow remaining=1000000000 reset=86400 view=global",
		},
		{
			Answer{Remaining: math.MaxInt64, Reset: math.MaxUint32},
			"allow remaining=9223372036854775807 reset=4294967295 view=node",
		},
		{Answer{Remaining: -3, Reset: 9}, "allow remaining=0 reset=9 view=node"},
		{
			Answer{Shadow: true, Reset: 9, View: ViewPoP},
			"allow remaining=0 reset=9 view=pop shadow=deny",
		},
		{
			Answer{Status: Deny, Why: WhyLimit, Retry: 3, Remaining: 2},
			"deny why=limit retry=3 view=node remaining=2",
		},
		{Answer{Status: Deny, Why: WhyCost, Remaining: 2}, "deny why=cost remaining=2 view=node"},
		{
			Answer{Status: Deny, Why: WhyBlock, Retry: 600, View: ViewPoP},
			"deny why=block retry=600 view=pop",
		},
		{Answer{
			Status: Deny, Why: WhyShed, Retry: 1, View: ViewGlobal, Ratio: 0.83,
			ID: []byte("7"),
		}, "id=7 deny why=shed retry=1 view=global ratio=0.83"},
		{Answer{Status: Deny, Why: WhyLimit}, "deny why=limit retry=1 view=node remaining=0"},
		{Answer{Status: Deny, Retry: 2}, "deny retry=2 view=node"},
		{Answer{Status: OK, Remaining: 4, Retry: 5}, "ok"},
		{Answer{Status: OK, ID: []byte("7")}, "id=7 ok"},
		{Answer{Status: Pong}, "pong"},
		{Answer{Status: Error, Code: BadRequest}, "error bad-request"},
		{Answer{Status: Error, Code: UnknownRule, ID: []byte("7")}, "id=7 error unknown-rule"},
		{Answer{Status: Error, Code: TooLong}, "error too-long"},
	} {
		if got := AppendAnswer([]byte("> "), &tt.a); string(got) != "> "+tt.want {
			t.Errorf("AppendAnswer(%+v)\n got %q\nwant %q", tt.a, got, tt.want)
		}
	}
}

func TestRatioIsNeverRoundedToAllOrNothing(t *testing.T) {
	for _, tt := range []struct {
		ratio float32
		want  string
	}{
		{0.83, " ratio=0.83"},
		{0.825001, " ratio=0.83"},
		{0.5, " ratio=0.50"},
		{0.07, " ratio=0.07"},
		{1e-9, " ratio=0.01"},
		{math.SmallestNonzeroFloat32, " ratio=0.01"},
		{0.994, " ratio=0.99"},
		{0.999, " ratio=0.99"},
		{math.Nextafter32(1, 0), " ratio=0.99"},
		{1, " ratio=1.00"},
		{7, " ratio=1.00"},
		{0, ""},
		{-1, ""},
		{float32(math.NaN()), ""},
	} {
		got := string(AppendAnswer(nil,
			&Answer{Status: Deny, Why: WhyShed, Retry: 1, Ratio: tt.ratio}))
		if want := "deny why=shed retry=1 view=node" + tt.want; got != want {
			t.Errorf("ratio %v: got %q, want %q", tt.ratio, got, want)
		}
	}
	for percent := 1; percent <= 100; percent++ { // what is written is what is read
		line := AppendAnswer(nil, &Answer{Status: Deny, Ratio: float32(percent) / 100})
		if a, err := ParseAnswer(line); err != nil || a.Ratio != float32(percent)/100 {
			t.Errorf("%q read back as %v, %v", line, a.Ratio, err)
		}
	}
}

func TestAppendUint(t *testing.T) {
	for v := uint64(1); ; v *= 10 {
		for _, n := range []uint64{v - 1, v, v + 1, 9 * v} {
			b := appendUint(nil, n)
			if back, ok := parseUint(b, math.MaxUint64); len(b) <= maxDigits && (!ok || back != n) {
				t.Errorf("%d was written as %s", n, b)
			}
		}
		if v > math.MaxInt64/10 {
			return
		}
	}
}

func TestAppendAnswerMaxLeavesOutTheLeastUsefulFirst(t *testing.T) {
	for _, tt := range []struct {
		a    Answer
		want []string // from full to bare
	}{
		{
			Answer{Remaining: 99, Reset: 10, Shadow: true, ID: []byte("7")},
			[]string{
				"id=7 allow remaining=99 reset=10 view=node shadow=deny",
				"id=7 allow remaining=99 reset=10 shadow=deny",
				"id=7 allow remaining=99 shadow=deny",
				"id=7 allow shadow=deny",
				"id=7 allow",
			},
		},
		{
			Answer{
				Status: Deny, Why: WhyShed, Retry: 30, View: ViewPoP,
				Ratio: 0.83, ID: []byte("7"),
			},
			[]string{
				"id=7 deny why=shed retry=30 view=pop ratio=0.83",
				"id=7 deny why=shed retry=30 view=pop",
				"id=7 deny why=shed retry=30",
				"id=7 deny retry=30",
				"id=7 deny",
			},
		},
		{
			Answer{Status: Error, Code: UnknownRule, ID: []byte("7")},
			[]string{"id=7 error unknown-rule"},
		},
		{Answer{Status: OK}, []string{"ok"}},
		{Answer{Status: Pong}, []string{"pong"}},
	} {
		bare := tt.want[len(tt.want)-1]
		for limit := len(tt.want[0]) + 5; limit >= -1; limit-- {
			want, fits := "", len(bare) <= limit
			for _, w := range tt.want {
				if want == "" && len(w) <= limit {
					want = w
				}
			}
			got, ok := AppendAnswerMax([]byte("> "), &tt.a, limit)
			if string(got) != "> "+want || ok != fits {
				t.Fatalf("limit %d: got %q, %v; want %q, %v", limit, got, ok, want, fits)
			}
		}
	}
}

// The shortest question has room for its verdict, so a peer who asks properly
// always gets one, however little it sends.
func TestShortestRequestHasRoomForItsVerdict(t *testing.T) {
	for line, a := range map[string]Answer{
		"check r k":           {Status: Deny, Why: WhyShed, Ratio: 0.5},
		"peek r k":            {Remaining: math.MaxInt64, Shadow: true},
		"count r k":           {Status: OK},
		"ping":                {Status: Pong},
		"peek r k id=7":       {Remaining: math.MaxInt64, ID: []byte("7")},
		"count r k id=abcdef": {Status: Error, Code: UnknownRule},
	} {
		if got, ok := AppendAnswerMax(nil, &a, len(line)); !ok || len(got) > len(line) {
			t.Errorf("to %q: %q, %v", line, got, ok)
		}
	}
}

// replyScript is what a client must be able to read, and what it must not take
// for a reply. What is wanted is as describeAnswer puts it.
const replyScript = `
allow remaining=99 reset=10 view=pop → allow remaining=99 reset=10 view=pop
allow → allow remaining=0 reset=0 view=node
id=7 allow → allow remaining=0 reset=0 view=node id=7
allow view=global shadow=deny reset=4 remaining=2 → allow remaining=2 reset=4 view=global shadow
allow shadow=allow → allow remaining=0 reset=0 view=node
deny why=limit retry=3 remaining=7 → deny why=limit retry=3 view=node remaining=7
deny why=cost remaining=7 → deny why=cost retry=0 view=node remaining=7
deny why=shed retry=3 view=pop ratio=0.83 → deny why=shed retry=3 view=pop ratio=0.83
deny → deny why= retry=0 view=node
ok → ok
pong → pong
id=7 ok → ok id=7
error bad-request → error bad-request
id=7 error too-long → error too-long id=7
error unknown-rule rule=x → error unknown-rule
// what a later version may add
deny why=moon view=moon retry=2 → deny why= retry=2 view=node
deny retry=2 retry=3 → deny why= retry=3 view=node
deny why=limit why= → deny why= retry=0 view=node
// what is no reply
maybe → malformed reply line: no status
Allow → malformed reply line: no status
id=7 → malformed reply line: no status id=7
id=7  allow → malformed reply line: no status id=7
id= allow → malformed reply line: the id is not 1 to 32 token characters
id=a/b allow → malformed reply line: the id is not 1 to 32 token characters
error → malformed reply line: error without a known code
id=7 error moon → malformed reply line: error without a known code id=7
allow  view=pop → malformed reply line: a field is not name=value
allow view → malformed reply line: a field is not name=value
allow =pop → malformed reply line: a field is not name=value
allow remaining= → malformed reply line: a field's value is out of its range
allow remaining=-1 → malformed reply line: a field's value is out of its range
allow remaining=01 → malformed reply line: a field's value is out of its range
allow remaining=9223372036854775808 → malformed reply line: a field's value is out of its range
allow reset=4294967296 → malformed reply line: a field's value is out of its range
deny retry=1s → malformed reply line: a field's value is out of its range
deny ratio=1.01 → malformed reply line: a field's value is out of its range
deny ratio=0.5 → malformed reply line: a field's value is out of its range
deny ratio=0,50 → malformed reply line: a field's value is out of its range
deny ratio=0./0 → malformed reply line: a field's value is out of its range
deny ratio=-.50 → malformed reply line: a field's value is out of its range
`

// oddReplies are those a line of replyScript cannot say.
var oddReplies = []struct{ line, want string }{
	{"allow colour=red remaining=4 x= \xff=%", "allow remaining=4 reset=0 view=node"},
	{"", "malformed reply line: no status"},
	{" allow", "malformed reply line: no status"},
	{"allow\r", "malformed reply line: no status"},
	{"error ", "malformed reply line: error without a known code"},
	{"allow ", "malformed reply line: a field is not name=value"},
	{"id=7 allow x=\x01", "malformed reply line: a field is not name=value id=7"},
}

func TestParseAnswer(t *testing.T) {
	cases := oddReplies
	for line, want := range doortest.Script(replyScript) {
		cases = append(cases, struct{ line, want string }{line, want})
	}
	for _, tt := range cases {
		a, err := ParseAnswer([]byte(tt.line))
		if got := describeAnswer(a, err); got != tt.want {
			t.Errorf("ParseAnswer(%q)\n got %s\nwant %s", tt.line, got, tt.want)
		}
		if err != nil && !errors.Is(err, ErrReply) {
			t.Errorf("ParseAnswer(%q): %v is no ErrReply", tt.line, err)
		}
	}
}
