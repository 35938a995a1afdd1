package config

import (
	"fmt"
	"slices"
)

// check records faults no single field shows. No check looks at a bad field.
func (d *decoder) check(c Config) {
	d.checkDoors(c.Listen)
	d.checkToken(c)
	d.checkTLS(c)
	d.checkGossip(c.Gossip)
	d.checkAddresses(c)
}

// checkDoors refuses a daemon nobody can ask.
func (d *decoder) checkDoors(l Listen) {
	if at, given := d.given["listen"]; given &&
		len(l.UDP)+len(l.HTTP)+len(l.GRPC)+len(l.SPOP)+len(l.RESP) == 0 {
		at.fault("udp and http are both empty: no client could request a decision")
	}
}

// checkToken requires a token where the admin listener can be reached from elsewhere.
func (d *decoder) checkToken(c Config) {
	const path, how = "admin_token_file",
		"is required: listen.admin %s is neither loopback nor a unix socket"
	if c.AdminTokenFile == "" && !d.bad[path] {
		d.checkBeyond("listen.admin", c.Listen.Admin, path, how)
	}
}

// checkTLS requires both files or neither, and off loopback either TLS or a list of who may come.
func (d *decoder) checkTLS(c Config) {
	t := c.TLS
	switch at := d.given["tls"]; {
	case d.bad["tls.cert_file"] || d.bad["tls.key_file"]:
		return
	case (t.CertFile == "") != (t.KeyFile == ""):
		at.fault("needs both cert_file and key_file")
		return
	case t.CertFile == "" && t.ClientCAFile != "":
		at.fault("client_ca_file needs cert_file and key_file")
		return
	}
	d.checkTLSClients(&c)
	if _, trusted := d.given["clients.trusted"]; trusted || t.CertFile != "" {
		return
	}
	const how = "%s is neither loopback nor a unix socket: it needs tls.cert_file, or " +
		"clients.trusted to name who may connect"
	d.checkBeyond("listen.grpc", c.Listen.GRPC, "", how)
	d.checkBeyond("listen.resp", c.Listen.RESP, "", how)
}

// checkTLSClients warns of TLS without certificates of clients, and refuses a listener open to no
// other machine.
func (d *decoder) checkTLSClients(c *Config) {
	if c.TLS.CertFile == "" || c.TLS.ClientCAFile != "" || d.bad["tls.client_ca_file"] ||
		d.bad["tls.clients"] {
		return
	}
	who := "those are admitted who may connect plain, and over RESP who shows the password; " +
		"tls.clients: any admits everybody"
	if c.TLS.Clients == AnyClient {
		who = "everybody may connect, as tls.clients says"
	}
	d.given["tls.cert_file"].warn("tls-open", "without tls.client_ca_file: over TLS %s", who)
	if _, given := d.given["tls.clients"]; given || d.bad["clients.trusted"] ||
		c.Policies.Clients.TrustsOthers() {
		return
	}
	const how = "%s admits no other machine over TLS: it needs tls.client_ca_file, " +
		"clients.trusted to name who may connect, or tls.clients"
	d.checkBeyond("listen.grpc", c.Listen.GRPC, "", how)
	if c.RESP.PasswordFile == "" && !d.bad["resp.password_file"] {
		d.checkBeyond("listen.resp", c.Listen.RESP, "", how)
	}
}

// checkBeyond refuses the first address other machines reach, with a fault of the field at: a
// single mend mends all.
func (d *decoder) checkBeyond(path string, addresses []Address, at, how string) {
	for i, a := range addresses {
		if !a.Loopback() && !a.IsZero() {
			v := d.item(path, i)
			if at != "" {
				v.path = at
			}
			v.fault(how, a)
			return
		}
	}
}

// checkGossip requires an address where there are seeds, and a key off loopback.
func (d *decoder) checkGossip(g Gossip) {
	if d.bad["gossip.bind"] {
		return
	}
	if at := d.given["gossip.join"]; len(g.Join) > 0 && g.Bind.IsZero() {
		at.fault("needs gossip.bind: without an address this node does not gossip")
	}
	if at := d.given["gossip.bind"]; !g.Bind.IsZero() && !g.Bind.Loopback() && g.KeyFile == "" &&
		!d.bad["gossip.key_file"] {
		at.path = "gossip.key_file"
		at.fault("is required: gossip.bind %s is not loopback", g.Bind)
	}
}

// endpoint is an address of a network: tcp, udp or unix.
type endpoint struct {
	network string
	address Address
}

// claim is an endpoint this daemon wants for itself.
type claim struct {
	endpoint
	at value // its place in the file; a default has no node
}

// checkAddresses refuses to want an endpoint twice. Addresses overlapping without being equal, such
// as :4290 and 127.0.0.1:4290, are left to the system.
func (d *decoder) checkAddresses(c Config) {
	taken := map[endpoint]value{}
	for _, one := range d.claims(c) {
		other, twice := taken[one.endpoint]
		switch {
		case one.address.Port == 0 && !one.address.IsUnix(): // none, or whichever is free
		case !twice:
			taken[one.endpoint] = one.at
		case one.at.node != nil:
			one.at.fault("%s is already the address of %s", one.address, other.path)
		default: // the later is a default, so it is the earlier one that can give way
			other.fault("%s is the address of %s by default", one.address, one.at.path)
		}
	}
}

// claims returns every endpoint c wants, in the order of the documentation.
func (d *decoder) claims(c Config) []claim {
	claims := slices.Concat(
		d.doors("listen.udp", "udp", c.Listen.UDP), d.doors("listen.http", "tcp", c.Listen.HTTP),
		d.doors("listen.admin", "tcp", c.Listen.Admin),
		d.doors("listen.grpc", "tcp", c.Listen.GRPC),
		d.doors("listen.spop", "tcp", c.Listen.SPOP),
		d.doors("listen.resp", "tcp", c.Listen.RESP),
	)
	for _, network := range []string{"udp", "tcp"} {
		claims = append(claims, claim{endpoint{network, c.Gossip.Bind}, d.given["gossip.bind"]})
	}
	return claims
}

func (d *decoder) doors(path, network string, addresses []Address) []claim {
	claims := make([]claim, len(addresses))
	for i, a := range addresses {
		claims[i] = claim{endpoint{network, a}, d.item(path, i)}
		if a.IsUnix() {
			claims[i].network = "unix"
		}
	}
	return claims
}

// item returns where item i of the list at path stands: a list of a single item may be written
// without brackets, and a default stands nowhere.
func (d *decoder) item(path string, i int) value {
	if v, ok := d.given[fmt.Sprintf("%s[%d]", path, i)]; ok {
		return v
	}
	if v, ok := d.given[path]; ok {
		return v
	}
	return value{d: d, path: path}
}
