package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/headgate-dev/headgate/edge/config"
)

// composed returns a compose file as compose itself reads it: by its schema, with the files it
// refers to.
func composed(t *testing.T, file string) (*types.Project, error) {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	details := types.ConfigDetails{
		WorkingDir:  filepath.Dir(path),
		ConfigFiles: []types.ConfigFile{{Filename: path}}, Environment: types.Mapping{},
	}
	return loader.LoadWithContext(t.Context(), details)
}

func compose(t *testing.T) *types.Project {
	t.Helper()
	p, err := composed(t, top+"/deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestComposeRefusesFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "compose.yaml")
	write(t, file, strings.Replace(read(t, top+"/deploy/compose.yaml"), "mem_limit", "mem_limt", 1))
	if _, err := composed(t, file); err == nil || !strings.Contains(err.Error(), "mem_limt") {
		t.Errorf("a fault is not found: %v", err)
	}
}

// Every file that it names is there.
func TestComposeFiles(t *testing.T) {
	p := compose(t)
	build := p.Services["headgate"].Build
	files := []string{
		filepath.Join(build.Context, "go.mod"),
		filepath.Join(build.Context, build.Dockerfile),
	}
	for _, s := range p.Services {
		for _, v := range s.Volumes {
			files = append(files, v.Source)
		}
	}
	if len(files) != 3 {
		t.Errorf("files %q", files)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v", file, err)
		}
	}
	if !slices.Equal(p.Services["headgate"].Command, types.ShellCommand{
		"serve", "-c",
		p.Services["headgate"].Configs[0].Target,
	}) {
		t.Errorf("command %q", p.Services["headgate"].Command)
	}
}

// The daemon's configuration is one, its memcacheds are services beside it, and nginx asks where it
// listens.
func TestComposeServicesFit(t *testing.T) {
	p := compose(t)
	cfg, err := config.Parse("headgate.yaml", []byte(p.Configs["headgate"].Content))
	if err != nil {
		t.Fatal(err)
	}
	var servers []string
	for _, server := range cfg.Ring.Servers {
		servers = append(servers, server.Address.Host)
		if s, ok := p.Services[server.Address.Host]; !ok || server.Address.Port != 11211 ||
			!shareNetwork(s, p.Services["headgate"]) {
			t.Errorf("%s is not to be reached", server)
		}
	}
	if len(servers) != 3 {
		t.Errorf("servers %q", servers)
	}
	for name, s := range p.Services {
		if alone := shareNetwork(s, p.Services["nginx"]); alone && slices.Contains(servers, name) {
			t.Errorf("nginx reaches %s", name)
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.MemLimit == 0 ||
			len(s.SecurityOpt) == 0 {
			t.Errorf("%s may more than it needs", name)
		}
	}
	asked := regexp.MustCompile(`server headgate:(\d+);`).FindStringSubmatch(
		p.Configs["nginx"].Content)
	if asked == nil || asked[1] != fmt.Sprint(cfg.Listen.HTTP[0].Port) ||
		!shareNetwork(p.Services["nginx"], p.Services["headgate"]) {
		t.Errorf("nginx asks %q", asked)
	}
	port := p.Services["nginx"].Ports[0]
	if port.HostIP != "127.0.0.1" ||
		!strings.Contains(p.Configs["nginx"].Content, fmt.Sprintf("listen %d;", port.Target)) {
		t.Errorf("port %+v", port)
	}
	if !p.Networks["ring"].Internal || !p.Networks["doors"].Internal {
		t.Error("the networks inside can be left")
	}
}

// No way into a memcached but the ring's network, no UDP, nobody to empty or list it, and the rules
// make a PoP.
func TestComposeMemcached(t *testing.T) {
	p, count := compose(t), 0
	for name, s := range p.Services {
		if !strings.HasPrefix(s.Image, "memcached:1.6") {
			continue
		}
		count++
		if _, ring := s.Networks["ring"]; !ring || len(s.Networks) != 1 || len(s.Ports) > 0 {
			t.Errorf("%s is in %v", name, s.Networks)
		}
		for _, want := range []string{"-U 0 ", "-m 64 ", "-F ", "-X "} {
			if !strings.Contains(strings.Join(s.Command, " ")+" ", want) {
				t.Errorf("%s runs without %s: %v", name, want, s.Command)
			}
		}
	}
	if count != 3 {
		t.Errorf("%d memcached, want 3", count)
	}
	cfg, err := config.Parse("headgate.yaml", []byte(p.Configs["headgate"].Content))
	if err != nil || len(config.ScopeWarnings(&cfg)) > 0 {
		t.Errorf("%v, warns %q", err, config.ScopeWarnings(&cfg))
	}
}

func shareNetwork(a, b types.ServiceConfig) bool {
	for name := range a.Networks {
		if _, both := b.Networks[name]; both {
			return true
		}
	}
	return false
}

// nginx reads its configuration, with the snippet in it, when there is a headgate whose name it can
// look up.
func TestComposeNginx(t *testing.T) {
	nginx, p, dir := program(t, "nginx"), compose(t), t.TempDir()
	snippet, err := filepath.Abs(top + "/deploy/nginx/rule/headgate.conf")
	if err != nil {
		t.Fatal(err)
	}
	site := strings.NewReplacer("headgate:4291", "127.0.0.1:4291", "/etc/nginx/headgate.conf",
		snippet).Replace(p.Configs["nginx"].Content)
	if !strings.Contains(site, snippet) {
		t.Errorf("no snippet in %s", site)
	}
	file := filepath.Join(dir, "nginx.conf")
	write(t, file, fmt.Sprintf("error_log stderr; pid %s/pid; events {}\n"+
		"http { access_log off; client_body_temp_path %[1]s; proxy_temp_path %[1]s; "+
		"fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;\n%s}\n", dir, site))
	run(t, nginx, "-t", "-e", "stderr", "-p", dir, "-c", file)
}
