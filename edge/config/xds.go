package config

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/edge/config/schema"
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
	object(xdsFields(new(XDS))),
}

func readXDS(v value) (x XDS, ok bool) {
	x.NodeID = "headgate"
	ok = v.fields(xdsFields(&x))
	if _, given := v.d.given[join(v.path, "server")]; ok && !given && len(v.node.Content) > 0 {
		v.fault("needs server, the host:port of the management server")
	}
	if x.Server == "" {
		x = XDS{}
	}
	return x, ok
}

func xdsFields(x *XDS) []field {
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
	text, free := schema.Text(maxXDSText), schema.Shape{}
	header := schema.AnyOf(text, object(secretFields(new(Secret))))
	return []field{
		leaf("server", set(&x.Server, xdsServer)).like(schema.HostPort(true), `""`,
			"The management server, host:port."),
		leaf("node_id", set(&x.NodeID, xdsText)).like(text, "headgate",
			"The name of this node at the server."),
		leaf("cluster", set(&x.Cluster, xdsText)).like(text, `""`, "The cluster of this node."),
		leaf("metadata", texts(&x.Metadata)).like(schema.Map(maxXDSTexts, free, text), "{}",
			"Metadata of this node."),
		leaf("headers", func(v value) {
			x.Headers = map[string]Secret{}
			v.entriesOf(maxXDSTexts, func(key, item value) { xdsHeader(x.Headers, key, item) })
		}).like(schema.Map(maxXDSTexts, free, header), "{}",
			"Headers of the stream, each a text or the file with the text."),
		leaf("tls", func(v value) { x.TLS = xdsTLS(v) }).like(object(xdsTLSFields(new(XDSTLS))), "",
			"TLS to the server; without these fields the stream is plain."),
	}
}

func secretFields(s *Secret) []field {
	return []field{leaf("file", set(&s.File, filePath)).like(paths.shape, "",
		"A file with the text.")}
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
		item.fields(secretFields(&s))
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
	if ok := v.fields(xdsTLSFields(t)); ok && (t.CertFile == "") != (t.KeyFile == "") {
		v.fault("needs both cert_file and key_file, or neither")
	}
	return t
}

func xdsTLSFields(t *XDSTLS) []field {
	return []field{
		leaf("ca_file", set(&t.CAFile, filePath)).like(paths.shape, `""`,
			"Authorities, in PEM; empty: those of the system."),
		leaf("cert_file", set(&t.CertFile, filePath)).like(paths.shape, `""`,
			"The certificate of this node, in PEM."),
		leaf("key_file", set(&t.KeyFile, filePath)).like(paths.shape, `""`,
			"The private key of the certificate, in PEM."),
		leaf("server_name", set(&t.ServerName, xdsText)).like(schema.Text(maxXDSText), `""`,
			"The name in the server's certificate; empty: the host of server."),
	}
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
