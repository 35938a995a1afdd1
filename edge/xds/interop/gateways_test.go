package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	conf "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/envoyproxy/ratelimit/src/settings"
	"github.com/envoyproxy/ratelimit/src/stats"
	gostats "github.com/lyft/gostats"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

// configs reads a file of YAML documents as resources.
func configs(t *testing.T, path string) (all []*conf.RateLimitConfig) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var content map[string]any
		if err := d.Decode(&content); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(content)
		c := new(conf.RateLimitConfig)
		if err == nil {
			err = protojson.Unmarshal(text, c) // an unknown field is a fault
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
}

// theirs loads resources as envoyproxy/ratelimit does.
func theirs(all []*conf.RateLimitConfig) config.RateLimitConfig {
	var loads []config.RateLimitConfigToLoad
	for _, c := range all {
		loads = append(loads, config.RateLimitConfigToLoad{
			Name: c.Name, ConfigYaml: config.ConfigXdsProtoToYaml(c),
		})
	}
	return config.NewRateLimitConfigImpl(loads, stats.NewStatManager(
		gostats.NewStore(gostats.NewNullSink(), false), settings.Settings{}), false)
}

// paths returns the entries of every descriptor in all, below those of above.
func paths(all []*conf.RateLimitDescriptor, above []*common.RateLimitDescriptor_Entry) (
	list []*common.RateLimitDescriptor,
) {
	for _, d := range all {
		own := append(
			slices.Clone(above),
			&common.RateLimitDescriptor_Entry{Key: d.Key, Value: d.Value},
		)
		list = append(append(list, &common.RateLimitDescriptor{Entries: own}),
			paths(d.Descriptors, own)...)
	}
	return list
}

// TestGatewayConfigurations: configurations that gateways send are decided as envoyproxy/ratelimit's
// own matcher decides, for their own descriptors and for random ones near them.
func TestGatewayConfigurations(t *testing.T) {
	t.Parallel()
	m := manage(t, "")
	n := startNode(t, t.TempDir(), "rls: {long_units: day, xds: {server: '"+m.at+"'}}\n")
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	asked, limited := 0, 0
	for _, file := range files {
		all := configs(t, file)
		m.send(file, all...)
		n.await(file)
		they := theirs(all)
		for _, c := range all {
			for _, d := range paths(c.Descriptors, nil) {
				for range 40 {
					is := vary(random, d)
					asked++
					want := they.GetLimit(t.Context(), c.Domain, is)
					a, err := n.rls.ShouldRateLimit(t.Context(), &rls.RateLimitRequest{
						Domain: c.Domain, Descriptors: []*common.RateLimitDescriptor{is},
					})
					if err != nil {
						t.Fatal(err)
					}
					got := a.Statuses[0].CurrentLimit
					if (got == nil) != (want == nil) {
						t.Fatalf("%s: %v: %v, they say %v", file, is, got, want)
					}
					if got == nil {
						continue
					}
					limited++
					unit := want.Limit.Unit.String()
					if long := strings.Contains("MONTH YEAR", unit); !long &&
						(got.Unit.String() != unit ||
							got.RequestsPerUnit != want.Limit.RequestsPerUnit) {
						t.Fatalf("%s: %v: %v, they say %v", file, is, got, want.Limit)
					}
				}
			}
		}
	}
	if t.Logf("%d questions, %d with a limit", asked, limited); limited < asked/10 {
		t.Error("too few have a limit")
	}
}

// vary returns d, or a descriptor near it.
func vary(r *rand.Rand, d *common.RateLimitDescriptor) *common.RateLimitDescriptor {
	is := new(common.RateLimitDescriptor)
	for _, e := range d.Entries {
		value := e.Value
		if value == "" || r.IntN(8) == 0 {
			value = fmt.Sprintf("v%d", r.IntN(3))
		}
		is.Entries = append(is.Entries, &common.RateLimitDescriptor_Entry{Key: e.Key, Value: value})
	}
	if r.IntN(8) == 0 {
		is.Entries = is.Entries[:1+r.IntN(len(is.Entries))]
	}
	return is
}

// TestLongUnitsAreRefused: without rls.long_units a month is a fault, in words that name the option.
func TestLongUnitsAreRefused(t *testing.T) {
	t.Parallel()
	m := manage(t, "")
	startNode(t, t.TempDir(), "rls: {xds: {server: '"+m.at+"'}}\n")
	m.send("1", configs(t, "testdata/month-year-rule.yaml")...)
	m.refused("descriptor first-route.rule-0-match-0_rule-0-match-0: a window is at most a day "+
		"here: rls.long_units: day makes a month a part of it a day (and 1 more)", 0)
}
