package config

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/document"
)

// anyAddress parses any address.
// The zero port means whichever is free, which tests use; whoever connects to an address checks
// reachable.
func anyAddress(v value) (Address, bool) {
	s, ok := v.text()
	if !ok {
		return Address{}, false
	}
	return v.address(s)
}

func (v value) address(s string) (Address, bool) {
	a, err := ParseAddress(s)
	if err != nil {
		v.fault("%v", err)
	}
	return a, err == nil
}

// listenAddresses parses an address, or a list. A faulty address reads as the zero Address.
func listenAddresses(v value) ([]Address, bool) {
	if v.node.Kind == yaml.ScalarNode {
		a, _ := anyAddress(v)
		return []Address{a}, true
	}
	return listOf(MaxListeners, anyAddress)(v)
}

// doorAddresses is listenAddresses for a door closed unless named; "" is closed too. The doors open
// by default (udp, http, admin) take no "": an empty text there is more likely a variable nobody
// filled in.
func doorAddresses(v value) ([]Address, bool) {
	if v.node.Kind == yaml.ScalarNode {
		if s, ok := v.text(); ok && s == "" {
			return nil, true
		}
	}
	return listenAddresses(v)
}

// bindAddress parses where gossip listens; "" is nowhere.
func bindAddress(v value) (Address, bool) {
	s, ok := v.text()
	if !ok || s == "" {
		return Address{}, ok
	}
	return v.hostPort(s)
}

// hostPort parses an address, no unix socket.
func (v value) hostPort(s string) (Address, bool) {
	a, ok := v.address(s)
	if ok && a.IsUnix() {
		v.fault("must be host:port: gossip does not use unix sockets")
		return Address{}, false
	}
	return a, ok
}

// seedAddress parses the address of a member to join.
func seedAddress(v value) (Address, bool) {
	s, ok := v.text()
	if !ok {
		return Address{}, false
	}
	a, ok := v.hostPort(s)
	return a, ok && v.reachable(a)
}

// reachable records a fault of an address good to listen on but not to connect to.
func (v value) reachable(a Address) bool {
	switch {
	case a.IsUnix():
	case a.Host == "":
		v.fault("the host is missing")
		return false
	case a.Port == 0:
		v.fault("the port must not be 0")
		return false
	}
	return true
}

// servers parses the servers of the ring, no two at the same address. A server named twice would
// get twice the keys under a name looking like a single server; use the weight.
func servers(v value) ([]Server, bool) {
	items, ok := v.items(MaxServers)
	lines := map[Address]int{}
	var list []Server
	for _, item := range items {
		s, ok := server(item)
		if !ok {
			continue
		}
		if line, twice := lines[s.Address]; twice {
			item.fault("%s is already a server, on line %d", s.Address, line)
			continue
		}
		// By address, not by text: another weight of the same server is another mention, not
		// another server.
		lines[s.Address] = item.node.Line
		list = append(list, s)
	}
	return list, ok
}

// server parses "host:port" or "host:port weight".
func server(v value) (Server, bool) {
	s, ok := v.text()
	if !ok {
		return Server{}, false
	}
	words := strings.Fields(s)
	if len(words) == 0 || len(words) > 2 {
		v.fault(`must be "host:port" or "host:port weight", not %s`, document.Show(s))
		return Server{}, false
	}
	a, ok := v.address(words[0])
	if !ok || !v.reachable(a) {
		return Server{}, false
	}
	weight, ok := v.weight(words[1:])
	return Server{Address: a, Weight: weight}, ok
}

// weight parses the word after an address, where there is a word.
func (v value) weight(words []string) (int, bool) {
	if len(words) == 0 {
		return 1, true
	}
	n, err := document.Integer(words[0], 1, MaxWeight)
	if err != nil {
		v.fault("the weight %v", err)
	}
	return int(n), err == nil
}
