package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/wire"
)

// shownAct returns a as text.
func shownAct(a *wire.Act) string {
	return fmt.Sprintf("%d %s %q cost=%d for=%d lease=%x share=%d from=%q id=%s", a.Op, a.Rule,
		a.Key, a.Cost, a.For, a.Lease, a.Share, a.From, a.ID)
}

func TestActLines(t *testing.T) {
	for _, c := range []struct {
		line string
		code wire.Code
		want string
	}{
		{
			"acquire exports k%20ey cost=2 lease=30 id=7 later=1", wire.NoError,
			`0 exports "k ey" cost=2 for=30 lease=0 share=0 from="" id=7`,
		},
		{
			"acquire exports k", wire.NoError,
			`0 exports "k" cost=1 for=0 lease=0 share=0 from="" id=`,
		},
		{
			"release exports k lease=40000000000000af", wire.NoError,
			`1 exports "k" cost=1 for=0 lease=40000000000000af share=0 from="" id=`,
		},
		{
			"release exports k", wire.NoError,
			`1 exports "k" cost=1 for=0 lease=0 share=0 from="" id=`,
		},
		{
			"renew exports k id=a", wire.NoError,
			`2 exports "k" cost=1 for=0 lease=0 share=0 from="" id=a`,
		},
		{
			"load workers 0.93 from=web%2d1", wire.NoError,
			`3 workers "" cost=1 for=0 lease=0 share=930000 from="web-1" id=`,
		},
		{
			"load workers 1", wire.NoError,
			`3 workers "" cost=1 for=0 lease=0 share=1000000 from="" id=`,
		},
		{"load workers 0", wire.NoError, `3 workers "" cost=1 for=0 lease=0 share=0 from="" id=`},
		{
			"load workers 1.000", wire.NoError,
			`3 workers "" cost=1 for=0 lease=0 share=1000000 from="" id=`,
		},
		{
			"load workers 0.12345678", wire.NoError,
			`3 workers "" cost=1 for=0 lease=0 share=123456 from="" id=`,
		},
		{
			"release exports k lease=0000000000000000", wire.NoError,
			`1 exports "k" cost=1 for=0 lease=1 share=0 from="" id=`,
		},
		{"renew exports " + strings.Repeat("k", wire.MaxKey+1), wire.TooLong, ""},
	} {
		var a wire.Act
		code := wire.ParseAct(&a, []byte(c.line))
		if code != c.code || code == wire.NoError && shownAct(&a) != c.want {
			t.Errorf("%s: %v %s, want %v %s", c.line, code, shownAct(&a), c.code, c.want)
		}
	}
	for _, line := range []string{
		"load workers 1.0000001",
		"load workers 2",
		"load workers -0.5",
		"load workers .5",
		"load workers 0.",
		"load workers 93%25",
		"load workers",
		"load workers 0.5 from=",
		"load workers 0.5 from=" + strings.Repeat("a", wire.MaxSource+1),
		"acquire exports",
		"acquire exports ",
		"acquire ex%70orts k",
		"acquire exports k cost=0",
		"acquire exports k lease=0",
		"acquire exports k lease=1m",
		"acquire exports k  id=7",
		"release exports k lease=af",
		"acquire",
		"released exports k",
	} {
		if code := wire.ParseAct(&wire.Act{}, []byte(line)); code != wire.BadRequest {
			t.Errorf("%s: %v", line, code)
		}
	}
	var a wire.Act
	if code := wire.ParseAct(&a, []byte("acquire exports k cost=x id=7")); code == wire.NoError ||
		string(a.ID) != "7" || a.Key != nil {
		t.Errorf("of a faulty line only the id holds: %s", shownAct(&a))
	}
}

func TestRepliesToActs(t *testing.T) {
	for _, c := range []struct {
		answer wire.WholeAnswer
		want   string
	}{
		{
			wire.WholeAnswer{
				Answer: wire.Answer{Remaining: 2, Reset: 60},
				Lease:  0x40000000000000af,
			},
			"allow lease=40000000000000af remaining=2 reset=60 view=node",
		},
		{
			wire.WholeAnswer{Answer: wire.Answer{Remaining: 2, Reset: 60}, Full: true},
			"allow full=1 remaining=2 reset=60 view=node",
		},
		{
			wire.WholeAnswer{Answer: wire.Answer{Status: wire.Deny, Why: wire.WhyLimit, Retry: 1}},
			"deny why=limit retry=1 view=node remaining=0",
		},
		{wire.WholeAnswer{
			Answer: wire.Answer{Status: wire.Deny, Why: wire.WhyReserve, Retry: 1},
			HTTP:   503,
		}, "deny why=reserve status=503 retry=1 view=node"},
		{wire.WholeAnswer{Answer: wire.Answer{Status: wire.OK}, Late: true}, "ok late=1"},
		{
			wire.WholeAnswer{Answer: wire.Answer{Status: wire.Error, Code: wire.UnknownPool}},
			"error unknown-pool",
		},
	} {
		if got := string(wire.AppendWhole(nil, &c.answer)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func FuzzParseAct(f *testing.F) {
	for _, seed := range []string{
		"acquire exports k%20ey cost=2 lease=30 id=7", "release exports k lease=40000000000000af",
		"renew exports k", "load workers 0.93 from=web-1",
		"load workers 1.0001", "acquire exports % id=", "release exports k lease=",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var a wire.Act
		switch wire.ParseAct(&a, line) {
		case wire.NoError:
			if len(a.Rule) < 1 || len(a.Rule) > wire.MaxRule || len(a.Key) > wire.MaxKey ||
				a.Cost < 1 || a.Cost > wire.MaxCost ||
				a.Share > wire.ShareUnit || len(a.From) > wire.MaxSource ||
				(a.Op == wire.ActLoad) != (len(a.Key) == 0) {
				t.Errorf("%s", shownAct(&a))
			}
		default:
			if a.Rule != nil || a.Key != nil || a.Lease != 0 {
				t.Errorf("a faulty line: %s", shownAct(&a))
			}
		}
	})
}
