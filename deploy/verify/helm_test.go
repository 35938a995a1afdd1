package verify

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const chart = top + "/deploy/helm/headgate"

// rendered returns what `helm template headgate deploy/helm/headgate -n headgate` prints with
// values given as YAML: the files by their names. The values are checked by the chart's schema, as
// Helm does.
func rendered(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	loaded, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(loaded, given,
		chartutil.ReleaseOptions{Name: "headgate", Namespace: "headgate", IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(loaded, all)
}

var document = regexp.MustCompile(`(?m)^---\n`)

// helmed returns the resources that Helm makes of the chart with some values, read as strictly as
// Kubernetes can.
func helmed(t *testing.T, values string) (all cluster) {
	t.Helper()
	all, tests := helmedWithTests(t, values)
	if len(tests) == 0 {
		t.Error("no helm test")
	}
	return all
}

// helmedWithTests returns the resources, and apart from them those that `helm test` makes.
func helmedWithTests(t *testing.T, values string) (all, tests cluster) {
	t.Helper()
	files, err := rendered(t, values)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		for _, text := range document.Split(files[name], -1) {
			if strings.TrimSpace(text) == "" {
				continue
			}
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			one, err := decode(kind.APIVersion+" "+kind.Kind, []byte(text))
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			if strings.Contains(name, "/tests/") {
				tests = append(tests, one)
			} else {
				all = append(all, one)
			}
		}
	}
	return all, tests
}

// Helm's own linter finds no fault.
func TestChartIsLinted(t *testing.T) {
	result := lint.All(chart, map[string]any{}, "headgate", true)
	for _, m := range result.Messages {
		if m.Severity >= support.WarningSev {
			t.Error(m)
		}
	}
}

// With its own values the chart makes the resources of the kustomize base, which holds for the
// tests of those then.
func TestChartIsTheBase(t *testing.T) {
	base, chart := named(kustomized(t, filepath.Join(kubernetes, "base"))), named(helmed(t, ""))
	delete(base, "*v1.Namespace headgate") // Helm's own option makes it
	for name, want := range base {
		got, ok := chart[name]
		if !ok {
			t.Errorf("no %s", name)
			continue
		}
		if diff := cmp.Diff(toCompare(want), toCompare(got)); diff != "" {
			t.Errorf("%s (-base +chart):\n%s", name, diff)
		}
	}
	if len(chart) != len(base) {
		t.Errorf("%d resources, want %d", len(chart), len(base))
	}
	want, got := kustomized(t, filepath.Join(kubernetes, "base")).config(t), helmed(t, "").config(t)
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("headgate.yaml (-base +chart):\n%s", diff)
	}
}

// named returns resources by their type and name, of a configuration without the digest that
// kustomize adds.
func named(all cluster) map[string]metav1.Object {
	found := map[string]metav1.Object{}
	for _, one := range all {
		one := one.(metav1.Object)
		if _, ok := one.(*corev1.ConfigMap); ok {
			one.SetName("headgate")
		}
		found[typeName(one)+" "+one.GetName()] = one
	}
	return found
}

func typeName(one any) string { return fmt.Sprintf("%T", one) }

// toCompare returns a resource without the parts that are the tool's: labels, image, and the name
// and text of the configuration.
func toCompare(one metav1.Object) metav1.Object {
	labels := one.GetLabels()
	delete(labels, "helm.sh/chart")
	delete(labels, "app.kubernetes.io/managed-by")
	one.SetNamespace("")
	switch one := one.(type) {
	case *corev1.ConfigMap:
		one.Data = nil
	case *appsv1.DaemonSet:
		one.Spec.Template.Annotations = nil
		one.Spec.Template.Spec.Volumes[0].ConfigMap.Name = "headgate"
		one.Spec.Template.Spec.Containers[0].Image = ""
		one.Spec.Template.Spec.Containers[0].ImagePullPolicy = ""
	}
	return one
}

// Values change the parts that they name.
func TestChartValues(t *testing.T) {
	all := helmed(t, `
image: {repository: example.net/hg, tag: 1.2.3}
pop: lhr
secretName: secrets
rules: [{name: big, limit: 1000000000, window: 1s, scope: global}]
gossip: {join: ["198.51.100.7:4293"], allowFrom: [198.51.100.0/24]}
hostPorts: true
memcached: {servers: ["192.0.2.1:11211"]}
priorityClass: {create: false, name: high}
networkPolicy: {monitoringNamespace: prom}
tolerations: [{operator: Exists}]
`)
	pod := all.daemonSet(t).Spec.Template.Spec
	if c := pod.Containers[0]; c.Image != "example.net/hg:1.2.3" || c.Ports[0].HostPort != 4290 ||
		c.Ports[1].HostIP != "127.0.0.1" {
		t.Errorf("%+v", c)
	}
	if pod.PriorityClassName != "high" || len(pod.Tolerations) != 1 ||
		mountedAt(pod, "/etc/headgate-secret").Secret.SecretName != "secrets" {
		t.Errorf("%+v", pod)
	}
	if roll := all.daemonSet(t).Spec.UpdateStrategy.RollingUpdate; roll.MaxSurge.IntVal != 0 ||
		roll.MaxUnavailable.IntVal != 1 {
		t.Errorf("%+v", roll)
	}
	cfg := all.config(t)
	if cfg.PoP != "lhr" || len(cfg.Rules) != 1 || cfg.Rules[0].Limit != 1e9 ||
		len(cfg.Ring.Servers) != 1 || len(cfg.Gossip.Join) != 2 {
		t.Errorf("%+v", cfg)
	}
	policy := first(t, all, any1[*networkingv1.NetworkPolicy])
	if from := policy.Spec.Ingress[2].From; len(from) != 2 ||
		from[1].IPBlock.CIDR != "198.51.100.0/24" {
		t.Errorf("%+v", from)
	}
	if from := policy.Spec.Ingress[1].From[0].NamespaceSelector.MatchLabels[corev1.LabelMetadataName]; from != "prom" {
		t.Errorf("open to %s", from)
	}
	for _, one := range all {
		switch one.(type) {
		case *appsv1.StatefulSet, *schedulingv1.PriorityClass:
			t.Errorf("%s is there", typeName(one))
		}
	}
}

// A misspelt value, or one of another kind, is an error; every value has its place in the schema.
func TestChartRefusesFaults(t *testing.T) {
	for values, want := range map[string]string{
		"rule: []":                      "rule",
		"memcached: {replica: 2}":       "replica",
		"hostPorts: 'yes'":              "hostPorts",
		"rules: [{name: a}]":            "limit",
		"pop: a b":                      "pop",
		"podMonitor: {interval: often}": "interval",
		"podMonitor: {enabled: true}\nserviceMonitor: {enabled: true}": "enable one of them",
	} {
		if _, err := rendered(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}

// helm test asks a node for its health, as the node's own account, through a policy of its own.
func TestChartTest(t *testing.T) {
	_, tests := helmedWithTests(t, "secretName: mine\nserviceAccount: {name: acc}")
	pod := first(t, tests, any1[*corev1.Pod])
	c := pod.Spec.Containers[0]
	if pod.Annotations["helm.sh/hook"] != "test" || c.Args[0] != "health" ||
		pod.Spec.ServiceAccountName != "acc" || len(tests) != 2 ||
		mountedAt(pod.Spec, "/etc/headgate-secret").Secret.SecretName != "mine" {
		t.Errorf("%+v", pod)
	}
	policy := first(t, tests, any1[*networkingv1.NetworkPolicy])
	if policy.Annotations["helm.sh/hook"] != "test" ||
		policy.Spec.Ingress[0].From[0].PodSelector.MatchLabels["app.kubernetes.io/name"] !=
			pod.Labels["app.kubernetes.io/name"] {
		t.Errorf("%+v", policy)
	}
}

// Monitors read /metrics of the admin port with the token, under the job that alerts name.
func TestChartMonitors(t *testing.T) {
	pods := first(t, helmed(t, `podMonitor: {enabled: true, interval: 30s, labels: {release: p},
  tokenSecret: {name: other}}`), any1[*monitoringv1.PodMonitor])
	e := pods.Spec.PodMetricsEndpoints[0]
	if pods.Labels["release"] != "p" || pods.Labels["job"] != "headgate" || *e.Port != "admin" ||
		e.Path != "/metrics" || e.Interval != "30s" ||
		e.Authorization.Credentials.Name != "other" || e.Authorization.Credentials.Key != "token" ||
		pods.Spec.JobLabel != "app.kubernetes.io/name" {
		t.Errorf("%+v", pods)
	}
	all := helmed(t, "serviceMonitor: {enabled: true}\nsecretName: mine")
	services := first(t, all, any1[*monitoringv1.ServiceMonitor])
	if s := services.Spec.Endpoints[0]; s.Port != "admin" || s.Path != "/metrics" ||
		s.Authorization.Credentials.Name != "mine" || services.Labels["job"] != "headgate" {
		t.Errorf("%+v", services)
	}
	var found corev1.Service
	for _, one := range all {
		if s, ok := one.(*corev1.Service); ok && s.Name == "headgate-metrics" {
			found = *s
		}
	}
	for name, value := range services.Spec.Selector.MatchLabels {
		if found.Labels[name] != value {
			t.Errorf("%s is %q, want %q", name, found.Labels[name], value)
		}
	}
}

// An account is made, or one that is there is used.
func TestChartAccount(t *testing.T) {
	for values, want := range map[string]string{
		"": "headgate", "serviceAccount: {name: own}": "own",
		"serviceAccount: {create: false}":            "default",
		"serviceAccount: {create: false, name: own}": "own",
	} {
		all := helmed(t, values)
		if got := all.daemonSet(t).Spec.Template.Spec.ServiceAccountName; got != want {
			t.Errorf("%s: %s", values, got)
		}
		made := false
		for _, one := range all {
			_, is := one.(*corev1.ServiceAccount)
			made = made || is
		}
		if made == strings.Contains(values, "create: false") {
			t.Errorf("%s: made %v", values, made)
		}
	}
}

// TestChartReadme keeps README.md of the chart a table of values.yaml and of its comments.
func TestChartReadme(t *testing.T) {
	got := chartReadme(t)
	if os.Getenv("UPDATE") != "" {
		write(t, chart+"/README.md", got)
	}
	want, err := os.ReadFile(chart + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("is not the table of values.yaml (UPDATE=1 makes it): %s",
			cmp.Diff(string(want), got))
	}
}

var valueLine = regexp.MustCompile(`^( *)([A-Za-z]+):(?: ([^#]*?))?(?: *# (.*))?$`)

// chartReadme returns a table of the values with their defaults and comments.
func chartReadme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(chart + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(`# The chart of headgate

A daemon on every node over memcached: see [install](` + strings.Repeat("../", 3) + `docs/install.md#kubernetes-with-helm).

` + "```" + `
helm install headgate deploy/helm/headgate -n headgate --set image.repository=registry.example.net/headgate
helm test headgate -n headgate
` + "```" + `

| value | default | meaning |
|---|---|---|
`)
	var path []string
	inRules := false
	for line := range strings.Lines(string(text)) {
		m := valueLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		depth := len(m[1]) / 2
		if depth == 0 {
			inRules = m[2] == "rules"
		} else if inRules {
			continue // an example of them
		}
		if path = append(path[:depth], m[2]); m[3] == "" && m[4] == "" {
			continue // a group without a word of its own
		}
		value := strings.ReplaceAll(m[3], "|", "\\|")
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.Join(path, "."), value,
			strings.ReplaceAll(m[4], "|", "\\|"))
	}
	return b.String()
}

// The notes say which rules are in shadow.
func TestChartNotes(t *testing.T) {
	files, err := rendered(t, "rules: [{name: a, limit: 1, window: 1s, mode: shadow}, {name: b, "+
		"limit: 1, window: 1s}]")
	if err != nil {
		t.Fatal(err)
	}
	notes := files["headgate/templates/NOTES.txt"]
	if !strings.Contains(notes, "Rule a is in shadow") || strings.Contains(notes, "Rule b") {
		t.Errorf("%s", notes)
	}
}
