package verify

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	kubernetesjson "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/headgate-dev/headgate/edge/config"
)

const kubernetes = top + "/deploy/kubernetes"

// kinds are the types that a manifest may have, by apiVersion and kind.
var kinds = map[string]func() any{
	"v1 Namespace":                        func() any { return &corev1.Namespace{} },
	"v1 Service":                          func() any { return &corev1.Service{} },
	"v1 ConfigMap":                        func() any { return &corev1.ConfigMap{} },
	"v1 Secret":                           func() any { return &corev1.Secret{} },
	"v1 ServiceAccount":                   func() any { return &corev1.ServiceAccount{} },
	"v1 Pod":                              func() any { return &corev1.Pod{} },
	"monitoring.coreos.com/v1 PodMonitor": func() any { return &monitoringv1.PodMonitor{} },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return &monitoringv1.ServiceMonitor{} },
	"apps/v1 DaemonSet":                       func() any { return &appsv1.DaemonSet{} },
	"apps/v1 StatefulSet":                     func() any { return &appsv1.StatefulSet{} },
	"policy/v1 PodDisruptionBudget":           func() any { return &policyv1.PodDisruptionBudget{} },
	"scheduling.k8s.io/v1 PriorityClass":      func() any { return &schedulingv1.PriorityClass{} },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return &networkingv1.NetworkPolicy{} },
}

// cluster holds the objects that are applied, in Kubernetes' own types.
type cluster []any

// kustomized returns the objects that kubectl apply -k would send of a folder, read as strictly as
// Kubernetes can.
func kustomized(t *testing.T, folder string) (all cluster) {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
		folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		one, err := decode(r.GetApiVersion()+" "+r.GetKind(), text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", r.GetName(), err, text)
		}
		all = append(all, one)
	}
	return all
}

func decode(kind string, text []byte) (any, error) {
	empty, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("no kind %s is expected", kind)
	}
	plain, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	one := empty()
	// which minds case, as Kubernetes does
	strict, err := kubernetesjson.UnmarshalStrict(plain, one)
	return one, errors.Join(append(strict, err)...)
}

// example returns a folder such as an operator has: deploy/kubernetes/example, with a key and a
// token in it.
func example(t *testing.T) (folder string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(kubernetes)); err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(dir, "example")
	write(t, filepath.Join(folder, "cluster.key"), strings.Repeat("ab", 32)+"\n")
	write(t, filepath.Join(folder, "token"), "secret\n")
	return folder
}

// first returns the only one of a type that pick takes.
func first[T any](t *testing.T, all cluster, pick func(T) bool) (found T) {
	t.Helper()
	n := 0
	for _, one := range all {
		if one, ok := one.(T); ok && pick(one) {
			found, n = one, n+1
		}
	}
	if n != 1 {
		t.Fatalf("%d of %T", n, found)
	}
	return found
}

func any1[T any](T) bool { return true }

func (c cluster) daemonSet(t *testing.T) *appsv1.DaemonSet {
	return first(t, c, any1[*appsv1.DaemonSet])
}

func (c cluster) service(t *testing.T, name string) *corev1.Service {
	return first(t, c, func(s *corev1.Service) bool { return s.Name == name })
}

// pods returns the templates of pods, by the name of the object that makes them.
func (c cluster) pods() map[string]corev1.PodTemplateSpec {
	all := map[string]corev1.PodTemplateSpec{}
	for _, one := range c {
		switch one := one.(type) {
		case *appsv1.DaemonSet:
			all[one.Name] = one.Spec.Template
		case *appsv1.StatefulSet:
			all[one.Name] = one.Spec.Template
		}
	}
	return all
}

// config returns the configuration that the daemons get.
func (c cluster) config(t *testing.T) config.Config {
	t.Helper()
	text := first(t, c, any1[*corev1.ConfigMap]).Data["headgate.yaml"]
	cfg, err := config.Parse("headgate.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// selected returns the pod that labels select, of which there must be one.
func (c cluster) selected(
	t *testing.T, what string, labels map[string]string,
) corev1.PodTemplateSpec {
	t.Helper()
	var found []corev1.PodTemplateSpec
	for _, pod := range c.pods() {
		if within(labels, pod.Labels) {
			found = append(found, pod)
		}
	}
	if len(found) != 1 || len(labels) == 0 {
		t.Fatalf("%s selects %d kinds of pods by %v", what, len(found), labels)
	}
	return found[0]
}

func within(labels, all map[string]string) bool {
	for name, value := range labels {
		if all[name] != value {
			return false
		}
	}
	return true
}
