package config

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/document"
)

// Bounds of rls.xds.
const (
	maxXDSTexts = 32   // entries of metadata, and of headers
	maxXDSText  = 1024 // bytes of each
)

// XDS is a management server of Envoy's discovery protocol that sends limits. Without Server there
// is none.
type XDS struct {
	Server   string            `yaml:"server"` // host:port
	NodeID   string            `yaml:"node_id"`
	Cluster  string            `yaml:"cluster"`
	Metadata map[string]string `yaml:"metadata"`
	Headers  map[string]Secret `yaml:"headers"` // by their names, in lower case
	TLS      *XDSTLS           `yaml:"tls,omitempty"`
}

// Secret is a text, or the content of a file.
type Secret struct{ Text, File string }

// MarshalYAML writes s as a file of configuration has it.
func (s Secret) MarshalYAML() (any, error) {
	if s.File != "" {
		return map[string]string{"file": s.File}, nil
	}
	return s.Text, nil
}

// XDSTLS names the files, in PEM, of a connection to a management server.
type XDSTLS struct {
	CAFile     string `yaml:"ca_file"` // "": the system's
	CertFile   string `yaml:"cert_file"`
	KeyFile    string `yaml:"key_file"`
	ServerName string `yaml:"server_name"` // "": the host of the server
}

// xds is the codec of rls.xds.
var xdsServers = codec[XDS]{
	"mapping", readXDS, func(x XDS) any {
		if x.Server == "" {
			return map[string]string{}
		}
		return x
	},
}

func readXDS(v value) (x XDS, ok bool) {
	x.NodeID = "headgate"
	texts := func(to *map[string]string) func(value) {
		return func(v value) {
			*to = map[string]string{}
			v.entriesOf(maxXDSTexts, func(key, item value) {
				if s, ok := xdsText(item); ok {
					(*to)[key.node.Value] = s
				}
			})
		}
	}
	ok = v.fields([]field{
		leaf("server", set(&x.Server, xdsServer)),
		leaf("node_id", set(&x.NodeID, xdsText)),
		leaf("cluster", set(&x.Cluster, xdsText)),
		leaf("metadata", texts(&x.Metadata)),
		leaf("headers", func(v value) {
			x.Headers = map[string]Secret{}
			v.entriesOf(maxXDSTexts, func(key, item value) { xdsHeader(x.Headers, key, item) })
		}),
		leaf("tls", func(v value) { x.TLS = xdsTLS(v) }),
	})
	if _, given := v.d.given[join(v.path, "server")]; ok && !given && len(v.node.Content) > 0 {
		v.fault("needs server, the host:port of the management server")
	}
	if x.Server == "" {
		x = XDS{}
	}
	return x, ok
}

// xdsServer parses host:port; "" is none.
func xdsServer(v value) (string, bool) {
	s, ok := v.text()
	if !ok || s == "" {
		return s, ok
	}
	a, ok := v.address(s)
	if ok && a.IsUnix() {
		v.fault("must be host:port, not a unix socket")
	}
	return s, ok && !a.IsUnix() && v.reachable(a)
}

// xdsText parses a text that a header can have.
func xdsText(v value) (string, bool) {
	s, ok := v.text()
	if ok && (len(s) > maxXDSText || !document.Printable(s)) {
		v.fault("must be a text of at most %d bytes, of printable characters", maxXDSText)
		ok = false
	}
	return s, ok
}

// ownHeaders are those of gRPC and of HTTP itself.
var ownHeaders = []string{
	"connection", "content-length", "content-type", "host", "keep-alive", "proxy-connection", "te",
	"trailer", "transfer-encoding", "upgrade", "user-agent",
}

// xdsHeader reads a header into all.
func xdsHeader(all map[string]Secret, key, item value) {
	var s Secret
	name, ok := headerName(key)
	switch {
	case !ok:
		return
	case slices.Contains(ownHeaders, name):
		key.fault("the header %s belongs to the protocol", name)
		return
	case item.node.Kind == yaml.MappingNode:
		item.fields([]field{leaf("file", set(&s.File, filePath))})
		if s.File == "" {
			item.fault("needs file, the path of a file with the value")
		}
	default:
		s.Text, _ = xdsText(item)
	}
	all[name] = s
}

func xdsTLS(v value) *XDSTLS {
	t := new(XDSTLS)
	ok := v.fields([]field{
		leaf("ca_file", set(&t.CAFile, filePath)),
		leaf("cert_file", set(&t.CertFile, filePath)),
		leaf("key_file", set(&t.KeyFile, filePath)),
		leaf("server_name", set(&t.ServerName, xdsText)),
	})
	if ok && (t.CertFile == "") != (t.KeyFile == "") {
		v.fault("needs both cert_file and key_file, or neither")
	}
	return t
}

// lintXDS warns of doubtful settings of rls.xds.
func (d *decoder) lintXDS(c *Config) {
	x, at := &c.RLS.XDS, d.given["rls.xds"]
	if x.Server == "" {
		return
	}
	if a, err := ParseAddress(x.Server); err == nil && x.TLS == nil && !a.Loopback() {
		at.warn("xds-plain", "the limits of %s come without TLS: whoever is on the way can "+
			"change them", x.Server)
	}
	if c.StateDir == "" {
		at.warn("xds-no-state", "without state_dir the limits are lost by a restart, until the "+
			"server answers")
	}
	if len(c.Listen.GRPC) == 0 {
		at.warn("no-door", "no listener asks these limits: listen.grpc does")
	}
}
