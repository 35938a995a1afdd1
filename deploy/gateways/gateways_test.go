package gateways

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	gateway "github.com/envoyproxy/gateway/api/v1alpha1"
	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	// the type of a filter
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ratelimit/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	// of a cluster's options
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	istio "istio.io/client-go/pkg/apis/networking/v1alpha3"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/headgate-dev/headgate/edge/config"
)

// objects returns the objects of a file of deploy/, by their kind, as JSON.
func objects(t *testing.T, name string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile("../" + name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, text := range bytes.Split(data, []byte("\n---\n")) {
		object, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			t.Fatal(err)
		}
		var is struct{ Kind string }
		if err := json.Unmarshal(object, &is); err != nil {
			t.Fatal(err)
		}
		all[is.Kind] = object
	}
	return all
}

// strict decodes an object into a type that has each of its fields.
func strict(t *testing.T, object []byte, into any) {
	t.Helper()
	if len(object) == 0 {
		t.Fatalf("no %T", into)
	}
	if err := yaml.UnmarshalStrict(object, into); err != nil {
		t.Errorf("%T: %v", into, err)
	}
}

// TestEnvoyGateway: the types of Envoy Gateway and of Kubernetes know each field, also of the
// patch, and headgate takes the configuration that is inside.
func TestEnvoyGateway(t *testing.T) {
	all := objects(t, "envoy-gateway/headgate.yaml")
	var is core.ConfigMap
	strict(t, all["ConfigMap"], &is)
	c, err := config.Parse("headgate.yaml", []byte(is.Data["headgate.yaml"]))
	if err != nil || c.RLS.XDS.Server != "envoy-gateway:18001" || len(c.Warnings) > 0 {
		t.Errorf("%v, %v, %+v", err, c.Warnings, c.RLS.XDS)
	}
	var g gateway.EnvoyGateway
	strict(t, all["EnvoyGateway"], &g)
	patch := g.Provider.Kubernetes.RateLimitDeployment.Patch
	var d apps.Deployment
	strict(t, patch.Value.Raw, &d)
	spec := d.Spec.Template.Spec
	if *patch.Type != gateway.StrategicMerge || spec.Containers[0].Name != "envoy-ratelimit" ||
		len(spec.Volumes) != len(spec.Containers[0].VolumeMounts) {
		t.Errorf("%+v", spec)
	}
	if g.RateLimit.Backend.Type != gateway.RedisBackendType || g.RateLimit.FailClosed {
		t.Errorf("%+v", g.RateLimit)
	}
	var p gateway.BackendTrafficPolicy
	strict(t, all["BackendTrafficPolicy"], &p)
	if p.Spec.RateLimit == nil || len(p.Spec.RateLimit.Global.Rules) != 1 {
		t.Errorf("%+v", p.Spec.RateLimit)
	}
}

// TestIstio: Istio's type knows each field, and Envoy's own types each patch.
func TestIstio(t *testing.T) {
	var f istio.EnvoyFilter
	strict(t, objects(t, "istio/headgate.yaml")["EnvoyFilter"], &f)
	read := 0
	for _, p := range f.Spec.ConfigPatches {
		empty := map[string]proto.Message{
			"HTTP_FILTER": new(hcm.HttpFilter), "VIRTUAL_HOST": new(route.VirtualHost),
			"CLUSTER": new(cluster.Cluster),
		}[p.ApplyTo.String()]
		text, err := protojson.Marshal(p.Patch.Value)
		if err == nil {
			err = protojson.Unmarshal(text, empty)
		}
		if v, ok := empty.(interface{ ValidateAll() error }); ok && err == nil {
			err = v.ValidateAll()
		}
		// a part of a virtual host, which has its name and domains
		if err != nil && !strings.HasPrefix(fmt.Sprint(err), "invalid VirtualHost.Name") {
			t.Errorf("%s: %v", p.ApplyTo, err)
		}
		read++
	}
	if read != 3 {
		t.Errorf("%d patches", read)
	}
}

// TestKgateway: kgateway's types are in no module of the public proxy, so the fields are those that
// its API reference names for gateway.kgateway.dev/v1alpha1.
func TestKgateway(t *testing.T) {
	all := objects(t, "kgateway/headgate.yaml")
	type meta struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	var e struct {
		meta `json:",inline"`
		Spec struct {
			Type      string `json:"type"`
			RateLimit struct {
				Domain      string `json:"domain"`
				Timeout     string `json:"timeout"`
				FailOpen    bool   `json:"failOpen"`
				GrpcService struct {
					BackendRef struct {
						Name string `json:"name"`
						Port int    `json:"port"`
					} `json:"backendRef"`
				} `json:"grpcService"`
			} `json:"rateLimit"`
		} `json:"spec"`
	}
	strict(t, all["GatewayExtension"], &e)
	var p struct {
		meta `json:",inline"`
		Spec struct {
			TargetRefs []struct {
				Group string `json:"group"`
				Kind  string `json:"kind"`
				Name  string `json:"name"`
			} `json:"targetRefs"`
			RateLimit struct {
				Global struct {
					Descriptors []struct {
						Entries []struct {
							Type string `json:"type"`
						} `json:"entries"`
					} `json:"descriptors"`
					ExtensionRef struct {
						Name      string `json:"name"`
						Namespace string `json:"namespace"`
					} `json:"extensionRef"`
				} `json:"global"`
			} `json:"rateLimit"`
		} `json:"spec"`
	}
	strict(t, all["TrafficPolicy"], &p)
	if e.Metadata.Name != p.Spec.RateLimit.Global.ExtensionRef.Name || e.Spec.Type != "RateLimit" ||
		e.Metadata.Namespace != p.Spec.RateLimit.Global.ExtensionRef.Namespace {
		t.Errorf("%+v\n%+v", e, p)
	}
}
