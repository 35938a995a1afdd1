package interop

import (
	"encoding/json"
	"os"
	"testing"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	// the type of a filter
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	// likewise
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	// of a cluster's options
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// TestSnippets: Envoy's own types take each part of the files that `headgate init` prints, and find
// them valid.
func TestSnippets(t *testing.T) {
	for _, name := range []string{
		"headgate-rls.yaml", "headgate-authz-grpc.yaml",
		"headgate-authz.yaml",
	} {
		data, err := os.ReadFile("../../../../deploy/envoy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var parts map[string][]any
		if err := yaml.Unmarshal(data, &parts); err != nil {
			t.Fatal(err)
		}
		read := 0
		for part, empty := range map[string]func() proto.Message{
			"http_filters": func() proto.Message { return new(hcm.HttpFilter) },
			"rate_limits":  func() proto.Message { return new(route.RateLimit) },
			"clusters":     func() proto.Message { return new(cluster.Cluster) },
		} {
			for _, item := range parts[part] {
				text, err := json.Marshal(item)
				if err != nil {
					t.Fatal(err)
				}
				m := empty()
				if err := protojson.Unmarshal(text, m); err != nil {
					t.Errorf("%s: %s: %v", name, part, err)
				}
				if v, ok := m.(interface{ ValidateAll() error }); ok && v.ValidateAll() != nil {
					t.Errorf("%s: %s: %v", name, part, v.ValidateAll())
				}
				read++
			}
		}
		if read < 2 || len(parts) != read {
			t.Errorf("%s: %d of %d parts are known", name, read, len(parts))
		}
	}
}
