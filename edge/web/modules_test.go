//go:build !race

package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/door/doortest"
)

// module returns a JavaScript expression that promises one of our modules.
func module(name string) string {
	return `import('` + version(New(testEndpoints)) + `js/` + name + `.js')`
}

// formats are how figures are written, at the edges where the unit or the number of digits changes.
const formats = `
si(0) → 0
si(0.004) → 0
si(0.42) → 0.42
si(7) → 7
si(9.996) → 10.0
si(99.96) → 100
si(999) → 999
si(999.6) → 1.00 k
si(1000) → 1 000
si(12_345_678) → 12.3 M
si(9_999_999) → 9 999 999
si(-45_600_000) → -45.6 M
si(1e12) → 1 T
si(null) → –
si(NaN) → –
rate(0) → 0/s
rate(6) → 6.0/s
rate(0.03) → <0.1/s
rate(41_000) → 41.0 k/s
rate(999_600) → 1.0 M/s
rate(null) → –
share(0) → 0 %
share(0.0001) → < 0.1 %
share(0.0412) → 4.1 %
share(0.5) → 50 %
share(0.99999) → > 99.9 %
share(0.998) → 99.8 %
share(1) → 100 %
share(0 / 0) → –
whole(1234567) → 1 234 567
whole(999) → 999
span(0) → 0s
span(0.2) → 1s
span(59.5) → 1m
span(598) → 9m 58s
span(3600) → 1h
span(3605) → 1h
span(90_061) → 1d 1h
span(-4) → 0s
span(NaN) → –
brief(0.00034) → 340 µs
brief(0.0021) → 2.10 ms
brief(12) → 12 s
brief(125) → 2m 5s
brief(null) → –
bytes(312) → 312 B
bytes(48_200_000) → 48.2 MB
plural(1, 'key') → 1 key
plural(0, 'key') → 0 keys
`

// TestFormats checks how figures are written.
func TestFormats(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "alone"), 800, 600, false)
	for call, want := range doortest.Script(formats) {
		got := strings.ReplaceAll(value[string](l, module("format")+`.then((m) => m.`+call+`)`),
			"\u202f", " ")
		if got != want {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
}

// TestStreamReader checks that events are read as the HTML standard has them, however the network
// cuts them.
func TestStreamReader(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "alone"), 800, 600, false)
	stream := ": a comment\n\nevent: a\ndata: 1\ndata:2\nid: 7\n\r\ndata\n\nevent: " +
		"none\n\nevent:b\r\ndata: {\"x\": 1}\r\n\r\ndata: cut"
	for size := 1; size <= len(stream); size++ {
		got := value[string](l, fmt.Sprintf(`%s.then((m) => {
			const all = [], take = m.reader((name, data) => all.push(name + '=' + data)), text = %q;
			for (let i = 0; i < text.length; i += %d) take(text.slice(i, i + %d));
			return all.join('|').replaceAll('\n', '+');
		})`, module("sse"), stream, size, size))
		if want := `a=1+2|message=|b={"x": 1}`; got != want {
			t.Fatalf("in pieces of %d: %s, want %s", size, got, want)
		}
	}
	endless := value[string](l,
		module("sse")+`.then((m) => { try { m.reader(() => {})('x'.repeat(5 << 20)); return 'taken'; } catch (e) { return e.message; } })`)
	if !strings.Contains(endless, "without end") {
		t.Error(endless)
	}
}

// TestHistory checks what becomes of the node's totals: rates over the last seconds, a point for
// every five, and none where the node began anew.
func TestHistory(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "alone"), 800, 600, false)
	got := value[[]any](l, module("history")+`.then((m) => {
		const h = new m.History();
		h.load({ every: 5, points: [985, 990], rules: [{ name: 'r', offered: [1, 2], admitted: [1, 2], denied: [0, 0], shadow_denied: [0, 0] }] });
		const tell = (at, offered) => h.add(at, [{ name: 'r', offered, admitted: offered / 2, denied: offered / 4, shadow_denied: offered / 4 }]);
		for (let at = 991; at <= 996; at++) tell(at, (at - 991) * 8);
		const first = [h.rate('r', 'offered'), h.rate('r', 'passed'), h.rate('none', 'offered'), h.columns('r')[0].join(), h.columns('r')[1].join()];
		tell(997, 4); // began anew
		tell(998, 10);
		const second = [h.rate('r', 'offered'), h.columns('r')[0].join()];
		for (let at = 999; at <= 2100; at++) tell(at, (at - 990) * 2);
		return [...first, ...second, h.columns('r')[0].length, h.columns('none')[1].every((v) => v === null)];
	})`)
	want := []any{8.0, 6.0, nil, "985,990,995,996", "1,2,8,8", 6.0, "985,990,995,998", 181.0, true}
	for n := range want {
		if got[n] != want[n] {
			t.Errorf("%d: %v, want %v", n, got[n], want[n])
		}
	}
}

// TestKeysAsShown checks in which of its two forms a key is asked for.
func TestKeysAsShown(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "alone"), 800, 600, false)
	for key, want := range map[string]string{
		`a\x00b\xff`: "shown", `\x5c`: "shown", worst: "key", "203.0.113.7": "key", "a " +
			"b~": "key", "10.0.0.0/8": "key",
		`a\b`: "key", `\x00ü`: "key", `\x0`: "key", "müller": "key", "a\tb": "key",
	} {
		got := value[string](l,
			module("api")+`.then((m) => Object.entries(m.keyParam(`+quote(key)+`)).join())`)
		if got != want+","+key {
			t.Errorf("%q is asked for as %s, want %s", key, got, want)
		}
	}
}

// TestLossesNameRules checks that a lost ring says which rules deny, or pass, everything.
func TestLossesNameRules(t *testing.T) {
	t.Parallel()
	l := open(t, startFake(t, "alone"), 800, 600, false)
	for rules, want := range map[string]string{
		"login:deny":                  "login denies everything",
		"login:deny api:deny":         "login, api deny everything",
		"a:deny b:deny c:deny d:deny": "a, b, c and 1 more deny everything",
		"api:allow login:deny per:local": "each node limits on its own; api denies nothing; " +
			"login denies everything",
		"per:local": "each node limits on its own",
	} {
		list := `'` + rules + `'.split(' ').map((r) => r.split(':')).map(([name, failure_mode]) =>
			({ name, failure_mode, mode: 'enforce', scope: 'pop' }))`
		got := value[string](l, module("faults")+`.then((m) => m.losses({ rules: `+list+`,
			cluster: { ring: { clock: { state: 'agree' }, servers: [{ lost: true }] } } }).join())`)
		if want = "The ring is lost: " + want + "."; got != want {
			t.Errorf("%s: %s, want %s", rules, got, want)
		}
	}
}
