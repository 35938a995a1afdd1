package setup

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/edge/config"
)

// spellUDP returns the address of the listener for datagrams in the spelling of the proxy's log.
func (s *snippet) spellUDP(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	at, err := config.ParseAddress(text)
	switch {
	case err != nil:
		return "", err
	case at.IsUnix() && !plainPath(at.Path):
		return "", errOddPath
	case at.IsUnix() && strings.HasPrefix(s.name, "haproxy"):
		return at.Path, nil
	case !at.IsUnix() && (at.Host == "" || at.Port == 0):
		return "", errNoPort
	}
	return at.String(), nil
}

// errOddPath refuses text which a proxy might read as more than a path.
var errOddPath = errors.New("paths may hold only letters, digits and _ . - /")

// errNoSocket refuses a socket where the proxy cannot ask through a socket. Caddy names no Host
// there unless the client's.
var errNoSocket = errors.New("this proxy cannot use a unix socket here: give a host and a port")

// errNoPort refuses an incomplete address.
var errNoPort = errors.New("a proxy needs a host and a port")

func (s *snippet) spellAddress(at config.Address, f *form) (string, error) {
	switch {
	case at.IsUnix() && !s.sockets:
		return "", errNoSocket
	case at.IsUnix() && !plainPath(at.Path):
		return "", errOddPath
	case !at.IsUnix() && (at.Host == "" || at.Port == 0):
		return "", errNoPort
	}
	if f.spell != nil {
		return f.spell(at)
	}
	if s.spell == nil {
		return at.String(), nil
	}
	return s.spell(at)
}

// spellService refuses a host that is no service of a cluster.
func spellService(at config.Address) (string, error) {
	_, err := netip.ParseAddr(at.Host)
	if name, after, _ := strings.Cut(at.Host, "."); err == nil || name == "" || after == "" {
		return "", errors.New("this gateway needs NAME.NAMESPACE:PORT of a service")
	}
	return at.String(), nil
}

// spellEnvoy returns the path of a socket, or an address with an IP address as host.
func spellEnvoy(at config.Address) (string, error) {
	if at.IsUnix() {
		return at.Path, nil
	}
	return spellIP(at)
}

// spellIP returns an address with an IP address as host.
func spellIP(at config.Address) (string, error) {
	if _, err := netip.ParseAddr(at.Host); err != nil {
		return "", errors.New("host names are not resolved here: give an IP address")
	}
	return at.String(), nil
}

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

// spellSPOE returns an address of a server in haproxy.cfg.
func spellSPOE(at config.Address) (string, error) {
	if at.IsUnix() {
		return "unix@" + at.Path, nil
	}
	return at.String(), nil
}

func spellHAProxy(at config.Address) (string, error) { return spellLua(at, "unix@") }

// plainName reports whether s is letters, digits and _ . - and not empty.
func plainName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !plainRune(r) }) < 0
}

// plainPath reports whether s is plain names between slashes.
func plainPath(s string) bool { return plainName(strings.ReplaceAll(s, "/", "")) }

func plainRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' ||
		r == '.' || r == '-'
}
