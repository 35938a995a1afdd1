package interop

import (
	"encoding/json"
	"os"
	"testing"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	// of the filter's typed_config
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// TestSnippetIsEnvoys: what `headgate init envoy-authz` prints is Envoy's configuration, by Envoy's
// own types and their rules.
func TestSnippetIsEnvoys(t *testing.T) {
	text, err := os.ReadFile("../../../../deploy/envoy/headgate-authz.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string][]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file) != 2 || len(file["http_filters"]) != 1 || len(file["clusters"]) != 1 {
		t.Fatalf("the file has %v", file)
	}
	for _, part := range []struct {
		value any
		into  interface {
			proto.Message
			ValidateAll() error
		}
	}{{file["http_filters"][0], new(hcm.HttpFilter)}, {file["clusters"][0], new(cluster.Cluster)}} {
		written, err := json.Marshal(part.value)
		if err != nil {
			t.Fatal(err)
		}
		if err := protojson.Unmarshal(written, part.into); err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		if err := part.into.ValidateAll(); err != nil {
			t.Errorf("%s: %v", written, err)
		}
	}
}
