package setup

import (
	"embed"

	"github.com/headgate-dev/headgate/edge/config"
)

// snippetFiles are the texts of the snippets, with << >> around the blanks. deploy/ has the
// snippets filled in with the defaults, as run by the tests.
//
//go:embed snippets
var snippetFiles embed.FS

// snippet puts headgate before a proxy.
type snippet struct {
	name    string
	proxy   string                               // and the features it must have
	address string                               // of headgate's door, by default
	other   string                               // another one, as an example; "": 192.0.2.1:4291
	dir     string                               // where the files lie; "": /etc/headgate
	sockets bool                                 // it may ask through a unix socket
	cluster bool                                 // in Kubernetes: it knows no address of a file
	spell   func(config.Address) (string, error) // nil: as headgate spells it
	// shows headgate the whole request, so the policies decide; without files there is none
	whole form
	rule  form // asks a rule, which --rule names; without files there is none
}

// form is a way in which a proxy asks.
type form struct {
	door    string                               // HTTP, UDP, gRPC or SPOP
	address string                               // of that door, by default; empty: the snippet's
	spell   func(config.Address) (string, error) // nil: the snippet's
	files   []string                             // under snippets/, in the order to read them
	use     string                               // how to use them
	next    string                               // the command to run once they are in place
	waits   bool                                 // the time to wait for an answer can be set
	reports bool                                 // its log can report responses
}

// The listeners of the built-in configuration.
const (
	atHTTP = "127.0.0.1:4291"
	atUDP  = "127.0.0.1:4290"
	atGRPC = "127.0.0.1:4294" // which the built-in configuration does not open
	atSPOP = "127.0.0.1:4295" // which the built-in configuration does not open

	inCluster = "headgate.headgate.svc.cluster.local:4294" // likewise, over gRPC
)

// The commands to run once the files are in place.
const (
	nextNginx = "include the files where their comments say, then run: nginx -t && systemctl " +
		"reload nginx"
	nextHAProxy = "copy the lines to haproxy.cfg, then run: haproxy -c -f " +
		"/etc/haproxy/haproxy.cfg && systemctl reload haproxy"
	nextEnvoy = "copy its parts to envoy.yaml, then run: envoy --mode validate -c " +
		"/etc/envoy/envoy.yaml"
	nextKubectl = "run: kubectl apply -f headgate.yaml"
	nextCaddy   = "import the file in the Caddyfile, then run: caddy validate --config " +
		"/etc/caddy/Caddyfile && systemctl reload caddy"
)

// traefikCRD is the name of what `init traefik --crd` prints.
const traefikCRD = "traefik-crd"

// envoyGateway is the name of the gateway that sends limits.
const envoyGateway = "envoy-gateway"

// snippets is everything for init.
var snippets = append([]snippet{
	{
		name:    "nginx",
		proxy:   "nginx with auth_request, as Debian's nginx-light has it",
		address: atHTTP,
		other:   "unix:/run/headgate/http.sock",
		dir:     "/etc/nginx/headgate",
		sockets: true,
		whole: form{
			door:    "HTTP",
			files:   []string{"nginx/http.conf", "nginx/server.conf", "nginx/guard.conf"},
			waits:   true,
			reports: true,
			use: "Three files: http.conf belongs in http {}, server.conf in the server {} to " +
				"guard, guard.conf there or in some of its locations.",
			next: nextNginx,
		},
		rule: form{
			door:  "HTTP",
			files: []string{"nginx/rule/headgate-upstream.conf", "nginx/rule/headgate.conf"},
			waits: true,
			next:  nextNginx,
		},
	},
	{
		name:    "nginx-lua",
		proxy:   "nginx with Lua (libnginx-mod-http-lua), for one rule",
		address: atUDP,
		other:   "unix:/run/headgate/udp.sock",
		dir:     "/etc/nginx/headgate",
		sockets: true,
		spell:   spellNginxLua,
		rule: form{
			door:  "UDP",
			files: []string{"nginx/rule/headgate-lua.conf"},
			waits: true,
			next:  nextNginx,
			use: "One file, to include in the server {} or location {} to protect. A key may be " +
				"chosen by the client, such as a header.",
		},
	},
	{
		name:    "openresty",
		proxy:   "OpenResty, or nginx with Lua (libnginx-mod-http-lua)",
		address: atUDP,
		other:   "unix:/run/headgate/udp.sock",
		dir:     "/etc/nginx/headgate",
		sockets: true,
		spell:   spellNginxLua,
		whole: form{
			door: "UDP",
			files: []string{
				"openresty/headgate.lua", "openresty/http.conf", "openresty/server.conf",
			},
			waits: true,
			next:  nextNginx,
			use: "Three files: headgate.lua, the module, http.conf for http {}, server.conf for " +
				"the server {} to guard. It reports responses itself.",
		},
	},
	{
		name: "haproxy", proxy: "HAProxy from 2.6 on (SPOE)", address: atSPOP,
		other: "unix:/run/headgate/spop.sock", dir: "/etc/haproxy", sockets: true, spell: spellSPOE,
		whole: form{
			door:    "SPOP",
			files:   []string{"haproxy/headgate-spoe.cfg", "haproxy/headgate.cfg"},
			waits:   true,
			reports: true,
			next:    nextHAProxy,
			use: "Two files: headgate-spoe.cfg, the messages to headgate, and headgate.cfg, " +
				"lines for your haproxy.cfg. headgate.yaml needs listen.spop.",
		},
		rule: form{
			door:    "HTTP",
			address: atHTTP,
			spell:   spellHAProxy,
			files:   []string{"haproxy/lua/headgate.lua", "haproxy/rule/headgate.cfg"},
			waits:   true,
			next:    nextHAProxy,
		},
	},
	{
		name:    "haproxy-lua",
		proxy:   "HAProxy from 2.6 on, with Lua, over HTTP",
		address: atHTTP,
		dir:     "/etc/haproxy",
		sockets: true,
		spell:   spellHAProxy,
		whole: form{
			door:    "HTTP",
			files:   []string{"haproxy/lua/headgate.lua", "haproxy/lua/headgate.cfg"},
			waits:   true,
			reports: true,
			next:    nextHAProxy,
			use: "Two files: headgate.lua, which HAProxy loads, and headgate.cfg, lines for your " +
				"haproxy.cfg: one in global, the others in the frontend to guard.",
		},
		rule: form{
			door:  "HTTP",
			files: []string{"haproxy/lua/headgate.lua", "haproxy/rule/headgate.cfg"},
			waits: true,
			next:  nextHAProxy,
		},
	},
	{
		name:    "caddy",
		proxy:   "Caddy from 2.6 on",
		address: atHTTP,
		dir:     "/etc/caddy",
		whole: form{
			door:  "HTTP",
			files: []string{"caddy/headgate.caddy"},
			waits: true,
			next:  nextCaddy,
			use:   `One file, to import at the top of the Caddyfile; then "import headgate" in each site to guard.`,
		},
		rule: form{
			door:  "HTTP",
			files: []string{"caddy/rule/headgate.caddy"},
			waits: true,
			next:  nextCaddy,
		},
	},
	{
		name:    "traefik",
		proxy:   "Traefik (forwardAuth)",
		address: atHTTP,
		dir:     "/etc/traefik/dynamic",
		whole: form{
			door: "HTTP", files: []string{"traefik/headgate.yaml"},
			use: "One file for the directory that Traefik watches; then name " +
				"headgate-guard@file among the middlewares of each router to guard.",
			next: "name headgate-guard@file among the middlewares of your routers; Traefik reads " +
				"the file when it changes",
		},
	},
	{
		name:    traefikCRD,
		proxy:   "Traefik in Kubernetes (Middleware and IngressRoute)",
		address: "headgate.headgate.svc.cluster.local:4291",
		cluster: true,
		whole: form{
			door: "HTTP", files: []string{"traefik/headgate-crd.yaml"},
			use:  "One file: two middlewares, and an IngressRoute that names them, as an example.",
			next: "run: kubectl apply -f headgate-crd.yaml; name the middlewares in your routes",
		},
	},
}, envoys...)

// form returns the form for a rule, or else the form for whole requests.
func (s *snippet) form(rule string) *form {
	if rule == "" {
		return &s.whole
	}
	return &s.rule
}

// help describes the snippet.
func (s *snippet) help() string {
	text := "Print the configuration for " + s.proxy + ".\n"
	if len(s.whole.files) == 0 {
		return text + s.rule.use + "\nThe comments explain each line, and the change that denies " +
			"instead of allowing while headgate is down."
	}
	text += s.whole.use + "\nheadgate is shown every request, and the policies of its " +
		"configuration decide."
	if len(s.rule.files) > 0 {
		text += " With --rule the proxy asks that one rule\ninstead, by the client's address."
	}
	return text + "\nThe comments explain each line, and what happens while headgate is down."
}
