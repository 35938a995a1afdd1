package verify

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestStrictDecoding(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Service\nspec: {clusterIp: None}":    `unknown field "spec.clusterIp"`,
		"kind: Service\nspec: {ports: [{port: x}]}": "cannot unmarshal string",
		"kind: Service\nkind: Service\nspec: {}":    "already set in map",
		"kind: Service\nspec: {clusterIP: None}":    "",
	} {
		_, err := decode("v1 Service", []byte(text))
		if want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The base and an operator's overlay of it are objects that Kubernetes reads.
func TestManifests(t *testing.T) {
	for _, folder := range []string{filepath.Join(kubernetes, "base"), example(t)} {
		all := kustomized(t, folder)
		if len(all) < 10 {
			t.Errorf("%s: %d resources", folder, len(all))
		}
	}
	if image := kustomized(t, example(t)).daemonSet(
		t).Spec.Template.Spec.Containers[0].Image; image != "registry.example.net/headgate:1.2.3" {
		t.Errorf("image %s", image)
	}
}

// The daemons' configuration agrees with the objects: ports, files, names.
func TestConfigurationFitsTheManifests(t *testing.T) {
	all := kustomized(t, example(t))
	cfg, pod := all.config(t), all.daemonSet(t).Spec.Template
	container := pod.Spec.Containers[0]
	ports := map[string]int32{}
	for _, p := range container.Ports {
		ports[p.Name+"/"+string(p.Protocol)] = p.ContainerPort
	}
	want := map[string]int32{
		"decide-udp/UDP":  int32(cfg.Listen.UDP[0].Port),
		"decide-http/TCP": int32(cfg.Listen.HTTP[0].Port),
		"admin/TCP":       int32(cfg.Listen.Admin[0].Port),
		"gossip-tcp/TCP":  int32(cfg.Gossip.Bind.Port),
		"gossip-udp/UDP":  int32(cfg.Gossip.Bind.Port),
	}
	if !reflect.DeepEqual(ports, want) {
		t.Errorf("ports %v, want %v", ports, want)
	}
	secret := first(t, all, any1[*corev1.Secret])
	for _, file := range []string{cfg.AdminTokenFile, cfg.Gossip.KeyFile} {
		if volume := mountedAt(pod.Spec, filepath.Dir(file)); volume.Secret == nil ||
			volume.Secret.SecretName != secret.Name || len(secret.Data[filepath.Base(file)]) == 0 {
			t.Errorf("%s is in no secret", file)
		}
	}
	if volume := mountedAt(pod.Spec, filepath.Dir(container.Args[2])); volume.ConfigMap == nil ||
		volume.ConfigMap.Name != first(t, all, any1[*corev1.ConfigMap]).Name {
		t.Errorf("%s is in no config map", container.Args[2])
	}
	if volume := mountedAt(pod.Spec, cfg.StateDir); volume.EmptyDir == nil {
		t.Errorf("%s cannot be written to", cfg.StateDir)
	}
	for _, seed := range cfg.Gossip.Join {
		s := all.service(t, seed.Host)
		if s.Spec.ClusterIP != corev1.ClusterIPNone || !s.Spec.PublishNotReadyAddresses ||
			s.Spec.Ports[0].Port != int32(seed.Port) {
			t.Errorf("%s: %+v", seed, s.Spec)
		}
	}
	ring := first(t, all, any1[*appsv1.StatefulSet])
	if len(cfg.Ring.Servers) != int(*ring.Spec.Replicas) {
		t.Errorf("%d servers, %d replicas", len(cfg.Ring.Servers), *ring.Spec.Replicas)
	}
	for n, server := range cfg.Ring.Servers {
		if name := fmt.Sprintf("%s-%d.%s", ring.Name, n,
			ring.Spec.ServiceName); server.Address.Host != name || server.Address.Port != 11211 {
			t.Errorf("server %s, want %s", server, name)
		}
	}
}

// mountedAt returns the volume that is mounted at a path.
func mountedAt(pod corev1.PodSpec, path string) corev1.Volume {
	for _, m := range pod.Containers[0].VolumeMounts {
		if m.MountPath == path {
			return pod.Volumes[slices.IndexFunc(pod.Volumes,
				func(v corev1.Volume) bool { return v.Name == m.Name })]
		}
	}
	return corev1.Volume{}
}

// Services, policies and budgets select the pods they are for, and name ports that those have.
func TestSelectorsAndPorts(t *testing.T) {
	all := kustomized(t, example(t))
	for _, one := range all {
		switch one := one.(type) {
		case *corev1.Service:
			pod := all.selected(t, one.Name, one.Spec.Selector)
			for _, p := range one.Spec.Ports {
				checkPort(t, one.Name, pod, p.TargetPort, p.Protocol)
			}
		case *networkingv1.NetworkPolicy:
			pod := all.selected(t, one.Name, one.Spec.PodSelector.MatchLabels)
			for _, rule := range one.Spec.Ingress {
				for _, p := range rule.Ports {
					checkPort(t, one.Name, pod, *p.Port, *p.Protocol)
				}
			}
		case *policyv1.PodDisruptionBudget:
			all.selected(t, one.Name, one.Spec.Selector.MatchLabels)
		case *appsv1.DaemonSet:
			all.selected(t, one.Name, one.Spec.Selector.MatchLabels)
		case *appsv1.StatefulSet:
			all.selected(t, one.Name, one.Spec.Selector.MatchLabels)
			all.service(t, one.Spec.ServiceName)
		}
	}
}

// The admin listener is open to Prometheus' namespace alone: whoever fills its connections there
// has the pod restarted.
func TestAdminIsForMonitoringOnly(t *testing.T) {
	var from []networkingv1.NetworkPolicyPeer
	for _, one := range kustomized(t, example(t)) {
		policy, ok := one.(*networkingv1.NetworkPolicy)
		if !ok || policy.Name != "headgate" {
			continue
		}
		for _, rule := range policy.Spec.Ingress {
			if slices.ContainsFunc(rule.Ports,
				func(p networkingv1.NetworkPolicyPort) bool { return p.Port.StrVal == "admin" }) {
				from = append(from, rule.From...)
			}
		}
	}
	want := []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: "monitoring"},
	}}}
	if !reflect.DeepEqual(from, want) {
		t.Errorf("open to %+v", from)
	}
}

func checkPort(
	t *testing.T, who string, pod corev1.PodTemplateSpec, port intstr.IntOrString,
	protocol corev1.Protocol,
) {
	t.Helper()
	for _, p := range pod.Spec.Containers[0].Ports {
		if p.Name == port.StrVal && p.Protocol == protocol {
			return
		}
	}
	t.Errorf("%s: its pods have no port %s/%s", who, port.String(), protocol)
}

// The pods need nothing that the namespace's level forbids, and ask nothing of Kubernetes.
func TestPodsAreRestricted(t *testing.T) {
	all := kustomized(t, example(t))
	if level := first(t, all, any1[*corev1.Namespace]).Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
		t.Errorf("level %s", level)
	}
	class := first(t, all, any1[*schedulingv1.PriorityClass])
	for name, pod := range all.pods() {
		s, c := pod.Spec.SecurityContext, pod.Spec.Containers[0]
		if !*s.RunAsNonRoot || *s.RunAsUser == 0 ||
			s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
			*pod.Spec.AutomountServiceAccountToken {
			t.Errorf("%s: %+v", name, s)
		}
		if own := c.SecurityContext; *own.AllowPrivilegeEscalation ||
			!*own.ReadOnlyRootFilesystem || !slices.Equal(own.Capabilities.Drop,
			[]corev1.Capability{"ALL"}) {
			t.Errorf("%s: %+v", name, own)
		}
		if pod.Spec.PriorityClassName != class.Name || c.Resources.Limits.Memory().IsZero() ||
			c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: %s, %+v", name, pod.Spec.PriorityClassName, c.Resources)
		}
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				t.Errorf("%s: port %s of the host", name, p.Name)
			}
		}
	}
}

// A daemon answers the probes, and the program takes the arguments.
func TestProbes(t *testing.T) {
	all := kustomized(t, example(t))
	c := all.daemonSet(t).Spec.Template.Spec.Containers[0]
	admin := serve(t, "node: a\nmemory: 1MiB\nlisten: {udp: \"127.0.0.1:0\", http: [], admin: "+
		"\"127.0.0.1:0\"}\n")
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if status, body := get(t, admin, probe.HTTPGet.Path); status != 200 ||
			probe.HTTPGet.Port.StrVal != "admin" {
			t.Errorf("%s: %d %s", probe.HTTPGet.Path, status, body)
		}
	}
	if !slices.Equal(c.Args, []string{"serve", "-c", "/etc/headgate/headgate.yaml"}) ||
		len(c.Command) > 0 {
		t.Errorf("%q %q", c.Command, c.Args)
	}
	if c.Env[0].Name != "HEADGATE_TOKEN_FILE" || c.Env[0].Value != all.config(t).AdminTokenFile {
		t.Errorf("%+v", c.Env)
	}
}

// With the ports of the host each node has room for one pod, so an update takes the old one away
// first.
func TestHostPorts(t *testing.T) {
	folder := example(t)
	file := filepath.Join(folder, "kustomization.yaml")
	text := strings.Replace(read(t, file), "components: []", "components: [../hostport]", 1)
	write(t, file, text)
	all := kustomized(t, folder)
	set := all.daemonSet(t)
	for _, p := range set.Spec.Template.Spec.Containers[0].Ports[:2] {
		if p.HostIP != "127.0.0.1" || p.HostPort != p.ContainerPort {
			t.Errorf("%+v", p)
		}
	}
	if roll := set.Spec.UpdateStrategy.RollingUpdate; roll.MaxSurge.IntVal != 0 ||
		roll.MaxUnavailable.IntVal != 1 {
		t.Errorf("%+v", roll)
	}
	if level := first(t, all, any1[*corev1.Namespace]).Labels["pod-security.kubernetes.io/enforce"]; level != "privileged" {
		t.Errorf("level %s forbids them", level)
	}
}

// The example's configuration is the base's, to begin with.
func TestExampleIsTheBase(t *testing.T) {
	if read(t, filepath.Join(kubernetes, "example/headgate.yaml")) != read(t,
		filepath.Join(kubernetes, "base/headgate.yaml")) {
		t.Error("they differ")
	}
}
