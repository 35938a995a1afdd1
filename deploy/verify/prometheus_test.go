package verify

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const prometheus = top + "/deploy/prometheus"

// ruleFile is the part of a file of rules that these tests read.
type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr         string
			Labels, Annotations map[string]string
		}
	}
}

func alerts(t *testing.T) ruleFile {
	t.Helper()
	var file ruleFile
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(prometheus, "alerts.yaml"))),
		&file); err != nil {
		t.Fatal(err)
	}
	return file
}

// promtool reads the alerts, and has each of them fire and not fire.
func TestAlerts(t *testing.T) {
	promtool := program(t, "promtool")
	run(t, promtool, "check", "rules", filepath.Join(prometheus, "alerts.yaml"))
	run(t, promtool, "test", "rules", filepath.Join(prometheus, "alerts_test.yaml"))
}

// Each alert is seen to fire in a test of its own, states its severity, and queries series that a
// daemon has.
func TestAlertsAreWhole(t *testing.T) {
	told := metricsPage(t)
	tests := read(t, filepath.Join(prometheus, "alerts_test.yaml"))
	fires := regexp.MustCompile(`labels: 'ALERTS\{alertname="(\w+)", alertstate="firing"`)
	fired := map[string]bool{}
	for _, found := range fires.FindAllStringSubmatch(tests, -1) {
		fired[found[1]] = true
	}
	seen := 0
	for _, group := range alerts(t).Groups {
		for _, rule := range group.Rules {
			seen++
			if !fired[rule.Alert] {
				t.Errorf("%s: no test has it fire", rule.Alert)
			}
			if s := rule.Labels["severity"]; s != "critical" && s != "warning" && s != "info" {
				t.Errorf("%s: severity %q", rule.Alert, s)
			}
			if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s: what is it, and what is to be done?", rule.Alert)
			}
			for _, fault := range told.unknownTo(rule.Expr) {
				t.Errorf("%s: %s", rule.Alert, fault)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d alerts", seen)
	}
}

// promtool reads the scrape configuration, with a token where it says that there is one.
func TestScrapeConfiguration(t *testing.T) {
	promtool, dir := program(t, "promtool"), t.TempDir()
	const token = "/etc/prometheus/headgate.token"
	text := read(t, filepath.Join(prometheus, "prometheus.yml"))
	if !strings.Contains(text, token) {
		t.Errorf("no %s", token)
	}
	write(t, filepath.Join(dir, "token"), "secret\n")
	write(t, filepath.Join(dir, "prometheus.yml"),
		strings.ReplaceAll(text, token, filepath.Join(dir, "token")))
	write(t, filepath.Join(dir, "alerts.yaml"), read(t, filepath.Join(prometheus, "alerts.yaml")))
	said := run(t, promtool, "check", "config", filepath.Join(dir, "prometheus.yml"))
	if !strings.Contains(said, "1 rule files found") {
		t.Errorf("the alerts are not read: %s", said)
	}
}

// scrapeJobs is the part of kubernetes.yml that these tests read: Debian's promtool is built
// without its discovery.
type scrapeJobs struct {
	ScrapeConfigs []struct {
		JobName       string `json:"job_name"`
		Authorization struct {
			CredentialsFile string `json:"credentials_file"`
		} `json:"authorization"`
		KubernetesSDConfigs []struct {
			Role       string                   `json:"role"`
			Namespaces struct{ Names []string } `json:"namespaces"`
		} `json:"kubernetes_sd_configs"`
		RelabelConfigs []struct {
			SourceLabels []string `json:"source_labels"`
			Regex        string   `json:"regex"`
			Action       string   `json:"action"`
			TargetLabel  string   `json:"target_label"`
			Replacement  string   `json:"replacement"`
		} `json:"relabel_configs"`
	} `json:"scrape_configs"`
}

// The pods that Prometheus is to keep of a cluster are those that deploy/kubernetes makes.
func TestScrapeOfKubernetes(t *testing.T) {
	var jobs scrapeJobs
	if err := yaml.UnmarshalStrict([]byte(read(t, filepath.Join(prometheus, "kubernetes.yml"))),
		&jobs); err != nil {
		t.Fatal(err)
	}
	job := jobs.ScrapeConfigs[0]
	cluster := kustomized(t, example(t))
	pod := cluster.daemonSet(t).Spec.Template
	keep := regexp.MustCompile("^(?:" + job.RelabelConfigs[0].Regex + ")$")
	kept := 0
	for _, port := range pod.Spec.Containers[0].Ports {
		if keep.MatchString(pod.Labels["app.kubernetes.io/name"] + ";" + port.Name) {
			kept++
		}
	}
	if kept != 1 || job.KubernetesSDConfigs[0].Role != "pod" ||
		job.KubernetesSDConfigs[0].Namespaces.Names[0] != cluster.daemonSet(t).Namespace {
		t.Errorf("%d ports kept by %+v", kept, job)
	}
}
