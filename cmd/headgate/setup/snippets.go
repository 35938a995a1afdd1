package setup

import (
	"embed"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
)

// snippetFiles are the texts of the snippets, with << >> around the blanks. deploy/ has them filled in with the defaults,
// and the tests run those.
//
//go:embed snippets
var snippetFiles embed.FS

// snippet puts headgate before one proxy.
type snippet struct {
	name      string
	proxy     string   // and the features it must have
	door      string   // HTTP or UDP
	address   string   // of that door, by default
	elsewhere string   // another one, as an example
	dir       string   // where the files are taken to lie
	files     []string // under snippets/, in the order to read them
	use       string   // how to use them
	next      string   // the command to run once they are in place
	sockets   bool     // it may ask through a unix socket
	whole     bool     // it asks about the whole request, so that the policies decide and no rule is named
	spell     func(config.Address) (string, error)
}

// The listeners of the built-in configuration.
const (
	atHTTP = "127.0.0.1:4291"
	atUDP  = "127.0.0.1:4290"
)

// snippets is everything that init knows.
var snippets = []snippet{
	{
		name: "nginx", proxy: "nginx with auth_request, as Debian's nginx-light has it", door: "HTTP", address: atHTTP,
		elsewhere: "unix:/run/headgate/http.sock", dir: "/etc/nginx/headgate",
		files:   []string{"nginx/headgate-upstream.conf", "nginx/headgate.conf"},
		use:     "Two files: headgate-upstream.conf belongs in http {}, headgate.conf in the server {} to protect.",
		next:    "include the two files where their comments say, then run: nginx -t && systemctl reload nginx",
		sockets: true, spell: spellPlain,
	},
	{
		name: "nginx-lua", proxy: "nginx with Lua (libnginx-mod-http-lua)", door: "UDP", address: atUDP,
		elsewhere: "unix:/run/headgate/udp.sock", dir: "/etc/nginx/headgate",
		files:   []string{"nginx/headgate-lua.conf"},
		use:     "One file, to include in the server {} or location {} to protect. A key may be chosen by the client, such as a header.",
		next:    "include the file where its comments say, then run: nginx -t && systemctl reload nginx",
		sockets: true, spell: spellNginxLua,
	},
	{
		name: "haproxy", proxy: "HAProxy from 2.6 on, with Lua", door: "HTTP", address: atHTTP,
		elsewhere: "192.0.2.1:4291", dir: "/etc/haproxy",
		files:   []string{"haproxy/headgate.lua", "haproxy/headgate.cfg"},
		use:     "Two files: headgate.lua, which HAProxy loads, and headgate.cfg, lines for your haproxy.cfg: one in global, the others in the frontend to protect.",
		next:    "copy the lines to haproxy.cfg, then run: haproxy -c -f /etc/haproxy/haproxy.cfg && systemctl reload haproxy",
		sockets: true, spell: spellHAProxy,
	},
	{
		name: "nginx-policies", proxy: "nginx with auth_request, by the policies of headgate.yaml", door: "HTTP", address: atHTTP,
		elsewhere: "unix:/run/headgate/http.sock", dir: "/etc/nginx/headgate",
		files:   []string{"nginx/headgate-policies-upstream.conf", "nginx/headgate-policies.conf"},
		use:     "Two files: headgate-policies-upstream.conf belongs in http {}, headgate-policies.conf in the server {} to guard.",
		sockets: true, whole: true, spell: spellPlain,
	},
	{
		name: "caddy", proxy: "Caddy from 2.6 on", door: "HTTP", address: atHTTP,
		elsewhere: "192.0.2.1:4291", dir: "/etc/caddy",
		files: []string{"caddy/headgate.caddy"},
		use:   `One file, to import at the top of the Caddyfile; then "import headgate" in the site to protect.`,
		next:  "import the file in the Caddyfile, then run: caddy validate --config /etc/caddy/Caddyfile && systemctl reload caddy",
		spell: spellPlain,
	},
}

// help describes the snippet.
func (s *snippet) help() string {
	return "Print the configuration for " + s.proxy + ".\n" + s.use + "\nThe comments explain each line, and the change that denies instead of allowing while headgate is down."
}

// where describes --address.
func (s *snippet) where() string {
	text := "`ADDRESS` of headgate's decisions over " + s.door
	if s.sockets {
		text += ", or unix:/path"
	}
	return text
}

// blanks are the values filled in.
type blanks struct {
	Rule    string
	Address string // as the proxy spells it
	Timeout int64  // in milliseconds
	Dir     string // where the files lie, absolute
}

// fill returns the blanks for f, or an error for an option that no snippet can hold: a value must mean the same in the proxy's
// configuration as here.
func (s *snippet) fill(f snippetFlags) (blanks, error) {
	b := blanks{Rule: f.rule, Timeout: f.timeout.Milliseconds(), Dir: s.dir}
	if !plainName(f.rule) || len(f.rule) > wire.MaxRule {
		return b, fmt.Errorf("--rule %s is not a valid rule name: 1 to %d of A-Z a-z 0-9 _ . -", cli.Quote(f.rule), wire.MaxRule)
	}
	if f.timeout < minSnippetTimeout || f.timeout > maxSnippetTimeout || f.timeout%time.Millisecond != 0 {
		return b, fmt.Errorf("--timeout %v is not %v to %v in whole milliseconds", f.timeout, minSnippetTimeout, maxSnippetTimeout)
	}
	at, err := config.ParseAddress(f.address)
	if err != nil {
		return b, fmt.Errorf("--address %w", err)
	}
	if b.Address, err = s.spellAddress(at); err != nil {
		return b, fmt.Errorf("--address %s: %w", f.address, err)
	}
	err = b.placeIn(f.dir)
	return b, err
}

// placeIn notes that the files are to lie in dir, unless it is empty.
func (b *blanks) placeIn(dir string) (err error) {
	if dir == "" {
		return nil
	}
	if b.Dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("--write: %w", err)
	}
	if !plainPath(b.Dir) {
		return fmt.Errorf("--write %s: %w", cli.Quote(dir), errOddPath)
	}
	return nil
}

// errOddPath refuses text that one of the proxies might read as more than a path.
var errOddPath = errors.New("paths may hold only letters, digits and _ . - /")

// errNoSocket refuses a socket that Caddy could reach only with all of its client's headers: else it names no Host there, which
// HTTP/1.1 at this door wants. And a client can send so many headers that the door does not answer.
var errNoSocket = errors.New("Caddy cannot use a unix socket here, as it would forward its clients' headers: give a host and a port")

func (s *snippet) spellAddress(at config.Address) (string, error) {
	switch {
	case at.IsUnix() && !s.sockets:
		return "", errNoSocket
	case at.IsUnix() && !plainPath(at.Path):
		return "", errOddPath
	case !at.IsUnix() && (at.Host == "" || at.Port == 0):
		return "", errors.New("a proxy needs a host and a port")
	}
	return s.spell(at)
}

func spellPlain(at config.Address) (string, error) { return at.String(), nil }

// spellLua returns the arguments of a socket's setpeername or connect.
func spellLua(at config.Address, unix string) (string, error) {
	if at.IsUnix() {
		return strconv.Quote(unix + at.Path), nil
	}
	ip, err := netip.ParseAddr(at.Host)
	if err != nil {
		return "", errors.New("host names are not resolved here: give an IP address")
	}
	host := ip.String()
	if ip.Is6() {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%q, %d", host, at.Port), nil
}

func spellNginxLua(at config.Address) (string, error) { return spellLua(at, "unix:") }

func spellHAProxy(at config.Address) (string, error) { return spellLua(at, "unix@") }

// render returns the texts of the snippet's files.
func (s *snippet) render(b blanks) (texts []string, err error) {
	for _, name := range s.files {
		all, err := template.New("").Delims("<<", ">>").ParseFS(snippetFiles, "snippets/"+name)
		if err != nil {
			return nil, err
		}
		var text strings.Builder
		if err := all.ExecuteTemplate(&text, filepath.Base(name), b); err != nil {
			return nil, err
		}
		texts = append(texts, text.String())
	}
	return texts, nil
}

// plainName reports whether s is letters, digits and _ . - and not empty.
func plainName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !plainRune(r) }) < 0
}

// plainPath reports whether s is plain names between slashes.
func plainPath(s string) bool { return plainName(strings.ReplaceAll(s, "/", "")) }

func plainRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-'
}
