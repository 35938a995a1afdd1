package interop

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	conf "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/headgate-dev/headgate/edge"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// manager is go-control-plane's own management server.
type manager struct {
	t     testing.TB
	cache cache.SnapshotCache
	at    string
	stop  func() // ends it, and all its streams

	mu       sync.Mutex
	requests []*discovery.DiscoveryRequest
	headers  metadata.MD // of the newest stream
}

// manage starts a manager until the test ends. at is where it listens; empty: anywhere.
func manage(t testing.TB, at string, o ...grpc.ServerOption) *manager {
	t.Helper()
	m := &manager{t: t, cache: cache.NewSnapshotCache(true, cache.IDHash{}, nil)}
	m.listen(at, o...)
	return m
}

// listen starts m's server.
func (m *manager) listen(at string, o ...grpc.ServerOption) {
	m.t.Helper()
	if at == "" {
		at = "127.0.0.1:0"
	}
	var ln net.Listener
	edgetest.Await(m.t, "the port", edgetest.Patience, func() (ok bool) {
		var err error
		ln, err = net.Listen("tcp", at)
		return err == nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	s := grpc.NewServer(o...)
	discovery.RegisterAggregatedDiscoveryServiceServer(s, server.NewServer(ctx, m.cache,
		server.CallbackFuncs{
			StreamOpenFunc: func(ctx context.Context, _ int64, _ string) error {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.headers, _ = metadata.FromIncomingContext(ctx)
				return nil
			},
			StreamRequestFunc: func(_ int64, r *discovery.DiscoveryRequest) error {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.requests = append(m.requests, r)
				return nil
			},
		}))
	m.at = ln.Addr().String()
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	m.stop = sync.OnceFunc(func() {
		cancel()
		s.Stop()
		if err := <-done; err != nil {
			m.t.Error(err)
		}
	})
	m.t.Cleanup(func() { m.stop() })
}

// send has m send all as version.
func (m *manager) send(version string, all ...*conf.RateLimitConfig) {
	m.t.Helper()
	resources := make([]types.Resource, len(all))
	for i, c := range all {
		resources[i] = c
	}
	s, err := cache.NewSnapshot(version, map[resource.Type][]types.Resource{
		resource.RateLimitConfigType: resources,
	})
	if err == nil {
		err = m.cache.SetSnapshot(m.t.Context(), "headgate", s)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// nacks returns the NACKs so far.
func (m *manager) nacks() (all []*discovery.DiscoveryRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.requests {
		if r.ErrorDetail != nil {
			all = append(all, r)
		}
	}
	return all
}

// header returns a header of the newest stream.
func (m *manager) header(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.headers.Get(name), ",")
}

// first returns the first request.
func (m *manager) first() *discovery.DiscoveryRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[0]
}

// node is a node with rls.xds.
type node struct {
	*edge.Node
	t    testing.TB
	file string
	rls  rls.RateLimitServiceClient
	conn *grpc.ClientConn
	stop func()
}

// startNode runs a node with the configuration text until the test ends.
func startNode(t testing.TB, dir, text string) *node {
	t.Helper()
	n := &node{t: t, file: filepath.Join(dir, "headgate.yaml")}
	n.write(text)
	var err error
	if n.Node, err = edge.New(t.Context(), edge.Options{File: n.file}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(n.stop)
	n.conn, err = grpc.NewClient(n.Addresses().Streams["grpc"][0].String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.conn.Close() })
	n.rls = rls.NewRateLimitServiceClient(n.conn)
	return n
}

// write writes the configuration file of n: text, below the listeners.
func (n *node) write(text string) {
	n.t.Helper()
	text = "listen: {udp: [], http: [], admin: '127.0.0.1:0', grpc: '127.0.0.1:0'}\nrules: []\n" + text
	if err := os.WriteFile(n.file, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// ask asks about a descriptor, as key value key value.
func (n *node) ask(domain string, pairs ...string) (*rls.RateLimitResponse, error) {
	ctx, cancel := context.WithTimeout(n.t.Context(), 10*time.Second)
	defer cancel()
	d := &common.RateLimitDescriptor{}
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries,
			&common.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return n.rls.ShouldRateLimit(ctx, &rls.RateLimitRequest{
		Domain: domain, Descriptors: []*common.RateLimitDescriptor{d}, HitsAddend: 1,
	})
}

// remaining returns how much ask leaves; -1: there is no limit, -2: the question has no answer.
func (n *node) remaining(domain string, pairs ...string) int {
	a, err := n.ask(domain, pairs...)
	switch {
	case err != nil:
		return -2
	case a.Statuses[0].CurrentLimit == nil:
		return -1
	}
	return int(a.Statuses[0].LimitRemaining)
}

// await waits until n has version in force.
func (n *node) await(version string) {
	n.t.Helper()
	edgetest.Await(n.t, "version "+version, edgetest.Patience, func() bool {
		x := n.RLS().XDS
		// In force first, and then acknowledged.
		return x != nil && x.Version == version && x.Error == "" && x.ACKs > 0
	})
}

// limit is a descriptor with a limit an hour.
func limit(
	key, value string,
	most uint32,
	below ...*conf.RateLimitDescriptor,
) *conf.RateLimitDescriptor {
	d := &conf.RateLimitDescriptor{Key: key, Value: value, Descriptors: below}
	if most > 0 {
		d.RateLimit = &conf.RateLimitPolicy{Unit: conf.RateLimitUnit_HOUR, RequestsPerUnit: most}
	}
	return d
}

// domain is a resource with the name of its domain.
func domain(name string, all ...*conf.RateLimitDescriptor) *conf.RateLimitConfig {
	return &conf.RateLimitConfig{Name: name, Domain: name, Descriptors: all}
}

// refused waits for a NACK with words behind the first before, and returns it.
func (m *manager) refused(words string, before int) (is *discovery.DiscoveryRequest) {
	m.t.Helper()
	edgetest.Await(m.t, "a NACK with "+words, edgetest.Patience, func() bool {
		for _, r := range m.nacks()[before:] {
			if strings.Contains(r.ErrorDetail.Message, words) {
				is = r
			}
		}
		return is != nil
	})
	return is
}
