package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/edge/config/document"
)

const (
	unixPrefix  = "unix:"
	maxUnixPath = 107 // bytes: sockaddr_un has room for them and a closing zero
	maxHostName = 253
)

// Address is where something listens or is reached: a host and a port, or the path of a unix
// socket. Comparable; equal addresses are equal values however written. The zero Address means
// none.
type Address struct {
	Host string // an IP address or a name; "" means every interface
	Port uint16 // 0 lets the system choose, where something listens
	Path string // of a unix socket, absolute; Host and Port are empty then
}

// ParseAddress reads "127.0.0.1:4290", "[::1]:4290", "localhost:4290", ":4290" (every interface) or
// "unix:/path". Names are not looked up. The error names the text and, where it can, the cure.
func ParseAddress(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, unixPrefix); ok {
		return unixAddress(path)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Address{}, fmt.Errorf("%s is not an address such as 127.0.0.1:4290%s",
			document.Show(text), addressHint(text))
	}
	number, ok := parsePort(port)
	if !ok {
		return Address{}, fmt.Errorf("%s: the port must be a number from 0 to 65535",
			document.Show(text))
	}
	if host, err = canonicalHost(host); err != nil {
		return Address{}, fmt.Errorf("%s: %w", document.Show(text), err)
	}
	if host == "unix" { // written out, it would read as the path of a socket
		return Address{}, fmt.Errorf("%s: a host called unix must be given by its IP address; a "+
			"socket is unix:/path", document.Show(text))
	}
	if host == "" && number == 0 { // the zero Address already means none
		return Address{}, fmt.Errorf("%s: for any port of every interface write [::]:0",
			document.Show(text))
	}
	return Address{Host: host, Port: number}, nil
}

// IsZero reports whether a is no address at all.
func (a Address) IsZero() bool { return a == Address{} }

// IsUnix reports whether a is a unix socket.
func (a Address) IsUnix() bool { return a.Path != "" }

// Loopback reports whether only this machine can reach a: a loopback IP address, localhost, or a
// unix socket. Any other name counts as reachable, since the addresses may change.
func (a Address) Loopback() bool {
	if a.IsUnix() || a.Host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(a.Host)
	return err == nil && ip.IsLoopback()
}

// Stream returns the arguments of net.Listen and net.Dial for a stream to a.
func (a Address) Stream() (network, address string) { return a.dial("tcp", "unix") }

// Packet returns the arguments of net.ListenPacket and net.Dial for datagrams to a.
func (a Address) Packet() (network, address string) { return a.dial("udp", "unixgram") }

func (a Address) dial(ip, unix string) (network, address string) {
	if a.IsUnix() {
		return unix, a.Path
	}
	return ip, a.String()
}

// String returns a for Parse, and "" for the zero Address.
func (a Address) String() string {
	switch {
	case a.IsZero():
		return ""
	case a.IsUnix():
		return unixPrefix + a.Path
	}
	return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port)))
}

func unixAddress(path string) (Address, error) {
	text := document.Show(unixPrefix + path)
	switch {
	case !strings.HasPrefix(path, "/"):
		return Address{}, fmt.Errorf("%s: the path of a unix socket must be absolute, such as "+
			"unix:/run/headgate/udp.sock", text)
	case len(path) > maxUnixPath:
		return Address{}, fmt.Errorf("%s: the path of a unix socket is at most %d bytes long, "+
			"this one has %d", text, maxUnixPath, len(path))
	case !document.Printable(path):
		return Address{}, fmt.Errorf("%s: a path holds printable characters only", text)
	case filepath.Clean(path) != path:
		return Address{}, fmt.Errorf("%s: write %s%s", text, unixPrefix, filepath.Clean(path))
	case path == "/":
		return Address{}, fmt.Errorf("%s: names a directory", text)
	}
	return Address{Path: path}, nil
}

// addressHint returns a correction of text, which is not host:port, or "".
func addressHint(text string) string {
	switch {
	case document.Decimal(text):
		return fmt.Sprintf(": write 127.0.0.1:%s, or :%s for every interface",
			document.Clip(text), document.Clip(text))
	case strings.Contains(text, "://"):
		return ": leave out the scheme and //"
	case strings.HasPrefix(text, "/"):
		return ": write " + unixPrefix + "… for a unix socket"
	case strings.Count(text, ":") > 1:
		return ": an IPv6 address goes in brackets, as in [::1]:4290"
	case !strings.Contains(text, ":"):
		return ": the port is missing"
	}
	return ""
}

// canonicalHost returns host in canonical spelling, or an error with the fault.
func canonicalHost(host string) (string, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" && !document.IsName(ip.Zone(), maxHostName) {
			return "", errors.New("the zone after % is not the name of an interface")
		}
		return ip.String(), nil
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case host == "":
		return "", nil
	case host == "*":
		return "", errors.New("write :port for every interface")
	case !document.IsName(host, maxHostName) || last == "":
		return "", errors.New("the host is neither an IP address nor a host name")
	case document.Decimal(last):
		// Resolvers take 127.1 or 0177.0.0.1 for addresses, each differently.
		return "", errors.New("the host looks like an IP address but is not a valid one")
	}
	return strings.ToLower(host), nil
}

func parsePort(text string) (uint16, bool) {
	if !document.Decimal(text) {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil
}
