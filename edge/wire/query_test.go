package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// keyOf returns n encoded bytes that decode to n/3.
func keyOf(n int) string { return strings.Repeat("%00", n/3) }

var (
	longKey  = strings.Repeat("k", MaxKey)
	longRule = strings.Repeat("r", MaxRule)
	longID   = strings.Repeat("i", MaxID)
)

// grammarScript is every clause of the grammar, kept and broken. What is wanted
// is as describeQuery puts it.
const grammarScript = `
// the operations
check login 203.0.113.7 → check rule=login key="203.0.113.7" cost=1
peek login 203.0.113.7 → peek rule=login key="203.0.113.7" cost=1
count login 203.0.113.7 → count rule=login key="203.0.113.7" cost=1
peek r k → peek rule=r key="k" cost=1
ping → ping
ping id=7 → bad-request id=7
nonsense id=7 → bad-request id=7
// the rule
check A-Za_z.09 k → check rule=A-Za_z.09 key="k" cost=1
// the key
check r %20 → check rule=r key=" " cost=1
check r a%25b%7Fc%7f → check rule=r key="a%b\x7fc\x7f" cost=1
check r %41%6a%6A → check rule=r key="Ajj" cost=1
check r %00%0A%ff → check rule=r key="\x00\n\xff" cost=1
check r 2001:db8::/64 → check rule=r key="2001:db8::/64" cost=1
check r cost=5 → check rule=r key="cost=5" cost=1
check r id=5 → check rule=r key="id=5" cost=1
check r %2 id=9 → bad-request id=9
// the cost
check r k cost=1 → check rule=r key="k" cost=1
check r k cost=1000000 → check rule=r key="k" cost=1000000
check r k cost=0.02 → check rule=r key="k" cost=0.02
check r k cost=12.0000001 → check rule=r key="k" cost=12.000001
check r k cost=x id=7 → bad-request id=7
// the id
check r k id=7 → check rule=r key="k" cost=1 id=7
check r k id=a/b id=7 → bad-request id=7
check r k id=7 id=a/b → bad-request id=7
check /r id=6 id=7 → bad-request id=7
check  r k id=7 → bad-request id=7
// several options, unknown ones
check r k cost=2 id=7 → check rule=r key="k" cost=2 id=7
check r k id=7 cost=2 → check rule=r key="k" cost=2 id=7
check r k cost=2 cost=3 → check rule=r key="k" cost=3
check r k id=7 id=8 → check rule=r key="k" cost=1 id=8
check r k pad=xxxxxxxx → check rule=r key="k" cost=1
check r k x → check rule=r key="k" cost=1
check r k pad=x cost=2 → check rule=r key="k" cost=2
check r %41 x=1 cost=2 id=7 → check rule=r key="A" cost=2 id=7
// broken
ping r k → bad-request
Check login k → bad-request
PING → bad-request
check → bad-request
checks login k → bad-request
allow login k → bad-request
nonsense → bad-request
check  login k → bad-request
check login  k → bad-request
check login k  cost=2 → bad-request
check lo/gin k → bad-request
check lo%67in k → bad-request
check login → bad-request
check r % → bad-request
check r %4 → bad-request
check r %4 1 → bad-request
check r %4g → bad-request
check r %g4 → bad-request
check r %%41 → bad-request
check r a% → bad-request
check r a%2 → bad-request
check r k cost=0 → bad-request
check r k cost=1000001 → bad-request
check r k cost=4294967297 → bad-request
check r k cost=18446744073709551617 → bad-request
check r k cost= → bad-request
check r k cost=01 → bad-request
check r k cost=+1 → bad-request
check r k cost=-1 → bad-request
check r k cost=0.0 → bad-request
check r k cost=.5 → bad-request
check r k cost=1. → bad-request
check r k cost=00.5 → bad-request
check r k cost=1.0.0 → bad-request
check r k cost=1000000.01 → bad-request
check r k cost=0.0000000001 → bad-request
check r k cost=1e3 → bad-request
check r k id= → bad-request
check r k id=a/b → bad-request
`

// oddCases are those a line of grammarScript cannot say.
var oddCases = []struct{ line, want string }{
	{"check " + longRule + " k", `check rule=` + longRule + ` key="k" cost=1`},
	{"check r \x80\xff\xc3\xb6", `check rule=r key="\x80\xffö" cost=1`},
	{
		"check r !\"#$&'()*+,;<=>?@[\\]^`{|}~",
		`check rule=r key="!\"#$&'()*+,;<=>?@[\\]^` + "`" + `{|}~" cost=1`,
	},
	{"check r " + longKey, `check rule=r key="` + longKey + `" cost=1`},
	{"check r " + longKey + "k", `too-long`},
	{"check r " + longKey + "%6b", `too-long`},
	{"check r " + longKey + "k id=7", `too-long id=7`},
	{
		"check r " + keyOf(3*MaxKey),
		`check rule=r key="` + strings.Repeat(`\x00`, MaxKey) + `" cost=1`,
	},
	{"check r " + keyOf(3*MaxKey+3), `too-long`},
	{"check r k cost=1.0", `check rule=r key="k" cost=1`}, // the rule says whether it has a point
	{"check r k id=a!#$%&'*+-.^_`|~Z09", "check rule=r key=\"k\" cost=1 id=a!#$%&'*+-.^_`|~Z09"},
	{"check r k id=" + longID, `check rule=r key="k" cost=1 id=` + longID},
	{"check r k = %zz \xff costs=0 Cost=0", `check rule=r key="k" cost=1`},
	{"check r k pad=\x7f id=7", `bad-request id=7`},
}

// malformed are lines that are a bad request, by the clause they break.
var malformed = []string{
	// the operations
	"ping ",
	"",
	" ",
	"check ",
	"peek ",
	// one space, no other white space
	" check login k",
	"check login k ",
	"check login k cost=2 ",
	"check login k\r",
	"check\tlogin k",
	"check login\tk",
	"check login k\n",
	"check login k cost=2\r",
	// the rule
	"check " + longRule + "r k",
	"check l\xc3\xb6gin k",
	"check login ",
	// the key
	"check r a\x00b",
	"check r a\x1fb",
	"check r a\x7fb",
	"check r %41\x7f",
	"check r \x7f",
	"check r " + longKey + "k cost=0",
	"check r " + longKey + "k%",
	// the id
	"check r k id=" + longID + "i",
	"check r k id=a\"b",
	"check r k id=\xc3\xb6",
	"check /r id=6", // the key, not an option
	// several options, unknown ones
	"check r k pad=\x01",
}

func TestParseQueryGrammar(t *testing.T) {
	cases := oddCases
	for line, want := range doortest.Script(grammarScript) {
		cases = append(cases, struct{ line, want string }{line, want})
	}
	for _, tt := range cases {
		var q Query
		code := ParseQuery(&q, []byte(tt.line))
		if got := describeQuery(q, code); got != tt.want {
			t.Errorf("ParseQuery(%q)\n got %s\nwant %s", tt.line, got, tt.want)
		}
	}
	for _, line := range malformed {
		var q Query
		code := ParseQuery(&q, []byte(line))
		if got := describeQuery(q, code); got != "bad-request" {
			t.Errorf("ParseQuery(%q): %s", line, got)
		}
	}
}

// Every byte stands in a key, a rule, an id and an option either as the grammar
// says or as bad-request.
func TestParseQueryEveryByte(t *testing.T) {
	for i := range 256 {
		b := string([]byte{byte(i)})
		raw := i > 0x20 && i != 0x7f
		for _, tt := range []struct {
			place, line string
			ok          bool
		}{
			{"rule", "check a" + b + "a k", strings.Contains(alnum+"_.-", b) || b == " "},
			{"key", "check r k" + b, raw && b != "%"},
			{"id", "check r k id=" + b, strings.Contains(alnum+"!#$%&'*+-.^_`|~", b)},
			{"unknown option", "check r k " + b, raw},
		} {
			if code := ParseQuery(new(Query), []byte(tt.line)); (code == NoError) != tt.ok {
				t.Errorf("byte %#02x in the %s: code %q", i, tt.place, code)
			}
		}
	}
}

func TestParseQueryDecodesInPlace(t *testing.T) {
	line := []byte("check r a%20b id=7")
	var q Query
	code := ParseQuery(&q, line)
	if code != NoError || string(q.Key) != "a b" {
		t.Fatalf("key %q, code %v", q.Key, code)
	}
	if &q.Key[0] != &line[8] || &q.Rule[0] != &line[6] || &q.ID[0] != &line[17] {
		t.Error("rule, key or id do not lie in the line")
	}
	plain := []byte("check r a+b cost=3")
	before := bytes.Clone(plain)
	_ = ParseQuery(&q, plain)
	if !bytes.Equal(plain, before) {
		t.Errorf("a line without escapes was changed to %q", plain)
	}
}

func TestAppendQuery(t *testing.T) {
	for _, tt := range []struct {
		q    Query
		want string
	}{
		{Query{Rule: []byte("login"), Key: []byte("k")}, "check login k"},
		{Query{Op: Peek, Cost: 1, Rule: []byte("login"), Key: []byte("k")}, "peek login k"},
		{Query{
			Op: Count, Cost: 20, Rule: []byte("r"), Key: []byte(" %\x7f\n\xff"),
			ID: []byte("x"),
		}, "count r %20%25%7F%0A\xff cost=20 id=x"},
		{Query{Op: Ping}, "ping"},
	} {
		if got := AppendQuery([]byte("> "), tt.q); string(got) != "> "+tt.want {
			t.Errorf("AppendQuery(%v) = %q, want %q", tt.q, got, tt.want)
		}
	}
}

func TestValidateAgreesWithParseQuery(t *testing.T) {
	long := bytes.Repeat([]byte("x"), MaxKey+1)
	ok := Query{Cost: 1, Rule: []byte("r"), Key: []byte("k")}
	for _, tt := range []struct {
		name string
		edit func(*Query)
		want Code
	}{
		{"plain", func(*Query) {}, NoError},
		{"longest", func(q *Query) {
			q.Rule, q.Key, q.ID, q.Cost = long[:MaxRule], long[:MaxKey],
				long[:MaxID], MaxCost
		}, NoError},
		{"no rule", func(q *Query) { q.Rule = nil }, BadRequest},
		{"long rule", func(q *Query) { q.Rule = long[:MaxRule+1] }, BadRequest},
		{"rule with a slash", func(q *Query) { q.Rule = []byte("a/b") }, BadRequest},
		{"no key", func(q *Query) { q.Key = nil }, BadRequest},
		{"long key", func(q *Query) { q.Key = long }, TooLong},
		{"great cost", func(q *Query) { q.Cost = MaxCost + 1 }, BadRequest},
		{"long id", func(q *Query) { q.ID = long[:MaxID+1] }, BadRequest},
		{"id with a slash", func(q *Query) { q.ID = []byte("a/b") }, BadRequest},
		{"no such operation", func(q *Query) { q.Op = Ping + 1 }, BadRequest},
		{"ping", func(q *Query) { *q = Query{Op: Ping} }, NoError},
	} {
		q := ok
		tt.edit(&q)
		if got := q.Validate(); got != tt.want {
			t.Errorf("%s: Validate() = %q, want %q", tt.name, got, tt.want)
		}
		if got := ParseQuery(new(Query), AppendQuery(nil, q)); got != tt.want {
			t.Errorf("%s: ParseQuery says %q, Validate %q", tt.name, got, tt.want)
		}
	}
	if got := (Query{Op: Ping, Key: []byte("k")}).Validate(); got != BadRequest {
		t.Errorf("ping with a key: %q", got)
	}
}

func TestWords(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Check.String() + Peek.String() + Count.String() + Ping.String(), "checkpeekcountping"},
		{
			Allow.String() + Deny.String() + OK.String() + Pong.String() + Error.String(),
			"allowdenyokpongerror",
		},
		{
			NoError.String() + BadRequest.String() + UnknownRule.String() + TooLong.Error(),
			"bad-requestunknown-ruletoo-long",
		},
		{
			NoWhy.String() + WhyBlock.String() + WhyShed.String() + WhyLimit.String(),
			"blockshedlimit",
		},
		{ViewNode.String() + ViewPoP.String() + ViewGlobal.String(), "nodepopglobal"},
		{Op(9).String(), "undefined"},
		{View(255).String(), "undefined"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
