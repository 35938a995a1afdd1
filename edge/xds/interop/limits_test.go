package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	conf "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

const service = "envoy.service.ratelimit.v3.RateLimitService"

// serving reports whether the node's rate limit service is.
func (n *node) serving(name string) bool {
	n.t.Helper()
	is, err := health.NewHealthClient(n.conn).Check(n.t.Context(),
		&health.HealthCheckRequest{Service: name})
	if err != nil {
		n.t.Fatal(err)
	}
	return is.Status == health.HealthCheckResponse_SERVING
}

// TestNothingYet: before the first configuration a domain that no file has is not known to have no
// limit.
func TestNothingYet(t *testing.T) {
	t.Parallel()
	m := manage(t, "")
	n := startNode(
		t,
		t.TempDir(),
		"rls: {xds: {server: '"+m.at+"', cluster: c, metadata: {a: b, e: ''}}}\n",
	)
	_, err := n.ask("shop", "plan", "free")
	if is := status.Convert(err); is.Code() != codes.Unavailable ||
		is.Message() != "no configuration from rls.xds yet" {
		t.Errorf("before: %v", err)
	}
	if n.serving(service) || !n.serving("") {
		t.Error("health before the first configuration")
	}
	m.send("1", domain("shop", limit("plan", "free", 2)))
	n.await("1")
	if got := n.remaining("shop", "plan", "free"); got != 1 || !n.serving(service) {
		t.Errorf("after: %d left", got)
	}
	if got := n.remaining("other", "plan", "free"); got != -1 {
		t.Errorf("of another domain: %d left", got)
	}
	q := m.first()
	if q.Node.GetId() != "headgate" || q.Node.GetCluster() != "c" || q.VersionInfo != "" ||
		q.ResponseNonce != "" || len(q.ResourceNames) > 0 || q.Node.GetUserAgentName() != "headgate" ||
		q.Node.GetMetadata().AsMap()["a"] != "b" || q.Node.GetMetadata().AsMap()["e"] != "" {
		t.Errorf("the first request: %v", q)
	}
	m.send("2") // no domains at all
	n.await("2")
	if got := n.remaining("shop", "plan", "free"); got != -1 || !n.serving(service) {
		t.Errorf("after an empty response: %d left", got)
	}
}

// many returns a domain with descriptors plan=0, plan=1 and so on.
func many(count int, most uint32) *conf.RateLimitConfig {
	c := domain("shop")
	for i := range count {
		c.Descriptors = append(c.Descriptors, limit("plan", fmt.Sprint(i), most))
	}
	return c
}

// TestManyLimits: 16,384 descriptors come into force, and of an update of ten all counts stay. 16,385
// are refused.
func TestManyLimits(t *testing.T) {
	t.Parallel()
	m := manage(t, "")
	n := startNode(t, t.TempDir(), "rls: {xds: {server: '"+m.at+"'}}\n")
	for _, count := range []int{2_000, 16_384} {
		began := time.Now()
		version := fmt.Sprint(count)
		m.send(version, many(count, 100))
		n.await(version)
		t.Logf("%d descriptors in force after %v", count, time.Since(began))
	}
	for i := range 16_384 {
		if i%97 == 0 && n.remaining("shop", "plan", fmt.Sprint(i)) != 99 {
			t.Fatalf("plan %d", i)
		}
	}
	next := many(16_384, 100)
	for i := range 10 {
		next.Descriptors[i].RateLimit.RequestsPerUnit = 200
	}
	began := time.Now()
	m.send("ten", next)
	n.await("ten")
	t.Logf("ten of them after %v", time.Since(began))
	for i := range 16_384 {
		want := 98
		if i < 10 {
			want = 198
		}
		if i%97 == 0 {
			if got := n.remaining("shop", "plan", fmt.Sprint(i)); got != want {
				t.Fatalf("plan %d: %d left, want %d", i, got, want)
			}
		}
	}
	m.send("more", many(16_385, 100))
	m.refused("more than 16384 descriptors have a limit", 0)
	if got := n.remaining("shop", "plan", "9"); got != 199 { // not asked above
		t.Errorf("after the refusal: %d left", got)
	}
}

// TestRefusals sends thirty configurations that cannot be put in force. Each is refused once, in
// words, with the last good version; the limits before it stay, and there is no storm.
func TestRefusals(t *testing.T) {
	t.Parallel()
	m := manage(t, "")
	dir := t.TempDir()
	file := filepath.Join(dir, "limits.yaml")
	if err := os.WriteFile(file, []byte("domain: ours\ndescriptors: [{key: k, rate_limit: "+
		"{unit: hour, requests_per_unit: 3}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := startNode(t, dir, "rls: {files: ["+file+"], xds: {server: '"+m.at+"'}}\n")
	good := domain("shop", limit("plan", "free", 100))
	m.send("good", good)
	n.await("good")
	unknown := func(b []byte, number protowire.Number) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), 1)
	}
	odd := func(change func(d *conf.RateLimitDescriptor)) *conf.RateLimitConfig {
		d := limit("plan", "free", 5)
		change(d)
		return domain("shop", d)
	}
	bad := []struct {
		words string
		sent  []*conf.RateLimitConfig
	}{
		{
			`resource "shop": descriptor dup_it: the descriptor "shop.dup_it" is there already (and 2 more)`,
			[]*conf.RateLimitConfig{domain("shop", limit("dup", "it", 1), limit("dup", "it", 2),
				limit("dup", "it", 3), limit("", "x", 1))},
		},
		{`resource "ours": domain "ours" is in rls.files`, []*conf.RateLimitConfig{domain("ours")}},
		{
			`domain "shop" is in a resource before`,
			[]*conf.RateLimitConfig{good, {Name: "b", Domain: "shop"}},
		},
		{"there is no domain", []*conf.RateLimitConfig{{Name: "x"}}},
		{"has no key", []*conf.RateLimitConfig{domain("shop", limit("", "", 1))}},
		{"the unit is second, minute, hour or day", []*conf.RateLimitConfig{odd(
			func(d *conf.RateLimitDescriptor) { d.RateLimit.Unit = 0 })}},
		{`not "9"`, []*conf.RateLimitConfig{odd(
			func(d *conf.RateLimitDescriptor) { d.RateLimit.Unit = 9 })}},
		{"a window is at most a day", []*conf.RateLimitConfig{odd(
			func(d *conf.RateLimitDescriptor) { d.RateLimit.Unit = conf.RateLimitUnit_MONTH })}},
		{"an unlimited descriptor has no unit", []*conf.RateLimitConfig{odd(
			func(d *conf.RateLimitDescriptor) { d.RateLimit.Unlimited = true })}},
		{"replaces names no limit", []*conf.RateLimitConfig{odd(func(d *conf.RateLimitDescriptor) {
			d.RateLimit.Replaces = []*conf.RateLimitReplace{{}}
		})}},
		{"a limit cannot replace itself", []*conf.RateLimitConfig{odd(
			func(d *conf.RateLimitDescriptor) {
				d.RateLimit.Name = "n"
				d.RateLimit.Replaces = []*conf.RateLimitReplace{{Name: "n"}}
			})}},
		{"descriptor plan_free: unknown field 9", []*conf.RateLimitConfig{odd(
			func(d *conf.RateLimitDescriptor) { d.ProtoReflect().SetUnknown(unknown(nil, 9)) })}},
		{"descriptor plan_free: unknown field 6", []*conf.RateLimitConfig{odd(
			func(d *conf.RateLimitDescriptor) {
				d.RateLimit.ProtoReflect().SetUnknown(unknown(nil, 6))
			})}},
		{"unknown field 4", []*conf.RateLimitConfig{func() *conf.RateLimitConfig {
			c := domain("shop")
			c.ProtoReflect().SetUnknown(unknown(nil, 4))
			return c
		}()}},
		{"plan_free.tier_gold: unknown field 77", []*conf.RateLimitConfig{odd(
			func(d *conf.RateLimitDescriptor) {
				below := limit("tier", "gold", 1)
				below.ProtoReflect().SetUnknown(unknown(nil, 77))
				d.Descriptors = append(d.Descriptors, below)
			})}},
	}
	for i := range 30 {
		b := bad[i%len(bad)]
		for _, c := range b.sent { // another response each time
			c.Descriptors = append(c.Descriptors, limit("nr", fmt.Sprint(i), 1))
		}
		before := len(m.nacks())
		m.send(fmt.Sprintf("bad %d", i), b.sent...)
		q := m.refused(b.words, before)
		if q.VersionInfo != "good" || q.ErrorDetail.Code != int32(codes.InvalidArgument) ||
			q.ResponseNonce == "" {
			t.Errorf("%d: %v\nwant %s", i, q, b.words)
		}
		if x := n.RLS().XDS; x.Error != q.ErrorDetail.Message || x.Version != "good" {
			t.Errorf("%d: /v1/rls says %+v", i, x)
		}
		if got := n.remaining("shop", "plan", "free"); got != 99-i {
			t.Errorf("%d: %d left", i, got)
		}
	}
	if got := n.RLS().XDS.NACKs; got != 30 {
		t.Errorf("%d NACKs were counted", got)
	}
	t.Logf("%d NACKs were sent", len(m.nacks()))
	// a domain of rls.xds is no domain of a file
	if err := os.WriteFile(file, []byte("domain: shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Reload(); err == nil || !strings.Contains(err.Error(),
		`domain "shop" is in rls.files`) {
		t.Errorf("a file with the domain: %v", err)
	}
	if got := n.remaining("ours", "k", "v"); got != 2 {
		t.Errorf("after the reload: %d left", got)
	}
}

// TestNoStorm: a version that was refused and comes again waits longer each time.
func TestNoStorm(t *testing.T) {
	t.Parallel()
	m := manage(t, "")
	n := startNode(t, t.TempDir(), "rls: {xds: {server: '"+m.at+"'}}\n")
	m.send("bad", domain(""))
	m.refused("no domain", 0)
	began := time.Now()
	edgetest.Await(
		t,
		"the third NACK",
		edgetest.Patience,
		func() bool { return len(m.nacks()) == 3 },
	)
	if took := time.Since(began); took < 2900*time.Millisecond {
		t.Errorf("the third NACK came after %v, want 1 s and 2 s", took)
	}
	m.send("good", domain("shop"))
	n.await("good")
	if x := n.RLS().XDS; x.NACKs != 1 || x.Error != "" || len(m.nacks()) > 4 {
		t.Errorf("%d NACKs, %d counted: %+v", len(m.nacks()), x.NACKs, x)
	}
}

// TestLostServer: while the server is gone, over a restart of the daemon without it, and when it is
// there again, the last limits hold from the first answer on.
func TestLostServer(t *testing.T) {
	t.Parallel()
	m := manage(t, "")
	dir := t.TempDir()
	text := "state_dir: " + filepath.Join(dir, "state") + "\nrls: {xds: {server: '" + m.at + "'}}\n"
	n := startNode(t, dir, text)
	m.send("1", domain("shop", limit("plan", "free", 100), limit("plan", "", 7)))
	n.await("1")
	m.stop()
	edgetest.Await(t, "the loss", edgetest.Patience, func() bool { return !n.RLS().XDS.Connected })
	if got := n.remaining("shop", "plan", "free"); got != 99 {
		t.Errorf("without the server: %d left", got)
	}
	n.stop()
	n = startNode(t, dir, text)
	if got := n.remaining("shop", "plan", "free"); got < 98 { // the state is written once a second
		t.Errorf("after a restart without the server: %d left", got)
	}
	if x := n.RLS().XDS; x.Version != "1" || x.Updated != nil || !n.serving(service) {
		t.Errorf("after a restart: %+v", x)
	}
	m.listen(m.at)
	m.send("2", domain("shop", limit("plan", "free", 50)))
	n.await("2")
	if got := n.remaining("shop", "plan", "free"); got < 47 || got > 49 {
		t.Errorf("with the server again: %d left", got)
	}
	n.stop()
	kept := filepath.Join(dir, "state", "rls-xds.pb")
	is, err := os.Stat(kept)
	if err != nil || is.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", is, err)
	}
	content, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-1] ^= 1
	if err := os.WriteFile(kept, content, 0o600); err != nil {
		t.Fatal(err)
	}
	m.stop()
	n = startNode(t, dir, text)
	if got := n.remaining("shop", "plan", "free"); got != -2 || n.serving(service) {
		t.Errorf("with a damaged file: %d left", got)
	}
}

// TestReloads: another server, and none.
func TestReloads(t *testing.T) {
	t.Parallel()
	a, b := manage(t, ""), manage(t, "")
	n := startNode(t, t.TempDir(), "rls: {xds: {server: '"+a.at+"'}}\n")
	a.send("a", domain("shop", limit("plan", "free", 100)))
	b.send("b", domain("shop", limit("plan", "free", 50)))
	n.await("a")
	if got := n.remaining("shop", "plan", "free"); got != 99 {
		t.Errorf("%d left", got)
	}
	reload := func(text string) {
		t.Helper()
		n.write(text)
		if waiting, err := n.Reload(); err != nil || len(waiting) > 0 {
			t.Fatalf("%v, %v", waiting, err)
		}
	}
	reload("rls: {xds: {server: '" + b.at + "'}}\n")
	n.await("b")
	if got := n.remaining("shop", "plan", "free"); got != 48 {
		t.Errorf("with the other server: %d left", got)
	}
	reload("")
	if got := n.remaining("shop", "plan", "free"); got != -1 {
		t.Errorf("without a server: %d left", got)
	}
	edgetest.Await(t, "the end of its stream", edgetest.Patience, func() bool {
		return n.RLS().XDS == nil
	})
}
