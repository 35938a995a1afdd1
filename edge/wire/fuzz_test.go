package wire

import (
	"bytes"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// oracle parses a request line the slow and obvious way, with nothing of the
// parser in it. It returns false for what is a bad request.
func oracle(line string) (q Query, ok bool) {
	if line == "ping" {
		return Query{Op: Ping, Cost: 1}, true
	}
	words := strings.Split(line, " ")
	op := slices.Index([]string{"check", "peek", "count"}, words[0])
	if len(words) < 3 || op < 0 || slices.Contains(words, "") ||
		strings.ContainsFunc(line, control) {
		return q, false
	}
	key, err := url.PathUnescape(words[2])
	if err != nil || !made(words[1], alnum+"_.-", MaxRule) {
		return q, false
	}
	q = Query{Op: Op(op), Cost: 1, Rule: []byte(words[1]), Key: []byte(key)}
	for _, option := range words[3:] {
		if cost, found := strings.CutPrefix(option, "cost="); found {
			n, _ := strconv.Atoi(cost)
			if n < 1 || n > MaxCost || strconv.Itoa(n) != cost {
				return q, false
			}
			q.Cost = uint32(n)
		}
		if id, found := strings.CutPrefix(option, "id="); found {
			if !made(id, alnum+"!#$%&'*+-.^_`|~", MaxID) {
				return q, false
			}
			q.ID = []byte(id)
		}
	}
	return q, true
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// made reports whether s is 1 to n bytes of those in chars.
func made(s, chars string, n int) bool {
	return s != "" && len(s) <= n && strings.Trim(s, chars) == ""
}

// replies are the longest and the plainest of each status.
var replies = []Answer{
	{},
	{Remaining: math.MaxInt64, Reset: math.MaxUint32, View: ViewGlobal, Shadow: true},
	{Status: Deny},
	{Status: Deny, Why: WhyBlock, Retry: math.MaxUint32, View: ViewGlobal, Ratio: 0.5},
	{Status: OK},
	{Status: Pong},
	{Status: Error, Code: BadRequest},
	{Status: Error, Code: UnknownRule},
}

func FuzzParseQuery(f *testing.F) {
	for _, line := range []string{
		"check login 203.0.113.7", "peek r %20%25%7f cost=7 id=a!b", "count r k x=y id=1 id=2",
		"ping",
		"check r %4", "check r k cost=1000001 id=7", "ping id=7", "check  r k", "",
		"check r k id=/ id=7",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		asked := bytes.Clone(line)
		var q Query
		code := ParseQuery(&q, line)
		want, ok := oracle(string(asked))
		if long := len(want.Key) > MaxKey; (code != BadRequest) != ok ||
			(code == TooLong) != (ok && long) {
			t.Fatalf("%q: code %q, but well formed: %v, key too long: %v", asked, code, ok, long)
		}
		if got, want := describeQuery(q, code), describeQuery(want, code); code == NoError &&
			got != want {
			t.Fatalf("%q\nis read %s\n   want %s", asked, got, want)
		}
		if code != NoError && (q.Op != 0 || q.Cost != 0 || q.Rule != nil || q.Key != nil) {
			t.Fatalf("%q: refused, yet %+v", asked, q)
		}
		if code == NoError {
			checkRoundTrip(t, asked, q)
		}
		for _, a := range replies {
			checkReplyFits(t, asked, a, q.ID)
		}
	})
}

func checkRoundTrip(t *testing.T, asked []byte, q Query) {
	t.Helper()
	if code := q.Validate(); code != NoError {
		t.Fatalf("%q parses, but Validate says %q", asked, code)
	}
	line := AppendQuery(nil, q)
	var back Query
	code := ParseQuery(&back, bytes.Clone(line))
	if got, want := describeQuery(back, code), describeQuery(q, NoError); got != want {
		t.Fatalf("%q\nwritten %q\nis read %s\n   want %s", asked, line, got, want)
	}
}

// checkReplyFits: nobody is flooded through headgate, and a proper question is
// never left without its verdict.
func checkReplyFits(t *testing.T, asked []byte, a Answer, id []byte) {
	t.Helper()
	a.ID = id
	reply, ok := AppendAnswerMax(nil, &a, len(asked))
	if len(reply) > len(asked) {
		t.Fatalf("reply %q is longer than its request %q", reply, asked)
	}
	if back, err := ParseAnswer(reply); ok && (err != nil || back.Status != a.Status ||
		!bytes.Equal(back.ID, id)) {
		t.Fatalf("cut reply %q reads back as %+v, %v", reply, back, err)
	}
	if verdict := a.Status == Allow || a.Status == Deny; verdict && !ok && properQuestion(asked) {
		t.Fatalf("request %q has no room for its verdict", asked)
	}
}

func properQuestion(line []byte) bool {
	q, ok := oracle(string(line))
	return ok && q.Op != Ping
}

func FuzzParseAnswer(f *testing.F) {
	for _, line := range []string{
		"allow remaining=99 reset=10 view=node", "id=7 deny why=shed retry=1 view=global " +
			"ratio=0.83", "ok", "pong",
		"id=x error unknown-rule", "allow shadow=deny x=y", "id=", "allow remaining=-1",
		"deny ratio=1.01", "error",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got := bytes.Clone(line)
		a, err := ParseAnswer(line)
		if !bytes.Equal(got, line) {
			t.Fatalf("%q was changed to %q", got, line)
		}
		if err != nil {
			return
		}
		written := AppendAnswer(nil, &a)
		back, err := ParseAnswer(written)
		if err != nil {
			t.Fatalf("%q\nwritten %q\nis %v", got, written, err)
		}
		if a.Status == Deny {
			a.Retry = max(a.Retry, 1)
		}
		if got, want := describeAnswer(back, nil), describeAnswer(a, nil); got != want {
			t.Fatalf("%q\nwritten %q\nis read %s\n   want %s", line, written, got, want)
		}
	})
}
