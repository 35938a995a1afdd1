//go:build !race

package http

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/request"
)

// drawn notes the headers of the requests that are drawn.
type drawn struct{ headers string }

func (d *drawn) Keep(r *request.Request, _ int64, _ uint64, _ bool) {
	d.headers = ""
	for i := range r.Sampled() {
		name, value := r.SampledHeader(i)
		d.headers += fmt.Sprintf("%s=%s|", name, value)
	}
}

func (d *drawn) Answered(uint64, int) {}

// TestFramingHeadersAfterKept: a header that policies look at, or of a request that is drawn, means
// the same to the connection and to them, wherever it stands among others that are kept.
func TestFramingHeadersAfterKept(t *testing.T) {
	for _, share := range []uint32{0, math.MaxUint32} {
		g, room := gatetest.Policies(t, 1<<20, `
rules: []
policies:
  - name: all
    match: {header.connection: true, header.x-a: true, host: good.example, header.host: true}
    limit: 100
    window: 1m
`)
		d, draws := &drawn{}, new(atomic.Uint32)
		draws.Store(share)
		room.Sample(draws, d)
		h := New(g, room, g.Lane(0))
		for _, lines := range [][]string{
			{"Host: good.example", "X-Original-URI: /", "X-A: 1", "Connection: close"},
			{"X-A: 1", "Host: good.example", "X-Original-URI: /", "X-B: 2", "Connection: close"},
			{"X-A: 1", "X-A: 2", "X-Original-URI: /", "Connection: close", "Host: good.example"},
			{
				"X-A: " + strings.Repeat("b", 40), "X-Original-URI: /", "Connection: close",
				"Accept: */*", "Host: good.example",
			},
		} {
			got := string(answersTo(t, h, []byte(rawRequest(append(
				[]string{"GET /v1/auth/nginx HTTP/1.1"}, lines...)...))))
			if !strings.Contains(got, "Headgate-Rule: all") ||
				!strings.Contains(got, "\r\nConnection: close\r\n") {
				t.Errorf("%d %q: %s", share, lines, got)
			}
			want := "" // in the order of arrival
			for _, line := range lines {
				if !strings.HasPrefix(line, "X-Original-URI") {
					want += strings.Replace(line, ": ", "=", 1) + "|"
				}
			}
			if share > 0 && d.headers != want {
				t.Errorf("%d %q: %s", share, lines, d.headers)
			}
		}
	}
}

// TestDrawnHeadersTakeNoRoom: with as many headers as a head may have, a drawn request is answered
// as any other, and 32 of the headers are kept.
func TestDrawnHeadersTakeNoRoom(t *testing.T) {
	g, room := gatetest.Policies(t, 1<<20, "rules: []\n"+
		"policies: [{name: all, match: {header.x-last: true}, limit: 100, window: 1m}]\n")
	d, draws := &drawn{}, new(atomic.Uint32)
	draws.Store(math.MaxUint32)
	room.Sample(draws, d)
	h := New(g, room, g.Lane(0))
	for _, size := range []int{1, 20, 100} {
		lines := []string{"GET /v1/auth/nginx HTTP/1.1", "Host: h", "X-Original-URI: /"}
		for i := range 60 {
			lines = append(lines, fmt.Sprintf("X-%d: %s", i, strings.Repeat("v", size)))
		}
		got := string(answersTo(t, h, []byte(rawRequest(append(lines, "X-Last: 1")...))))
		if n := strings.Count(d.headers, "|"); !strings.Contains(got, "Headgate-Rule: all") ||
			n > request.MaxOthers || n < 20 {
			t.Errorf("%d: %d headers, %s", size, n, got)
		}
	}
}

var dates = regexp.MustCompile("(?m)^Date: .*$")

// TestDrawnIsAnsweredAsAny: whatever the headers and their sizes, a request that is drawn has the
// answer that it has otherwise.
func TestDrawnIsAnsweredAsAny(t *testing.T) {
	chance := rand.New(rand.NewPCG(3, 5))
	ask := func(share uint32, raw []byte) string {
		g, room := gatetest.Policies(t, 1<<20, "rules: []\npolicies:\n"+
			"  - {name: a, match: {header.x-a: true}, key: header.x-a, limit: 9, window: 1m}\n"+
			"  - {name: site, match: {host: h.example, path: /a}, limit: 9, window: 1m}\n"+
			"  - {name: cookie, match: {cookie.s: true}, limit: 9, window: 1m}\n")
		draws := new(atomic.Uint32)
		draws.Store(share)
		room.Sample(draws, &drawn{})
		return dates.ReplaceAllString(string(answersTo(t, New(g, room, g.Lane(0)), raw)), "")
	}
	answers := map[string]int{}
	for range edgetest.Rounds(150, 800) {
		lines := []string{"GET /v1/auth/nginx HTTP/1.1"}
		for range chance.IntN(40) {
			name := []string{
				"X-A", "Cookie", "X-B", "X-C", "Accept", "Connection", "Headgate-Country",
			}[chance.IntN(7)]
			size := chance.IntN(60)
			if chance.IntN(6) == 0 {
				size = chance.IntN(4000)
			}
			value := strings.Repeat("v", size)
			if name == "Connection" {
				value = "close"
			}
			lines = append(lines, name+": "+value)
		}
		host := "h.example"
		if chance.IntN(8) == 0 {
			host += "." + strings.Repeat("h", chance.IntN(4000))
		}
		for _, line := range []string{"Host: " + host, "X-Original-URI: /a"} {
			lines = slices.Insert(lines, 1+chance.IntN(len(lines)), line)
		}
		raw := []byte(rawRequest(lines...))
		plain := ask(0, slices.Clone(raw))
		if got := ask(math.MaxUint32, raw); got != plain {
			t.Fatalf("%.2000q:\n%s\n%s", lines, got, plain)
		}
		status, _, _ := strings.Cut(plain, "\r\n")
		answers[status]++
	}
	if len(answers) < 2 {
		t.Error(answers)
	}
}
