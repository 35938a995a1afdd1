package setup

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
)

// where describes --address.
func (s *snippet) where() string {
	if s.name == envoyGateway {
		return "`ADDRESS` of Envoy Gateway's server of limits"
	}
	text := "`ADDRESS` of headgate's decisions"
	if s.sockets {
		text += ", or unix:/path"
	}
	return text
}

// blanks are the values filled in.
type blanks struct {
	Rule    string
	Address string // as the proxy spells it
	Unix    bool   // Address is a unix socket
	Listen  string // Address as headgate.yaml spells it
	Host    string // of Address, where it is an IP address
	Port    uint16
	UDP     string // where to report responses, as the proxy spells it; empty: nowhere
	// the log of the site beside the reports; empty: none
	AccessLog string
	Messages  bool     // HAProxy reports responses by messages of SPOP
	Headers   []string // of responses, to report; each of a-z, 0-9 and -
	Spare     uint16   // port at which Caddy lets everything pass
	Timeout   int64    // in milliseconds
	Dir       string   // where the files lie, absolute
}

// Seconds returns the time to wait for an answer in seconds.
func (b blanks) Seconds() string {
	return strconv.FormatFloat(float64(b.Timeout)/1000, 'f', -1, 64)
}

// Service returns the first part of the host, which is NAME.NAMESPACE of a service in Kubernetes.
func (b blanks) Service() string { return strings.Split(b.Host, ".")[0] }

// Namespace returns the second part of the host.
func (b blanks) Namespace() string { return strings.Split(b.Host, ".")[1] }

// fill returns the blanks for f, or an error for an option no snippet can hold: a value must mean
// the same in the proxy's configuration as here.
func (s *snippet) fill(f snippetFlags) (blanks, error) {
	b := blanks{
		Rule: f.rule, Timeout: f.timeout.Milliseconds(), Spare: f.spare,
		Dir: cmp.Or(s.dir, "/etc/headgate"),
	}
	if f.rule != "" && (!plainName(f.rule) || len(f.rule) > wire.MaxRule) {
		return b, fmt.Errorf("--rule %s is not a valid rule name: 1 to %d of A-Z a-z 0-9 _ . -",
			cli.Quote(f.rule), wire.MaxRule)
	}
	if f.timeout < minSnippetTimeout || f.timeout > maxSnippetTimeout ||
		f.timeout%time.Millisecond != 0 {
		return b, fmt.Errorf("--timeout %v is not %v to %v in whole milliseconds", f.timeout,
			minSnippetTimeout, maxSnippetTimeout)
	}
	if s.name == "caddy" && f.spare == 0 {
		return b, errors.New("--spare-port 0 is no port")
	}
	at, err := config.ParseAddress(f.address)
	if err != nil {
		return b, fmt.Errorf("--address %w", err)
	}
	if b.Address, err = s.spellAddress(at, s.form(f.rule)); err != nil {
		return b, fmt.Errorf("--address %s: %w", f.address, err)
	}
	b.Unix, b.Host, b.Port, b.Listen = at.IsUnix(), at.Host, at.Port, at.String()
	if b.UDP, err = s.spellUDP(f.udp); err != nil {
		return b, fmt.Errorf("--udp %s: %w", cli.Quote(f.udp), err)
	}
	b.Headers, b.Messages = f.headers, f.messages
	if b.AccessLog = f.log; f.log == noLog {
		b.AccessLog = ""
	} else if !plainPath(f.log) {
		return b, fmt.Errorf("--access-log %s: %w", cli.Quote(f.log), errOddPath)
	}
	err = b.placeIn(f.dir)
	return b, err
}

// Variable returns the name of a header in a variable of nginx.
func (blanks) Variable(header string) string { return strings.ReplaceAll(header, "-", "_") }

// placeIn notes dir as the place of the files, unless empty.
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

// render returns the texts of the form's files.
func (f *form) render(b blanks) (texts []string, err error) {
	for _, name := range f.files {
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
