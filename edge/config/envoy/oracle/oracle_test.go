package oracle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/envoyproxy/ratelimit/src/settings"
	"github.com/envoyproxy/ratelimit/src/stats"
	gostats "github.com/lyft/gostats"

	"github.com/headgate-dev/headgate/edge/config/envoy"
	"github.com/headgate-dev/headgate/edge/rls"
)

// theirs loads one file as envoyproxy/ratelimit does; its fault is the error.
func theirs(text string) (c config.RateLimitConfig, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	root := config.ConfigFileContentToYaml("f.yaml", text)
	manager := stats.NewStatManager(gostats.NewStore(gostats.NewNullSink(), false),
		settings.Settings{})
	return config.NewRateLimitConfigImpl([]config.RateLimitConfigToLoad{{
		Name:       "f.yaml",
		ConfigYaml: root,
	}}, manager, false), nil
}

// ours loads one file as headgate does.
func ours(text string) (*rls.Tree, error) {
	tree, faults := envoy.Load([]envoy.File{{Name: "f.yaml", Data: []byte(text)}},
		envoy.Options{LongUnits: true})
	if len(faults) > 0 {
		return nil, fmt.Errorf("%v", faults)
	}
	return tree, nil
}

// TestTheirFiles: of every file that envoyproxy/ratelimit ships both say the same: taken or not.
func TestTheirFiles(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/envoyproxy/ratelimit").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSpace(string(dir))
	files := 0
	for _, pattern := range []string{"test/config/*.yaml", "examples/ratelimit/config/*.yaml"} {
		names, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files++
			_, they := theirs(string(data))
			if _, we := ours(string(data)); (they == nil) != (we == nil) {
				t.Errorf("%s: they say %v, we say %v", name, they, we)
			}
		}
	}
	if files < 15 {
		t.Errorf("only %d files", files)
	}
}

// maker makes files, and descriptors that are likely to be in them.
type maker struct{ *rand.Rand }

func (m maker) pick(words ...string) string { return words[m.IntN(len(words))] }

// rarely returns bad once in n times, else good.
func (m maker) rarely(n int, bad, good string) string {
	if m.IntN(n) == 0 {
		return bad
	}
	return good
}

// descriptors are the lines of a list of descriptors.
func (m maker) descriptors(b *strings.Builder, indent string, depth int) {
	for range 1 + m.IntN(3) {
		key := m.rarely(100, `""`, m.pick("a", "b", "a_b", "c", "c*", "1"))
		fmt.Fprintf(b, "%s- key: %s\n", indent, key)
		if m.IntN(2) == 0 && key != "c*" { // a star within is read since, by TestSecondReading
			fmt.Fprintf(b, "%s  value: %s\n", indent, m.pick("b", "x", "xy", `"x*"`, `"xy*"`, `"*"`,
				"7", "true", "0x1F", "2024-01-01"))
		}
		for _, flag := range []string{
			"shadow_mode", "quota_mode", "detailed_metric",
			"value_to_metric", "share_threshold",
		} {
			if m.IntN(8) == 0 && (flag != "share_threshold" ||
				strings.HasSuffix(b.String(), "*\"\n") || m.IntN(9) == 0) {
				fmt.Fprintf(b, "%s  %s: %s\n", indent, flag,
					m.rarely(50, "maybe", m.pick("true", "false", "yes", "off", "")))
			}
		}
		if m.IntN(3) > 0 {
			m.limit(b, indent)
		}
		if depth > 0 && m.IntN(2) == 0 {
			fmt.Fprintf(b, "%s  descriptors:\n", indent)
			m.descriptors(b, indent+"    ", depth-1)
		}
		if m.IntN(60) == 0 {
			fmt.Fprintf(b, "%s  %s: 1\n", indent, m.pick("rate_limt", "unit", "domain", "Key"))
		}
	}
}

// limit is a rate_limit.
func (m maker) limit(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s  rate_limit:\n", indent)
	switch m.IntN(24) {
	case 0:
		fmt.Fprintf(b, "%s    unlimited: true\n", indent)
	case 1:
		fmt.Fprintf(b, "%s    unlimited: true\n%s    unit: %s\n", indent, indent,
			m.pick("day", "none"))
	default:
		fmt.Fprintf(b, "%s    unit: %s\n", indent,
			m.rarely(80, "fortnight", m.pick("second", "minute", "HOUR", "Day", "month", "year")))
	}
	if m.IntN(8) > 0 {
		fmt.Fprintf(b, "%s    requests_per_unit: %s\n", indent,
			m.rarely(60, m.pick("-1", "1.5", `"5"`), m.pick("0", "1", "5", "010", "0x10", "1_000",
				"100000")))
	}
	if m.IntN(4) == 0 {
		fmt.Fprintf(b, "%s    name: %s\n", indent, m.pick("one", "two", "three"))
	}
	if m.IntN(4) == 0 {
		fmt.Fprintf(b, "%s    replaces: [{name: %s}]\n", indent,
			m.rarely(30, `""`, m.pick("four", "five", "three")))
	}
}

// TestGenerated: of generated files both say the same, taken or not; and of those that are taken,
// both mean the same limit by every descriptor, with the same pattern to count by.
func TestGenerated(t *testing.T) {
	const seed, files = 7, 3000
	m := maker{rand.New(rand.NewPCG(seed, seed))}
	taken, limits := 0, 0
	for n := range files {
		var b strings.Builder
		b.WriteString("domain: d\ndescriptors:\n")
		m.descriptors(&b, "  ", 2)
		c, they := theirs(b.String())
		tree, we := ours(b.String())
		if (they == nil) != (we == nil) {
			t.Fatalf("file %d of seed %d: they say %v, we say %v\n%s", n, seed,
				they, we, b.String())
		}
		if they != nil {
			continue
		}
		taken++
		for range 40 {
			d := m.descriptor()
			they, we := meant(c, d), means(tree, d)
			if they != we {
				t.Fatalf("file %d of seed %d, %v: they mean %s, we mean %s\n%s", n, seed,
					d.GetEntries(), they, we, b.String())
			}
			if they != "none" {
				limits++
			}
		}
	}
	t.Logf("%d files, %d of them taken; %d descriptors had limits", files, taken, limits)
	if taken < 200 || limits < 2000 {
		t.Error("that is too few to mean something")
	}
}

// descriptor is one that a file may have a limit for.
func (m maker) descriptor() *ratelimit.RateLimitDescriptor {
	d := new(ratelimit.RateLimitDescriptor)
	for range 1 + m.IntN(3) {
		d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{
			Key:   m.pick("a", "b", "a_b", "c", "cc", "1"),
			Value: m.pick("b", "x", "xy", "xyz", "", "7", "true", "0x1F", "2024-01-01"),
		})
	}
	return d
}

// meant says which limit they mean by d.
func meant(c config.RateLimitConfig, d *ratelimit.RateLimitDescriptor) string {
	l := c.GetLimit(context.Background(), "d", d)
	if l == nil {
		return "none"
	}
	by := ""
	for i, e := range d.GetEntries() {
		value := e.GetValue()
		if i < len(l.ShareThresholdKeyPattern) && l.ShareThresholdKeyPattern[i] != "" {
			value = l.ShareThresholdKeyPattern[i]
		}
		by += " " + value
	}
	if l.Unlimited {
		return fmt.Sprintf("unlimited %v", l.Replaces)
	}
	per := int64(l.Limit.GetRequestsPerUnit())
	unit := int(l.Limit.GetUnit())
	if days := map[int]int64{5: 30, 6: 365, 7: 7}[unit]; days > 0 {
		per, unit = (per+days-1)/days, 4
	}
	return fmt.Sprintf("%d/%d %v %q %v by%s", per, unit, l.ShadowMode ||
		l.QuotaMode, l.Name, l.Replaces, by)
}

// means says which limit we mean by d.
func means(tree *rls.Tree, d *ratelimit.RateLimitDescriptor) string {
	var w rls.Walk
	w.Begin(tree.Domain([]byte("d")))
	by := ""
	for i, e := range d.GetEntries() {
		by += " " + string(w.Step([]byte(e.GetKey()), []byte(e.GetValue()),
			i == len(d.GetEntries())-1))
	}
	l := w.Limit
	switch {
	case l == nil:
		return "none"
	case l.Unlimited:
		return fmt.Sprintf("unlimited %v", l.Replaces)
	}
	return fmt.Sprintf("%d/%d %v %q %v by%s", l.PerUnit, l.Unit, l.Shadow ||
		l.Quota, l.Name, l.Replaces, by)
}
